"""Which flow log of a log group records a NAT gateway exactly once."""

from datetime import UTC, datetime

import pytest

from express_path_cli.traffic.flow_logs import NEEDED, FlowLog, NatPlacement, NotRecordedError, recording

PLACEMENT = NatPlacement("nat-1", ("eni-1",), "subnet-1", "vpc-1")


def flow_log(resource_id: str, traffic: str = "ALL", fields: tuple[str, ...] = NEEDED) -> FlowLog:
    """Return a flow log of a resource."""
    return FlowLog(f"fl-{resource_id}", resource_id, traffic, fields, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("resource_id", ["vpc-1", "subnet-1", "eni-1"])
@pytest.mark.parametrize("traffic", ["ALL", "ACCEPT"])
def test_a_flow_log_of_the_interface_or_what_it_is_in_records_it(resource_id: str, traffic: str) -> None:
    """A flow log of the VPC, the subnet, or the interface records the gateway, unless it has only rejected traffic."""
    found = flow_log(resource_id, traffic)
    others = [flow_log("vpc-2"), flow_log("eni-2"), flow_log("vpc-1", "REJECT")]
    assert recording(PLACEMENT, "group", [*others, found]) == found


@pytest.mark.parametrize(
    ("placement", "flow_logs", "why"),
    [
        (PLACEMENT, [], "no flow log of vpc-1, subnet-1 or its network interface"),
        (PLACEMENT, [flow_log("vpc-1", "REJECT")], "no flow log"),
        (PLACEMENT, [flow_log("vpc-1"), flow_log("eni-1")], "fl-eni-1 and fl-vpc-1 publish to it"),
        (PLACEMENT, [flow_log("vpc-1", fields=("interface-id", "pkt-dstaddr", "bytes"))], "lacks srcaddr, dstaddr"),
        (NatPlacement("nat-1", (), "", "vpc-1"), [flow_log("vpc-1")], "regional"),
    ],
)
def test_why_flow_logs_do_not_record_a_gateway(placement: NatPlacement, flow_logs: list[FlowLog], why: str) -> None:
    """A gateway is not measured if two flow logs record it or if a field is missing."""
    with pytest.raises(NotRecordedError, match=why) as raised:
        recording(placement, "group", flow_logs)
    assert (raised.value.nat_gateway_id, raised.value.log_group) == ("nat-1", "group")

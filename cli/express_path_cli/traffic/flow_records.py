"""Choose the flow log that records the traffic of a NAT gateway, so that each byte is counted once.

Traffic through a zonal NAT gateway has four records at its network interface: from the client, to the destination, and
both directions back. In srcaddr and dstaddr, one side is always the NAT gateway itself, so S3 Express addresses are
only in the second and the third record, while pkt-srcaddr and pkt-dstaddr would have them in all four
(https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs-records-examples.html, traffic through a NAT gateway).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from express_path.errors import ExpressPathError

NEEDED = ("interface-id", "srcaddr", "dstaddr", "bytes")


class NotRecordedError(ExpressPathError):
    """A NAT gateway's S3 Express traffic cannot be determined from a log group."""

    def __init__(self, nat_gateway_id: str, log_group: str, why: str) -> None:
        """Keep the NAT gateway, the log group and the cause."""
        self.nat_gateway_id, self.log_group, self.why = nat_gateway_id, log_group, why
        super().__init__(f"its S3 Express traffic cannot be measured from log group {log_group}: {why}")


@dataclass(frozen=True, slots=True)
class FlowLog:
    """A flow log: the resource and traffic that it records, the fields of its records in order, and its creation."""

    id: str
    resource_id: str
    traffic_type: str
    fields: tuple[str, ...]
    created: datetime


@dataclass(frozen=True, slots=True)
class NatPlacement:
    """The network interfaces, subnet and VPC of a NAT gateway; a regional one has no interface."""

    nat_gateway_id: str
    interface_ids: tuple[str, ...]
    subnet_id: str
    vpc_id: str


def recording(placement: NatPlacement, log_group: str, flow_logs: Iterable[FlowLog]) -> FlowLog:
    """Return the one flow log of a log group that records a NAT gateway's accepted traffic.

    Raise NotRecordedError, also if there are several: the log group then has every byte several times.
    """
    recorded = {*placement.interface_ids, placement.subnet_id, placement.vpc_id}
    found = [log for log in flow_logs if log.resource_id in recorded and log.traffic_type != "REJECT"]
    why = _why_not(placement, found)
    if why:
        raise NotRecordedError(placement.nat_gateway_id, log_group, why)
    return found[0]


def _why_not(placement: NatPlacement, found: Sequence[FlowLog]) -> str:
    if not placement.interface_ids:
        return "a regional NAT gateway has no network interface, and AWS does not document how flow logs identify it"
    if not found:
        return f"no flow log of {placement.vpc_id}, {placement.subnet_id} or its network interface publishes to it"
    if len(found) > 1:
        return f"{' and '.join(sorted(log.id for log in found))} publish to it, so bytes would count more than once"
    missing = [field for field in NEEDED if field not in found[0].fields]
    return f"the format of {found[0].id} lacks {', '.join(missing)}" if missing else ""

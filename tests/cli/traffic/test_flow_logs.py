"""Measuring S3 Express with flow logs: the right flow log of each NAT gateway, and each byte once."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.public_sides import BehindNatGateway
from config_rule_sandbox.server import Sandbox
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.progress import Silent
from express_path_cli.traffic import flow_logs
from express_path_cli.traffic.flow_logs import (
    NEEDED,
    FlowLog,
    NatPlacement,
    NotRecordedError,
    express_blocks,
    recording,
)
from tests.cli.traffic.costs import by_id, carry, cost, cost_json, express_address, interface_of
from tests.cli.traffic.flow_records import DEFAULT, GROUP, FlowLogs, crossing
from tests.support.scenarios import dump_of

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


CUSTOM = "interface-id log-status bytes pkt-dstaddr pkt-srcaddr dstaddr srcaddr action flow-direction"
SHORT = "srcaddr dstaddr bytes interface-id"
MEASURE = ("--flow-logs", GROUP, "--days", "2", "--price-per-gb", "0.05")
CLIENT = "10.0.2.5"


class Logged(BehindNatGateway):
    """A NAT gateway with 1,000 GB on each of the last two days, and a log group for its flow logs."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Build it, without a flow log."""
        super().__init__(Account(sandbox))
        carry(self.account, self.nat, 400, 1600, days=2)
        self.logs = FlowLogs(self.account)
        self.interface, self.address = interface_of(self.account, self.nat)
        self.express = express_address(self.account)

    def flow(self, out: int, back: int, other: str = "", **more: object) -> list[dict[str, object]]:
        """Return the records of a flow to S3 Express, or to another address, through the NAT gateway."""
        return list(crossing(self.interface, CLIENT, self.address, other or self.express, out, back, **more))


@pytest.fixture
def logged(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Logged:
    """A NAT gateway whose flow logs are queried without waiting."""
    monkeypatch.setattr(flow_logs, "POLL_SECONDS", 0.0)
    return Logged(sandbox)


def measured(logged: Logged) -> dict[str, Any]:
    """Return what was measured at the NAT gateway."""
    found: dict[str, Any] = by_id(cost_json(*MEASURE))[logged.nat]["measured"]
    return found


@pytest.mark.parametrize("fields", [DEFAULT, CUSTOM, SHORT], ids=["default", "custom", "short"])
def test_s3_express_bytes_are_counted_once_in_any_format(logged: Logged, fields: str) -> None:
    """Of the four records of a flow at the NAT gateway's interface, two count: one in each direction."""
    logged.logs.publish(logged.vpc, fields)
    flows = [*logged.flow(100 * 10**9, 300 * 10**9), *logged.flow(10**12, 10**12, "198.18.0.5")]
    elsewhere = crossing("eni-0123456789abcdef0", CLIENT, "10.0.9.9", logged.express, 10**12, 10**12)
    logged.logs.record(*flows, *elsewhere, fields=fields)
    found = measured(logged)
    assert found["bytes"] == 400 * 10**9
    assert (found["usd"], found["usdPerMonth"]) == (pytest.approx(20), pytest.approx(10 * 365 / 12))
    assert found["share"] == pytest.approx(0.2)
    assert found["atLeast"] == (fields == SHORT)  # without log-status, skipped records are unknown


def test_rejected_and_older_traffic_is_not_counted(logged: Logged) -> None:
    """Traffic that a network ACL rejects is not charged, and records from three days ago are not in the last two."""
    logged.logs.publish(logged.interface)
    logged.logs.record(*logged.flow(5, 7), *logged.flow(100, 100, action="REJECT"))
    logged.logs.record(*logged.flow(100, 100), age=timedelta(days=3))
    assert measured(logged)["bytes"] == 12


def test_skipped_records_make_it_at_least(logged: Logged) -> None:
    """SKIPDATA means that records of this interface are missing; those of other interfaces do not matter."""
    logged.logs.publish(logged.public)
    skipped = {"log-status": "SKIPDATA", "action": "-"}
    logged.logs.record(*logged.flow(5, 7), {"interface-id": "eni-0123456789abcdef0", **skipped})
    assert measured(logged)["atLeast"] is False
    logged.logs.record({"interface-id": logged.interface, **skipped})
    found = measured(logged)
    assert (found["bytes"], found["atLeast"]) == (12, True)
    assert "at least $0.00" in cost(*MEASURE).stdout


@pytest.mark.parametrize("by", ["flow log", "retention"])
def test_a_part_of_the_window_is_compared_with_the_same_part(logged: Logged, by: str) -> None:
    """Share and month cover only the hours since the flow log was created, or for which records are kept."""
    young = by == "flow log"
    logged.logs.publish(logged.vpc, age=timedelta(hours=24) if young else timedelta(days=300))
    if not young:
        logged.logs.keep(1)
    logged.logs.record(*logged.flow(10**9, 9 * 10**9))
    document = cost_json(*MEASURE)
    found = by_id(document)[logged.nat]["measured"]
    assert found["start"] > document["start"]
    assert 0.01 < found["share"] < 0.0115  # 10 GB of the 22 or 23 whole hours' 41.7 GB
    assert found["usdPerMonth"] == pytest.approx(0.5 / 23 * 730, rel=0.06)
    assert f"since {found['start'][5:10]}" in cost(*MEASURE).stdout


def test_the_sum_says_what_is_missing(logged: Logged) -> None:
    """A NAT gateway without a flow log is named, and both gateways have an upper bound."""
    other = BehindNatGateway(logged.account)
    carry(logged.account, other.nat, 10, 0)
    logged.logs.publish(logged.vpc)
    logged.logs.record(*logged.flow(5, 7))
    document = cost_json(*MEASURE, exit_code=2)
    assert by_id(document)[other.nat]["measured"] is None
    assert by_id(document)[other.nat]["upperBound"]["bytes"] == pytest.approx(10e9)
    assert (document["upperBound"]["complete"], document["measured"]["complete"]) == (True, False)
    assert (document["measured"]["bytes"], document["measured"]["logGroup"]) == (12, GROUP)
    assert document["measured"]["bytesScanned"] > 0
    result = cost(*MEASURE)
    assert (
        f"{other.nat} us-east-1: its S3 Express traffic cannot be measured from log group {GROUP}: no flow log"
        in result.stderr
    )
    assert "not counting what was not measured" in " ".join(result.stdout.split())
    assert "CloudWatch Logs Insights scanned" in " ".join(result.stdout.split())


def test_flow_logs_that_begin_now_measure_nothing(logged: Logged) -> None:
    """If a flow log has no complete hour yet, nothing is measured."""
    logged.logs.publish(logged.vpc, age=timedelta(0))
    result = cost(*MEASURE)
    assert (result.exit_code, "its records do not start until" in result.stderr) == (2, True)


@pytest.mark.usefixtures("logged")
def test_a_missing_log_group_is_named() -> None:
    """A log group with a longer name does not count, and the upper bound is still reported."""
    result = cost("--flow-logs", GROUP[:-1], "--days", "2")
    assert result.exit_code == 2
    assert f"us-east-1 has no log group {GROUP[:-1]}" in result.stderr
    assert "account 123456789012 us-east-1: flow logs" in result.stderr
    assert "$90.00" in result.stdout


@pytest.mark.parametrize("ending", ["Failed", "Timeout"])
def test_a_query_that_does_not_complete_is_named(sandbox: Sandbox, logged: Logged, ending: str) -> None:
    """A partial result is not used."""
    logged.logs.publish(logged.vpc)
    logged.logs.record(*logged.flow(5, 7))
    sandbox.logs.endings.append(ending)
    document = cost_json(*MEASURE, exit_code=2)
    assert by_id(document)[logged.nat]["measured"] is None
    sandbox.logs.endings.append(ending)
    assert f"logs:GetQueryResults failed with {ending}" in cost(*MEASURE).stderr
    assert sandbox.calls.of("logs", "StopQuery") == []


def test_a_query_that_takes_too_long_is_stopped(
    sandbox: Sandbox, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query that takes too long is stopped, because AWS charges for what it scans."""
    monkeypatch.setattr(flow_logs, "TIMEOUT_SECONDS", 0.05)
    logged.logs.publish(logged.vpc)
    sandbox.logs.endings.append("Running")
    result = cost(*MEASURE)
    assert result.exit_code == 2
    assert "did not complete; use fewer --days" in result.stderr
    assert len(sandbox.calls.of("logs", "StopQuery")) == 1


def test_gateways_with_one_format_and_age_share_a_query(sandbox: Sandbox, logged: Logged) -> None:
    """One query returns the bytes of each gateway."""
    other = BehindNatGateway(logged.account)
    carry(logged.account, other.nat, 10, 0)
    interface, address = interface_of(logged.account, other.nat)
    for vpc_id in (logged.vpc, other.vpc):
        logged.logs.publish(vpc_id)
    logged.logs.record(*logged.flow(5, 7), *crossing(interface, CLIENT, address, logged.express, 30, 40))
    found = by_id(cost_json(*MEASURE))
    assert {nat_id: gateway["measured"]["bytes"] for nat_id, gateway in found.items()} == {
        logged.nat: 12,
        other.nat: 70,
    }
    assert len(sandbox.calls.of("logs", "StartQuery")) == 1


def test_a_denied_query_is_named_with_its_permission(sandbox: Sandbox, logged: Logged) -> None:
    """The missing permission is named, and the upper bound is still reported."""
    logged.logs.publish(logged.vpc)
    sandbox.faults.deny("logs", "StartQuery")
    result = cost(*MEASURE)
    assert result.exit_code == 2
    assert "logs:StartQuery failed with AccessDeniedException" in result.stderr
    assert "allow logs:StartQuery" in result.stderr
    assert "$100.00" in result.stdout


def test_flow_logs_are_reported_without_metrics(sandbox: Sandbox, logged: Logged) -> None:
    """The share is unknown, but the cost of the measured bytes is known."""
    logged.logs.publish(logged.vpc)
    logged.logs.record(*logged.flow(10**9, 9 * 10**9))
    sandbox.faults.deny("cloudwatch", "GetMetricData")
    found = by_id(cost_json(*MEASURE, exit_code=2))[logged.nat]
    assert found["upperBound"] is None
    assert (found["measured"]["usd"], found["measured"]["share"]) == (pytest.approx(0.5), None)


def test_without_the_blocks_of_s3_express_nothing_is_measured() -> None:
    """A query without addresses would find nothing, which looks like no traffic."""
    seen = Source(from_dump=dump_of("region-without-the-service")).read(RuleParameters(), Silent())
    with pytest.raises(OptionError, match="the S3 Express prefix list"):
        express_blocks(seen.views, seen.views[0].region)

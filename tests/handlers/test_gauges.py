"""The gauges of a sweep: what they count, and that a failing read leaves out only its own gauge."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from express_path.adapters.sweep_history import failed_heals
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.support.network import Builder, Private
from tests.support.rule import Rule

HEAL, APPROVAL = "AddS3ExpressGatewayEndpoint", "AddS3ExpressGatewayEndpointWithApproval"
GAUGES = {"NonCompliant", "Compliant", "NotApplicable", "Unresolved", "HealsFailed", "SecondsSincePreviousSweep"}
FAILS = """
schemaVersion: "0.3"
parameters:
  Then: {type: String, default: fail}
mainSteps:
  - name: decide
    action: aws:branch
    inputs:
      Choices:
        - {NextStep: fail, Variable: "{{ Then }}", StringEquals: fail}
      Default: end
  - name: fail
    action: aws:executeScript
    inputs: {Runtime: python3.11, Handler: run, Script: "def run(events, context):\\n    raise Exception('no')"}
    isEnd: true
  - {name: end, action: "aws:sleep", inputs: {Duration: PT1S}, isEnd: true}
"""


@pytest.fixture(autouse=True)
def automation(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Automation]:
    """Name the runbooks as the stack does, and return Systems Manager Automation."""
    monkeypatch.setenv("HEAL_DOCUMENT_NAME", HEAL)
    monkeypatch.setenv("APPROVAL_DOCUMENT_NAME", APPROVAL)
    with Automation(sandbox) as found:
        yield found


@pytest.fixture
def swept(rule: Rule, capsys: pytest.CaptureFixture[str]) -> Callable[[], dict[str, Any]]:
    """Return a function that sweeps, and returns the value of each gauge that it printed."""

    def sweep() -> dict[str, Any]:
        capsys.readouterr()
        rule.sweep()
        [line] = [json.loads(text) for text in capsys.readouterr().out.splitlines() if "_aws" in text]
        [directive] = line["_aws"]["CloudWatchMetrics"]
        assert (directive["Namespace"], directive["Dimensions"], line["service"]) == (
            "ExpressPath",
            [["service"]],
            "evaluate",
        )
        return {metric["Name"]: line[metric["Name"]][0] for metric in directive["Metrics"]}

    return sweep


def remember(sandbox: Sandbox, name: str, ago: timedelta) -> None:
    """Record a gauge of an earlier sweep, as CloudWatch does with the printed line."""
    datum = {
        "MetricName": name,
        "Value": 1,
        "Timestamp": datetime.now(UTC) - ago,
        "Dimensions": [{"Name": "service", "Value": "evaluate"}],
    }
    sandbox.client("cloudwatch").put_metric_data(Namespace="ExpressPath", MetricData=[datum])


def test_gauges_count_the_state_of_all_subnets(
    rule: Rule, builder: Builder, swept: Callable[[], dict[str, Any]]
) -> None:
    """The gauges describe all subnets, also if nothing changed; UNRESOLVED_EGRESS and DROPPED are Unresolved."""
    vpc = Private(builder)
    peering = builder.ec2.create_vpc_peering_connection(VpcId=vpc.vpc, PeerVpcId=builder.vpc())
    peering_id = peering["VpcPeeringConnection"]["VpcPeeringConnectionId"]
    builder.subnet(vpc.vpc, builder.table(vpc.vpc, VpcPeeringConnectionId=peering_id))
    gone = Private(builder)
    builder.ec2.delete_nat_gateway(NatGatewayId=gone.nat)
    first = swept()
    reasons = [held.reason for held in rule.held().values()]
    assert first["NonCompliant"] == reasons.count("NAT_GATEWAY") == 1
    assert first["Compliant"] == reasons.count("INTERNET_GATEWAY") == 2
    assert first["Unresolved"] == 2
    assert sum(first[name] for name in ("NonCompliant", "Compliant", "NotApplicable")) == len(
        builder.ec2.describe_subnets()["Subnets"]
    )
    assert first.keys() == GAUGES - {"SecondsSincePreviousSweep"}
    assert swept() == first


def test_a_path_that_became_unknown_without_a_change_is_counted_once(
    builder: Builder, swept: Callable[[], dict[str, Any]]
) -> None:
    """A path that is unknown from the start, or that an event already reported, is not counted."""
    vpc = Private(builder)
    assert "BecameUnresolved" not in swept()
    peering = builder.ec2.create_vpc_peering_connection(VpcId=vpc.vpc, PeerVpcId=builder.vpc())
    peering_id = peering["VpcPeeringConnection"]["VpcPeeringConnectionId"]
    builder.subnet(vpc.vpc, builder.table(vpc.vpc, VpcPeeringConnectionId=peering_id))
    assert "BecameUnresolved" not in swept()
    [table] = builder.ec2.describe_route_tables(Filters=[{"Name": "association.subnet-id", "Values": [vpc.subnet]}])[
        "RouteTables"
    ]
    builder.ec2.replace_route(
        RouteTableId=table["RouteTableId"], DestinationCidrBlock="0.0.0.0/0", VpcPeeringConnectionId=peering_id
    )
    assert swept()["BecameUnresolved"] == 1
    assert "BecameUnresolved" not in swept()


@pytest.mark.parametrize(
    ("ago", "seconds"), [(None, None), (timedelta(hours=25), 25 * 3600), (timedelta(days=16), None)]
)
def test_time_since_the_previous_sweep(
    sandbox: Sandbox, swept: Callable[[], dict[str, Any]], ago: timedelta | None, seconds: float | None
) -> None:
    """It is read from the function's own gauge, to the minute, and left out if that is older than 15 days."""
    if ago:
        remember(sandbox, "NonCompliant", ago)
        remember(sandbox, "Compliant", ago / 2)
    found = swept().get("SecondsSincePreviousSweep")
    assert found == (None if seconds is None else pytest.approx(seconds, abs=70))


def test_failed_heals_are_counted_once(
    automation: Automation, sandbox: Sandbox, swept: Callable[[], dict[str, Any]]
) -> None:
    """Failed runs of both runbooks count, and no others; a later sweep counts those since the previous one."""
    for name in (HEAL, APPROVAL, f"{HEAL}Copy"):
        sandbox.client("ssm").create_document(
            Name=name, Content=FAILS, DocumentType="Automation", DocumentFormat="YAML"
        )
    automation.execute(HEAL, {"Then": "fail"})
    automation.execute(HEAL, {"Then": "end"})
    automation.execute(APPROVAL, {"Then": "fail"})
    automation.execute(f"{HEAL}Copy", {"Then": "fail"})
    assert swept()["HealsFailed"] == 2
    remember(sandbox, "NonCompliant", timedelta(hours=26))
    assert swept()["HealsFailed"] == 2
    ended = automation.execute(HEAL, {"Then": "fail"})["ExecutionEndTime"]
    assert failed_heals(sandbox.client("ssm"), [HEAL, APPROVAL], ended) == 0
    assert failed_heals(sandbox.client("ssm"), [HEAL, APPROVAL], ended - timedelta(milliseconds=1)) == 1


@pytest.mark.parametrize(
    "failing",
    [
        ("cloudwatch", "GetMetricData", "SecondsSincePreviousSweep"),
        ("ssm", "DescribeAutomationExecutions", "HealsFailed"),
    ],
)
def test_a_failing_read_leaves_out_its_gauge_alone(
    rule: Rule,
    builder: Builder,
    swept: Callable[[], dict[str, Any]],
    logged: Callable[[], list[dict[str, Any]]],
    failing: tuple[str, str, str],
) -> None:
    """Verdicts, events, and the other gauges are there, and the log has a warning that names the gauge."""
    service, operation, gauge = failing
    vpc, sandbox = Private(builder), rule.sandbox
    remember(sandbox, "NonCompliant", timedelta(hours=1))
    sandbox.faults.deny(service, operation)
    assert swept().keys() == GAUGES - {gauge}
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"
    assert sandbox.calls.of("events", "PutEvents")
    [warning] = [line for line in logged() if line["level"] == "WARNING"]
    assert warning["gauge"] == gauge
    assert f"{service}:{operation} failed with AccessDenied" in warning["error"]

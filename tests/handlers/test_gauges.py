"""The gauges of a sweep: what they count, when each is emitted, and what a failing read leaves out."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from config_rule_sandbox.cloudwatch.printed import earlier, extracted
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from express_path.adapters.runbooks import runbooks_of
from express_path.adapters.sweep_history import failed_heals
from tests.support.network import Builder, Private
from tests.support.rule import Rule

HEAL, APPROVAL, _ = runbooks_of("s3express-no-nat-path")
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
    """Create runbooks and one of another tool, and return Automation."""
    monkeypatch.setenv("STACK_ID", "arn:aws:cloudformation:us-east-1:123456789012:stack/express-path/gone")
    with Automation(sandbox) as found:
        for name in (HEAL, APPROVAL, f"{HEAL}Copy"):
            sandbox.client("ssm").create_document(
                Name=name, Content=FAILS, DocumentType="Automation", DocumentFormat="YAML"
            )
        yield found


def directives(line: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what CloudWatch makes of a line of the log: at most one directive, with the names of metrics."""
    return list(line["_aws"]["CloudWatchMetrics"]) if "_aws" in line else []


@pytest.fixture
def line(rule: Rule, capsys: pytest.CaptureFixture[str]) -> Callable[[], dict[str, Any]]:
    """Return a function that sweeps, and returns the line with the gauges.

    CloudWatch has their values from then on, as if the sweeps had been on the days before.
    """
    days = iter(range(10, 0, -1))

    def sweep() -> dict[str, Any]:
        capsys.readouterr()
        rule.sweep()
        lines = capsys.readouterr().out.splitlines()
        rule.sandbox.metrics.add(earlier(extracted(lines), timedelta(days=next(days))))
        [found] = [json.loads(text) for text in lines if '"swept"' in text]
        for directive in directives(found):
            assert (directive["Namespace"], directive["Dimensions"]) == ("ExpressPath", [["RuleName"]])
        assert found["RuleName"] == rule.loop.rule.name
        return dict(found)

    return sweep


@pytest.fixture
def swept(line: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, int]]:
    """Return a function that sweeps, and returns the value of each gauge that it printed."""

    def sweep() -> dict[str, int]:
        found = line()
        names = [metric["Name"] for directive in directives(found) for metric in directive["Metrics"]]
        return {name: found[name] for name in names}

    return sweep


def unknown_path(builder: Builder, vpc: Private) -> None:
    """Let the private subnet's traffic go where nobody can follow it."""
    gateway = builder.ec2.create_vpn_gateway(Type="ipsec.1")["VpnGateway"]["VpnGatewayId"]
    builder.ec2.attach_vpn_gateway(VpcId=vpc.vpc, VpnGatewayId=gateway)
    builder.ec2.replace_route(RouteTableId=vpc.table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)


def test_an_idle_place_has_no_gauge(rule: Rule, builder: Builder, line: Callable[[], dict[str, Any]]) -> None:
    """If nothing is wrong, a sweep emits no metric. The line has all numbers, which cost nothing there."""
    vpc = Private(builder)
    builder.endpoint(vpc.vpc, vpc.table)
    for _ in range(2):
        found = line()
        assert directives(found) == []
        assert found["reasons"]["ENDPOINT"] == 1
        assert sum(found["counts"].values()) == found["subnets"] == len(builder.ec2.describe_subnets()["Subnets"])
    assert found["counts"]["NON_COMPLIANT"] == 0
    assert rule.held()[vpc.subnet].reason == "ENDPOINT"


def test_a_gauge_is_emitted_while_it_is_not_zero_and_once_more(
    builder: Builder, swept: Callable[[], dict[str, int]]
) -> None:
    """Whoever watches a gauge sees that it is 0 again, and nothing more costs money after that."""
    vpc, gone = Private(builder), Private(builder)
    builder.ec2.delete_nat_gateway(NatGatewayId=gone.nat)  # DROPPED counts as Unresolved
    for _ in range(2):
        assert swept() == {"NonCompliant": 1, "Unresolved": 1}
    builder.endpoint(vpc.vpc, vpc.table)
    builder.endpoint(gone.vpc, gone.table)
    assert swept() == {"NonCompliant": 0, "Unresolved": 0}
    assert swept() == {}


def test_two_rules_do_not_share_their_gauges(sandbox: Sandbox, swept: Callable[[], dict[str, int]]) -> None:
    """What another rule of the account emitted is not this rule's earlier value."""
    datum = {"MetricName": "NonCompliant", "Value": 5, "Dimensions": [{"Name": "RuleName", "Value": "another"}]}
    sandbox.client("cloudwatch").put_metric_data(Namespace="ExpressPath", MetricData=[datum])
    assert swept() == {}


def test_a_path_that_became_unknown_without_a_change_is_a_fault_once(rule: Rule, builder: Builder) -> None:
    """A path that is unknown from the start, or that an event already reported, is none. The end of the sweep has it."""
    vpc, unknown = Private(builder), Private(builder)
    unknown_path(builder, unknown)
    assert faults_of_sweep(rule) == []
    unknown_path(builder, vpc)
    [fault] = faults_of_sweep(rule)
    assert (fault["component"], fault["problem"][:21]) == ("paths", "1 paths became unknow")
    assert faults_of_sweep(rule) == []


def faults_of_sweep(rule: Rule) -> list[dict[str, str]]:
    """Sweep, and return the faults in the event about its end."""
    rule.sandbox.calls.clear()
    rule.sweep()
    entries = [entry for call in rule.sandbox.calls.of("events", "PutEvents") for entry in call.parameters["Entries"]]
    assert entries[-1]["DetailType"] == "SweepCompleted"
    faults: list[dict[str, str]] = json.loads(entries[-1]["Detail"])["faults"]
    return faults


def test_failed_heals_are_counted_once(
    automation: Automation, sandbox: Sandbox, swept: Callable[[], dict[str, int]]
) -> None:
    """Failed runs of both runbooks in the last day count, and no others."""
    automation.execute(HEAL, {"Then": "fail"})
    automation.execute(HEAL, {"Then": "end"})
    automation.execute(APPROVAL, {"Then": "fail"})
    automation.execute(f"{HEAL}Copy", {"Then": "fail"})
    assert swept()["HealsFailed"] == 2
    ended = automation.execute(HEAL, {"Then": "fail"})["ExecutionEndTime"]
    assert failed_heals(sandbox.client("ssm"), [HEAL, APPROVAL], ended) == 0
    assert failed_heals(sandbox.client("ssm"), [HEAL, APPROVAL], ended - timedelta(milliseconds=1)) == 1


@pytest.mark.parametrize(
    ("service", "operation", "gauge", "printed"),
    [
        ("cloudwatch", "GetMetricData", "earlier gauges", {"NonCompliant": 1, "Unresolved": 0, "HealsFailed": 0}),
        ("ssm", "DescribeAutomationExecutions", "HealsFailed", {"NonCompliant": 1}),
    ],
)
def test_a_failing_read_never_hides_a_number(
    rule: Rule,
    builder: Builder,
    swept: Callable[[], dict[str, int]],
    logged: Callable[[], list[dict[str, Any]]],
    service: str,
    operation: str,
    gauge: str,
    printed: dict[str, int],
) -> None:
    """Verdicts and events are there. Without earlier values, zeros are printed too. The log warns."""
    vpc, sandbox = Private(builder), rule.sandbox
    sandbox.faults.deny(service, operation)
    assert swept() == printed
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"
    assert sandbox.calls.of("events", "PutEvents")
    [warning] = [row for row in logged() if row["level"] == "WARNING"]
    assert warning["gauge"] == gauge
    assert f"{service}:{operation} failed with AccessDenied" in warning["error"]

"""What the function publishes on EventBridge: changes after events, and everything after each sweep."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from config_rule_sandbox.server import Sandbox
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.summary import ExcludedSubnets
from express_path.errors import ReportError
from express_path.events.schema import SweepCompleted, VerdictChanged, VerdictSnapshot
from tests.support.network import Builder, Private
from tests.support.rule import Item, Rule
from tests.support.verdict_events import VerdictEvent, parse_verdict_event

CAPTURED = "2026-02-13T05:48:51.341Z"
LATER = "2026-02-13T05:48:52.000Z"


class Bus:
    """The default bus, with a rule that sends everything of ours to one function."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Create the rule."""
        self.sandbox = sandbox
        self.raw: list[dict[str, Any]] = []
        sandbox.eventbridge.register("consumer", self.raw.append)
        events = sandbox.client("events")
        events.put_rule(Name="ours", EventPattern=json.dumps({"source": ["express-path"]}))
        arn = f"arn:aws:lambda:{sandbox.region}:{sandbox.account_id}:function:consumer"
        events.put_targets(Rule="ours", Targets=[{"Id": "consumer", "Arn": arn}])

    def taken(self) -> list[VerdictEvent]:
        """Return the events that arrived since the last look, read strictly."""
        found, self.raw[:] = [parse_verdict_event(event) for event in self.raw], []
        return found


@pytest.fixture
def bus(sandbox: Sandbox) -> Bus:
    """Return the bus."""
    return Bus(sandbox)


def item(vpc: Private, captured: str = CAPTURED, **more: object) -> Item:
    """Return an item of the private subnet's route table."""
    return {
        "awsAccountId": "123456789012",
        "configurationItemCaptureTime": captured,
        "configurationItemStatus": "OK",
        "resourceType": "AWS::EC2::RouteTable",
        "resourceId": vpc.table,
        "configuration": {"vpcId": vpc.vpc},
        **more,
    }


def changes(events: list[VerdictEvent]) -> dict[str, tuple[str | None, str]]:
    """Return old and new reason of each changed subnet."""
    return {
        event.new.verdict.subnet_id: (event.old_reason and str(event.old_reason), str(event.new.verdict.reason))
        for event in events
        if isinstance(event, VerdictChanged)
    }


def test_a_change_is_published_after_the_report(bus: Bus, rule: Rule, builder: Builder, vpc: Private) -> None:
    """A new finding and its fix are one event each, with ARN, path, remedy, and owner. No change, no event."""
    tags = [{"Key": "owner", "Value": "network"}, {"Key": "stage", "Value": "prod"}]
    builder.ec2.create_tags(Resources=[vpc.vpc], Tags=tags)
    builder.ec2.create_tags(Resources=[vpc.subnet], Tags=[{"Key": "owner", "Value": "payments"}])
    rule.sandbox.calls.clear()
    rule.tell(item(vpc))
    [raw] = bus.raw
    assert raw["resources"] == [f"arn:aws:ec2:us-east-1:123456789012:subnet/{vpc.subnet}"]
    read_at = datetime.fromtimestamp(rule.held()[vpc.subnet].ordering, UTC)
    assert raw["time"] == read_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert raw["detail"]["orderingTimestamp"] == read_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    operations = [call.operation for call in rule.sandbox.calls if call.mutating]
    assert operations == ["PutEvaluations", "PutEvents"]
    [found] = bus.taken()
    assert isinstance(found, VerdictChanged)
    assert (found.run.account_id, found.run.rule_name, found.run.sweep_id) == (
        "123456789012",
        rule.loop.rule.name,
        None,
    )
    verdict = found.new.verdict
    assert (found.old_compliance, verdict.compliance, verdict.route_table_id) == (None, "NON_COMPLIANT", vpc.table)
    assert [hop.id for hop in verdict.path] == [vpc.nat]
    assert found.new.tags == {"owner": "payments", "stage": "prod"}
    assert found.new.remedy is not None
    assert vpc.table in found.new.remedy.command
    rule.tell(item(vpc, LATER))
    assert bus.taken() == []
    builder.endpoint(vpc.vpc, vpc.table)
    rule.tell(item(vpc, LATER))
    [fixed] = bus.taken()
    assert changes([fixed]) == {vpc.subnet: ("NAT_GATEWAY", "ENDPOINT")}
    assert isinstance(fixed, VerdictChanged)
    assert fixed.new.remedy is None


def test_another_route_with_the_same_reason_is_no_change(bus: Bus, rule: Rule, builder: Builder, vpc: Private) -> None:
    """AWS Config gets the new annotation, but neither compliance nor reason changed."""
    rule.tell(item(vpc))
    bus.taken()
    other = builder.nat_gateway(vpc.public_subnet)
    builder.ec2.replace_route(RouteTableId=vpc.table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=other)
    rule.tell(item(vpc, LATER))
    assert other in rule.held()[vpc.subnet].annotation
    assert bus.taken() == []


def test_a_foreign_annotation_has_no_reason(bus: Bus, rule: Rule, vpc: Private) -> None:
    """A result that another version or a person stored is the old result, without a reason."""
    stored = {
        "ComplianceResourceType": "AWS::EC2::Subnet",
        "ComplianceResourceId": vpc.subnet,
        "ComplianceType": "NON_COMPLIANT",
        "Annotation": "a NAT",
        "OrderingTimestamp": 100,
    }
    token = rule.loop.results.issue_token(rule.loop.rule.name)
    rule.sandbox.client("config").put_evaluations(Evaluations=[stored], ResultToken=token)
    rule.tell(item(vpc))
    [found] = bus.taken()
    assert isinstance(found, VerdictChanged)
    assert (found.old_compliance, found.old_reason) == (Compliance.NON_COMPLIANT, None)


def test_many_subnets_are_published_in_batches(bus: Bus, rule: Rule, builder: Builder, vpc: Private) -> None:
    """A change of 31 subnets is four requests of at most ten events, and the stored results are read once before the report."""
    builder.make_main(vpc.vpc, vpc.table)
    subnets = builder.many_subnets(vpc.vpc, 30)
    rule.sandbox.calls.clear()
    rule.tell(item(vpc))
    puts = rule.sandbox.calls.of("events", "PutEvents")
    assert [len(put.parameters["Entries"]) for put in puts] == [10, 10, 10, 1]
    assert changes(bus.taken()).keys() == {*subnets, vpc.subnet}
    assert rule.sandbox.calls.of("config", "GetComplianceDetailsByResource") == []
    called = [call.operation for call in rule.sandbox.calls.of("config")]
    assert called == ["GetComplianceDetailsByConfigRule", "PutEvaluations", "GetComplianceDetailsByConfigRule"]


def test_a_read_older_than_the_stored_result_publishes_nothing(
    bus: Bus, rule: Rule, builder: Builder, vpc: Private
) -> None:
    """AWS Config ignores an older result, so consumers do not hear of it either."""

    def overtake() -> None:
        builder.endpoint(vpc.vpc, vpc.table)
        rule.tell(item(vpc))

    rule.sandbox.faults.before("config", "GetComplianceDetailsByResource", overtake)
    rule.tell(item(vpc, LATER))
    assert rule.held()[vpc.subnet].reason == "ENDPOINT"
    assert changes(bus.taken()) == {vpc.subnet: (None, "ENDPOINT")}


def test_a_deleted_subnet_is_always_published(bus: Bus, rule: Rule, vpc: Private) -> None:
    """Consumers hear of a deletion also if AWS Config has removed the result; other NOT_APPLICABLE results are none."""
    isolated = item(vpc, resourceType="AWS::EC2::Subnet", resourceId="subnet-0", configuration=None)
    rule.tell({**isolated, "configurationItemStatus": "ResourceDeleted"})
    assert changes(bus.taken()) == {"subnet-0": (None, "DELETED")}
    rule.tell(item(vpc, resourceType="AWS::EC2::Subnet", resourceId=vpc.subnet), eventLeftScope=True)
    assert bus.taken() == []


def test_a_sweep_publishes_changes_then_everything(
    bus: Bus, sandbox: Sandbox, builder: Builder, vpc: Private, capsys: pytest.CaptureFixture[str]
) -> None:
    """Changes, the snapshot of all subnets, and the numbers, all with one sweep id; without changes, the rest."""
    rule = Rule(sandbox)
    builder.tag(vpc.public_subnet, "express-path:exclude", "true")
    isolated = builder.subnet(vpc.vpc)
    rule.sweep()
    first = bus.taken()
    assert changes(first) == {vpc.subnet: (None, "NAT_GATEWAY")}
    snapshot, completed = first[1:]
    assert isinstance(snapshot, VerdictSnapshot)
    assert isinstance(completed, SweepCompleted)
    found = {row.verdict.subnet_id: str(row.verdict.reason) for row in snapshot.verdicts}
    assert found.items() >= {vpc.subnet: "NAT_GATEWAY", vpc.public_subnet: "EXCLUDED"}.items()
    assert isolated in found
    assert completed.summary.subnets == len(found)
    assert completed.summary.excluded == (ExcludedSubnets("express-path:exclude", 1),)
    assert len({event.run for event in first}) == 1
    assert first[0].run.sweep_id is not None
    rule.sweep()
    second = bus.taken()
    assert [type(event) for event in second] == [VerdictSnapshot, SweepCompleted]
    assert second[0].run.sweep_id != first[0].run.sweep_id
    printed = capsys.readouterr().out.splitlines()
    swept = [line for line in map(json.loads, printed) if line["message"] == "swept"]
    assert [line["sweepId"] for line in swept] == [first[0].run.sweep_id, second[0].run.sweep_id]
    assert swept[0]["excluded"] == [{"by": "express-path:exclude", "subnets": 1}]
    assert swept[0]["counts"]["NON_COMPLIANT"] == swept[0]["reasons"]["NAT_GATEWAY"] == 1


def test_a_retried_sweep_has_the_same_id(bus: Bus, rule: Rule, vpc: Private) -> None:
    """The id comes from the scheduled event, the time from the read. A subnet that vanished is published as DELETED."""
    rule.sweep()
    rule.invoke(rule.loop.deliveries[-1].event)
    first, second = (event.run for event in bus.taken() if isinstance(event, SweepCompleted))
    assert first.sweep_id == second.sweep_id
    assert first.ordering_timestamp < second.ordering_timestamp
    rule.sandbox.client("ec2").delete_subnet(SubnetId=vpc.subnet)
    rule.sweep()
    events = bus.taken()
    assert changes(events) == {vpc.subnet: ("NAT_GATEWAY", "DELETED")}
    assert vpc.subnet not in {
        row.verdict.subnet_id for event in events if isinstance(event, VerdictSnapshot) for row in event.verdicts
    }


def test_test_mode_publishes_nothing(bus: Bus, rule: Rule, vpc: Private) -> None:
    """With the token TESTMODE, nothing is read to compare with, published, or counted."""
    rule.tell(item(vpc), resultToken="TESTMODE")
    assert bus.taken() == []
    assert rule.sandbox.calls.of("events", "PutEvents") == []
    assert rule.sandbox.calls.of("config", "GetComplianceDetailsByResource") == []


def test_rejected_evaluations_do_not_hide_accepted_ones(bus: Bus, rule: Rule, builder: Builder, vpc: Private) -> None:
    """If AWS Config rejects one subnet, the change of the other is published, because a retry would not find it."""
    endpoint = builder.endpoint(vpc.vpc, vpc.table)
    rule.loop.results.rejected.add(vpc.subnet)
    changed = item(vpc, resourceType="AWS::EC2::VPCEndpoint", resourceId=endpoint)
    with pytest.raises(ReportError):
        rule.tell(changed)
    assert changes(bus.taken()) == {vpc.public_subnet: (None, "INTERNET_GATEWAY")}
    rule.loop.results.rejected.clear()
    rule.tell(changed)
    assert changes(bus.taken()) == {vpc.subnet: (None, "ENDPOINT")}


def test_stored_results_that_cannot_be_read_delay_nothing(
    bus: Bus, rule: Rule, vpc: Private, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    """The verdict is reported, and published as a change without an old result; the log has a warning."""
    rule.tell(item(vpc))
    bus.taken()
    rule.sandbox.faults.deny("config", "GetComplianceDetailsByResource")
    rule.tell(item(vpc, LATER))
    assert changes(bus.taken()) == {vpc.subnet: (None, "NAT_GATEWAY")}
    warning = next(line for line in logged() if line["level"] == "WARNING")
    assert "config:GetComplianceDetailsByResource failed with AccessDenied" in warning["error"]


@pytest.mark.usefixtures("vpc")
def test_rejected_entries_are_put_again(bus: Bus, rule: Rule) -> None:
    """A request that succeeds may contain entries that fail: these are put again, and the others are not."""
    rule.sandbox.eventbridge.fail_entries("ThrottlingException", times=1, detail_type="SweepCompleted")
    rule.sweep()
    kinds = [
        [entry["DetailType"] for entry in put.parameters["Entries"]]
        for put in rule.sandbox.calls.of("events", "PutEvents")
    ]
    assert kinds == [["VerdictChanged", "VerdictChanged", "VerdictSnapshot"], ["SweepCompleted"], ["SweepCompleted"]]
    assert len(bus.taken()) == 4


@pytest.mark.parametrize("how", ["entries", "request", "denied"])
def test_events_that_cannot_be_put_never_fail_a_report(
    bus: Bus,
    sandbox: Sandbox,
    vpc: Private,
    how: str,
    logged: Callable[[], list[dict[str, Any]]],
) -> None:
    """AWS Config has the results, the failure is logged, and the next snapshot has every verdict."""
    rule = Rule(sandbox)
    outage = {
        "entries": lambda: sandbox.eventbridge.fail_entries("InternalFailure"),
        "request": lambda: sandbox.faults.fail("events", "PutEvents", "ValidationException", 400),
        "denied": lambda: sandbox.faults.deny("events", "PutEvents"),
    }
    outage[how]()
    rule.sweep()
    assert rule.loop.deliveries[-1].error is None
    assert rule.held()[vpc.subnet].reason == "NAT_GATEWAY"
    assert bus.taken() == []
    lines = [line for line in logged() if line["message"] == "events not published"]
    assert [(line["level"], line["events"]) for line in lines] == [("ERROR", 3), ("ERROR", 1)]
    sandbox.faults.clear()
    sandbox.eventbridge.succeed()
    rule.sweep()
    snapshot, completed = bus.taken()
    assert isinstance(snapshot, VerdictSnapshot)
    assert {row.verdict.subnet_id for row in snapshot.verdicts} >= {vpc.subnet, vpc.public_subnet}
    assert isinstance(completed, SweepCompleted)

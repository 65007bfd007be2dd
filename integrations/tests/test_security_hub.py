"""The Security Hub function, with AWS Config and Security Hub in the sandbox."""

import json
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from config_rule_sandbox.config.results import Result
from config_rule_sandbox.server import Sandbox
from express_path.domain.path.reasons import Reason
from express_path.errors import ApiError, FindingsError, RecordError, SettingError
from express_path_integrations.adapters.messages import parse_message
from express_path_integrations.findings import RuleScope
from express_path_integrations.handlers import security_hub
from express_path_integrations.handlers.security_hub import compose_services
from integrations.tests.hub import ACCOUNT, LATER, REGION, SUBNET, Hub, at
from tests.support.network import Builder, Private
from tests.support.rule import RULE, Context

NAT, PARTLY, GOOD, EXCLUDED, DELETED = (
    Reason.NAT_GATEWAY,
    Reason.PARTLY_NAT,
    Reason.ENDPOINT,
    Reason.EXCLUDED,
    Reason.DELETED,
)
ONE = "subnet-1"


@pytest.fixture
def hub(sandbox: Sandbox) -> Hub:
    """Return Security Hub with the function."""
    return Hub(sandbox)


def workflow(hub: Hub, status: str) -> None:
    """Set the workflow status of the subnet's finding as a person does."""
    finding = hub.finding(ONE)
    hub.sandbox.client("securityhub").batch_update_findings(
        FindingIdentifiers=[{"Id": finding["Id"], "ProductArn": finding["ProductArn"]}], Workflow={"Status": status}
    )


def test_own_findings_are_created_updated_and_closed(hub: Hub) -> None:
    """Only failing subnets get a finding; it becomes PASSED and ARCHIVED when the subnet does not fail anymore."""
    hub.deliver(hub.evaluate(ONE, NAT, at(1)), hub.evaluate("subnet-2", GOOD, at(1)))
    finding = hub.finding(ONE)
    assert len(hub.store.all()) == 1
    assert finding["Id"] == "s3express-no-nat-path/123456789012/us-east-1/subnet-1"
    assert (finding["UpdatedAt"], finding["Compliance"]["Status"]) == (
        hub.clock.isoformat(timespec="milliseconds"),
        "FAILED",
    )
    assert finding["FindingProviderFields"]["Severity"] == {"Label": "MEDIUM"}
    text = finding["Remediation"]["Recommendation"]["Text"]
    assert text.startswith("Associate route table rtb-1 with a gateway endpoint")
    assert text.endswith("Command: express-path explain subnet-1 --region us-east-1")
    assert finding["ProductFields"]["express-path/path"] == "0.0.0.0/0 -> nat-1"
    workflow(hub, "NOTIFIED")
    hub.deliver(hub.evaluate(ONE, PARTLY, at(2)))
    assert hub.live() == {ONE: "PARTLY_NAT"}
    assert hub.finding(ONE)["CreatedAt"] == finding["CreatedAt"]
    assert hub.finding(ONE)["Workflow"]["Status"] == "NOTIFIED"
    for minute, reason in ((3, GOOD), (5, EXCLUDED), (7, DELETED)):
        hub.deliver(hub.evaluate(ONE, reason, at(minute)))
        closed = hub.finding(ONE)
        assert (closed["Compliance"]["Status"], closed["RecordState"]) == ("PASSED", "ARCHIVED")
        assert closed["Severity"] == {"Label": "INFORMATIONAL"}
        hub.deliver(hub.evaluate(ONE, NAT, at(minute + 1)))
        assert hub.live() == {ONE: "NAT_GATEWAY"}
    assert hub.finding(ONE)["Workflow"]["Status"] == "NEW"


def test_own_findings_are_imported_in_batches_and_refreshed_before_they_expire(hub: Hub) -> None:
    """One call imports up to 100 findings; a sweep without a change imports nothing for 30 days."""
    for number in range(110):
        hub.store_result(f"subnet-{number}", NAT, at(1))
    hub.deliver(hub.sweep_completed(at(2)))
    calls = hub.sandbox.calls.of("securityhub", "BatchImportFindings")
    assert [len(call.parameters["Findings"]) for call in calls] == [100, 10]
    reads = hub.sandbox.calls.of("securityhub", "GetFindings")
    assert len(reads) == 7, "one read of active findings, and one for 20 subnets"
    assert len(hub.sandbox.calls.of("config")) == 2, "one read for 100 results"
    hub.writes()
    hub.deliver(hub.sweep_completed(at(3)))
    assert hub.writes() == []
    hub.clock += timedelta(days=31)
    hub.deliver(hub.sweep_completed(at(4)))
    assert hub.writes() == ["BatchImportFindings"] * 2


def test_place_and_owner_are_those_of_ec2(hub: Hub, builder: Builder) -> None:
    """The VPC, the zone, and the tags of a finding come from EC2, also after a tag changed, and not from an event."""
    vpc = Private(builder)
    for resource_id, key, value in (
        (vpc.subnet, "note", " "),
        (vpc.table, "owner", "payments"),
        (vpc.vpc, "owner", "network"),
        (vpc.vpc, "cost", "7"),
    ):
        builder.tag(resource_id, key, value)
    hub.store_result(vpc.subnet, NAT, at(1), table_id=vpc.table)
    hub.deliver(hub.sweep_completed(at(1)))
    [resource] = hub.finding(vpc.subnet)["Resources"]
    assert resource["Details"]["AwsEc2Subnet"]["VpcId"] == vpc.vpc
    assert resource["Details"]["AwsEc2Subnet"]["AvailabilityZoneId"].startswith("use1-az")
    assert resource["Tags"] == {"owner": "payments", "cost": "7"}, "Security Hub rejects blank values"
    builder.tag(vpc.subnet, "owner", "search")
    hub.deliver(hub.sweep_completed(at(2)))
    assert hub.finding(vpc.subnet)["Resources"][0]["Tags"] == {"owner": "search", "cost": "7"}


def test_own_findings_follow_config_where_events_are_lost(hub: Hub) -> None:
    """The end of a sweep closes findings without a failing result, and creates those that are missing."""
    hub.deliver(hub.evaluate(ONE, NAT, at(1)), hub.evaluate("subnet-2", NAT, at(1)))
    hub.store_result("subnet-2", GOOD, at(2))
    hub.results.results.pop((RULE.name, (SUBNET, ONE)))
    hub.store_result("subnet-3", PARTLY, at(2))
    hub.deliver(hub.sweep_completed(at(3)))
    assert hub.live() == {"subnet-3": "PARTLY_NAT"}
    assert hub.finding(ONE)["ProductFields"]["express-path/reason"] == "NAT_GATEWAY"
    assert hub.finding("subnet-2")["ProductFields"]["express-path/reason"] == "ENDPOINT"
    hub.store_result("subnet-4", NAT, at(4))
    hub.results.results.pop((RULE.name, (SUBNET, "subnet-3")))
    hub.deliver(hub.compliance_change("subnet-4", at(4)), hub.compliance_change("subnet-3", at(4)))
    assert hub.live() == {"subnet-4": "NAT_GATEWAY"}


def test_rejected_import_fails_only_its_message(hub: Hub) -> None:
    """FailedFindings are reported for their messages; if no message succeeds, the function raises an error."""
    events = [hub.evaluate(f"subnet-{number}", NAT, at(1)) for number in range(3)]
    bad = "s3express-no-nat-path/123456789012/us-east-1/subnet-1"
    hub.store.failing = {bad: ["InternalError"] * 3}
    assert hub.deliver(*events, {"source": "express-path"}) == ["3", "1"]
    assert hub.deliver(*events, hub.sweep_completed(at(0))) == ["1", "3"]
    with pytest.raises(FindingsError, match="subnet-1: InternalError"):
        hub.deliver(events[1])
    assert hub.deliver(events[1]) == []
    assert len(hub.live()) == 3


@pytest.mark.parametrize("seed", range(3))
def test_late_repeated_and_reordered_events_lead_to_the_present_state(sandbox: Sandbox, seed: int) -> None:
    """After each delivery order, with failing calls in between, findings are those of the results in AWS Config."""
    hub, chance = Hub(sandbox), random.Random(seed)
    subnet_ids = [f"subnet-{number}" for number in range(8)]
    events = []
    for minute in range(40):
        subnet_id, reason = chance.choice(subnet_ids), chance.choice([NAT, PARTLY, GOOD, EXCLUDED, DELETED])
        events.append(hub.evaluate(subnet_id, reason, at(minute)))
        if chance.random() < 0.3:
            events.append(hub.compliance_change(subnet_id, at(minute)))
        if chance.random() < 0.3:
            hub.results.clean_up()
        if chance.random() < 0.5:
            events = deliver_some(hub, events, chance)
    events += events[:10]
    while events:
        events = deliver_some(hub, events, chance)
    failing = {
        result.resource[1]: str(result.annotation).partition(":")[0]
        for result in hub.results.of_rule(RULE.name)
        if result.compliance == "NON_COMPLIANT"
    }
    assert hub.live() == failing
    assert all(row["Compliance"]["Status"] != "NOT_AVAILABLE" for row in hub.ours())
    hub.writes()
    hub.deliver(hub.sweep_completed(at(50)))
    assert hub.writes() == [], "a sweep finds nothing to repair"


def deliver_some(hub: Hub, events: list[dict[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    """Deliver some events in any order, while a call fails now and then; return those that the queue still has."""
    chance.shuffle(events)
    batch, rest = events[:12], events[12:]
    if chance.random() < 0.3:
        operation = chance.choice(["GetFindings", "BatchImportFindings"])
        hub.sandbox.faults.fail("securityhub", operation, "InternalException", 400, times=1)
        try:
            failed = hub.deliver(*batch)
        except ApiError:
            return batch + rest
        finally:
            hub.sandbox.faults.clear()
    else:
        failed = hub.deliver(*batch)
    return [batch[int(number)] for number in failed] + rest


def test_events_of_other_rules_accounts_and_regions_are_ignored(hub: Hub) -> None:
    """Messages about anything else lead to no call."""
    event = hub.evaluate(ONE, NAT, at(1))
    others: list[dict[str, Any]] = []
    for key, value in (("ruleName", "other"), ("accountId", "210987654321"), ("region", "eu-west-1")):
        sender = {"account": value} if key == "accountId" else {key: value}
        others.append({**event, **sender, "detail": {**event["detail"], key: value}})
    change = hub.compliance_change(ONE, at(1))
    others.append({**change, "detail": {**change["detail"], "configRuleName": "other"}})
    assert hub.deliver(*others) == []
    assert len(hub.sandbox.calls) == 0


@pytest.mark.parametrize(
    "event",
    [
        {"source": "aws.ec2", "detail-type": "other"},
        {"source": "express-path", "detail-type": "Other"},
        {"source": "aws.config", "detail-type": "Config Rules Compliance Change"},
    ],
)
def test_message_that_cannot_be_read_fails_alone(
    hub: Hub, event: dict[str, Any], logged: Callable[[], list[dict[str, Any]]]
) -> None:
    """A message that cannot be read is logged and reported as failed, so that it ends in the failed queue."""
    assert hub.deliver(event, hub.sweep_completed(at(1))) == ["0"]
    assert [line["message"] for line in logged()] == ["message not read", "findings written"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"detail-type": "VerdictSnapshot"}, "detail-type"),
        ({"detail": "{}"}, "detail"),
        ({"account": "210987654321"}, "account"),
        ({"region": "us-west-2"}, "region"),
        ({"schemaVersion": 2}, "schemaVersion"),
        ({"ruleName": ""}, "ruleName"),
        ({"subnetId": None}, "subnetId"),
        ({"subnetId": "subnet-1;touch x"}, "subnetId"),
        ({"orderingTimestamp": "2026-11-22T23:14:05"}, "orderingTimestamp"),
    ],
)
def test_event_that_the_rule_did_not_send_is_rejected(hub: Hub, changes: dict[str, Any], field: str) -> None:
    """The error names the field. The detail must be about the account and the Region of the event."""
    event = hub.evaluate(ONE, NAT, at(1))
    for name, value in changes.items():
        (event if name in event else event["detail"])[name] = value
    with pytest.raises(RecordError) as raised:
        parse_message({"body": json.dumps(event)}, RuleScope(ACCOUNT, REGION, RULE.name), LATER)
    assert raised.value.field == field


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+01:00", (LATER + timedelta(hours=1)).isoformat()])
def test_bad_times_fail_only_their_message(hub: Hub, time: str) -> None:
    """A time in year 1 cannot be converted to UTC, and an event from the future would hide every later one."""
    event = hub.evaluate(ONE, NAT, at(1))
    bad = {**event, "detail": {**event["detail"], "orderingTimestamp": time}}
    assert hub.deliver(bad, hub.sweep_completed(at(0))) == ["0"]


def test_compliance_change_must_name_the_subnet(hub: Hub) -> None:
    """AWS Config's event is read strictly."""
    event = hub.compliance_change(ONE, at(1))
    event["detail"]["resourceId"] = ""
    assert hub.deliver(event) == ["0"]


def test_account_without_security_hub_has_nothing_to_write(
    sandbox: Sandbox, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    """If Security Hub is not enabled, messages are dropped with a warning."""
    hub = Hub(sandbox)
    sandbox.client("securityhub").disable_security_hub()
    assert hub.deliver(hub.evaluate(ONE, NAT, at(1))) == []
    assert "Security Hub is not enabled" in logged()[0]["message"]


def test_failing_reads_fail_the_whole_batch(hub: Hub) -> None:
    """The queue delivers the messages again if AWS Config or Security Hub cannot be read."""
    event = hub.evaluate(ONE, NAT, at(1))
    hub.sandbox.faults.deny("config", "GetComplianceDetailsByResource")
    with pytest.raises(ApiError, match="config:GetComplianceDetailsByResource"):
        hub.deliver(event)


def test_result_that_cannot_be_read_fails_only_its_message(hub: Hub) -> None:
    """Its finding stays, also after a sweep, and the other messages of the batch are applied."""
    assert hub.deliver(hub.evaluate(ONE, NAT, at(1))) == []
    hub.results.store(Result(RULE.name, (SUBNET, ONE), "COMPLIANT", 2e9, 2e9, 2e9, "by hand"))
    changed = hub.compliance_change(ONE, at(2))
    assert hub.deliver(changed, hub.evaluate("subnet-2", NAT, at(2))) == ["0"]
    assert hub.live() == {ONE: "NAT_GATEWAY", "subnet-2": "NAT_GATEWAY"}
    with pytest.raises(FindingsError, match="result of subnet-1: field Annotation is 'by hand'"):
        hub.deliver(hub.sweep_completed(at(3)))
    assert hub.live() == {ONE: "NAT_GATEWAY", "subnet-2": "NAT_GATEWAY"}


def test_settings_are_checked() -> None:
    """The function needs the name of the rule."""
    with pytest.raises(SettingError, match="RULE_NAME"):
        compose_services({}, "123456789012")


def test_event_must_have_records(hub: Hub) -> None:
    """An invocation without messages is an error that names the field."""
    services = compose_services(hub.environment, hub.sandbox.account_id)
    with pytest.raises(RecordError, match="Records"):
        security_hub.handler({}, Context(), services)

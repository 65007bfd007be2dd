"""The Security Hub function in both modes, with AWS Config and Security Hub in the sandbox."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from express_path.domain.path.reasons import Reason
from express_path.errors import ApiError, EventError, FindingsError, RecordError, SettingError
from express_path.handlers import security_hub
from express_path.handlers.security_hub import compose_services
from sandbox.config_service import Result
from sandbox.server import Sandbox
from tests.support.rule import RULE, Context
from tests.support.security_hub import SUBNET, Hub, at, published

NAT, PARTLY, GOOD, EXCLUDED, DELETED = (
    Reason.NAT_GATEWAY,
    Reason.PARTLY_NAT,
    Reason.ENDPOINT,
    Reason.EXCLUDED,
    Reason.DELETED,
)
ONE = "subnet-1"


@pytest.fixture
def enrich(sandbox: Sandbox) -> Hub:
    """Return Security Hub with the function in mode ENRICH."""
    return Hub(sandbox, "ENRICH")


@pytest.fixture
def rich(sandbox: Sandbox) -> Hub:
    """Return Security Hub with the function in mode RICH."""
    return Hub(sandbox, "RICH")


def workflow(hub: Hub, status: str) -> None:
    """Set the workflow status of the subnet's finding as a person does."""
    finding = hub.finding(ONE)
    hub.sandbox.client("securityhub").batch_update_findings(
        FindingIdentifiers=[{"Id": finding["Id"], "ProductArn": finding["ProductArn"]}], Workflow={"Status": status}
    )


def test_native_finding_gets_note_severity_and_fields(enrich: Hub) -> None:
    """An event adds path, NAT, and remedy to the native finding, and the event of that update leads to no call."""
    event = enrich.evaluate(ONE, Reason.NAT_BEYOND_TRANSIT_GATEWAY, at(1))
    enrich.forward()
    enrich.imported()
    assert enrich.deliver(event) == []
    finding = enrich.finding(ONE)
    assert finding["Note"]["UpdatedBy"] == "express-path"
    assert "-> nat-1 in rtb-1. Remedy: Associate rtb-1 with vpce-1. Command: aws ec2" in finding["Note"]["Text"]
    assert finding["Severity"] == {"Label": "HIGH"}
    assert finding["UserDefinedFields"] == {
        "express-path/compliance": "NON_COMPLIANT",
        "express-path/reason": "NAT_BEYOND_TRANSIT_GATEWAY",
        "express-path/annotation": finding["Note"]["Text"].partition(". Remedy")[0],
        "express-path/routeTableId": "rtb-1",
        "express-path/path": "0.0.0.0/0 -> nat-1",
        "express-path/remedy": "Associate rtb-1 with vpce-1.",
        "express-path/command": "aws ec2 modify-vpc-endpoint --vpc-endpoint-id vpce-1",
        "express-path/orderingTimestamp": "2026-11-22T00:01:00.000+00:00",
    }
    assert finding["Workflow"]["Status"] == "NEW"
    assert enrich.writes() == ["BatchUpdateFindings"]
    assert enrich.settle() == 1
    assert len(enrich.sandbox.calls) == 0, "the function's own update leads to no call at all"


def test_late_native_finding_is_enriched_when_it_arrives(enrich: Hub) -> None:
    """A finding that arrives after the rule's event gets the stored result, and the next snapshot adds the rest."""
    event = enrich.evaluate(ONE, NAT, at(1))
    assert enrich.deliver(event) == []
    assert enrich.writes() == []
    enrich.forward()
    assert enrich.settle() == 2
    finding = enrich.finding(ONE)
    assert "nat-1 in rtb-1. Remedy: Associate route table rtb-1 with" in finding["Note"]["Text"]
    assert "Command: express-path explain subnet-1 --region us-east-1" in finding["Note"]["Text"]
    assert enrich.writes() == ["BatchUpdateFindings"]
    enrich.deliver(*enrich.snapshot([published(ONE, NAT)], at(9)), enrich.sweep_completed(at(9)))
    assert "vpce-1" in enrich.finding(ONE)["UserDefinedFields"]["express-path/command"]
    assert enrich.writes() == ["BatchUpdateFindings"]
    enrich.deliver(*enrich.snapshot([published(ONE, NAT)], at(10)), enrich.sweep_completed(at(10)))
    assert enrich.writes() == [], "a sweep without a change writes nothing"
    assert enrich.settle() == 1


@pytest.mark.parametrize("reason", [GOOD, EXCLUDED, DELETED])
def test_workflow_is_resolved_and_reopened(enrich: Hub, reason: Reason) -> None:
    """A subnet that does not fail anymore has RESOLVED; if it fails again, the status is NEW again."""
    enrich.store_result(ONE, NAT, at(1))
    enrich.forward()
    enrich.settle()
    enrich.deliver(enrich.evaluate(ONE, reason, at(2)))
    finding = enrich.finding(ONE)
    assert (finding["Workflow"]["Status"], finding["Severity"]) == ("RESOLVED", {"Label": "INFORMATIONAL"})
    assert finding["Note"]["Text"] == f"{reason}: all is well."
    assert finding["UserDefinedFields"]["express-path/resolvedByRule"] == "true"
    enrich.forward()
    enrich.settle()
    assert enrich.live() == {}
    enrich.deliver(enrich.evaluate(ONE, PARTLY, at(3)))
    assert enrich.finding(ONE)["Workflow"]["Status"] == "NEW"
    assert "express-path/resolvedByRule" not in enrich.finding(ONE)["UserDefinedFields"]
    enrich.forward()
    enrich.settle()
    assert enrich.live() == {ONE: "PARTLY_NAT"}


def test_decisions_of_people_are_kept(enrich: Hub) -> None:
    """A suppressed finding is not changed, one that a person resolved stays resolved, and a person's note is kept."""
    enrich.store_result(ONE, NAT, at(1))
    enrich.forward()
    enrich.settle()
    workflow(enrich, "SUPPRESSED")
    before = enrich.finding(ONE)
    enrich.deliver(enrich.evaluate(ONE, PARTLY, at(2)), *enrich.imported(), enrich.sweep_completed(at(3)))
    assert enrich.finding(ONE) == before
    workflow(enrich, "RESOLVED")
    note = {"Text": "We are on it.", "UpdatedBy": "jane"}
    identifier = {"Id": before["Id"], "ProductArn": before["ProductArn"]}
    client = enrich.sandbox.client("securityhub")
    client.batch_update_findings(FindingIdentifiers=[identifier], Note=note)
    enrich.deliver(enrich.evaluate(ONE, NAT, at(4)), enrich.evaluate(ONE, PARTLY, at(5)))
    finding = enrich.finding(ONE)
    assert (finding["Workflow"]["Status"], finding["Note"]["Text"]) == ("RESOLVED", "We are on it.")
    assert enrich.reason(finding) == "PARTLY_NAT"


def test_reset_of_the_workflow_by_security_hub_is_undone(enrich: Hub) -> None:
    """Security Hub sets NEW if a passed finding is NOT_AVAILABLE; its event leads to RESOLVED again."""
    enrich.store_result(ONE, NAT, at(1))
    enrich.forward()
    enrich.settle()
    enrich.deliver(enrich.evaluate(ONE, GOOD, at(2)))
    enrich.forward()
    enrich.deliver(enrich.evaluate(ONE, EXCLUDED, at(3)))
    enrich.imported()
    enrich.forward()
    assert enrich.finding(ONE)["Workflow"]["Status"] == "NEW"
    enrich.results.clean_up()
    enrich.settle()
    assert enrich.finding(ONE)["Workflow"]["Status"] == "RESOLVED"
    assert enrich.reason(enrich.finding(ONE)) == "EXCLUDED"


def test_native_finding_that_never_failed_is_left_alone(enrich: Hub) -> None:
    """Most subnets are compliant, and their findings cost no call."""
    enrich.deliver(enrich.evaluate(ONE, GOOD, at(1)))
    enrich.forward()
    enrich.settle()
    enrich.deliver(enrich.sweep_completed(at(2)))
    assert enrich.writes() == []
    assert "Note" not in enrich.finding(ONE)


def test_deleted_subnet_leaves_no_live_finding_even_if_every_event_is_lost(enrich: Hub) -> None:
    """The end of a sweep resolves findings for which AWS Config has no result."""
    enrich.store_result(ONE, NAT, at(1))
    enrich.forward()
    enrich.settle()
    enrich.results.forget_rule(RULE.name)
    enrich.deliver(enrich.sweep_completed(at(0)))
    assert enrich.live() == {ONE: "NAT_GATEWAY"}, "a sweep before the evaluation says nothing about it"
    enrich.deliver(enrich.sweep_completed(at(2)))
    assert enrich.live() == {}
    assert "AWS Config has no result" in enrich.finding(ONE)["Note"]["Text"]
    enrich.writes()
    enrich.settle()
    enrich.deliver(enrich.sweep_completed(at(3)))
    assert enrich.writes() == []
    enrich.deliver(enrich.evaluate(ONE, NAT, at(3)))
    assert enrich.live() == {ONE: "NAT_GATEWAY"}


def test_same_values_are_set_with_one_call_and_failures_are_reported(enrich: Hub) -> None:
    """Findings that get the same values share a call; a concurrent update is tried again; others fail their message."""
    subnet_ids = [f"subnet-{number}" for number in range(120)]
    for subnet_id in subnet_ids:
        enrich.store_result(subnet_id, NAT, at(1))
    enrich.forward()
    events = enrich.imported()
    enrich.deliver(*events)
    enrich.results.forget_rule(RULE.name)
    enrich.writes()
    again, gone, bad = (enrich.finding(subnet_ids[number])["Id"] for number in (3, 4, 5))
    enrich.store.failing = {again: ["ConcurrentUpdateError"], gone: ["FindingNotFound"], bad: ["InternalFailure"] * 2}
    with pytest.raises(FindingsError, match="rejected 1 findings, the first: subnet-5: InternalFailure"):
        enrich.deliver(enrich.sweep_completed(at(2)))
    calls = enrich.sandbox.calls.of("securityhub", "BatchUpdateFindings")
    assert [len(call.parameters["FindingIdentifiers"]) for call in calls] == [100, 2, 20]
    enrich.deliver(enrich.sweep_completed(at(3)))
    assert enrich.live() == {}


def test_own_findings_are_created_updated_and_closed(rich: Hub) -> None:
    """Only failing subnets get a finding; it becomes PASSED and ARCHIVED when the subnet does not fail anymore."""
    rich.deliver(rich.evaluate(ONE, NAT, at(1)), rich.evaluate("subnet-2", GOOD, at(1)))
    finding = rich.finding(ONE)
    assert len(rich.store.all()) == 1
    assert finding["Id"] == "s3express-no-nat-path/123456789012/us-east-1/subnet-1"
    assert (finding["UpdatedAt"], finding["Compliance"]["Status"]) == ("2026-11-22T00:01:00.000+00:00", "FAILED")
    assert finding["FindingProviderFields"]["Severity"] == {"Label": "MEDIUM"}
    assert "Command: aws ec2" in finding["Remediation"]["Recommendation"]["Text"]
    workflow(rich, "NOTIFIED")
    rich.deliver(rich.evaluate(ONE, PARTLY, at(2)))
    assert rich.live() == {ONE: "PARTLY_NAT"}
    assert rich.finding(ONE)["CreatedAt"] == finding["CreatedAt"]
    assert rich.finding(ONE)["Workflow"]["Status"] == "NOTIFIED"
    for minute, reason in ((3, GOOD), (5, EXCLUDED), (7, DELETED)):
        rich.deliver(rich.evaluate(ONE, reason, at(minute)))
        closed = rich.finding(ONE)
        assert (closed["Compliance"]["Status"], closed["RecordState"]) == ("PASSED", "ARCHIVED")
        assert closed["Severity"] == {"Label": "INFORMATIONAL"}
        rich.deliver(rich.evaluate(ONE, NAT, at(minute + 1)))
        assert rich.live() == {ONE: "NAT_GATEWAY"}
    assert rich.finding(ONE)["Workflow"]["Status"] == "NEW"


def test_own_findings_are_imported_in_batches_and_refreshed_before_they_expire(rich: Hub) -> None:
    """One call imports up to 100 findings; a snapshot without a change imports nothing for 30 days."""
    subnet_ids = [f"subnet-{number}" for number in range(110)]
    verdicts = [rich.store_result(subnet_id, NAT, at(1)) for subnet_id in subnet_ids]
    rich.deliver(*rich.snapshot(verdicts, at(2)))
    calls = rich.sandbox.calls.of("securityhub", "BatchImportFindings")
    assert [len(call.parameters["Findings"]) for call in calls] == [100, 10]
    reads = rich.sandbox.calls.of("securityhub", "GetFindings")
    assert len(reads) == 6, "one read for 20 subnets"
    assert len(rich.sandbox.calls.of("config")) == 2, "one read for 100 results"
    rich.writes()
    rich.deliver(*rich.snapshot(verdicts, at(3)), rich.sweep_completed(at(3)))
    assert rich.writes() == []
    rich.deliver(*rich.snapshot(verdicts[:5], at(31 * 24 * 60)))
    assert rich.writes() == ["BatchImportFindings"]


def test_own_findings_follow_config_where_events_are_lost(rich: Hub) -> None:
    """The end of a sweep closes findings without a failing result, and creates those that are missing."""
    rich.deliver(rich.evaluate(ONE, NAT, at(1)), rich.evaluate("subnet-2", NAT, at(1)))
    rich.store_result("subnet-2", GOOD, at(2))
    rich.results.results.pop((RULE.name, (SUBNET, ONE)))
    rich.store_result("subnet-3", PARTLY, at(2))
    rich.deliver(rich.sweep_completed(at(3)))
    assert rich.live() == {"subnet-3": "PARTLY_NAT"}
    assert rich.finding(ONE)["ProductFields"]["express-path/reason"] == "NAT_GATEWAY"
    assert rich.finding("subnet-2")["ProductFields"]["express-path/reason"] == "ENDPOINT"
    rich.store_result("subnet-4", NAT, at(4))
    rich.results.results.pop((RULE.name, (SUBNET, "subnet-3")))
    rich.deliver(rich.compliance_change("subnet-4", at(4)), rich.compliance_change("subnet-3", at(4)))
    assert rich.live() == {"subnet-4": "NAT_GATEWAY"}


def test_rejected_import_fails_only_its_message(rich: Hub) -> None:
    """FailedFindings are reported for their messages; if no message succeeds, the function raises an error."""
    events = [rich.evaluate(f"subnet-{number}", NAT, at(1)) for number in range(3)]
    bad = "s3express-no-nat-path/123456789012/us-east-1/subnet-1"
    rich.store.failing = {bad: ["InternalError"] * 3}
    assert rich.deliver(*events, {"source": "express-path"}) == ["3", "1"]
    assert rich.deliver(*events, rich.sweep_completed(at(0))) == ["1", "3"]
    with pytest.raises(FindingsError, match="subnet-1: InternalError"):
        rich.deliver(events[1])
    assert rich.deliver(events[1]) == []
    assert len(rich.live()) == 3


@pytest.mark.parametrize("mode", ["ENRICH", "RICH"])
@pytest.mark.parametrize("seed", range(3))
def test_late_repeated_and_reordered_events_lead_to_the_present_state(sandbox: Sandbox, mode: str, seed: int) -> None:
    """After each delivery order, with failing calls in between, findings are those of the results in AWS Config."""
    hub, chance = Hub(sandbox, mode), random.Random(seed)
    subnet_ids = [f"subnet-{number}" for number in range(8)]
    events = []
    for minute in range(40):
        subnet_id, reason = chance.choice(subnet_ids), chance.choice([NAT, PARTLY, GOOD, EXCLUDED, DELETED])
        events.append(hub.evaluate(subnet_id, reason, at(minute)))
        if chance.random() < 0.3:
            events.append(hub.compliance_change(subnet_id, at(minute)))
        if chance.random() < 0.3:
            hub.results.clean_up()
        if chance.random() < 0.4:
            hub.forward()
            events += hub.imported() if mode == "ENRICH" else []
        if chance.random() < 0.5:
            events = deliver_some(hub, events, chance)
    hub.forward()
    events += events[:10]
    while events:
        events = deliver_some(hub, events, chance)
        events += hub.imported() if mode == "ENRICH" else []
    failing = {
        result.resource[1]: str(result.annotation).partition(":")[0]
        for result in hub.results.of_rule(RULE.name)
        if result.compliance == "NON_COMPLIANT"
    }
    assert hub.live() == failing
    assert mode == "ENRICH" or all(row["Compliance"]["Status"] != "NOT_AVAILABLE" for row in hub.ours())
    hub.writes()
    hub.deliver(hub.sweep_completed(at(50)))
    hub.settle()
    assert hub.writes() == [], "a sweep finds nothing to repair"


def deliver_some(hub: Hub, events: list[dict[str, Any]], chance: random.Random) -> list[dict[str, Any]]:
    """Deliver some events in any order, while a call fails now and then; return those that the queue still has."""
    chance.shuffle(events)
    batch, rest = events[:12], events[12:]
    if chance.random() < 0.3:
        operation = chance.choice(["GetFindings", "BatchUpdateFindings", "BatchImportFindings"])
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


def test_events_of_other_rules_accounts_and_regions_are_ignored(enrich: Hub) -> None:
    """Messages about anything else lead to no call."""
    event = enrich.evaluate(ONE, NAT, at(1))
    enrich.forward()
    others: list[dict[str, Any]] = []
    for key, value in (("ruleName", "other"), ("accountId", "210987654321"), ("region", "eu-west-1")):
        others.append({**event, "detail": {**event["detail"], key: value}})
    change = enrich.compliance_change(ONE, at(1))
    others.append({**change, "detail": {**change["detail"], "configRuleName": "other"}})
    [imported] = enrich.imported()
    [finding] = imported["detail"]["findings"]
    changes: list[dict[str, str]] = [{"Title": "other"}, {"AwsAccountId": "210987654321"}, {"Region": "eu-west-1"}]
    others += [{**imported, "detail": {"findings": [{**finding, **changed}]}} for changed in changes]
    assert enrich.deliver(*others) == []
    assert len(enrich.sandbox.calls) == 0


@pytest.mark.parametrize(
    "event",
    [
        {"source": "aws.ec2", "detail-type": "other"},
        {"source": "express-path", "detail-type": "Other"},
        {"source": "aws.securityhub", "detail-type": "Security Hub Findings - Imported", "detail": {}},
        {"source": "aws.config", "detail-type": "Config Rules Compliance Change"},
    ],
)
def test_message_that_cannot_be_read_fails_alone(
    enrich: Hub, event: dict[str, Any], logged: Callable[[], list[dict[str, Any]]]
) -> None:
    """A message that cannot be read is logged and reported as failed, so that it ends in the failed queue."""
    assert enrich.deliver(event, enrich.sweep_completed(at(1))) == ["0"]
    assert [line["message"] for line in logged()] == ["message not read", "findings written"]


@pytest.mark.parametrize("field", ["orderingTimestamp", "time", "Resources"])
def test_bad_values_fail_only_their_message(enrich: Hub, field: str) -> None:
    """A time in year 1 with a time zone cannot be converted to UTC, and a finding may name no subnet."""
    event = enrich.evaluate(ONE, NAT, at(1))
    enrich.forward()
    [imported] = enrich.imported()
    bad = event if field == "orderingTimestamp" else imported
    year_1 = "0001-01-01T00:00:00+01:00"
    if field == "orderingTimestamp":
        bad = {**bad, "detail": {**bad["detail"], field: year_1}}
    elif field == "time":
        bad = {**bad, "time": year_1}
    else:
        [finding] = bad["detail"]["findings"]
        bad = {**bad, "detail": {"findings": [{**finding, "Resources": [{"Type": "Other", "Id": "x"}]}]}}
    assert enrich.deliver(bad, enrich.sweep_completed(at(2))) == ["0"]


@pytest.mark.parametrize("missing", ["resourceId", "orderingTimestamp"])
def test_compliance_change_must_name_the_subnet_and_the_time(enrich: Hub, missing: str) -> None:
    """AWS Config's event is read strictly."""
    event = enrich.compliance_change(ONE, at(1))
    identifier = event["detail"]["newEvaluationResult"]["evaluationResultIdentifier"]
    (event["detail"] if missing == "resourceId" else identifier)[missing] = "" if missing == "resourceId" else "now"
    assert enrich.deliver(event) == ["0"]


def test_account_without_security_hub_has_nothing_to_write(
    sandbox: Sandbox, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    """If Security Hub is not enabled, messages are dropped with a warning."""
    hub = Hub(sandbox, "RICH")
    sandbox.client("securityhub").disable_security_hub()
    assert hub.deliver(hub.evaluate(ONE, NAT, at(1))) == []
    assert "Security Hub is not enabled" in logged()[0]["message"]


def test_failing_reads_fail_the_whole_batch(enrich: Hub) -> None:
    """The queue delivers the messages again if AWS Config or Security Hub cannot be read."""
    event = enrich.evaluate(ONE, NAT, at(1))
    enrich.forward()
    enrich.sandbox.faults.deny("config", "GetComplianceDetailsByResource")
    with pytest.raises(ApiError, match="config:GetComplianceDetailsByResource"):
        enrich.deliver(event)
    enrich.sandbox.faults.clear()
    enrich.results.store(Result(RULE.name, (SUBNET, ONE), "NON_COMPLIANT", 2e9, 2e9, 2e9, "by hand"))
    with pytest.raises(RecordError, match="result of subnet-1: field Annotation is 'by hand'"):
        enrich.deliver(event)


@pytest.mark.parametrize("environment", [{}, {"SECURITY_HUB_MODE": "NATIVE"}, {"SECURITY_HUB_MODE": "RICH"}])
def test_settings_are_checked(environment: dict[str, str]) -> None:
    """The function needs a mode in which it writes findings, and the name of the rule."""
    with pytest.raises(SettingError, match="must be"):
        compose_services(environment, "123456789012")


def test_event_must_have_records(enrich: Hub) -> None:
    """An invocation without messages is an error that names the field."""
    services = compose_services(enrich.environment, enrich.sandbox.account_id)
    with pytest.raises(EventError, match="Records"):
        security_hub.handler({}, Context(), services)

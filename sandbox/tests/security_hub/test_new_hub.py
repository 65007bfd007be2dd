"""The new Security Hub (https://docs.aws.amazon.com/securityhub/1.0/APIReference/API_GetFindingsV2.html)."""

import time
from typing import Any

import pytest

from config_rule_sandbox.answers import NewHubFindings
from config_rule_sandbox.config.results import Result, results_of
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.security_hub.new_hub import NEW, SUPPRESSED
from config_rule_sandbox.server import Sandbox

TITLE = "finding_info.title"


def titled(title: str, **more: str) -> dict[str, Any]:
    """Return filters by the title."""
    tests = [{"FieldName": TITLE, "Filter": {"Value": title, "Comparison": "EQUALS", **more}}]
    return {"CompositeFilters": [{"StringFilters": tests}]}


def suppress(sandbox: Sandbox, title: str) -> str:
    """Create an automation rule that suppresses findings with a title, and return its ID."""
    made = sandbox.client("securityhub").create_automation_rule_v2(
        RuleName="quiet",
        Description="Suppresses.",
        RuleOrder=1,
        Criteria={"OcsfFindingCriteria": titled(title)},
        Actions=[{"Type": "FINDING_FIELDS_UPDATE", "FindingFieldsUpdate": {"StatusId": SUPPRESSED}}],
    )
    return str(made["RuleId"])


@pytest.fixture(autouse=True)
def results(sandbox: Sandbox) -> None:
    """Store a NON_COMPLIANT result of each of two rules, and one that is COMPLIANT."""
    now = time.time()
    for rule, compliance in (("first", "NON_COMPLIANT"), ("second", "NON_COMPLIANT"), ("third", "COMPLIANT")):
        result = Result(rule, ("AWS::EC2::Subnet", "subnet-1"), compliance, now, now, now)
        results_of(sandbox.account_id, sandbox.region).store(result)


def statuses(sandbox: Sandbox, **given: Any) -> dict[str, int]:
    """Return the status of each finding by its title."""
    found = sandbox.client("securityhub").get_findings_v2(**given)["Findings"]
    return {finding["finding_info"]["title"]: finding["status_id"] for finding in found}


def test_rule_suppresses_what_matches_until_it_is_deleted(sandbox: Sandbox) -> None:
    """Each NON_COMPLIANT result is a finding with the rule's name as the title."""
    assert statuses(sandbox) == {"first": NEW, "second": NEW}
    rule_id = suppress(sandbox, "first")
    assert statuses(sandbox) == {"first": SUPPRESSED, "second": NEW}
    assert statuses(sandbox, Filters=titled("second")) == {"second": NEW}
    hub = sandbox.client("securityhub")
    hub.delete_automation_rule_v2(Identifier=rule_id)
    assert statuses(sandbox) == {"first": NEW, "second": NEW}
    assert refused(hub.delete_automation_rule_v2, Identifier=rule_id) == "ResourceNotFoundException"
    assert refused(hub.get_findings_v2, Filters=titled("first", Comparison="PREFIX")) == "ValidationException"


def test_findings_may_be_missing_or_named_differently(sandbox: Sandbox) -> None:
    """Then the automation rule suppresses nothing."""
    suppress(sandbox, "first")
    sandbox.answers.new_hub_findings = NewHubFindings.NAMED_DIFFERENTLY
    assert list(statuses(sandbox).values()) == [NEW, NEW]
    sandbox.answers.new_hub_findings = NewHubFindings.NONE
    assert statuses(sandbox) == {}

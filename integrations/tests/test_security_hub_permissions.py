"""The role of the Security Hub function, with permissions enforced by resource and condition."""

import json
import os
from typing import Any

import pytest

from express_path.domain.path.reasons import Reason
from sandbox.config_items.direct import direct_client
from sandbox.iam_conditions import enforced
from sandbox.refusals import refused
from sandbox.server import Sandbox
from tests.support.security_hub import Hub, at
from tests.support.template import expanded

LISTED: dict[str, list[str]] = {
    "ENRICH": ["BatchUpdateFindings", "GetFindings"],
    "RICH": ["BatchImportFindings", "GetFindings"],
}
IDENTIFIER = {"Id": "finding", "ProductArn": "arn:aws:securityhub:us-east-1::product/aws/config"}


def credentials(sandbox: Sandbox, mode: str) -> dict[str, str]:
    """Create the template's role, and return credentials of it."""
    template = expanded(SecurityHubMode=mode)
    role = template.deployed(template.properties("SecurityHubRole"))
    iam = direct_client(sandbox, "iam")
    name = template.deployed("<SecurityHubRole>")
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(role["AssumeRolePolicyDocument"]))
    [policy] = role["Policies"]
    iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=json.dumps(policy["PolicyDocument"]))
    return sandbox.assume(str(template.deployed("<SecurityHubRole.Arn>")))


@pytest.mark.parametrize("mode", ["ENRICH", "RICH"])
def test_role_is_enough_and_calls_are_those_it_allows(
    sandbox: Sandbox, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the role's permissions, findings are written, closed, and reconciled, by exactly the listed operations."""
    hub = Hub(sandbox, mode)
    for name, value in credentials(sandbox, mode).items():
        monkeypatch.setitem(os.environ, name.upper(), value)
    event = hub.evaluate("subnet-1", Reason.NAT_GATEWAY, at(1))
    hub.forward()
    with enforced(sandbox):
        hub.deliver(event)
        assert hub.live() == {"subnet-1": "NAT_GATEWAY"}
        hub.deliver(hub.evaluate("subnet-1", Reason.DELETED, at(2)))
        assert hub.live() == {}
        hub.deliver(hub.sweep_completed(at(3)))
    calls = [call for call in sandbox.calls if call.service in ("config", "securityhub") and not call.error]
    assert {call.operation for call in calls if call.service == "securityhub"} == set(LISTED[mode])
    assert {call.operation for call in calls if call.service == "config"} == {
        "GetComplianceDetailsByConfigRule",
        "GetComplianceDetailsByResource",
    }
    assert not [call for call in sandbox.calls if call.error]


def test_role_cannot_suppress_or_touch_other_attributes(sandbox: Sandbox) -> None:
    """In mode ENRICH, IAM refuses what the function never does: suppress, set other attributes, or import."""
    Hub(sandbox, "ENRICH")
    client = sandbox.client("securityhub", credentials=credentials(sandbox, "ENRICH"))
    note = {"Text": "text", "UpdatedBy": "somebody"}
    values: list[dict[str, Any]] = [
        {"Workflow": {"Status": "SUPPRESSED"}},
        {"Workflow": {"Status": "NOTIFIED"}},
        {"Confidence": 1},
        {"VerificationState": "FALSE_POSITIVE"},
        {"Note": note},
    ]
    with enforced(sandbox):
        for value in values:
            code = refused(client.batch_update_findings, FindingIdentifiers=[IDENTIFIER], **value)
            assert code == "AccessDeniedException", value
        client.batch_update_findings(FindingIdentifiers=[IDENTIFIER], Workflow={"Status": "RESOLVED"})
        assert refused(client.batch_import_findings, Findings=[finding(sandbox.account_id)]) == "AccessDeniedException"


def test_role_imports_only_findings_of_its_own_account(sandbox: Sandbox) -> None:
    """In mode RICH, IAM refuses findings of another account or product."""
    Hub(sandbox, "RICH")
    client = sandbox.client("securityhub", credentials=credentials(sandbox, "RICH"))
    with enforced(sandbox):
        answer = client.batch_import_findings(Findings=[finding(sandbox.account_id)])
        assert answer["SuccessCount"] == 1
        other = {**finding(sandbox.account_id), "AwsAccountId": "210987654321"}
        assert refused(client.batch_import_findings, Findings=[other]) == "AccessDeniedException"
        product = "arn:aws:securityhub:us-east-1:123456789012:product/company/product"
        other = {**finding(sandbox.account_id), "ProductArn": product}
        assert refused(client.batch_import_findings, Findings=[other]) == "AccessDeniedException"


def finding(account_id: str) -> dict[str, Any]:
    """Return a small finding."""
    return {
        "SchemaVersion": "2018-10-08",
        "Id": "finding",
        "ProductArn": f"arn:aws:securityhub:us-east-1:{account_id}:product/{account_id}/default",
        "GeneratorId": "rule",
        "AwsAccountId": account_id,
        "CreatedAt": "2026-11-22T00:00:00Z",
        "UpdatedAt": "2026-11-22T00:00:00Z",
        "Title": "title",
        "Description": "text",
        "Resources": [{"Type": "Other", "Id": "resource"}],
    }

"""The role of the integrations, with permissions enforced by resource and condition."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.iam.requests import enforced
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox
from express_path.domain.path.reasons import Reason
from integrations.tests.hub import Hub, at
from tests.support.template import INTEGRATIONS, expanded

LISTED: dict[str, dict[str, list[str]]] = json.loads((Path(__file__).parents[1] / "operations.json").read_bytes())
ROLE = "SecurityHubRole"


def credentials(sandbox: Sandbox) -> dict[str, str]:
    """Create the template's role, and return credentials of it."""
    template = expanded(INTEGRATIONS)
    role, name = template.deployed(template.properties(ROLE)), template.deployed(f"<{ROLE}>")
    iam, trust = direct_client(sandbox, "iam"), json.dumps(role["AssumeRolePolicyDocument"])
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust, Path=role["Path"])
    [policy] = role["Policies"]
    iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=json.dumps(policy["PolicyDocument"]))
    return sandbox.assume(str(template.deployed(f"<{ROLE}.Arn>")))


@contextmanager
def by_role(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let new clients act as the role, and enforce permissions."""
    for name, value in credentials(sandbox).items():
        monkeypatch.setitem(os.environ, name.upper(), value)
    with enforced(sandbox):
        yield


def test_security_hub_role_is_enough_and_calls_are_those_it_allows(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the role's permissions, findings are written, closed, and reconciled, by exactly the listed operations."""
    hub, subnet_id = Hub(sandbox), any_subnet(sandbox)
    event = hub.evaluate(subnet_id, Reason.NAT_GATEWAY, at(1))
    with by_role(sandbox, monkeypatch):
        hub.deliver(event)
        assert hub.live() == {subnet_id: "NAT_GATEWAY"}
        hub.deliver(hub.evaluate(subnet_id, Reason.DELETED, at(2)))
        assert hub.live() == {}
        hub.deliver(hub.sweep_completed(at(3)))
        assert called(sandbox) == LISTED["security_hub"]


def any_subnet(sandbox: Sandbox) -> str:
    """Return the ID of a subnet that exists, and forget the call that finds it."""
    subnet_id = str(direct_client(sandbox, "ec2").describe_subnets()["Subnets"][0]["SubnetId"])
    sandbox.calls.clear()
    return subnet_id


def called(sandbox: Sandbox) -> dict[str, list[str]]:
    """Return the operations that were called, by service; none failed."""
    calls = [call for call in sandbox.calls if call.service in ("config", "ec2", "securityhub")]
    assert not [call for call in calls if call.error]
    found: dict[str, set[str]] = {}
    for call in calls:
        found.setdefault(call.service, set()).add(call.operation)
    return {service: sorted(operations) for service, operations in found.items()}


def test_role_imports_only_findings_of_its_own_account(sandbox: Sandbox) -> None:
    """IAM refuses findings of another account or product."""
    Hub(sandbox)
    client = sandbox.client("securityhub", credentials=credentials(sandbox))
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

"""The roles of the integrations, with permissions enforced by resource and condition, and the policy of the OCSF bus."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from express_path.domain.path.reasons import Reason
from express_path_integrations.adapters.ocsf import DETAIL_TYPE, SOURCE
from integrations.tests.hub import Hub, at
from integrations.tests.siem import Siem
from sandbox.config_items.direct import direct_client
from sandbox.iam import enforced
from sandbox.refusals import refused
from sandbox.server import Sandbox
from tests.support.template import INTEGRATIONS, Expanded, expanded

LISTED: dict[str, dict[str, list[str]]] = json.loads((Path(__file__).parents[1] / "operations.json").read_bytes())


def stack() -> Expanded:
    """Return the stack with both integrations."""
    return expanded(INTEGRATIONS, SecurityHubMode="RICH", OcsfEvents="ON")


def credentials(sandbox: Sandbox, logical_id: str) -> dict[str, str]:
    """Create one of the template's roles, and return credentials of it."""
    template = stack()
    role, name = template.deployed(template.properties(logical_id)), template.deployed(f"<{logical_id}>")
    iam, trust = direct_client(sandbox, "iam"), json.dumps(role["AssumeRolePolicyDocument"])
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust, Path=role["Path"])
    [policy] = role["Policies"]
    iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=json.dumps(policy["PolicyDocument"]))
    return sandbox.assume(str(template.deployed(f"<{logical_id}.Arn>")))


@contextmanager
def by_role(sandbox: Sandbox, logical_id: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let new clients act as a role, and enforce permissions."""
    for name, value in credentials(sandbox, logical_id).items():
        monkeypatch.setitem(os.environ, name.upper(), value)
    with enforced(sandbox):
        yield


def test_security_hub_role_is_enough_and_calls_are_those_it_allows(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the role's permissions, findings are written, closed, and reconciled, by exactly the listed operations."""
    hub, subnet_id = Hub(sandbox), any_subnet(sandbox)
    event = hub.evaluate(subnet_id, Reason.NAT_GATEWAY, at(1))
    with by_role(sandbox, "SecurityHubRole", monkeypatch):
        hub.deliver(event)
        assert hub.live() == {subnet_id: "NAT_GATEWAY"}
        hub.deliver(hub.evaluate(subnet_id, Reason.DELETED, at(2)))
        assert hub.live() == {}
        hub.deliver(hub.sweep_completed(at(3)))
        assert called(sandbox) == LISTED["security_hub"]


def test_ocsf_role_is_enough_and_calls_are_those_it_allows(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the role's permissions, findings are published, remembered, and closed, by exactly the listed operations."""
    siem = Siem(sandbox)
    event = siem.hub.evaluate(any_subnet(sandbox), Reason.NAT_GATEWAY, at(1))
    sandbox.calls.clear()
    with by_role(sandbox, "OcsfRole", monkeypatch):
        siem.deliver(event)
        siem.hub.results.forget_rule(siem.hub.run(at(1)).rule_name)
        siem.deliver(siem.hub.sweep_completed(at(3)))
        assert called(sandbox) == LISTED["ocsf"]
    assert [finding["activity_name"] for finding in siem.findings()] == ["Create", "Close"]


def any_subnet(sandbox: Sandbox) -> str:
    """Return the ID of a subnet that exists, and forget the call that finds it."""
    subnet_id = str(direct_client(sandbox, "ec2").describe_subnets()["Subnets"][0]["SubnetId"])
    sandbox.calls.clear()
    return subnet_id


def called(sandbox: Sandbox) -> dict[str, list[str]]:
    """Return the operations that were called, by service; none failed."""
    calls = [call for call in sandbox.calls if call.service in ("config", "dynamodb", "ec2", "events", "securityhub")]
    assert not [call for call in calls if call.error]
    found: dict[str, set[str]] = {}
    for call in calls:
        found.setdefault(call.service, set()).add(call.operation)
    return {service: sorted(operations) for service, operations in found.items()}


def test_only_the_ocsf_function_publishes_findings_and_nothing_else(sandbox: Sandbox) -> None:
    """The role puts events of its own source only, and the bus refuses every other role, whatever it is allowed."""
    Siem(sandbox)
    ours = sandbox.client("events", credentials=credentials(sandbox, "OcsfRole"))
    iam = direct_client(sandbox, "iam")
    iam.create_role(RoleName="other", AssumeRolePolicyDocument="{}")
    anything = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}
    iam.put_role_policy(RoleName="other", PolicyName="p", PolicyDocument=json.dumps(anything))
    role = f"arn:aws:iam::{sandbox.account_id}:role/other"
    other = sandbox.client("events", credentials=sandbox.assume(role))
    bus = str(stack().deployed("<OcsfBus>"))
    entry = {"Source": SOURCE, "DetailType": DETAIL_TYPE, "Detail": "{}", "EventBusName": bus}
    with enforced(sandbox):
        assert ours.put_events(Entries=[entry])["FailedEntryCount"] == 0
        assert refused(ours.put_events, Entries=[{**entry, "Source": "express-path"}]) == "AccessDeniedException"
        assert refused(other.put_events, Entries=[entry]) == "AccessDeniedException"


def test_role_imports_only_findings_of_its_own_account(sandbox: Sandbox) -> None:
    """IAM refuses findings of another account or product."""
    Hub(sandbox)
    client = sandbox.client("securityhub", credentials=credentials(sandbox, "SecurityHubRole"))
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

"""Every role and every policy of every template: what each may do exists in AWS's reference, with a path and a boundary."""

import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.support.iam import faults, lacking
from tests.support.template import INTEGRATIONS, MAIN, ROOT, Expanded, expanded, source

ORGANIZATION = {"OrganizationId": "o-a1b2c3d4e5"}
BOUNDARY = "arn:aws:iam::123456789012:policy/team/boundary"
LEDGER = {"DeployingRoleArn": "arn:aws:iam::123456789012:role/deploy"}
EVERYTHING = {
    **LEDGER,
    "NetworkRoleArn": "arn:aws:iam::210987654321:role/express-path/network-reader",
    "EndpointPolicyParameter": "/network/policy",
    "ChangeCalendarName": "changes",
    "AlarmTopicArn": "arn:aws:sns:us-east-1:210987654321:alarms",
    "ApprovalTopicArn": "arn:aws:sns:us-east-1:123456789012:AutomationApprovals",
    "ApprovalTopicKeyArn": "arn:aws:kms:us-east-1:123456789012:alias/topics",
}
PARAMETERS = {
    MAIN: EVERYTHING,
    INTEGRATIONS: {},
    "org/audit-role.yaml": {
        "AuditorArn": "arn:aws:iam::210987654321:role/Audits",
        "ArtifactBucketPrefix": "example",
        "NetworkRoleArn": "arn:aws:iam::210987654321:role/express-path/network-reader",
        "EndpointPolicyParameter": "/network/policy",
    },
    "org/artifact-bucket.yaml": {**ORGANIZATION, "ArtifactBucketPrefix": "example"},
    "org/ledger.yaml": LEDGER,
    "org/monitoring.yaml": {**ORGANIZATION, "ArtifactBucketPrefix": "example", "CodeKey": f"{'0' * 64}.zip"},
    "org/network-role.yaml": {**ORGANIZATION, "ExternalId": "example-id"},
    "org/operator-role.yaml": {"OperatorArn": "arn:aws:iam::210987654321:role/OnCall", "LedgerTableName": "ledger"},
}
"""The templates with policies, each with the parameters that add all of its statements."""


def statements(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the policy statements in part of a template."""
    if isinstance(node, dict) and "Effect" in node:
        yield node
        return
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from statements(child)


def deployed(template: str, **parameters: str) -> Expanded:
    """Return a template with all of its statements."""
    return expanded(template, **PARAMETERS[template], **parameters)


def test_every_template_with_a_policy_is_covered() -> None:
    """A new template with a policy must be added to the list."""

    def is_built(path: Path) -> bool:
        return any(part.startswith((".", "build")) for part in path.relative_to(ROOT).parts)

    files = [path for path in ROOT.glob("**/*.yaml") if not is_built(path)]
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}
    templates = {name for name, text in texts.items() if text.startswith("AWSTemplateFormatVersion")}
    assert {name for name in templates if list(statements(source(name)))} == PARAMETERS.keys()


@pytest.mark.parametrize("template", PARAMETERS)
def test_every_statement_names_actions_resources_and_keys_that_exist(template: str) -> None:
    """Actions exist, resources are of types that the actions support, and so are condition keys. Nothing is left out."""
    stack = deployed(template)
    found = [stack.deployed(row) for row in statements(stack.resources)]
    assert {row["Sid"] for row in statements(source(template)) if "Sid" in row} <= {row.get("Sid") for row in found}
    of_person = template == "org/audit-role.yaml"
    assert [(row.get("Sid"), fault) for row in found for fault in faults(row, of_person=of_person)] == []


@pytest.mark.parametrize("template", PARAMETERS)
def test_every_action_is_allowed_on_all_types_that_a_request_needs(template: str) -> None:
    """Starting an automation, for example, needs the document and the execution."""
    stack = deployed(template)
    roles = [stack.deployed(row["Properties"]) for row in stack.resources.values() if is_role(row)]
    names = [f"<{name}>" for name, row in stack.resources.items() if is_role(row)]
    attached = [row["Properties"] for row in stack.resources.values() if row["Type"] == "AWS::IAM::RolePolicy"]
    for name, role in zip(names, roles, strict=True):
        of_role = [stack.deployed(row) for row in attached if row["RoleName"] == name]
        assert lacking(list(statements([role.get("Policies", []), of_role]))) == []


@pytest.mark.parametrize("template", PARAMETERS)
def test_no_part_of_a_statement_is_ever_empty(template: str) -> None:
    """Whichever parameters are set: an empty list or text in a condition matches nothing, or AWS refuses the policy."""
    stack, known = Expanded(template, **PARAMETERS[template]), source(template)["Parameters"]
    others = {"AdoptIacOwned": "true", "LedgerTableName": "earlier"}
    given = {name: value for name, value in (PARAMETERS[template] | others).items() if name in known}
    resources = [row for row in source(template)["Resources"].values() if list(statements(row))]
    for chosen in product(*({known[name].get("Default", value), value} for name, value in given.items())):
        stack.values = {**stack.values, **dict(zip(given, chosen, strict=True))}
        found = [stack.resolve(row) for row in resources if "Condition" not in row or stack.condition(row["Condition"])]
        assert not re.search(r'""|\[\]|\{\}', json.dumps(list(statements(found))))


@pytest.mark.parametrize("template", PARAMETERS)
def test_every_role_has_the_path_and_the_boundary(template: str) -> None:
    """Policies of an organization can name all roles by their path, and an account can require a boundary for each."""
    for boundary in ({}, {"PermissionsBoundaryArn": BOUNDARY}):
        if boundary.keys() <= source(template)["Parameters"].keys():
            roles = [row["Properties"] for row in deployed(template, **boundary).resources.values() if is_role(row)]
            assert [role for role in roles if not role["Path"].startswith("/express-path/")] == []
            assert {role.get("PermissionsBoundary") for role in roles} <= {boundary.get("PermissionsBoundaryArn")}
    has_role = any(map(is_role, source(template)["Resources"].values()))
    assert has_role == ("PermissionsBoundaryArn" in source(template)["Parameters"])


def is_role(resource: dict[str, Any]) -> bool:
    """Return whether a resource of a template is a role."""
    return bool(resource["Type"] == "AWS::IAM::Role")

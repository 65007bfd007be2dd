"""The policies of people are made from one source, and hold a deployer to a permissions boundary where there is one."""

import json
from typing import Any

import pytest

from config_rule_sandbox.iam.policies import Authorization, is_allowed
from config_rule_sandbox.iam.reference import action, matching
from org.policies import AUDITOR, EXAMPLE_ACCOUNT, FILES, IN_ONE_ACCOUNT, as_policy, written
from tests.support.documented import documented
from tests.support.iam import actions, faults
from tests.support.template import ROOT, expanded, source

BOUNDARY = "arn:aws:iam::111122223333:policy/boundary"
DEPLOYER = json.loads((ROOT / "deployer-policy.json").read_bytes())["Statement"]
DENIED: list[dict[str, Any]] = json.loads(
    (ROOT / "deployer-boundary-policy.json").read_text(encoding="utf-8").replace("PERMISSIONS-BOUNDARY-ARN", BOUNDARY)
)["Statement"]
ROLE = "arn:aws:iam::111122223333:role/express-path/automation/anything"
BOUNDARY_KEY = "iam:PermissionsBoundary"
TAKES_AWAY_ONLY = {
    *("iam:DeleteRole", "iam:DeleteRolePolicy", "iam:DetachRolePolicy"),
    *("iam:UpdateRole", "iam:UpdateRoleDescription"),  # the duration of sessions, and the description
}
"""What gives a role no permission, and nobody the role."""
PAGES = [ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("name", FILES)
def test_files_are_as_the_source_says(name: str) -> None:
    """Whoever changes org/policies.py runs `python -m org.policies`."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert written(name, text) == text


def test_an_auditor_reads_a_network_as_a_scan_does() -> None:
    """The role of org shadow has the actions that docs/troubleshoot.md has for a scan, and changes nothing."""
    [scan] = documented("ReadNetwork")
    rows = {row.sid: row for row in AUDITOR}
    assert rows["ReadNetwork"].actions == scan["Action"]
    statements = json.loads(as_policy(AUDITOR, EXAMPLE_ACCOUNT))["Statement"]
    assert [fault for row in statements for fault in faults(row, of_person=True)] == []
    allowed = {name for row in statements for name in actions(row)}
    assert {name for name in allowed if not action(name).is_read} == {"sts:AssumeRole"}


def test_a_page_starts_and_passes_no_more_than_the_operator() -> None:
    """Wherever a page prints a policy, runbooks have their exact names, and only roles of the runbooks are passed."""
    printed = [
        block.partition("```")[0] for page in PAGES for block in page.read_text(encoding="utf-8").split("```json\n")[1:]
    ]
    policies = [json.loads(block) for block in printed if '"Statement"' in block]
    statements = [row for policy in policies for row in policy["Statement"]]
    starts = [row for row in statements if "ssm:StartAutomationExecution" in actions(row)]
    passes = [row for row in statements if "iam:PassRole" in actions(row)]
    assert [row["Sid"] for row in starts] == ["Undo", "Heal"]
    assert {row["Resource"] for row in passes} == {"arn:aws:iam::111122223333:role/express-path/automation/*"}
    decoys = ("xS3ExpressGatewayEndpointx", "RemoveS3ExpressGatewayEndpoint-decoy", "AddS3ExpressGatewayEndpointx")
    for name in decoys:
        for kind in (f"document/{name}", f"automation-definition/{name}:1"):
            wanted = Authorization("ssm:StartAutomationExecution", f"arn:aws:ssm:us-east-1:111122223333:{kind}", {})
            assert not is_allowed(starts, wanted), kind


@pytest.mark.parametrize(
    "function", ["express-path-PlanFunction-1a2b", "StackSet-express-path-ou-ab12-PlanFunction-1a2b"]
)
def test_the_policy_of_one_account_reads_the_function_of_any_stack(function: str) -> None:
    """Also of one that a StackSet deployed, whose ledger only a parameter and the function name."""
    statements = json.loads(as_policy(IN_ONE_ACCOUNT, EXAMPLE_ACCOUNT))["Statement"]
    arn = f"arn:aws:lambda:us-east-1:{EXAMPLE_ACCOUNT}:function:{function}"
    assert is_allowed(statements, Authorization("lambda:GetFunctionConfiguration", arn, {}))


@pytest.mark.parametrize(
    ("name", "boundary", "allowed"),
    [
        ("iam:CreateRole", BOUNDARY, True),
        ("iam:CreateRole", "", False),
        ("iam:CreateRole", "arn:aws:iam::aws:policy/AdministratorAccess", False),
        ("iam:PutRolePolicy", BOUNDARY, True),
        ("iam:PutRolePolicy", "", False),
        ("iam:AttachRolePolicy", "", False),
        ("iam:PutRolePermissionsBoundary", "arn:aws:iam::aws:policy/AdministratorAccess", False),
        ("iam:DeleteRolePermissionsBoundary", BOUNDARY, False),
        ("iam:UpdateAssumeRolePolicy", BOUNDARY, True),
        ("iam:UpdateAssumeRolePolicy", "", False),
        ("iam:DeleteRole", "", True),
    ],
)
def test_a_deployer_is_held_to_the_boundary(name: str, boundary: str, *, allowed: bool) -> None:
    """Without the second policy, everything here is allowed."""
    wanted = Authorization(name, ROLE, {"iam:PermissionsBoundary": [boundary]} if boundary else {})
    assert is_allowed(DEPLOYER, wanted)
    assert is_allowed([*DEPLOYER, *DENIED], wanted) is allowed
    assert [fault for row in DENIED for fault in faults(row, of_person=True)] == []


def test_no_role_without_the_boundary_gains_anything() -> None:
    """What a deployer may do with roles that have no boundary, wherever IAM says which boundary a role has."""
    wanted = [action(name) for name in matching("iam:*")]
    with_boundary = [known.name for known in wanted if BOUNDARY_KEY in known.keys]
    allowed = {name for name in with_boundary if is_allowed([*DEPLOYER, *DENIED], Authorization(name, ROLE))}
    assert "iam:CreateRole" in with_boundary
    assert {name for name in allowed if not action(name).is_read} == TAKES_AWAY_ONLY


def test_roles_of_the_stacks_have_the_boundary() -> None:
    """With PermissionsBoundaryArn, CloudFormation asks for each role with the boundary."""
    for template in ("template.yaml", "integrations/template.yaml"):
        assert "PermissionsBoundaryArn" in source(template)["Parameters"]
        stack = expanded(template, PermissionsBoundaryArn=BOUNDARY)
        roles = [row["Properties"] for row in stack.resources.values() if row["Type"] == "AWS::IAM::Role"]
        assert roles
        assert {role["PermissionsBoundary"] for role in roles} == {BOUNDARY}

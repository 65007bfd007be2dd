"""The StackSet of a roll-out, with what commands look up in its instances."""

import json
from typing import Any

from config_rule_sandbox.server import Sandbox
from tests.support.heals import TRUST
from tests.support.ledgers import LEDGER

STACK_SET = "express-path-workloads"


def _role(name: str) -> dict[str, Any]:
    properties = {
        "RoleName": {"Fn::Sub": f"{name}-${{AWS::Region}}"},
        "Path": "/express-path/automation/",
        "AssumeRolePolicyDocument": TRUST,
    }
    return {"Type": "AWS::IAM::Role", "Properties": properties}


TEMPLATE: dict[str, Any] = {
    "Parameters": {name: {"Type": "String"} for name in ("RemediationMode", "CodeKey", "LedgerTableName")},
    "Resources": {
        "AutomationRole": _role("automation"),
        "StopRole": _role("stop"),
        "PlanFunction": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "FunctionName": {"Fn::Sub": "plan-${AWS::AccountId}-${AWS::Region}"},
                "Role": {"Fn::GetAtt": ["AutomationRole", "Arn"]},
                "Handler": "handler",
                "Runtime": "python3.13",
                "Code": {"ZipFile": "-"},
            },
        },
    },
}
"""What commands look up in the instance of a StackSet."""


EMPTY: dict[str, Any] = TEMPLATE | {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
"""Another template with the same parameters."""


def deploy(
    sandbox: Sandbox,
    account_id: str,
    region: str,
    stack_set: str = STACK_SET,
    template: dict[str, Any] = TEMPLATE,
) -> None:
    """Deploy the roles and the function to an account and Region, with a StackSet of the management account."""
    administrator: Any = sandbox.client("cloudformation")
    if stack_set not in {row["StackSetName"] for row in administrator.list_stack_sets()["Summaries"]}:
        parameters = {"RemediationMode": "ON", "CodeKey": "0123.zip", "LedgerTableName": LEDGER}
        administrator.create_stack_set(
            StackSetName=stack_set,
            TemplateBody=json.dumps(template),
            PermissionModel="SERVICE_MANAGED",
            Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        )
    root = sandbox.client("organizations").list_roots()["Roots"][0]["Id"]
    targets = {"OrganizationalUnitIds": [root], "Accounts": [account_id], "AccountFilterType": "INTERSECTION"}
    administrator.create_stack_instances(StackSetName=stack_set, DeploymentTargets=targets, Regions=[region])

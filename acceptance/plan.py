"""What a run would do at AWS: every call with the IAM action that it needs, the policy, and what it costs."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from acceptance.facts import RECORDED, read
from acceptance.stack import TEMPLATES
from config_rule_sandbox.cloudformation.permissions import CREATE, DELETE, READ, UPDATE, of_resource
from config_rule_sandbox.iam.reference import action
from config_rule_sandbox.iam.requests import action_of
from config_rule_sandbox.iam.resources import Place

FURTHER = {
    "cloudformation:DescribeStackEvents",
    "servicequotas:GetAWSDefaultServiceQuota",
    "ssm:StopAutomationExecution",
}
"""What a run calls only if something fails or interrupts it."""
DEPLOYER = ("cloudformation", "cloudwatch", "dynamodb", "events", "iam", "lambda", "logs", "sqs")
"""Services in which deployer-policy.json allows everything on resources whose names begin like those of the run."""
NAMED = {
    "s3": "arn:aws:s3:::express-path-acceptance-*",
    "sns": "arn:aws:sns:*:*:Automation-express-path-acceptance-*",
}
"""The run's resources in services, of the others, whose ARNs have names."""
ROLES = "arn:aws:iam::*:role/express-path/*"
COSTS = """\
Costs at AWS, with the prices of us-east-1:
  $0.20  NAT gateways and their addresses: four hours, $0.045 and $0.005 each
  $0.20  transit gateway: two attachments for two hours each, $0.05 an hour
  $0.36  AWS Config: about 120 items of the run's resources, $0.003 each
  $0.17  AWS Config: about 170 results, $0.001 each
  $0.52  Systems Manager Automation: about 265 steps beyond the free ones, $0.002 each
  $0.05  Lambda, DynamoDB, S3, CloudWatch, SNS, SQS: less than this
  $1.50  in total, and $0.20 for each hour for which a run that is interrupted stays
"""
"""https://aws.amazon.com/vpc/pricing/, https://aws.amazon.com/transit-gateway/pricing/,
https://aws.amazon.com/config/pricing/, https://aws.amazon.com/systems-manager/pricing/."""


def policy(calls: Iterable[str]) -> dict[str, Any]:
    """Return what whoever runs it needs besides deployer-policy.json.

    Actions that change something are allowed only on the types of resources that they support: for the run's own resources
    where names tell them, and else in their service.
    """
    needed = {action_of(call) for call in calls} | _by_cloudformation() | FURTHER
    actions = defaultdict(set)
    for known in map(action, sorted(needed)):
        service = known.name.partition(":")[0]
        if known.types and service in DEPLOYER:
            continue
        if known.types and service in NAMED:
            actions[NAMED[service]].add(f"{service}:*")
        elif known.name == "sts:AssumeRole":
            actions[ROLES].add(known.name)
        elif known.types and not known.is_read:
            actions[f"arn:aws:{service}:*:*:*"].add(known.name)
        else:
            actions["*"].add(known.name)
    statements = [{"Effect": "Allow", "Action": sorted(actions[arn]), "Resource": arn} for arn in sorted(actions)]
    return {"Version": "2012-10-17", "Statement": statements}


def policies() -> list[dict[str, Any]]:
    """Return the policies of whoever runs it."""
    deployer: dict[str, Any] = json.loads((TEMPLATES.parents[1] / "deployer-policy.json").read_bytes())
    return [deployer, policy(read(RECORDED, "calls"))]


def _by_cloudformation() -> set[str]:
    """Return what CloudFormation calls with the permissions of whoever deploys the run's own stacks."""
    text = "".join(file.read_text(encoding="utf-8") for file in TEMPLATES.iterdir())
    handlers, place = (CREATE, READ, UPDATE, DELETE), Place("*", "*")
    return {
        needed.action
        for resource_type in set(re.findall(r"Type: (AWS::\w+::\w+)", text))
        for needed in of_resource(resource_type, handlers, "*", {"FunctionName": "*"}, place)
    }


def text() -> str:
    """Return all calls with their actions, the policy, and the costs.

    They are those that a run in the sandbox made, which are those of a run at AWS. `make acceptance` compares them.
    """
    calls = read(RECORDED, "calls")
    lines = [f"  {call:55} {action_of(call)}" for call in calls]
    shown = json.dumps(policy(calls), indent=1)
    return "\n".join(["Calls at AWS, and the actions that they need:", *lines, "The policy:", shown, COSTS])

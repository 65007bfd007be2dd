"""What a run would do at AWS: every call with the IAM action that it needs, the policy, and what it costs."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from acceptance.facts import RECORDED, read
from acceptance.stack import TEMPLATES

ACTIONS = {
    "s3:ListBuckets": "s3:ListAllMyBuckets",
    "s3:ListObjectsV2": "s3:ListBucket",
    "service-quotas:GetServiceQuota": "servicequotas:GetServiceQuota",
}
"""The action of an operation, if it is not the operation's name: https://docs.aws.amazon.com/service-authorization/."""
FURTHER = {
    "cloudformation:DescribeStackEvents",
    "s3:GetObject",
    "servicequotas:GetAWSDefaultServiceQuota",
    "ssm:StopAutomationExecution",
}
"""What CloudFormation needs to read what SAM uploads, and what a run calls only if something fails or interrupts it."""
NAMED = ("cloudformation", "dynamodb", "events", "logs", "s3", "sns", "sqs")
"""Services whose resources have the run's name in their ARNs."""
COSTS = """\
Costs at AWS, with the prices of us-east-1:
  $0.20  NAT gateways and their addresses: four hours, $0.045 and $0.005 each
  $0.20  transit gateway: two attachments for two hours each, $0.05 an hour
  $0.36  AWS Config: about 120 items of the run's resources, $0.003 each
  $0.17  AWS Config: about 170 results, $0.001 each
  $0.52  Systems Manager Automation: about 260 steps beyond the free ones, $0.002 each
  $0.05  Lambda, DynamoDB, S3, CloudWatch, SNS, SQS: less than this
  $1.50  in total, and $0.20 for each hour for which a run that is interrupted stays
"""
"""https://aws.amazon.com/vpc/pricing/, https://aws.amazon.com/transit-gateway/pricing/,
https://aws.amazon.com/config/pricing/, https://aws.amazon.com/systems-manager/pricing/."""


def policy(calls: Iterable[str]) -> dict[str, Any]:
    """Return what whoever runs it needs besides deployer-policy.json, for the run's own resources where IAM allows that."""
    actions = defaultdict(list)
    for action in sorted({ACTIONS.get(call, call) for call in calls} | _by_cloudformation() | FURTHER):
        service, _, name = action.partition(":")
        is_own = service in NAMED and not name.startswith(("Describe", "List"))
        actions[f"arn:aws:{service}:*:*:*express-path-acceptance-*" if is_own else "*"].append(action)
    statements = [{"Effect": "Allow", "Action": actions[name], "Resource": name} for name in sorted(actions)]
    return {"Version": "2012-10-17", "Statement": statements}


def _by_cloudformation() -> set[str]:
    """Return what CloudFormation calls for types that deployer-policy.json does not allow, each in its own service.

    AWS's schemas of the types, which cfn-lint contains, say what creates and deletes their resources:
    https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
    """
    from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # noqa: PLC0415  # it takes seconds

    text = "".join(file.read_text(encoding="utf-8") for file in TEMPLATES.iterdir())
    found: set[str] = set()
    for resource_type, service in re.findall(r"Type: (AWS::(Config|EC2|S3|SNS|SSM)::\w+)", text):
        handlers = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", resource_type).schema["handlers"]
        needed = handlers["create"]["permissions"] + handlers["delete"]["permissions"]
        found.update(one for one in needed if one.startswith(f"{service.lower()}:"))
    return found


def text() -> str:
    """Return all calls with their actions, the policy, and the costs.

    They are those that a run in the sandbox made, which are those of a run at AWS. `make acceptance` compares them.
    """
    calls = read(RECORDED, "calls")
    lines = [f"  {call:55} {ACTIONS.get(call, call)}" for call in calls]
    shown = json.dumps(policy(calls), indent=1)
    return "\n".join(["Calls at AWS, and the actions that they need:", *lines, "The policy:", shown, COSTS])

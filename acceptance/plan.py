"""What a run would do at AWS: every call with the IAM action that it needs, and what it costs."""

import json
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent
CALLS = FOLDER / "recorded" / "calls.json"
"""The calls that a run in the sandbox made, which are those of a run at AWS. `make acceptance` compares them."""
POLICY = FOLDER / "policy.json"
"""The policy of whoever runs it, in addition to deployer-policy.json, with which CloudFormation makes the stack."""
ACTIONS = {
    "dynamodb:TransactWriteItems": "dynamodb:PutItem",
    "lambda:Invoke": "lambda:InvokeFunction",
    "s3:HeadObject": "s3:GetObject",
    "s3:ListBuckets": "s3:ListAllMyBuckets",
    "s3:ListObjectsV2": "s3:ListBucket",
}
"""The action of an operation, if it is not the operation's name: https://docs.aws.amazon.com/service-authorization/."""
PREFIXES = {"cloudwatch": "cloudwatch", "configservice": "config"}
FURTHER = {
    "ssm:DescribeAutomationStepExecutions",
    "iam:PassRole",
    "s3:GetObject",
    "ec2:CreateTags",
    "cloudformation:TagResource",
    "lambda:TagResource",
    "iam:TagRole",
}
"""Actions without a call of their own: roles that are passed, what CloudFormation reads and tags, and the upload by SAM."""
COSTS = (
    ("NAT gateway and its address, one hour begun twice", 2 * (0.045 + 0.005)),
    ("AWS Config: about 100 items of the run's resources", 100 * 0.003),
    ("AWS Config: about 150 results", 150 * 0.001),
    ("Systems Manager Automation: about 250 steps beyond the free ones", 250 * 0.002),
    ("Lambda, DynamoDB, S3, CloudWatch, SNS, SQS: less than", 0.05),
)
"""What a run costs in us-east-1, in US dollars: https://aws.amazon.com/vpc/pricing/, https://aws.amazon.com/config/pricing/,
https://aws.amazon.com/systems-manager/pricing/."""


def action(call: str) -> str:
    """Return the IAM action of a call such as "s3:ListBuckets"."""
    return ACTIONS.get(call, call)


def actions(calls: Iterable[str]) -> set[str]:
    """Return the IAM actions that calls need, with those that no call is named after."""
    return {action(call) for call in calls} | FURTHER


def calls() -> list[str]:
    """Return the calls of a run."""
    recorded: list[str] = json.loads(CALLS.read_text(encoding="utf-8"))
    return recorded


def costs() -> str:
    """Return what a run costs, line by line."""
    lines = [f"  ${dollars:.2f}  {what}" for what, dollars in COSTS]
    total = sum(dollars for _, dollars in COSTS)
    return "\n".join(["Costs at AWS:", *lines, f"  ${total:.2f}  in total", ""])


def text() -> str:
    """Return all calls with their actions, the further actions, and the costs."""
    lines = [f"  {call:55} {action(call)}" for call in calls()]
    return "\n".join(
        ["Calls at AWS, and the actions that they need:", *lines, f"Also: {', '.join(sorted(FURTHER))}", costs()]
    )

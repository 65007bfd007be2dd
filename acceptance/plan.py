"""What a run would do at AWS: every call with the IAM action that it needs, the policy, and what it costs."""

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded"
CALLS = RECORDED / "calls.json"
"""The calls that a run in the sandbox made, which are those of a run at AWS. `make acceptance` compares them."""
ACTIONS = {
    "lambda:Invoke": "lambda:InvokeFunction",
    "s3:HeadObject": "s3:GetObject",
    "s3:ListBuckets": "s3:ListAllMyBuckets",
    "s3:ListObjectsV2": "s3:ListBucket",
}
"""The action of an operation, if it is not the operation's name: https://docs.aws.amazon.com/service-authorization/."""
FURTHER = (
    "cloudformation:CreateChangeSet",
    "cloudformation:TagResource",
    "logs:DeleteLogGroup",
    "s3:GetObject",
    "s3:PutObject",
    "ssm:StopAutomationExecution",
)
"""What SAM's upload and stacks with tags and transforms need, and what a run that was interrupted cleans up."""
BY_CLOUDFORMATION = {
    "AWS::EC2::EIP": "AllocateAddress ReleaseAddress DisassociateAddress DescribeAddresses",
    "AWS::EC2::InternetGateway": "CreateInternetGateway DeleteInternetGateway DescribeInternetGateways",
    "AWS::EC2::NatGateway": "CreateNatGateway DeleteNatGateway DescribeNatGateways",
    "AWS::EC2::Route": "CreateRoute DeleteRoute DescribeRouteTables",
    "AWS::EC2::RouteTable": "CreateRouteTable DeleteRouteTable DescribeRouteTables",
    "AWS::EC2::Subnet": "CreateSubnet DeleteSubnet DescribeSubnets",
    "AWS::EC2::SubnetRouteTableAssociation": "AssociateRouteTable DisassociateRouteTable",
    "AWS::EC2::VPC": "CreateVpc DeleteVpc ModifyVpcAttribute DescribeVpcs DescribeVpcAttribute CreateTags DeleteTags",
    "AWS::EC2::VPCEndpoint": "CreateVpcEndpoint DeleteVpcEndpoints DescribeVpcEndpoints",
    "AWS::EC2::VPCGatewayAttachment": "AttachInternetGateway DetachInternetGateway DescribeInternetGateways",
    "AWS::SNS::Topic": "CreateTopic DeleteTopic GetTopicAttributes TagResource",
    "AWS::SSM::Document": "CreateDocument DeleteDocument DescribeDocument GetDocument",
}
"""What CloudFormation calls for types that deployer-policy.json does not allow, from the handlers in their schemas.

https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html
"""
NAME = "express-path-acceptance-*"
OWN = {
    "cloudformation": f"stack/{NAME}",
    "config": "config-*",
    "dynamodb": f"table/{NAME}",
    "events": f"event-bus/{NAME}",
    "iam": "role/express-path/*",
    "lambda": f"function:{NAME}",
    "logs": f"log-group:*{NAME}",
    "s3": NAME,
    "sns": f"Automation-{NAME}",
    "sqs": NAME,
    "ssm": "*",
    "sts": "role/express-path/*",
}
"""The resources of a run by service. Those of EC2 have IDs that nobody knows before."""
ALL = {"config:PutEvaluations", "sts:GetCallerIdentity", "s3:ListAllMyBuckets", "dynamodb:ListTables"}
"""Actions that take no resource, besides those that describe and list."""
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


def policy(calls: Iterable[str]) -> dict[str, Any]:
    """Return what whoever runs it needs besides deployer-policy.json, for the run's own resources where IAM allows that."""
    indirect = [
        f"{kind.split('::')[1].lower()}:{name}" for kind, names in BY_CLOUDFORMATION.items() for name in names.split()
    ]
    by_resource = defaultdict(list)
    for one in sorted({*map(action, calls), *indirect, *FURTHER}):
        by_resource[_resource(one)].append(one)
    statements = [{"Effect": "Allow", "Action": by_resource[name], "Resource": name} for name in sorted(by_resource)]
    return {"Version": "2012-10-17", "Statement": statements}


def _resource(one: str) -> str:
    service, _, name = one.partition(":")
    if service not in OWN or one in ALL or name.startswith("Describe") or (name.startswith("List") and service != "s3"):
        return "*"
    if "Document" in name:
        return f"arn:aws:ssm:*:*:document/{NAME}"
    place = {"s3": "::", "iam": "::*", "sts": "::*"}.get(service, ":*:*")
    return f"arn:aws:{'iam' if service == 'sts' else service}{place}:{OWN[service]}"


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
    """Return all calls with their actions, the policy, and the costs."""
    lines = [f"  {call:55} {action(call)}" for call in calls()]
    shown = json.dumps(policy(calls()), indent=1)
    return "\n".join(["Calls at AWS, and the actions that they need:", *lines, "The policy:", shown, costs()])

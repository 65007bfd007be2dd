"""Whoever deploys with deployer-policy.json may do what CloudFormation does for the stack's resources."""

import json
from fnmatch import fnmatchcase

import pytest
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

from tests.support.template import ROOT, source

ALLOWED = [
    action
    for statement in json.loads((ROOT / "deployer-policy.json").read_text(encoding="utf-8"))["Statement"]
    for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
]
UNUSED = ("ec2", "elasticfilesystem", "firehose", "kinesis", "kms", "s3files")
"""Services that handlers name for functions in a VPC, file systems, streams, and keys of one's own, which the stack lacks."""


FUNCTION = {"AWS::Serverless::Function": ["AWS::Lambda::Function", "AWS::Lambda::EventInvokeConfig"]}
"""What SAM makes of a function."""
TYPES = sorted(
    {
        resource_type
        for resource in source()["Resources"].values()
        for resource_type in FUNCTION.get(resource["Type"], [resource["Type"]])
    }
)


@pytest.mark.parametrize("resource_type", TYPES)
def test_every_call_of_cloudformation_is_allowed(resource_type: str) -> None:
    """The schema of each type lists the permissions with which CloudFormation creates, reads, updates, and deletes it.

    https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html (handlers)
    """
    handlers = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", resource_type).schema.get("handlers", {})
    needed = {
        action
        for name in ("create", "read", "update", "delete")
        for action in handlers.get(name, {}).get("permissions", [])
        if action.partition(":")[0] not in UNUSED
    }
    assert needed
    assert {action for action in needed if not any(fnmatchcase(action, allowed) for allowed in ALLOWED)} == set()

"""All resource types that stacks can create."""

from config_rule_sandbox.cloudformation.kinds import (
    aws_lambda,
    cloudwatch,
    config,
    dynamodb,
    ec2,
    events,
    iam,
    logs,
    oam,
    s3,
    security_hub,
    sns,
    sqs,
    ssm,
    stack_set,
)
from config_rule_sandbox.cloudformation.kinds.kind import Kind

KINDS: dict[str, Kind] = {
    **aws_lambda.KINDS,
    **cloudwatch.KINDS,
    **config.KINDS,
    **dynamodb.KINDS,
    **ec2.KINDS,
    **events.KINDS,
    **iam.KINDS,
    **logs.KINDS,
    **oam.KINDS,
    **s3.KINDS,
    **security_hub.KINDS,
    **sns.KINDS,
    **sqs.KINDS,
    **ssm.KINDS,
    **stack_set.KINDS,
}
"""What creates, updates, and deletes the resources of each type."""

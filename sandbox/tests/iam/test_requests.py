"""Enforced permissions: what was signed, the actions that policies name, and policies that are not evaluated."""

import json

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.iam.requests import enforced
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox

READS = {
    "Version": "2012-10-17",
    "Statement": {"Effect": "Allow", "Action": ["lambda:Get*", "cloudwatch:ListMetrics"], "Resource": "*"},
}


def credentials_of(sandbox: Sandbox, name: str) -> dict[str, str]:
    """Credentials of a new user who may read."""
    iam: Client = sandbox.client("iam")
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName="reads", PolicyDocument=json.dumps(READS))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}


def test_a_get_without_a_body_is_signed_without_one(sandbox: Sandbox) -> None:
    """A user's GET passes, with the name in its path; with another user's secret it does not.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
    """
    credentials = credentials_of(sandbox, "ann")
    ann = sandbox.client("lambda", credentials=credentials)
    forged = sandbox.client("lambda", credentials=credentials | {"aws_secret_access_key": "another"})
    with enforced(sandbox):
        absent = refused(ann.get_function_configuration, FunctionName="absent")
        assert absent == "ResourceNotFoundException"
        assert refused(forged.get_function_configuration, FunctionName="absent") not in (absent, "AccessDenied")


def test_policies_name_cloudwatch_by_its_own_prefix(sandbox: Sandbox) -> None:
    """Actions on metrics are cloudwatch:..., although requests are signed for monitoring.

    https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoncloudwatch.html
    """
    metrics = sandbox.client("cloudwatch", credentials=credentials_of(sandbox, "ann"))
    with enforced(sandbox):
        assert metrics.list_metrics()["Metrics"] == []
        assert refused(metrics.describe_alarms).startswith("AccessDenied")


def test_enforces_iam_when_asked(sandbox: Sandbox) -> None:
    """If permissions are enforced, a role may do only what its policy allows."""
    iam, everybody = sandbox.client("iam"), {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [everybody]})
    arn = iam.create_role(RoleName="reader", AssumeRolePolicyDocument=trust)["Role"]["Arn"]
    reading = {
        "Effect": "Allow",
        "Action": ["ec2:DescribeVpcs", "s3express:ListAllMyDirectoryBuckets"],
        "Resource": "*",
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [reading]})
    iam.put_role_policy(RoleName="reader", PolicyName="reading", PolicyDocument=policy)
    credentials = sandbox.assume(arn)
    ec2, s3 = sandbox.client("ec2", credentials=credentials), sandbox.client("s3", credentials=credentials)
    with sandbox.enforcing_iam():
        assert ec2.describe_vpcs()["Vpcs"]
        assert s3.list_directory_buckets()["Buckets"] == []
        assert refused(ec2.describe_subnets) == "UnauthorizedOperation"
        assert (
            refused(sandbox.client("config", credentials=credentials).describe_config_rules) == "AccessDeniedException"
        )
        assert refused(sandbox.client("sns", credentials=credentials).list_topics) == "AccessDenied"
        assert refused(ec2.create_vpc, CidrBlock="10.0.0.0/16", DryRun=True) == "UnauthorizedOperation"
    assert ec2.describe_subnets()["Subnets"]


def test_session_of_a_deleted_role_is_denied(sandbox: Sandbox) -> None:
    """A function may still run while the stack that has its role is deleted."""
    iam, everybody = sandbox.client("iam"), {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [everybody]})
    credentials = sandbox.assume(iam.create_role(RoleName="gone", AssumeRolePolicyDocument=trust)["Role"]["Arn"])
    iam.delete_role(RoleName="gone")
    with enforced(sandbox):
        assert refused(sandbox.client("sns", credentials=credentials).list_topics) == "AccessDenied"
        assert refused(sandbox.client("ec2", credentials=credentials).describe_vpcs) == "UnauthorizedOperation"

"""The sandbox evaluates identity policies by IAM's own rules."""

import json
from typing import Any

import pytest

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.iam.policies import Authorization, UnsupportedPolicyError, is_allowed
from config_rule_sandbox.iam.requests import enforced
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox

ENDPOINT = "arn:aws:ec2:us-east-1:123456789012:vpc-endpoint/vpce-1"
WANTED = Authorization("ec2:ModifyVpcEndpoint", ENDPOINT, {"aws:ResourceTag/Team": ["net"], "aws:TagKeys": ["a", "b"]})
ALLOW = {"Effect": "Allow", "Action": "ec2:ModifyVpcEndpoint", "Resource": "*"}
DENY = {**ALLOW, "Effect": "Deny"}


def allows(condition: dict[str, Any]) -> bool:
    """Return whether a statement with a condition allows the request."""
    return is_allowed([{**ALLOW, "Condition": condition}], WANTED)


def test_requests_are_denied_by_default() -> None:
    """A request that no statement covers is denied."""
    assert not is_allowed([], WANTED)
    assert not is_allowed([{**ALLOW, "Action": "ec2:CreateTags"}], WANTED)


def test_a_deny_overrides_every_allow() -> None:
    """One Deny statement is enough, wherever it is in the policy."""
    assert is_allowed([ALLOW], WANTED)
    assert not is_allowed([ALLOW, DENY], WANTED)
    assert not is_allowed([DENY, ALLOW], WANTED)


@pytest.mark.parametrize(
    ("element", "value", "expected"),
    [
        ("Action", "EC2:modifyvpcendpoint", True),
        ("Action", ["s3:*", "ec2:Modify*"], True),
        ("Resource", "arn:aws:ec2:*:123456789012:vpc-endpoint/*", True),
        ("Resource", "arn:aws:ec2:us-east-1:123456789012:vpc-endpoint/vpce-?", True),
        ("Resource", "ARN:aws:ec2:us-east-1:123456789012:vpc-endpoint/*", False),
        ("Resource", "arn.aws:ec2:us-east-1:123456789012:vpc-endpoint/*", False),
    ],
)
def test_actions_and_resources_are_matched(element: str, value: Any, *, expected: bool) -> None:
    """Wildcards match any text or one character; only resources are case-sensitive; a dot is literal."""
    assert is_allowed([{**ALLOW, element: value}], WANTED) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"StringEquals": {"aws:ResourceTag/Team": "net"}}, True),
        ({"StringEquals": {"AWS:resourcetag/team": ["web", "net"]}}, True),
        ({"StringEquals": {"aws:ResourceTag/Team": "n*"}}, False),
        ({"StringLike": {"aws:ResourceTag/Team": "n*"}}, True),
        ({"StringNotEquals": {"aws:ResourceTag/Team": "net"}}, False),
        ({"Null": {"aws:ResourceTag/Team": "false"}}, True),
        ({"ForAllValues:StringEquals": {"aws:TagKeys": ["a", "b", "c"]}}, True),
        ({"ForAllValues:StringEquals": {"aws:TagKeys": ["a"]}}, False),
        ({"ForAllValues:StringEquals": {"aws:Missing": ["a"]}}, True),
        ({"ForAnyValue:StringEquals": {"aws:Missing": ["a"]}}, False),
        ({"StringEquals": {"aws:ResourceTag/Team": "net"}, "Null": {"aws:TagKeys": "true"}}, False),
        ({"Bool": {"aws:SecureTransport": "true"}}, False),
        ({"StringEqualsIfExists": {"aws:ResourceTag/Team": "web"}}, False),
        ({"StringEqualsIfExists": {"aws:Missing": "a"}}, True),
    ],
)
def test_conditions_work_as_in_iam(condition: dict[str, Any], *, expected: bool) -> None:
    """All keys must match, one value of a key is enough, and a missing key counts as the operator defines."""
    assert allows(condition) is expected


@pytest.mark.parametrize(
    "condition",
    [
        {"DateGreaterThan": {"aws:ResourceTag/Team": "2026-01-01"}},
        {"ForSomeValues:StringEquals": {"aws:TagKeys": "a"}},
        {"StringEquals": {"aws:TagKeys": "a"}},
        {"StringEquals": {"aws:ResourceTag/Team": "${aws:PrincipalTag/Team}"}},
    ],
    ids=["unknown operator", "unknown set operator", "several values of a single-valued key", "variable"],
)
def test_unsupported_policies_are_an_error(condition: dict[str, Any]) -> None:
    """A policy that the sandbox does not fully support raises an error instead of a wrong answer."""
    with pytest.raises(UnsupportedPolicyError, match="does not evaluate"):
        allows(condition)


def test_managed_policies_count_like_inline_ones(sandbox: Sandbox) -> None:
    """A user's managed and inline policies are combined, and GetCallerIdentity needs no permission."""
    iam: Client = sandbox.client("iam")
    iam.create_user(UserName="ann")
    key = iam.create_access_key(UserName="ann")["AccessKey"]
    credentials = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    ec2, sts = (sandbox.client(service, credentials=credentials) for service in ("ec2", "sts"))
    with enforced(sandbox):
        assert refused(ec2.describe_vpcs) == "UnauthorizedOperation"
        assert sts.get_caller_identity()["Account"] == sandbox.account_id
    reads = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}}
    made = iam.create_policy(PolicyName="reads", PolicyDocument=json.dumps(reads))["Policy"]
    iam.attach_user_policy(UserName="ann", PolicyArn=made["Arn"])
    with enforced(sandbox):
        assert ec2.describe_vpcs()["Vpcs"]
    denied = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "ec2:DescribeVpcs", "Resource": "*"}]}
    iam.put_user_policy(UserName="ann", PolicyName="no", PolicyDocument=json.dumps(denied))
    with enforced(sandbox):
        assert refused(ec2.describe_vpcs) == "UnauthorizedOperation"
        assert ec2.describe_subnets()["Subnets"]


ATTRIBUTES: dict[str, Any] = {
    "AddSecurityGroupIds": ["sg-1", "sg-2"],
    "AddSubnetIds": ["subnet-1"],
    "DnsOptions": {"DnsRecordIpType": "ipv4"},
    "IpAddressType": "ipv4",
    "PolicyDocument": "{}",
    "PrivateDnsEnabled": False,
    "RemoveSecurityGroupIds": ["sg-1"],
    "RemoveSubnetIds": ["subnet-1", "subnet-2"],
    "ResetPolicy": True,
    "SubnetConfigurations": [{"SubnetId": "subnet-1"}],
}


def test_each_attribute_of_a_modified_endpoint_is_a_condition_key(sandbox: Sandbox) -> None:
    """A Deny of one attribute refuses only that attribute, and the role can still add a route table."""
    iam: Client = sandbox.client("iam")
    ec2: Client = sandbox.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    service = f"com.amazonaws.{sandbox.region}.s3express"
    endpoint = ec2.create_vpc_endpoint(VpcId=vpc, ServiceName=service)["VpcEndpoint"]["VpcEndpointId"]
    tables = [table["RouteTableId"] for table in ec2.describe_route_tables()["RouteTables"] if table["VpcId"] == vpc]
    acting = {}
    for name in ATTRIBUTES:
        role = iam.create_role(RoleName=name, AssumeRolePolicyDocument='{"Statement": []}')["Role"]["Arn"]
        allow = {"Effect": "Allow", "Action": "ec2:*", "Resource": "*"}
        deny = {**allow, "Effect": "Deny", "Condition": {"Null": {f"ec2:Attribute/{name}": "false"}}}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allow, deny]})
        iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=policy)
        acting[name] = sandbox.client("ec2", credentials=sandbox.assume(role))
    given = {"VpcEndpointId": endpoint, "DryRun": True}
    with enforced(sandbox):
        for (name, client), other in zip(acting.items(), list(ATTRIBUTES)[::-1], strict=True):
            modify = client.modify_vpc_endpoint
            assert refused(modify, **given, **{name: ATTRIBUTES[name]}) == "UnauthorizedOperation", name
            assert refused(modify, **given, **{other: ATTRIBUTES[other]}) == "DryRunOperation", name
            assert refused(modify, **given, AddRouteTableIds=tables) == "DryRunOperation"


def test_a_role_must_trust_its_caller(sandbox: Sandbox) -> None:
    """A caller needs both a permission to assume a role and the role's trust, also in another account."""
    iam: Client = sandbox.client("iam")
    user = iam.create_user(UserName="ann")["User"]["Arn"]
    key = iam.create_access_key(UserName="ann")["AccessKey"]
    credentials = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    arns = {}
    principals = {
        "open": user,
        "closed": "arn:aws:iam::123456789012:user/bob",
        "account": "arn:aws:iam::123456789012:root",
        "elsewhere": "arn:aws:iam::210987654321:root",
    }
    for name, principal in ((name, {"AWS": arn}) for name, arn in principals.items()):
        trust = {"Statement": [{"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}]}
        role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))["Role"]
        arns[name] = role["Arn"]
    other_account: Client = sandbox.client("iam", credentials=sandbox.credentials("210987654321"))
    only_with_id = {"StringEquals": {"sts:ExternalId": "secret"}}
    trust = {"Effect": "Allow", "Principal": {"AWS": "123456789012"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Statement": [{**trust, "Condition": only_with_id}]})
    far = other_account.create_role(RoleName="far", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    assume = {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": [*arns.values(), far]}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [assume]})
    iam.put_user_policy(UserName="ann", PolicyName="p", PolicyDocument=policy)
    sts: Client = sandbox.client("sts", credentials=credentials)
    with enforced(sandbox):
        assert sts.assume_role(RoleArn=arns["open"], RoleSessionName="session")["Credentials"]
        assert sts.assume_role(RoleArn=arns["account"], RoleSessionName="session")["Credentials"]
        for name in ("closed", "elsewhere"):
            assert refused(sts.assume_role, RoleArn=arns[name], RoleSessionName="session") == "AccessDenied"
        other = "arn:aws:iam::123456789012:role/other"
        assert refused(sts.assume_role, RoleArn=other, RoleSessionName="session") == "AccessDenied"
        assert sts.assume_role(RoleArn=far, RoleSessionName="session", ExternalId="secret")["Credentials"]
        assert refused(sts.assume_role, RoleArn=far, RoleSessionName="session") == "AccessDenied"
    other_account.delete_role(RoleName="far")
    with enforced(sandbox):
        given = {"RoleArn": far, "RoleSessionName": "session", "ExternalId": "secret"}
        assert refused(sts.assume_role, **given) == "AccessDenied"

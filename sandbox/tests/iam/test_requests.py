"""Enforced permissions: what was signed, the actions that policies name, and policies that are not evaluated."""

import json

import pytest

from config_rule_sandbox.answers import AttributeKeys, DenyingBusPolicy, EndpointKeys, TableDeny
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


@pytest.fixture
def vpc_endpoint(sandbox: Sandbox) -> str:
    """Create a gateway endpoint and return its id."""
    ec2: Client = sandbox.client("ec2")
    vpc_id = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    made = ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName="com.amazonaws.us-east-1.s3express")
    return str(made["VpcEndpoint"]["VpcEndpointId"])


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


def test_a_role_may_do_only_what_its_boundary_also_allows(sandbox: Sandbox) -> None:
    """The boundary allows nothing by itself. If it is changed, that holds at once.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_boundaries.html
    """
    iam, everybody = sandbox.client("iam"), {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    reads = {"Effect": "Allow", "Action": ["ec2:DescribeVpcs", "ec2:DescribeSubnets"], "Resource": "*"}
    boundary = iam.create_policy(
        PolicyName="boundary", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": reads})
    )["Policy"]["Arn"]
    trust = json.dumps({"Version": "2012-10-17", "Statement": [everybody]})
    made = iam.create_role(RoleName="bounded", AssumeRolePolicyDocument=trust, PermissionsBoundary=boundary)
    ec2 = sandbox.client("ec2", credentials=sandbox.assume(made["Role"]["Arn"]))
    with enforced(sandbox):
        assert refused(ec2.describe_vpcs) == "UnauthorizedOperation"
    allowed = {**everything, "Action": ["ec2:DescribeVpcs", "ec2:DescribeRouteTables"]}
    policy = json.dumps({"Version": "2012-10-17", "Statement": allowed})
    iam.put_role_policy(RoleName="bounded", PolicyName="own", PolicyDocument=policy)
    with enforced(sandbox):
        assert ec2.describe_vpcs()["Vpcs"]
        assert refused(ec2.describe_route_tables) == "UnauthorizedOperation"
        assert refused(ec2.describe_subnets) == "UnauthorizedOperation"
    iam.create_policy_version(
        PolicyArn=boundary,
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": everything}),
        SetAsDefault=True,
    )
    with enforced(sandbox):
        assert ec2.describe_route_tables()["RouteTables"]


def test_requests_about_a_role_say_which_boundary_it_has(sandbox: Sandbox) -> None:
    """That of the request for a new role, or for a role that gets another one, and else that of the role."""
    iam = sandbox.client("iam")
    boundary, other = (
        iam.create_policy(PolicyName=name, PolicyDocument=json.dumps(READS))["Policy"]["Arn"] for name in ("a", "b")
    )
    condition = {"StringNotEquals": {"iam:PermissionsBoundary": boundary}}
    deployer: Client = sandbox.client("iam", credentials=admin(sandbox, {"Action": "iam:*", "Condition": condition}))
    trust = json.dumps({"Version": "2012-10-17", "Statement": []})
    policy = {"PolicyName": "own", "PolicyDocument": json.dumps(READS)}
    iam.create_role(RoleName="free", AssumeRolePolicyDocument=trust)
    with enforced(sandbox):
        assert refused(deployer.create_role, RoleName="new", AssumeRolePolicyDocument=trust) == "AccessDenied"
        deployer.create_role(RoleName="new", AssumeRolePolicyDocument=trust, PermissionsBoundary=boundary)
        deployer.put_role_policy(RoleName="new", **policy)
        assert refused(deployer.put_role_policy, RoleName="free", **policy) == "AccessDenied"
        give = deployer.put_role_permissions_boundary
        assert refused(give, RoleName="free", PermissionsBoundary=other) == "AccessDenied"
        give(RoleName="free", PermissionsBoundary=boundary)
        deployer.put_role_policy(RoleName="free", **policy)


def test_session_of_a_deleted_role_is_denied(sandbox: Sandbox) -> None:
    """A function may still run while the stack that has its role is deleted."""
    iam, everybody = sandbox.client("iam"), {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [everybody]})
    credentials = sandbox.assume(iam.create_role(RoleName="gone", AssumeRolePolicyDocument=trust)["Role"]["Arn"])
    iam.delete_role(RoleName="gone")
    with enforced(sandbox):
        assert refused(sandbox.client("sns", credentials=credentials).list_topics) == "AccessDenied"
        assert refused(sandbox.client("ec2", credentials=credentials).describe_vpcs) == "UnauthorizedOperation"


def admin(sandbox: Sandbox, denied: dict[str, object]) -> dict[str, str]:
    """Return the credentials of a new user who may do everything but one thing."""
    iam: Client = sandbox.client("iam")
    iam.create_user(UserName="admin")
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    policy = {"Version": "2012-10-17", "Statement": [everything, {"Effect": "Deny", "Resource": "*", **denied}]}
    iam.put_user_policy(UserName="admin", PolicyName="all", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName="admin")["AccessKey"]
    return {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}


def test_keys_of_an_endpoint(sandbox: Sandbox, vpc_endpoint: str) -> None:
    """The answer decides whether a condition on the service, on a tag, or on an attribute that is changed is met."""
    denied = {
        "Action": ["ec2:DeleteVpcEndpoints"],
        "Condition": {"StringNotEquals": {"ec2:VpceServiceName": "com.amazonaws.us-east-1.s3express"}},
    }
    ec2: Client = sandbox.client("ec2", credentials=admin(sandbox, denied))
    with enforced(sandbox):
        assert refused(ec2.delete_vpc_endpoints, VpcEndpointIds=[vpc_endpoint], DryRun=True) == "DryRunOperation"
        sandbox.answers.endpoint_keys = EndpointKeys.NO_SERVICE
        assert refused(ec2.delete_vpc_endpoints, VpcEndpointIds=[vpc_endpoint], DryRun=True) == "UnauthorizedOperation"


def test_tags_of_an_endpoint_to_delete(sandbox: Sandbox, vpc_endpoint: str) -> None:
    """They are keys of the request, or not."""
    denied = {"Action": ["ec2:DeleteVpcEndpoints"], "Condition": {"Null": {"aws:ResourceTag/kept": "false"}}}
    ec2: Client = sandbox.client("ec2", credentials=admin(sandbox, denied))
    ec2.create_tags(Resources=[vpc_endpoint], Tags=[{"Key": "kept", "Value": "yes"}])
    with enforced(sandbox):
        assert refused(ec2.delete_vpc_endpoints, VpcEndpointIds=[vpc_endpoint], DryRun=True) == "UnauthorizedOperation"
        sandbox.answers.endpoint_keys = EndpointKeys.NO_TAGS
        assert refused(ec2.delete_vpc_endpoints, VpcEndpointIds=[vpc_endpoint], DryRun=True) == "DryRunOperation"


def test_attributes_of_a_change(sandbox: Sandbox, vpc_endpoint: str) -> None:
    """Keys are those that change, none, or all."""
    denied = {"Action": ["ec2:ModifyVpcEndpoint"], "Condition": {"Null": {"ec2:Attribute/ResetPolicy": "false"}}}
    ec2: Client = sandbox.client("ec2", credentials=admin(sandbox, denied))
    changes = ({"DnsOptions": {"DnsRecordIpType": "ipv4"}}, {"ResetPolicy": True})
    served, denial = "DryRunOperation", "UnauthorizedOperation"
    with enforced(sandbox):
        for answer, codes in (
            (AttributeKeys.CHANGED, [served, denial]),
            (AttributeKeys.NONE, [served, served]),
            (AttributeKeys.EACH, [denial, denial]),
        ):
            sandbox.answers.attribute_keys = answer
            found = [
                refused(ec2.modify_vpc_endpoint, VpcEndpointId=vpc_endpoint, DryRun=True, **change)
                for change in changes
            ]
            assert found == codes


def test_table_that_denies_everybody(sandbox: Sandbox) -> None:
    """Its policy concerns an administrator, or not."""
    deny = {"Effect": "Deny", "Principal": "*", "Action": "dynamodb:PutItem", "Resource": "*"}
    sandbox.client("dynamodb").create_table(
        TableName="Closed",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        ResourcePolicy=json.dumps({"Version": "2012-10-17", "Statement": [deny]}),
    )
    dynamodb: Client = sandbox.client("dynamodb", credentials=admin(sandbox, {"Action": "sns:*"}))
    with enforced(sandbox):
        given = {"TableName": "Closed", "Item": {"id": {"S": "one"}}}
        assert refused(dynamodb.put_item, **given) == "AccessDeniedException"
        sandbox.answers.table_deny = TableDeny.PASSES_OWN_POLICIES
        dynamodb.put_item(**given)


def test_bus_that_denies_others(sandbox: Sandbox) -> None:
    """Its policy leaves others of the account as they are, or allows nobody."""
    events: Client = sandbox.client("events")
    arn = events.create_event_bus(Name="bus")["EventBusArn"]
    condition = {"StringEquals": {"aws:PrincipalArn": "arn:aws:iam::123456789012:role/nobody"}}
    deny = {"Sid": "no", "Effect": "Deny", "Principal": "*", "Action": "events:PutEvents", "Resource": arn}
    policy = {"Version": "2012-10-17", "Statement": [{**deny, "Condition": condition}]}
    events.put_permission(EventBusName="bus", Policy=json.dumps(policy))
    putting: Client = sandbox.client("events", credentials=admin(sandbox, {"Action": "sns:*"}))
    given = {"Entries": [{"EventBusName": "bus", "Source": "test", "DetailType": "test", "Detail": "{}"}]}
    with enforced(sandbox):
        putting.put_events(**given)
        sandbox.answers.denying_bus_policy = DenyingBusPolicy.NOBODY_ALLOWED
        assert refused(putting.put_events, **given) == "AccessDeniedException"

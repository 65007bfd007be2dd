"""The stack's roles with permissions enforced: all reads work, and only the runbooks' own changes are allowed."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.pytest_plugin import pointed_at
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox
from tests.support.network import Builder, Private
from tests.support.stack import CALENDAR, EVERYTHING, POLICY_PARAMETER, Stack
from tests.template.models import shape

SERVICE = "com.amazonaws.us-east-1.s3express"
OTHERS = [
    {"ServiceName": "com.amazonaws.us-east-1.s3"},
    {"ServiceName": "com.amazonaws.us-east-1.dynamodb"},
    {"ServiceName": "com.amazonaws.us-east-1.sqs", "VpcEndpointType": "Interface"},
]
MANAGED = {"Key": "express-path:managed", "Value": "true"}
OURS = [MANAGED]
MARKS = [{"Key": "express-path:run", "Value": "run"}, {"Key": "express-path:healed", "Value": "now"}]
OWNED = {"aws:cloudformation:stack-id": "arn:aws:cloudformation:us-east-1:123456789012:stack/network/1"}
DENIED = "UnauthorizedOperation"
BUCKET = "data--use1-az4--x-s3"


def tagged(tags: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Return TagSpecifications for an endpoint."""
    return [{"ResourceType": "vpc-endpoint", "Tags": tags}]


@pytest.fixture(scope="module")
def stack(running_sandbox: Sandbox) -> Stack:
    """Return the stack with every parameter that adds a permission. Tests share it, and each has a VPC of its own."""
    running_sandbox.reset()
    return Stack(running_sandbox, **EVERYTHING)


@pytest.fixture
def sandbox(stack: Stack, running_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """Yield the sandbox with the stack."""
    del stack
    with pointed_at(running_sandbox, monkeypatch) as kept:
        yield kept


@pytest.fixture
def automation(stack: Stack) -> Iterator[Client]:
    """Return an EC2 client of the runbooks' role, with permissions enforced."""
    client = stack.client("AutomationRole", "ec2")
    with stack.enforced():
        yield client


def test_plan_function_has_the_reads_of_a_plan(stack: Stack, sandbox: Sandbox, vpc: Private) -> None:
    """Only the plan function can read DNS attributes, bucket policies, and the one policy parameter."""
    ssm: Client = sandbox.client("ssm")
    for name in (POLICY_PARAMETER, "/network/password"):
        ssm.put_parameter(Name=name, Value="{}", Type="String")
    bucket(sandbox)
    ec2, s3, own_ssm = (stack.client("PlanRole", service) for service in ("ec2", "s3", "ssm"))
    evaluate = stack.client("EvaluateRole", "ec2")
    attribute = {"VpcId": vpc.vpc, "Attribute": "enableDnsSupport"}
    with stack.enforced():
        assert ec2.describe_vpc_attribute(**attribute)["EnableDnsSupport"]["Value"] is True
        assert [directory_bucket["Name"] for directory_bucket in s3.list_directory_buckets()["Buckets"]] == [BUCKET]
        assert refused(s3.get_bucket_policy, Bucket=BUCKET) == "NoSuchBucketPolicy"
        assert refused(s3.put_bucket_policy, Bucket=BUCKET, Policy="{}") == "AccessDenied"
        assert own_ssm.get_parameter(Name=POLICY_PARAMETER)["Parameter"]["Value"] == "{}"
        assert refused(own_ssm.get_parameter, Name="/network/password") == "AccessDeniedException"
        assert refused(evaluate.describe_vpc_attribute, **attribute) == DENIED


def bucket(sandbox: Sandbox) -> None:
    """Create a directory bucket."""
    sandbox.client("s3").create_bucket(
        Bucket=BUCKET,
        CreateBucketConfiguration={
            "Location": {"Type": "AvailabilityZone", "Name": "use1-az4"},
            "Bucket": {"Type": "Directory", "DataRedundancy": "SingleAvailabilityZone"},
        },
    )


@pytest.mark.parametrize("service", OTHERS, ids=lambda request: request["ServiceName"].split(".")[-1])
def test_runbooks_cannot_create_another_services_endpoint(
    service: dict[str, str], automation: Client, vpc: Private
) -> None:
    """Endpoints for S3, DynamoDB, and interface endpoints are refused, whatever their tags."""
    call = automation.create_vpc_endpoint
    assert refused(call, VpcId=vpc.vpc, TagSpecifications=tagged(OURS), **service) == DENIED


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"TagSpecifications": tagged([{"Key": "express-path:rule", "Value": "r"}])},
        {"TagSpecifications": tagged([{"Key": "express-path:managed", "Value": "false"}])},
        {"TagSpecifications": tagged([*OURS, {"Key": "CostCenter", "Value": "1"}])},
        {"TagSpecifications": tagged([*OURS, {"Key": "express-path:run", "Value": "t"}])},
    ],
    ids=["without tags", "without our mark", "with another value", "with a foreign tag", "with a run"],
)
def test_runbooks_cannot_create_an_endpoint_with_other_tags(
    given: dict[str, object], automation: Client, vpc: Private
) -> None:
    """An endpoint must be created with the managed tag and no other tag."""
    assert refused(automation.create_vpc_endpoint, VpcId=vpc.vpc, ServiceName=SERVICE, **given) == DENIED


def test_runbooks_cannot_create_an_endpoint_with_route_tables(automation: Client, vpc: Private) -> None:
    """An endpoint cannot be created with route tables, so only the associate step moves traffic."""
    given = {"VpcId": vpc.vpc, "ServiceName": SERVICE, "TagSpecifications": tagged(OURS), "RouteTableIds": [vpc.table]}
    assert refused(automation.create_vpc_endpoint, **given) == DENIED


def test_runbooks_leave_endpoints_of_cloudformation_alone(automation: Client, builder: Builder, vpc: Private) -> None:
    """An endpoint with CloudFormation's tag cannot be modified."""
    endpoint = builder.endpoint(vpc.vpc)
    builder.memory.create_tags([endpoint], OWNED)
    assert refused(automation.modify_vpc_endpoint, VpcEndpointId=endpoint, AddRouteTableIds=[vpc.table]) == DENIED


def test_runbooks_change_no_attribute_but_the_route_tables(automation: Client, builder: Builder, vpc: Private) -> None:
    """No other member of the request is allowed, alone or together with a route table, including members that AWS adds."""
    gateway = builder.endpoint(vpc.vpc, TagSpecifications=tagged(OURS))
    service = {"ServiceName": "com.amazonaws.us-east-1.sqs", "VpcEndpointType": "Interface"}
    made = builder.ec2.create_vpc_endpoint(VpcId=vpc.vpc, SubnetIds=[vpc.subnet], **service)
    interface = made["VpcEndpoint"]["VpcEndpointId"]
    of_vpc = [{"Name": "vpc-id", "Values": [vpc.vpc]}]
    [group] = builder.ec2.describe_security_groups(Filters=of_vpc)["SecurityGroups"]
    attributes: dict[str, object] = {
        "PolicyDocument": "{}",
        "ResetPolicy": True,
        "PrivateDnsEnabled": False,
        "DnsOptions": {"DnsRecordIpType": "ipv4"},
        "IpAddressType": "ipv4",
        "SubnetConfigurations": [{"SubnetId": "subnet-1", "Ipv4": "10.0.0.9"}],
        **{name: [vpc.public_subnet] for name in ("AddSubnetIds", "RemoveSubnetIds")},
        **{name: [group["GroupId"]] for name in ("AddSecurityGroupIds", "RemoveSecurityGroupIds")},
    }
    associated = {"VpcEndpointId", "DryRun", "AddRouteTableIds", "RemoveRouteTableIds"}
    assert attributes.keys() == shape("ec2", "ModifyVpcEndpointRequest").members.keys() - associated
    for name, value in attributes.items():
        for given in ({name: value}, {name: value, "AddRouteTableIds": [vpc.table]}):
            for endpoint in (gateway, interface):
                assert refused(automation.modify_vpc_endpoint, VpcEndpointId=endpoint, **given) == DENIED, name


def test_runbooks_delete_only_what_heals_made(automation: Client, builder: Builder, vpc: Private) -> None:
    """An endpoint can be deleted only if it is for S3 Express, has the managed tag, and no stack has taken it over."""
    ours = builder.endpoint(vpc.vpc, TagSpecifications=tagged(OURS))
    foreign = builder.endpoint(builder.vpc())
    other_service = builder.endpoint(vpc.vpc, service="s3", TagSpecifications=tagged(OURS))
    taken_over = builder.endpoint(builder.vpc(), TagSpecifications=tagged(OURS))
    builder.memory.create_tags([taken_over], OWNED)
    for endpoint in (foreign, other_service, taken_over):
        assert refused(automation.delete_vpc_endpoints, VpcEndpointIds=[endpoint]) == DENIED
        assert refused(automation.delete_vpc_endpoints, VpcEndpointIds=[ours, endpoint]) == DENIED
    assert "Unsuccessful" not in automation.delete_vpc_endpoints(VpcEndpointIds=[ours])


def test_runbooks_cannot_tag_existing_resources(automation: Client, builder: Builder, vpc: Private) -> None:
    """Tags cannot be added to or removed from route tables, subnets, or existing endpoints."""
    endpoint = builder.endpoint(vpc.vpc, TagSpecifications=tagged(OURS))
    for resource in (vpc.table, vpc.subnet, endpoint):
        for tags in (MARKS, OURS):
            assert refused(automation.create_tags, Resources=[resource], Tags=tags) == DENIED
            keys = [{"Key": tag["Key"]} for tag in tags]
            assert refused(automation.delete_tags, Resources=[resource], Tags=keys) == DENIED
        assert refused(automation.delete_tags, Resources=[resource]) == DENIED


def test_only_runbooks_write_to_the_ledger(stack: Stack) -> None:
    """Only the runbooks' role can update and put items; the functions and an administrator cannot."""
    name = str(stack.template.deployed("<LedgerTable>"))
    stack.iam.create_role(RoleName="administrator", AssumeRolePolicyDocument='{"Statement": []}')
    everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    stack.iam.put_role_policy(RoleName="administrator", PolicyName="all", PolicyDocument=json.dumps(everything))
    administrator = stack.sandbox.client(
        "dynamodb", credentials=stack.sandbox.assume("arn:aws:iam::123456789012:role/administrator")
    )
    key = {"id": {"S": "TABLE#rtb-1"}}
    update = {
        "TableName": name,
        "Key": key,
        "UpdateExpression": "SET x = :x",
        "ExpressionAttributeValues": {":x": {"S": "x"}},
    }
    roles = {role: stack.client(role, "dynamodb") for role in ("EvaluateRole", "PlanRole", "AutomationRole")}
    with stack.enforced():
        roles["AutomationRole"].update_item(**update)
        assert refused(roles["AutomationRole"].put_item, TableName=name, Item=key) == "AccessDeniedException"
        assert roles["PlanRole"].get_item(TableName=name, Key=key, ConsistentRead=True)["Item"]["x"] == {"S": "x"}
        for client in (roles["EvaluateRole"], roles["PlanRole"], administrator):
            writes = {
                client.put_item: {"TableName": name, "Item": key},
                client.update_item: update,
                client.delete_item: {"TableName": name, "Key": key},
                client.batch_write_item: {"RequestItems": {name: [{"DeleteRequest": {"Key": key}}]}},
                client.transact_write_items: {"TransactItems": [{"Delete": {"TableName": name, "Key": key}}]},
                client.execute_statement: {"Statement": f"DELETE FROM \"{name}\" WHERE id='TABLE#rtb-1'"},
                client.update_time_to_live: {
                    "TableName": name,
                    "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expiresAt"},
                },
            }
            for call, given in writes.items():
                assert refused(call, **given) == "AccessDeniedException", call.__name__
        assert refused(roles["AutomationRole"].delete_item, TableName=name, Key=key) == "AccessDeniedException"
        assert administrator.get_item(TableName=name, Key=key)["Item"]["x"] == {"S": "x"}


def test_runbooks_use_one_topic_and_start_one_runbook(stack: Stack, sandbox: Sandbox) -> None:
    """Other runbooks, roles, and topics are refused, and only the function can read the calendar."""
    ssm, sns = (stack.client("AutomationRole", service) for service in ("ssm", "sns"))
    foreign = "arn:aws:iam::123456789012:role/administrator"
    with stack.enforced():
        assert refused(ssm.get_calendar_state, CalendarNames=[CALENDAR]) == "AccessDeniedException"
        for name, role in (("Other", stack.arn("AutomationRole")), ("AddS3ExpressGatewayEndpoint", foreign)):
            given = {"DocumentName": name, "Parameters": {"AutomationAssumeRole": [role]}}
            assert refused(ssm.start_automation_execution, **given) == "AccessDeniedException"
        topic = f"arn:aws:sns:us-east-1:{sandbox.account_id}:AutomationOther"
        assert refused(sns.publish, TopicArn=topic, Message="m") == "AccessDenied"

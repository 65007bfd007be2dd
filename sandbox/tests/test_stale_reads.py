"""Reads that miss the last change once: which, when, and never more."""

from collections.abc import Callable
from typing import Any

import pytest

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.server import Sandbox


@pytest.fixture
def ec2(sandbox: Sandbox) -> Client:
    """A client of EC2."""
    return sandbox.client("ec2")


@pytest.fixture
def vpc(ec2: Client) -> str:
    """A VPC with a main route table."""
    return str(ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"])


@pytest.fixture
def create(sandbox: Sandbox, ec2: Client, vpc: str) -> Callable[..., str]:
    """Creates an endpoint and returns its id."""

    def make(**more: object) -> str:
        service = f"com.amazonaws.{sandbox.region}.s3express"
        return str(ec2.create_vpc_endpoint(VpcId=vpc, ServiceName=service, **more)["VpcEndpoint"]["VpcEndpointId"])

    return make


def table(ec2: Client, vpc: str) -> dict[str, Any]:
    """Describe the route table of the VPC."""
    found: dict[str, Any] = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["RouteTables"][0]
    return found


def gateways(ec2: Client, vpc: str) -> list[str]:
    """Return the gateways in the routes of the VPC's table."""
    return [route["GatewayId"] for route in table(ec2, vpc)["Routes"] if route["GatewayId"] != "local"]


def test_only_the_last_change_is_missed(sandbox: Sandbox, ec2: Client, vpc: str, create: Callable[..., str]) -> None:
    """A stale description of route tables has the routes, and the tags, before the last change alone."""
    table_id = table(ec2, vpc)["RouteTableId"]
    with sandbox.stale_reads("ec2:DescribeRouteTables", nth=2):
        made = create()
        ec2.modify_vpc_endpoint(VpcEndpointId=made, AddRouteTableIds=[table_id])
        assert gateways(ec2, vpc) == [made]
        ec2.create_tags(Resources=[table_id], Tags=[{"Key": "a", "Value": "b"}])
        stale = table(ec2, vpc)
        assert (len(stale["Routes"]), stale["Tags"]) == (2, [])
        assert table(ec2, vpc)["Tags"] == [{"Key": "a", "Value": "b"}]
    with sandbox.stale_reads("ec2:DescribeRouteTables"):
        ec2.modify_vpc_endpoint(VpcEndpointId=made, RemoveRouteTableIds=[table_id])
        assert [gateways(ec2, vpc), gateways(ec2, vpc)] == [[made], []]


def test_consistent_reads_of_dynamodb_are_never_stale(sandbox: Sandbox) -> None:
    """A read without ConsistentRead may miss the last write, one with it never does."""
    dynamodb: Client = sandbox.client("dynamodb")
    key = {"AttributeName": "Id", "AttributeType": "S"}, {"AttributeName": "Id", "KeyType": "HASH"}
    dynamodb.create_table(
        TableName="t", AttributeDefinitions=[key[0]], KeySchema=[key[1]], BillingMode="PAY_PER_REQUEST"
    )
    item = {"Id": {"S": "one"}}
    with sandbox.stale_reads("dynamodb:GetItem", nth=1):
        dynamodb.put_item(TableName="t", Item=item)
        assert dynamodb.get_item(TableName="t", Key=item, ConsistentRead=True)["Item"] == item
    with sandbox.stale_reads("dynamodb:GetItem", nth=1):
        dynamodb.delete_item(TableName="t", Key=item)
        assert dynamodb.get_item(TableName="t", Key=item)["Item"] == item
        assert "Item" not in dynamodb.get_item(TableName="t", Key=item)

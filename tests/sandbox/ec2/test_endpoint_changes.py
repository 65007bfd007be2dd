"""ModifyVpcEndpoint and DeleteVpcEndpoints for gateway endpoints.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifyVpcEndpoint.html,
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteVpcEndpoints.html
"""

import json
from typing import Any

import pytest

from sandbox.dynamic import Client
from sandbox.refusals import refused
from sandbox.server import Sandbox

S3EXPRESS = "com.amazonaws.us-east-1.s3express"


@pytest.fixture
def endpoint_id(ec2: Client, vpc_id: str) -> str:
    """Make an s3express endpoint without route tables and return its id."""
    answer = ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName=S3EXPRESS)
    return str(answer["VpcEndpoint"]["VpcEndpointId"])


def routes_to(ec2: Client, table_id: str, endpoint_id: str) -> list[dict[str, Any]]:
    """Return the routes of a table that lead to an endpoint."""
    (table,) = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    return [route for route in table["Routes"] if route.get("GatewayId") == endpoint_id]


def described(ec2: Client, endpoint_id: str) -> dict[str, Any]:
    """Return the endpoint as it is described."""
    endpoint: dict[str, Any] = ec2.describe_vpc_endpoints(VpcEndpointIds=[endpoint_id])["VpcEndpoints"][0]
    return endpoint


def test_adding_a_table_adds_the_route(ec2: Client, endpoint_id: str, table_id: str) -> None:
    """AddRouteTableIds associates the table and puts the endpoint's route into it."""
    assert ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id])["Return"] is True
    assert len(routes_to(ec2, table_id, endpoint_id)) == 1
    assert described(ec2, endpoint_id)["RouteTableIds"] == [table_id]


def test_adding_twice_lists_once(ec2: Client, endpoint_id: str, table_id: str) -> None:
    """Adding an associated table again leaves one association and one route."""
    for _ in range(2):
        ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id, table_id])
    assert described(ec2, endpoint_id)["RouteTableIds"] == [table_id]
    assert len(routes_to(ec2, table_id, endpoint_id)) == 1


def test_removing_a_table_removes_the_route(ec2: Client, endpoint_id: str, table_id: str, vpc_id: str) -> None:
    """RemoveRouteTableIds takes the route out of that table, and of no other."""
    other = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id, other])
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, RemoveRouteTableIds=[table_id])
    assert routes_to(ec2, table_id, endpoint_id) == []
    assert len(routes_to(ec2, other, endpoint_id)) == 1
    assert described(ec2, endpoint_id)["RouteTableIds"] == [other]


def test_removing_what_is_not_there_is_refused(ec2: Client, endpoint_id: str, table_id: str) -> None:
    """InvalidParameter, as https://github.com/hashicorp/terraform-provider-aws expects."""
    code = refused(lambda: ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, RemoveRouteTableIds=[table_id]))
    assert code == "InvalidParameter"


def test_a_table_of_another_endpoint_is_refused(ec2: Client, endpoint_id: str, table_id: str, vpc_id: str) -> None:
    """Where another endpoint of the service owns the route: RouteAlreadyExists, and nothing changes.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-routing
    """
    free = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    owner = ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName=S3EXPRESS, RouteTableIds=[table_id])["VpcEndpoint"]
    both = [free, table_id]
    code = refused(lambda: ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=both))
    assert code == "RouteAlreadyExists"
    assert described(ec2, endpoint_id)["RouteTableIds"] == []
    assert routes_to(ec2, free, endpoint_id) == []
    assert len(routes_to(ec2, table_id, owner["VpcEndpointId"])) == 1


def test_changing_the_address_type_swaps_the_routes(ec2: Client, endpoint_id: str, table_id: str) -> None:
    """IpAddressType says which prefix lists are routed, also when it is changed.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-ip-address-type
    """
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id])
    (before,) = routes_to(ec2, table_id, endpoint_id)
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, IpAddressType="ipv6")
    (after,) = routes_to(ec2, table_id, endpoint_id)
    assert before["DestinationPrefixListId"] != after["DestinationPrefixListId"]
    assert described(ec2, endpoint_id)["IpAddressType"] == "ipv6"
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, IpAddressType="dualstack")
    assert len(routes_to(ec2, table_id, endpoint_id)) == 2


def test_policy_is_replaced_and_reset(ec2: Client, endpoint_id: str) -> None:
    """PolicyDocument replaces the policy; ResetPolicy puts back the default, which allows everything."""
    default = described(ec2, endpoint_id)["PolicyDocument"]
    nothing = json.dumps({"Version": "2012-10-17", "Statement": []})
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, PolicyDocument=nothing)
    assert described(ec2, endpoint_id)["PolicyDocument"] == nothing
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, ResetPolicy=True)
    assert described(ec2, endpoint_id)["PolicyDocument"] == default


@pytest.mark.parametrize("name", ["AddSubnetIds", "AddSecurityGroupIds"])
def test_a_gateway_endpoint_takes_no_interfaces(ec2: Client, endpoint_id: str, name: str) -> None:
    """Subnets and security groups are for endpoints with network interfaces: InvalidParameter.

    https://github.com/nanlabs/terraform-aws-starter/issues/18
    """
    change = {"VpcEndpointId": endpoint_id, name: ["subnet-00000000"]}
    assert refused(ec2.modify_vpc_endpoint, **change) == "InvalidParameter"


def test_unknown_endpoint_is_refused(ec2: Client) -> None:
    """InvalidVpcEndpointId.NotFound (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html)."""
    unknown = "vpce-00000000000000000"
    assert refused(lambda: ec2.modify_vpc_endpoint(VpcEndpointId=unknown)) == "InvalidVpcEndpointId.NotFound"


def test_deleting_removes_the_routes(ec2: Client, endpoint_id: str, table_id: str) -> None:
    """When a gateway endpoint is deleted its routes go too (botocore model, DeleteVpcEndpoints)."""
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id])
    assert ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint_id])["Unsuccessful"] == []
    assert routes_to(ec2, table_id, endpoint_id) == []


def test_deleted_is_seen_and_then_gone(sandbox: Sandbox, ec2: Client, endpoint_id: str) -> None:
    """A deleted endpoint is deleting, then deleted, then not found."""
    sandbox.ec2.knobs.deleting_describes = 1
    ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint_id])
    assert [described(ec2, endpoint_id)["State"] for _ in range(2)] == ["deleting", "deleted"]
    assert refused(lambda: described(ec2, endpoint_id)) == "InvalidVpcEndpointId.NotFound"


def test_unknown_ids_are_unsuccessful(ec2: Client, endpoint_id: str) -> None:
    """DeleteVpcEndpoints deletes what it can, and lists the rest with a code for each."""
    unknown = "vpce-00000000000000000"
    (failure,) = ec2.delete_vpc_endpoints(VpcEndpointIds=[unknown, endpoint_id])["Unsuccessful"]
    assert (failure["ResourceId"], failure["Error"]["Code"]) == (unknown, "InvalidVpcEndpointId.NotFound")
    assert described(ec2, endpoint_id)["State"] == "deleted"


def test_an_endpoint_that_may_not_be_deleted_is_unsuccessful(sandbox: Sandbox, ec2: Client, endpoint_id: str) -> None:
    """A refusal is no error of the call but an item of its answer, and the endpoint stays.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteVpcEndpoints.html
    """
    sandbox.ec2.knobs.undeletable_endpoints = True
    (failure,) = ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint_id])["Unsuccessful"]
    assert (failure["ResourceId"], failure["Error"]["Code"]) == (endpoint_id, "OperationNotPermitted")
    assert described(ec2, endpoint_id)["State"] == "available"


def test_a_change_may_be_seen_late(sandbox: Sandbox, ec2: Client, endpoint_id: str, table_id: str) -> None:
    """What was changed may be described as before for a while.

    https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
    """
    sandbox.ec2.knobs.stale_describes = 2
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id])
    assert [described(ec2, endpoint_id)["RouteTableIds"] for _ in range(3)] == [[], [], [table_id]]


def test_a_deleted_table_leaves_the_endpoint(ec2: Client, endpoint_id: str, table_id: str) -> None:
    """An endpoint no longer lists a route table that was deleted."""
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id])
    ec2.delete_route_table(RouteTableId=table_id)
    assert described(ec2, endpoint_id)["RouteTableIds"] == []


def test_an_endpoint_without_ipv6_stays_ipv4(ec2: Client, vpc_id: str) -> None:
    """A service that has no IPv6 prefix list takes no IPv6 endpoint: InvalidParameter."""
    made = ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName="com.amazonaws.us-east-1.dynamodb")["VpcEndpoint"]
    change = {"VpcEndpointId": made["VpcEndpointId"], "IpAddressType": "dualstack"}
    assert refused(ec2.modify_vpc_endpoint, **change) == "InvalidParameter"


def test_interface_endpoints_change_and_go_too(ec2: Client, vpc_id: str) -> None:
    """An interface endpoint takes subnets, and its network interfaces go with it."""
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    made = ec2.create_vpc_endpoint(
        VpcId=vpc_id, ServiceName="com.amazonaws.us-east-1.ec2", VpcEndpointType="Interface", SubnetIds=[subnet_id]
    )["VpcEndpoint"]["VpcEndpointId"]
    assert len(ec2.describe_network_interfaces()["NetworkInterfaces"]) == 1
    ec2.modify_vpc_endpoint(VpcEndpointId=made, RemoveSubnetIds=[subnet_id])
    assert described(ec2, made).get("SubnetIds", []) == []
    ec2.delete_vpc_endpoints(VpcEndpointIds=[made])
    assert ec2.describe_network_interfaces()["NetworkInterfaces"] == []

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
    """Create an s3express endpoint without route tables and return its id."""
    answer = ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName=S3EXPRESS)
    return str(answer["VpcEndpoint"]["VpcEndpointId"])


def routes_to(ec2: Client, table_id: str, endpoint_id: str) -> list[dict[str, Any]]:
    """Return the routes of a table that lead to an endpoint."""
    (table,) = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    return [route for route in table["Routes"] if route.get("GatewayId") == endpoint_id]


def described(ec2: Client, endpoint_id: str) -> dict[str, Any]:
    """Return the endpoint's description."""
    endpoint: dict[str, Any] = ec2.describe_vpc_endpoints(VpcEndpointIds=[endpoint_id])["VpcEndpoints"][0]
    return endpoint


def test_adding_a_table_adds_the_route(ec2: Client, endpoint_id: str, table_id: str) -> None:
    """AddRouteTableIds associates the table and adds the endpoint's route to it."""
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
    """RemoveRouteTableIds removes the route from that table only."""
    other = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id, other])
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, RemoveRouteTableIds=[table_id])
    assert routes_to(ec2, table_id, endpoint_id) == []
    assert len(routes_to(ec2, other, endpoint_id)) == 1
    assert described(ec2, endpoint_id)["RouteTableIds"] == [other]


def test_removing_what_is_not_there_is_refused(ec2: Client, endpoint_id: str, table_id: str) -> None:
    """The error code is InvalidParameter, which https://github.com/hashicorp/terraform-provider-aws expects."""
    code = refused(lambda: ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, RemoveRouteTableIds=[table_id]))
    assert code == "InvalidParameter"


def test_a_table_of_another_endpoint_is_refused(ec2: Client, endpoint_id: str, table_id: str, vpc_id: str) -> None:
    """If another endpoint of the service has the route, the call fails with RouteAlreadyExists and changes nothing.

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
    """IpAddressType decides which prefix lists get routes, also when it is changed.

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
    """PolicyDocument replaces the policy. ResetPolicy restores the default, which allows everything."""
    default = described(ec2, endpoint_id)["PolicyDocument"]
    nothing = json.dumps({"Version": "2012-10-17", "Statement": []})
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, PolicyDocument=nothing)
    assert described(ec2, endpoint_id)["PolicyDocument"] == nothing
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, ResetPolicy=True)
    assert described(ec2, endpoint_id)["PolicyDocument"] == default


@pytest.mark.parametrize("name", ["AddSubnetIds", "AddSecurityGroupIds"])
def test_a_gateway_endpoint_takes_no_interfaces(ec2: Client, endpoint_id: str, name: str) -> None:
    """Only endpoints with network interfaces accept subnets and security groups: InvalidParameter.

    https://github.com/nanlabs/terraform-aws-starter/issues/18
    """
    change = {"VpcEndpointId": endpoint_id, name: ["subnet-00000000"]}
    assert refused(ec2.modify_vpc_endpoint, **change) == "InvalidParameter"


def test_unknown_endpoint_is_refused(ec2: Client) -> None:
    """InvalidVpcEndpointId.NotFound (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html)."""
    unknown = "vpce-00000000000000000"
    assert refused(lambda: ec2.modify_vpc_endpoint(VpcEndpointId=unknown)) == "InvalidVpcEndpointId.NotFound"


def test_deleting_removes_the_routes(ec2: Client, endpoint_id: str, table_id: str) -> None:
    """The routes of a gateway endpoint are deleted with it (botocore model, DeleteVpcEndpoints)."""
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
    """DeleteVpcEndpoints deletes what it can, and returns the rest with an error code each."""
    unknown = "vpce-00000000000000000"
    (failure,) = ec2.delete_vpc_endpoints(VpcEndpointIds=[unknown, endpoint_id])["Unsuccessful"]
    assert (failure["ResourceId"], failure["Error"]["Code"]) == (unknown, "InvalidVpcEndpointId.NotFound")
    assert described(ec2, endpoint_id)["State"] == "deleted"


def test_an_endpoint_that_may_not_be_deleted_is_unsuccessful(sandbox: Sandbox, ec2: Client, endpoint_id: str) -> None:
    """A rejected deletion is an item of a successful response, and the endpoint remains.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteVpcEndpoints.html
    """
    sandbox.ec2.knobs.undeletable_endpoints = True
    (failure,) = ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint_id])["Unsuccessful"]
    assert (failure["ResourceId"], failure["Error"]["Code"]) == (endpoint_id, "OperationNotPermitted")
    assert described(ec2, endpoint_id)["State"] == "available"


def test_a_change_may_be_seen_late(sandbox: Sandbox, ec2: Client, endpoint_id: str, table_id: str) -> None:
    """For some time, a description can show the state before a change.

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
    """A service without an IPv6 prefix list accepts no IPv6 endpoint: InvalidParameter."""
    made = ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName="com.amazonaws.us-east-1.dynamodb")["VpcEndpoint"]
    change = {"VpcEndpointId": made["VpcEndpointId"], "IpAddressType": "dualstack"}
    assert refused(ec2.modify_vpc_endpoint, **change) == "InvalidParameter"


def test_interface_endpoints_change_and_go_too(ec2: Client, vpc_id: str) -> None:
    """An interface endpoint accepts subnets, and its network interfaces are deleted with it."""
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    made = ec2.create_vpc_endpoint(
        VpcId=vpc_id, ServiceName="com.amazonaws.us-east-1.ec2", VpcEndpointType="Interface", SubnetIds=[subnet_id]
    )["VpcEndpoint"]["VpcEndpointId"]
    assert len(ec2.describe_network_interfaces()["NetworkInterfaces"]) == 1
    ec2.modify_vpc_endpoint(VpcEndpointId=made, RemoveSubnetIds=[subnet_id])
    assert described(ec2, made).get("SubnetIds", []) == []
    ec2.delete_vpc_endpoints(VpcEndpointIds=[made])
    assert ec2.describe_network_interfaces()["NetworkInterfaces"] == []

"""CreateVpcEndpoint and DescribeVpcEndpoints for gateway endpoints.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateVpcEndpoint.html and
https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html say what AWS does.
"""

import json
from typing import Any

import pytest

from sandbox.dynamic import Client
from sandbox.refusals import refused
from sandbox.server import Sandbox

S3EXPRESS = "com.amazonaws.us-east-1.s3express"


def prefix_list_ids(ec2: Client) -> dict[str, str]:
    """Return the ids of the s3express prefix lists by address family."""
    lists = ec2.describe_managed_prefix_lists()["PrefixLists"]
    return {
        item["AddressFamily"]: item["PrefixListId"] for item in lists if item["PrefixListName"].endswith("s3express")
    }


def endpoint_routes(ec2: Client, table_id: str) -> list[dict[str, Any]]:
    """Return the prefix-list routes of a table."""
    (table,) = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    return [route for route in table["Routes"] if "DestinationPrefixListId" in route]


def create(ec2: Client, vpc_id: str, **parameters: object) -> dict[str, Any]:
    """Create an s3express endpoint and return it."""
    endpoint: dict[str, Any] = ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName=S3EXPRESS, **parameters)["VpcEndpoint"]
    return endpoint


def test_adds_a_route_to_each_table(ec2: Client, vpc_id: str, table_id: str) -> None:
    """Each route table in the request gets a route from the prefix list to the endpoint."""
    endpoint = create(ec2, vpc_id, RouteTableIds=[table_id])
    (route,) = endpoint_routes(ec2, table_id)
    assert route["DestinationPrefixListId"] == prefix_list_ids(ec2)["IPv4"]
    assert (route["GatewayId"], route["State"]) == (endpoint["VpcEndpointId"], "active")
    assert endpoint["RouteTableIds"] == [table_id]


def test_defaults(ec2: Client, vpc_id: str) -> None:
    """The defaults are type Gateway, IPv4, a policy that allows everything, and no route table."""
    create(ec2, vpc_id)
    (endpoint,) = ec2.describe_vpc_endpoints()["VpcEndpoints"]
    assert (endpoint["VpcEndpointType"], endpoint["IpAddressType"]) == ("Gateway", "ipv4")
    assert (endpoint["OwnerId"], endpoint["RequesterManaged"]) == ("123456789012", False)
    assert endpoint["DnsOptions"] == {"DnsRecordIpType": "service-defined"}
    (statement,) = json.loads(endpoint["PolicyDocument"])["Statement"]
    assert statement == {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}
    assert endpoint["RouteTableIds"] == []


def test_tags_on_create(ec2: Client, vpc_id: str) -> None:
    """Tags given for the type vpc-endpoint are on the new endpoint."""
    tags = [{"Key": "made-by", "Value": "runbook"}]
    create(ec2, vpc_id, TagSpecifications=[{"ResourceType": "vpc-endpoint", "Tags": tags}])
    assert ec2.describe_vpc_endpoints()["VpcEndpoints"][0]["Tags"] == tags


def test_tags_for_another_type_are_refused(ec2: Client, vpc_id: str) -> None:
    """A tag specification must be for the resource type that is created: InvalidParameterValue."""
    wrong = [{"ResourceType": "vpc", "Tags": [{"Key": "a", "Value": "b"}]}]
    assert refused(lambda: create(ec2, vpc_id, TagSpecifications=wrong)) == "InvalidParameterValue"


def test_pending_first_then_available(ec2: Client, vpc_id: str) -> None:
    """A new endpoint is pending and then available (states: botocore model, DescribeVpcEndpointsRequest)."""
    assert create(ec2, vpc_id)["State"] == "pending"
    assert ec2.describe_vpc_endpoints()["VpcEndpoints"][0]["State"] == "available"


def test_pending_for_as_many_descriptions_as_set(sandbox: Sandbox, ec2: Client, vpc_id: str) -> None:
    """The setting decides how many descriptions show the endpoint as pending."""
    sandbox.ec2.knobs.pending_describes = 2
    create(ec2, vpc_id)
    states = [ec2.describe_vpc_endpoints()["VpcEndpoints"][0]["State"] for _ in range(3)]
    assert states == ["pending", "pending", "available"]


def test_pending_for_as_many_seconds_as_set(sandbox: Sandbox, ec2: Client, vpc_id: str) -> None:
    """The setting decides how long the endpoint is pending."""
    sandbox.ec2.knobs.pending_seconds = 3600
    create(ec2, vpc_id)
    assert ec2.describe_vpc_endpoints()["VpcEndpoints"][0]["State"] == "pending"
    sandbox.ec2.knobs.pending_seconds = 0
    assert ec2.describe_vpc_endpoints()["VpcEndpoints"][0]["State"] == "available"


def test_a_token_makes_one_endpoint(ec2: Client, vpc_id: str, table_id: str) -> None:
    """The same ClientToken with the same parameters returns the same endpoint.

    https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
    """
    first = create(ec2, vpc_id, ClientToken="token", RouteTableIds=[table_id])
    second = create(ec2, vpc_id, ClientToken="token", RouteTableIds=[table_id])
    assert first["VpcEndpointId"] == second["VpcEndpointId"]
    assert len(ec2.describe_vpc_endpoints()["VpcEndpoints"]) == 1


def test_a_token_with_other_parameters_is_refused(ec2: Client, vpc_id: str, table_id: str) -> None:
    """The same ClientToken with other parameters is IdempotentParameterMismatch and changes nothing."""
    create(ec2, vpc_id, ClientToken="token")
    code = refused(lambda: create(ec2, vpc_id, ClientToken="token", RouteTableIds=[table_id]))
    assert code == "IdempotentParameterMismatch"
    assert endpoint_routes(ec2, table_id) == []


def test_a_token_outlives_its_endpoint(sandbox: Sandbox, ec2: Client, vpc_id: str, table_id: str) -> None:
    """A repeated request succeeds and does nothing: it returns the id of an endpoint that was deleted.

    https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
    """
    sandbox.ec2.knobs.tokens_outlive_endpoints = True
    first = create(ec2, vpc_id, ClientToken="token")
    ec2.delete_vpc_endpoints(VpcEndpointIds=[first["VpcEndpointId"]])
    assert create(ec2, vpc_id, ClientToken="token")["VpcEndpointId"] == first["VpcEndpointId"]
    code = refused(lambda: create(ec2, vpc_id, ClientToken="token", RouteTableIds=[table_id]))
    assert code == "IdempotentParameterMismatch"
    assert {endpoint["State"] for endpoint in ec2.describe_vpc_endpoints()["VpcEndpoints"]} == {"deleted"}
    assert create(ec2, vpc_id, ClientToken="other")["VpcEndpointId"] != first["VpcEndpointId"]


def test_dry_run_makes_nothing(ec2: Client, vpc_id: str, table_id: str) -> None:
    """A dry run fails with DryRunOperation and creates no endpoint or route."""
    assert refused(lambda: create(ec2, vpc_id, RouteTableIds=[table_id], DryRun=True)) == "DryRunOperation"
    assert ec2.describe_vpc_endpoints()["VpcEndpoints"] == []
    assert endpoint_routes(ec2, table_id) == []


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"ServiceName": "com.amazonaws.us-east-1.s3expres"}, "InvalidServiceName"),
        ({"ServiceName": "com.amazonaws.eu-west-1.s3express"}, "InvalidServiceName"),
        ({"VpcEndpointType": "Interface"}, "InvalidParameter"),
        ({"ServiceName": "com.amazonaws.us-east-1.ec2"}, "InvalidParameter"),
        ({"VpcId": "vpc-00000000"}, "InvalidVpcID.NotFound"),
        ({"RouteTableIds": ["rtb-00000000"]}, "InvalidRouteTableId.NotFound"),
        ({"RouteTableIds": [""]}, "InvalidRouteTableId.Malformed"),
        ({"PolicyDocument": "everything"}, "InvalidPolicyDocument"),
        ({"PolicyDocument": "{" + " " * 20_480 + "}"}, "InvalidPolicyDocument"),
        ({"PolicyDocument": '{"Statement": ['}, "InvalidPolicyDocument"),
        ({"PolicyDocument": "[]"}, "InvalidPolicyDocument"),
        ({"ClientToken": "x" * 65}, "InvalidParameterValue"),
        ({"IpAddressType": "both"}, "InvalidParameter"),
        ({"SubnetIds": ["subnet-00000000"]}, "InvalidParameter"),
        ({"SecurityGroupIds": ["sg-00000000"]}, "InvalidParameter"),
    ],
)
def test_refuses_what_does_not_exist(ec2: Client, vpc_id: str, changed: dict[str, str], code: str) -> None:
    """Unknown or malformed ids of services, VPCs, and route tables give the error codes that AWS lists.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html; the spelling RouteTableId of the
    endpoint operations as in https://github.com/hashicorp/terraform-provider-aws; a gateway endpoint has no subnets and
    security groups: https://github.com/nanlabs/terraform-aws-starter/issues/18; a token has up to 64 characters:
    https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html.
    """
    parameters = {"VpcId": vpc_id, "ServiceName": S3EXPRESS, **changed}
    assert refused(lambda: ec2.create_vpc_endpoint(**parameters)) == code
    assert ec2.describe_vpc_endpoints()["VpcEndpoints"] == []


def test_interface_endpoints_have_no_route_tables(ec2: Client, vpc_id: str, table_id: str) -> None:
    """Only gateway endpoints have route tables (https://github.com/ansible-collections/amazon.aws/issues/576)."""
    parameters = {"VpcId": vpc_id, "ServiceName": "com.amazonaws.us-east-1.ec2", "VpcEndpointType": "Interface"}
    assert refused(lambda: ec2.create_vpc_endpoint(**parameters, RouteTableIds=[table_id])) == "InvalidParameter"
    endpoint = ec2.create_vpc_endpoint(**parameters)["VpcEndpoint"]
    assert endpoint["VpcEndpointType"] == "Interface"


def test_a_table_of_another_vpc_is_refused(ec2: Client, vpc_id: str) -> None:
    """An endpoint's route tables must belong to its VPC."""
    other = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    foreign = ec2.create_route_table(VpcId=other)["RouteTable"]["RouteTableId"]
    assert refused(lambda: create(ec2, vpc_id, RouteTableIds=[foreign])) == "InvalidParameter"


def test_an_edge_table_is_refused(ec2: Client, vpc_id: str, table_id: str) -> None:
    """A route table that is associated with a gateway cannot have a route for a prefix list.

    https://docs.aws.amazon.com/vpc/latest/userguide/gateway-route-tables.html
    """
    gateway_id = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway_id, VpcId=vpc_id)
    ec2.associate_route_table(RouteTableId=table_id, GatewayId=gateway_id)
    assert refused(lambda: create(ec2, vpc_id, RouteTableIds=[table_id])) == "InvalidParameter"


def test_two_endpoints_share_no_table(ec2: Client, vpc_id: str, table_id: str) -> None:
    """A table that already has a route for the prefix list gives RouteAlreadyExists; other tables are accepted.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-routing,
    https://github.com/eksctl-io/eksctl/issues/4377
    """
    first = create(ec2, vpc_id, RouteTableIds=[table_id])
    assert refused(lambda: create(ec2, vpc_id, RouteTableIds=[table_id])) == "RouteAlreadyExists"
    (route,) = endpoint_routes(ec2, table_id)
    assert route["GatewayId"] == first["VpcEndpointId"]
    other = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    assert create(ec2, vpc_id, RouteTableIds=[other])["RouteTableIds"] == [other]


def test_s3_and_s3express_share_a_table(ec2: Client, vpc_id: str, table_id: str) -> None:
    """One table can have the routes of endpoints of different services."""
    ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName="com.amazonaws.us-east-1.s3", RouteTableIds=[table_id])
    create(ec2, vpc_id, RouteTableIds=[table_id])
    assert len(endpoint_routes(ec2, table_id)) == 2


@pytest.mark.parametrize(
    ("address_type", "families"), [("ipv4", ["IPv4"]), ("ipv6", ["IPv6"]), ("dualstack", ["IPv4", "IPv6"])]
)
def test_the_address_type_chooses_the_prefix_lists(
    ec2: Client, vpc_id: str, table_id: str, address_type: str, families: list[str]
) -> None:
    """IpAddressType decides which prefix lists get routes.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-ip-address-type
    """
    create(ec2, vpc_id, RouteTableIds=[table_id], IpAddressType=address_type)
    lists = prefix_list_ids(ec2)
    routed = {route["DestinationPrefixListId"] for route in endpoint_routes(ec2, table_id)}
    assert routed == {lists[family] for family in families}


@pytest.mark.parametrize("address_type", ["ipv6", "dualstack"])
def test_the_address_type_must_fit_the_subnets(ec2: Client, vpc_id: str, table_id: str, address_type: str) -> None:
    """An IPv6 endpoint needs IPv6-only subnets, and a dual-stack endpoint needs dual-stack subnets."""
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)
    code = refused(lambda: create(ec2, vpc_id, RouteTableIds=[table_id], IpAddressType=address_type))
    assert code == "InvalidParameter"


def test_twenty_gateway_endpoints(ec2: Client, vpc_id: str) -> None:
    """The quota is 20 gateway endpoints in a Region: VpcEndpointLimitExceeded.

    https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html
    """
    endpoints = [create(ec2, vpc_id)["VpcEndpointId"] for _ in range(20)]
    assert refused(lambda: create(ec2, vpc_id)) == "VpcEndpointLimitExceeded"
    ec2.delete_vpc_endpoints(VpcEndpointIds=endpoints[:1])
    ec2.describe_vpc_endpoints()
    assert create(ec2, vpc_id)["VpcEndpointId"] not in endpoints


def test_filters(ec2: Client, vpc_id: str) -> None:
    """vpc-endpoint-id, vpc-endpoint-type, vpc-id, service-name and vpc-endpoint-state (botocore model)."""
    endpoint_id = create(ec2, vpc_id)["VpcEndpointId"]
    other = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    ec2.create_vpc_endpoint(VpcId=other, ServiceName="com.amazonaws.us-east-1.s3")
    for name, value in {
        "vpc-endpoint-id": endpoint_id,
        "vpc-id": vpc_id,
        "service-name": S3EXPRESS,
    }.items():
        found = ec2.describe_vpc_endpoints(Filters=[{"Name": name, "Values": [value]}])["VpcEndpoints"]
        assert [endpoint["VpcEndpointId"] for endpoint in found] == [endpoint_id], name
    available = [{"Name": "vpc-endpoint-state", "Values": ["available"]}]
    assert len(ec2.describe_vpc_endpoints(Filters=available)["VpcEndpoints"]) == 2
    gateways = [{"Name": "vpc-endpoint-type", "Values": ["Gateway"]}]
    assert len(ec2.describe_vpc_endpoints(Filters=gateways)["VpcEndpoints"]) == 2

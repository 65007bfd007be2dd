"""VPC endpoints, above all gateway endpoints, and the services that they lead to.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateVpcEndpoint.html,
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifyVpcEndpoint.html,
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteVpcEndpoints.html and
https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html say what AWS does.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.ec2.regions import REGIONS
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox

S3EXPRESS = "com.amazonaws.us-east-1.s3express"
DYNAMODB = "com.amazonaws.us-east-1.dynamodb"
UNKNOWN = "vpce-00000000000000000"
LONG = "{" + " " * 20_480 + "}"


@pytest.fixture
def endpoint_id(ec2: Client, vpc_id: str) -> str:
    """Create an s3express endpoint without route tables and return its id."""
    return str(create(ec2, vpc_id)["VpcEndpointId"])


@pytest.fixture
def edge_table_id(ec2: Client, vpc_id: str) -> str:
    """Create a route table that is associated with an internet gateway."""
    gateway_id = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway_id, VpcId=vpc_id)
    table_id = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    ec2.associate_route_table(RouteTableId=table_id, GatewayId=gateway_id)
    return str(table_id)


def prefix_list_ids(ec2: Client) -> dict[str, str]:
    """Return the ids of the s3express prefix lists by address family."""
    lists = ec2.describe_managed_prefix_lists()["PrefixLists"]
    return {
        item["AddressFamily"]: item["PrefixListId"] for item in lists if item["PrefixListName"].endswith("s3express")
    }


def endpoint_routes(ec2: Client, table_id: str) -> list[dict[str, Any]]:
    """Return the prefix-list routes of a table."""
    [table] = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    return [route for route in table["Routes"] if "DestinationPrefixListId" in route]


def targets(ec2: Client, table_id: str) -> list[str]:
    """Return the endpoints to which the prefix-list routes of a table lead."""
    return [route["GatewayId"] for route in endpoint_routes(ec2, table_id)]


def create(ec2: Client, vpc_id: str, **parameters: object) -> dict[str, Any]:
    """Create an s3express endpoint and return it."""
    endpoint: dict[str, Any] = ec2.create_vpc_endpoint(**{"VpcId": vpc_id, "ServiceName": S3EXPRESS, **parameters})[
        "VpcEndpoint"
    ]
    return endpoint


def described(ec2: Client, endpoint_id: str) -> dict[str, Any]:
    """Return the endpoint's description."""
    endpoint: dict[str, Any] = ec2.describe_vpc_endpoints(VpcEndpointIds=[endpoint_id])["VpcEndpoints"][0]
    return endpoint


# --- CreateVpcEndpoint -----------------------------------------------------------------------------------------------


def test_defaults(ec2: Client, vpc_id: str) -> None:
    """The defaults are type Gateway, IPv4, a policy that allows everything, and no route table."""
    endpoint = described(ec2, create(ec2, vpc_id)["VpcEndpointId"])
    assert (endpoint["VpcEndpointType"], endpoint["IpAddressType"]) == ("Gateway", "ipv4")
    assert (endpoint["OwnerId"], endpoint["RequesterManaged"]) == ("123456789012", False)
    assert endpoint["DnsOptions"] == {"DnsRecordIpType": "service-defined"}
    [statement] = json.loads(endpoint["PolicyDocument"])["Statement"]
    assert statement == {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}
    assert endpoint["RouteTableIds"] == []


def test_pending_first_then_available(sandbox: Sandbox, ec2: Client, vpc_id: str) -> None:
    """A new endpoint is pending for as many descriptions as the test sets."""
    sandbox.ec2.knobs.pending_describes = 2
    created = create(ec2, vpc_id)
    endpoint_id = created["VpcEndpointId"]
    states = [described(ec2, endpoint_id)["State"] for _ in range(3)]
    assert [created["State"], *states] == ["pending", "pending", "pending", "available"]


def test_a_token_makes_one_endpoint(ec2: Client, vpc_id: str, table_id: str) -> None:
    """Fifty concurrent requests with one ClientToken share an endpoint; with other parameters they are a mismatch.

    https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
    """
    with ThreadPoolExecutor(max_workers=10) as pool:
        made = list(pool.map(lambda _: create(ec2, vpc_id, ClientToken="token"), range(50)))
    assert len({endpoint["VpcEndpointId"] for endpoint in made}) == 1
    assert len(ec2.describe_vpc_endpoints()["VpcEndpoints"]) == 1
    code = refused(lambda: create(ec2, vpc_id, ClientToken="token", RouteTableIds=[table_id]))
    assert code == "IdempotentParameterMismatch"
    assert endpoint_routes(ec2, table_id) == []


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"ServiceName": "com.amazonaws.us-east-1.s3expres"}, "InvalidServiceName"),
        ({"ServiceName": "com.amazonaws.eu-west-1.s3express"}, "InvalidServiceName"),
        ({"VpcEndpointType": "Interface"}, "InvalidParameter"),
        ({"VpcId": "vpc-00000000"}, "InvalidVpcID.NotFound"),
        ({"RouteTableIds": ["rtb-00000000"]}, "InvalidRouteTableId.NotFound"),
        ({"RouteTableIds": ["{foreign}"]}, "InvalidParameter"),
        ({"RouteTableIds": ["{edge}"]}, "InvalidParameter"),
        ({"RouteTableIds": ["{ipv4}"], "IpAddressType": "ipv6"}, "InvalidParameter"),
        ({"PolicyDocument": LONG}, "InvalidPolicyDocument"),
        ({"ClientToken": "x" * 65}, "InvalidParameterValue"),
        ({"SubnetIds": ["subnet-00000000"]}, "InvalidParameter"),
        ({"SecurityGroupIds": ["sg-00000000"]}, "InvalidParameter"),
        (
            {"TagSpecifications": [{"ResourceType": "vpc", "Tags": [{"Key": "a", "Value": "b"}]}]},
            "InvalidParameterValue",
        ),
        ({"RouteTableIds": ["{edge}"], "DryRun": True}, "DryRunOperation"),
    ],
)
def test_refuses_what_is_not_possible(
    ec2: Client, vpc_id: str, table_id: str, subnet_id: str, edge_table_id: str, changed: dict[str, Any], code: str
) -> None:
    """Unknown and malformed ids, tables of other VPCs, of gateways, or of subnets of another address type are refused.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html; the spelling RouteTableId of the
    endpoint operations as in https://github.com/hashicorp/terraform-provider-aws; a gateway endpoint has no subnets and
    security groups: https://github.com/nanlabs/terraform-aws-starter/issues/18; an interface endpoint no route tables:
    https://github.com/ansible-collections/amazon.aws/issues/576; a token has up to 64 characters:
    https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html; no prefix lists in tables of gateways:
    https://docs.aws.amazon.com/vpc/latest/userguide/gateway-route-tables.html.
    """
    ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)
    elsewhere = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    foreign = ec2.create_route_table(VpcId=elsewhere)["RouteTable"]["RouteTableId"]
    tables = {"foreign": foreign, "edge": edge_table_id, "ipv4": table_id}
    if "RouteTableIds" in changed:
        changed = {**changed, "RouteTableIds": [name.format(**tables) for name in changed["RouteTableIds"]]}
    assert refused(lambda: create(ec2, vpc_id, **changed)) == code
    assert ec2.describe_vpc_endpoints()["VpcEndpoints"] == []
    assert endpoint_routes(ec2, table_id) == endpoint_routes(ec2, edge_table_id) == []


@pytest.mark.parametrize(
    ("address_type", "families"), [("ipv4", ["IPv4"]), ("ipv6", ["IPv6"]), ("dualstack", ["IPv4", "IPv6"])]
)
def test_each_table_gets_a_route_for_each_prefix_list_of_the_address_type(
    ec2: Client, vpc_id: str, table_id: str, address_type: str, families: list[str]
) -> None:
    """IpAddressType decides which prefix lists get routes to the endpoint.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-ip-address-type
    """
    endpoint = create(ec2, vpc_id, RouteTableIds=[table_id], IpAddressType=address_type)
    lists, routes = prefix_list_ids(ec2), endpoint_routes(ec2, table_id)
    assert endpoint["RouteTableIds"] == [table_id]
    assert {route["DestinationPrefixListId"] for route in routes} == {lists[family] for family in families}
    assert {(route["GatewayId"], route["State"]) for route in routes} == {(endpoint["VpcEndpointId"], "active")}


def test_two_endpoints_of_a_service_share_no_table(ec2: Client, vpc_id: str, table_id: str) -> None:
    """A table that already has a route for the prefix list gives RouteAlreadyExists; another service may share it.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-routing,
    https://github.com/eksctl-io/eksctl/issues/4377
    """
    first = create(ec2, vpc_id, RouteTableIds=[table_id])["VpcEndpointId"]
    assert refused(lambda: create(ec2, vpc_id, RouteTableIds=[table_id])) == "RouteAlreadyExists"
    assert targets(ec2, table_id) == [first]
    other = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    assert create(ec2, vpc_id, RouteTableIds=[other])["RouteTableIds"] == [other]
    create(ec2, vpc_id, ServiceName="com.amazonaws.us-east-1.s3", RouteTableIds=[table_id])
    assert len(targets(ec2, table_id)) == 2


def test_twenty_gateway_endpoints(ec2: Client, vpc_id: str) -> None:
    """The quota is 20 gateway endpoints in a Region: VpcEndpointLimitExceeded.

    https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-limits-endpoints.html
    """
    endpoints = [create(ec2, vpc_id)["VpcEndpointId"] for _ in range(20)]
    assert refused(lambda: create(ec2, vpc_id)) == "VpcEndpointLimitExceeded"
    ec2.delete_vpc_endpoints(VpcEndpointIds=endpoints[:1])
    ec2.describe_vpc_endpoints()
    assert create(ec2, vpc_id)["VpcEndpointId"] not in endpoints


# --- ModifyVpcEndpoint -----------------------------------------------------------------------------------------------


def test_tables_are_added_once_and_removed_alone(ec2: Client, endpoint_id: str, table_id: str, vpc_id: str) -> None:
    """AddRouteTableIds adds the route once, also if it is repeated; RemoveRouteTableIds removes it from that table."""
    other = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    for added in ([table_id, table_id], [table_id, other]):
        assert ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=added)["Return"] is True
    assert described(ec2, endpoint_id)["RouteTableIds"] == [table_id, other]
    assert targets(ec2, table_id) == targets(ec2, other) == [endpoint_id]
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, RemoveRouteTableIds=[table_id])
    assert (targets(ec2, table_id), targets(ec2, other)) == ([], [endpoint_id])
    assert described(ec2, endpoint_id)["RouteTableIds"] == [other]
    ec2.delete_route_table(RouteTableId=other)
    assert described(ec2, endpoint_id)["RouteTableIds"] == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"VpcEndpointId": UNKNOWN}, "InvalidVpcEndpointId.NotFound"),
        ({"AddSubnetIds": ["subnet-00000000"]}, "InvalidParameter"),
        ({"VpcEndpointId": "{dynamodb}", "IpAddressType": "dualstack"}, "InvalidParameter"),
        ({"AddRouteTableIds": ["{free}", "{taken}"]}, "RouteAlreadyExists"),
    ],
)
def test_changes_that_are_not_possible_are_refused(
    ec2: Client, vpc_id: str, endpoint_id: str, table_id: str, change: dict[str, Any], code: str
) -> None:
    """A refused change changes nothing, also if it adds a table that another endpoint of the service has.

    InvalidParameter is what https://github.com/hashicorp/terraform-provider-aws expects; DynamoDB has no IPv6 list.
    """
    free, taken = (ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"] for _ in range(2))
    owner = create(ec2, vpc_id, RouteTableIds=[taken])["VpcEndpointId"]
    dynamodb = create(ec2, vpc_id, ServiceName=DYNAMODB)["VpcEndpointId"]
    names = {"table": table_id, "free": free, "taken": taken, "dynamodb": dynamodb}

    def filled(value: Any) -> Any:
        return value.format(**names) if isinstance(value, str) else [each.format(**names) for each in value]

    request = {"VpcEndpointId": endpoint_id, **{name: filled(value) for name, value in change.items()}}
    assert refused(ec2.modify_vpc_endpoint, **request) == code
    assert described(ec2, endpoint_id)["RouteTableIds"] == []
    assert (targets(ec2, free), targets(ec2, taken)) == ([], [owner])


def test_changing_the_address_type_swaps_the_routes(ec2: Client, endpoint_id: str, table_id: str) -> None:
    """IpAddressType decides which prefix lists get routes, also when it is changed.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-ip-address-type
    """
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id])
    lists = prefix_list_ids(ec2)
    for address_type, wanted in (("ipv6", {lists["IPv6"]}), ("dualstack", set(lists.values()))):
        ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, IpAddressType=address_type)
        assert {route["DestinationPrefixListId"] for route in endpoint_routes(ec2, table_id)} == wanted
        assert described(ec2, endpoint_id)["IpAddressType"] == address_type


def test_a_change_may_be_seen_late(sandbox: Sandbox, ec2: Client, endpoint_id: str, table_id: str) -> None:
    """For some time, a description can show the state before a change.

    https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
    """
    sandbox.ec2.knobs.stale_describes = 2
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id])
    assert [described(ec2, endpoint_id)["RouteTableIds"] for _ in range(3)] == [[], [], [table_id]]


# --- DeleteVpcEndpoints ----------------------------------------------------------------------------------------------


def test_deleting_removes_the_routes(ec2: Client, endpoint_id: str, table_id: str) -> None:
    """The routes go with the endpoint, which is described as deleted, then not found (botocore model)."""
    ec2.modify_vpc_endpoint(VpcEndpointId=endpoint_id, AddRouteTableIds=[table_id])
    assert "Unsuccessful" not in ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint_id])
    assert targets(ec2, table_id) == []
    assert described(ec2, endpoint_id)["State"] == "deleted"
    assert refused(lambda: described(ec2, endpoint_id)) == "InvalidVpcEndpointId.NotFound"


def test_what_cannot_be_deleted_is_unsuccessful(sandbox: Sandbox, ec2: Client, endpoint_id: str) -> None:
    """Unknown endpoints, and those that may not be deleted, are items of a successful response; the others go."""
    sandbox.ec2.knobs.undeletable_endpoints = True
    [failure] = ec2.delete_vpc_endpoints(VpcEndpointIds=[endpoint_id])["Unsuccessful"]
    assert (failure["ResourceId"], failure["Error"]["Code"]) == (endpoint_id, "OperationNotPermitted")
    assert described(ec2, endpoint_id)["State"] == "available"
    sandbox.ec2.knobs.undeletable_endpoints = False
    [failure] = ec2.delete_vpc_endpoints(VpcEndpointIds=[UNKNOWN, endpoint_id])["Unsuccessful"]
    assert (failure["ResourceId"], failure["Error"]["Code"]) == (UNKNOWN, "InvalidVpcEndpointId.NotFound")
    assert described(ec2, endpoint_id)["State"] == "deleted"


# --- DescribeVpcEndpointServices -------------------------------------------------------------------------------------


def test_s3express_is_a_gateway_service_where_it_is_offered(sandbox: Sandbox) -> None:
    """Fifteen Regions have the service, under the Region's own name; in others it is unknown.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-az-networking.html,
    https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-differences.html
    """
    assert len(REGIONS) == 15
    for region in REGIONS:
        name = f"com.amazonaws.{region}.s3express"
        [detail] = sandbox.client("ec2", region).describe_vpc_endpoint_services(ServiceNames=[name])["ServiceDetails"]
        assert detail["ServiceType"] == [{"ServiceType": "Gateway"}]
    without = sandbox.client("ec2", "eu-west-2")
    assert [name for name in without.describe_vpc_endpoint_services()["ServiceNames"] if "s3express" in name] == []
    request = {"ServiceNames": ["com.amazonaws.eu-west-2.s3express"]}
    assert refused(without.describe_vpc_endpoint_services, **request) == "InvalidServiceName"

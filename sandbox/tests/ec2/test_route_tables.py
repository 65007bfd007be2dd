"""Route tables: associations, routes, and the state of routes whose target is gone.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateRouteTable.html and
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateRoute.html say what AWS does; the error codes are in
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html.
"""

from collections.abc import Callable
from typing import Any

import pytest

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox

DEFAULT = {"DestinationCidrBlock": "0.0.0.0/0"}
S3EXPRESS = "com.amazonaws.us-east-1.s3express"


@pytest.fixture
def gateway_id(ec2: Client, vpc_id: str) -> str:
    """Attach an internet gateway to the VPC and return its id."""
    made = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=made, VpcId=vpc_id)
    return str(made)


@pytest.fixture
def main(ec2: Client, vpc_id: str) -> dict[str, Any]:
    """Return the main route table of the VPC."""
    [table] = ec2.describe_route_tables(Filters=main_of(vpc_id))["RouteTables"]
    return dict(table)


def main_of(vpc_id: str) -> list[dict[str, Any]]:
    """Return the filters that find the main table of a VPC."""
    return [{"Name": "vpc-id", "Values": [vpc_id]}, {"Name": "association.main", "Values": ["true"]}]


def associations(ec2: Client, table_id: str) -> list[dict[str, Any]]:
    """Return the associations of a table."""
    [table] = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    return list(table["Associations"])


def routes(ec2: Client, table_id: str) -> dict[str, dict[str, Any]]:
    """Return the routes of a table by destination."""
    [table] = ec2.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    names = ("DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId")
    return {next(route[name] for name in names if name in route): route for route in table["Routes"]}


def default_route(ec2: Client, table_id: str) -> dict[str, Any]:
    """Return the IPv4 or IPv6 default route of a table."""
    found = routes(ec2, table_id)
    return found.get("0.0.0.0/0") or found["::/0"]


def private_nat(ec2: Client, subnet_id: str) -> str:
    """Create a private NAT gateway and return its id."""
    return str(ec2.create_nat_gateway(SubnetId=subnet_id, ConnectivityType="private")["NatGateway"]["NatGatewayId"])


def test_the_same_table_again_changes_nothing(ec2: Client, table_id: str, subnet_id: str) -> None:
    """Associating a subnet with its own table again returns the existing association."""
    made = {ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)["AssociationId"] for _ in range(2)}
    assert [item["RouteTableAssociationId"] for item in associations(ec2, table_id)] == list(made)


def test_associations_that_are_not_possible_are_refused(
    ec2: Client, vpc_id: str, table_id: str, subnet_id: str
) -> None:
    """A subnet has one table, of its own VPC, and a gateway must be attached to the VPC."""
    other = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    elsewhere = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    foreign = ec2.create_subnet(VpcId=elsewhere, CidrBlock="10.1.0.0/24")["Subnet"]["SubnetId"]
    loose = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)
    for given, code in (
        ({"SubnetId": subnet_id}, "Resource.AlreadyAssociated"),
        ({"SubnetId": foreign}, "InvalidParameterValue"),
        ({"GatewayId": loose}, "InvalidParameterValue"),
        ({}, "MissingParameter"),
    ):
        assert refused(ec2.associate_route_table, RouteTableId=other, **given) == code, given
    assert associations(ec2, other) == []


def test_edge_association(ec2: Client, table_id: str, gateway_id: str) -> None:
    """An edge association names the gateway and no subnet, and the filter association.gateway-id finds it.

    https://docs.aws.amazon.com/vpc/latest/userguide/gateway-route-tables.html
    """
    ec2.associate_route_table(RouteTableId=table_id, GatewayId=gateway_id)
    [association] = associations(ec2, table_id)
    assert (association["GatewayId"], association["Main"], "SubnetId" in association) == (gateway_id, False, False)
    for name, found in (("association.gateway-id", [table_id]), ("association.subnet-id", [])):
        tables = ec2.describe_route_tables(Filters=[{"Name": name, "Values": [gateway_id]}])["RouteTables"]
        assert [table["RouteTableId"] for table in tables] == found


def test_the_main_association_stays(ec2: Client, vpc_id: str, main: dict[str, Any]) -> None:
    """The main association cannot be removed, only replaced (https://github.com/ansible/ansible/issues/25521)."""
    association_id = main["Associations"][0]["RouteTableAssociationId"]
    assert refused(ec2.disassociate_route_table, AssociationId=association_id) == "InvalidParameterValue"
    new = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    ec2.replace_route_table_association(AssociationId=association_id, RouteTableId=new)
    found = ec2.describe_route_tables(Filters=main_of(vpc_id))["RouteTables"]
    assert [table["RouteTableId"] for table in found] == [new]


def test_a_deleted_subnet_leaves_its_table(ec2: Client, table_id: str, subnet_id: str) -> None:
    """A subnet can return to the main table; deleting it removes its association, and the table can be deleted."""
    made = ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)["AssociationId"]
    ec2.disassociate_route_table(AssociationId=made)
    assert associations(ec2, table_id) == []
    ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)
    ec2.delete_subnet(SubnetId=subnet_id)
    assert associations(ec2, table_id) == []
    ec2.delete_route_table(RouteTableId=table_id)


def test_main_tables_and_subnets_in_use_cannot_be_deleted(
    ec2: Client, vpc_id: str, main: dict[str, Any], subnet_id: str
) -> None:
    """A main table is deleted with its VPC only, and a subnet after its NAT gateway: DependencyViolation.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteRouteTable.html,
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteSubnet.html
    """
    nat = private_nat(ec2, subnet_id)
    assert refused(ec2.delete_route_table, RouteTableId=main["RouteTableId"]) == "DependencyViolation"
    assert refused(ec2.delete_subnet, SubnetId=subnet_id) == "DependencyViolation"
    ec2.delete_nat_gateway(NatGatewayId=nat)
    ec2.delete_subnet(SubnetId=subnet_id)
    ec2.delete_vpc(VpcId=vpc_id)
    assert ec2.describe_route_tables(Filters=main_of(vpc_id))["RouteTables"] == []


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({**DEFAULT}, "MissingParameter"),
        ({**DEFAULT, "NatGatewayId": "nat-00000000000000000"}, "InvalidNatGatewayID.NotFound"),
        ({**DEFAULT, "GatewayId": "igw-00000000"}, "InvalidInternetGatewayID.NotFound"),
        ({**DEFAULT, "GatewayId": "vpce-00000000000000000"}, "InvalidParameterValue"),
        ({"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "igw-00000000"}, "RouteAlreadyExists"),
        ({"DestinationPrefixListId": "pl-00000000", "GatewayId": "igw-0"}, "InvalidPrefixListID.NotFound"),
    ],
)
def test_routes_need_a_destination_and_a_target_that_exist(
    ec2: Client, table_id: str, given: dict[str, str], code: str
) -> None:
    """A gateway endpoint is no target, and the local route already has the VPC's own CIDR."""
    assert refused(ec2.create_route, RouteTableId=table_id, **given) == code
    assert list(routes(ec2, table_id)) == ["10.0.0.0/16"]


def test_one_route_for_a_destination(ec2: Client, table_id: str, gateway_id: str) -> None:
    """A second route for the same destination gives RouteAlreadyExists."""
    made = ec2.create_managed_prefix_list(PrefixListName="mine", MaxEntries=1, AddressFamily="IPv4")["PrefixList"]
    by_list = {"DestinationPrefixListId": made["PrefixListId"]}
    for destination in (DEFAULT, {"DestinationIpv6CidrBlock": "::/0"}, by_list):
        ec2.create_route(RouteTableId=table_id, GatewayId=gateway_id, **destination)
        code = refused(ec2.create_route, RouteTableId=table_id, GatewayId=gateway_id, **destination)
        assert code == "RouteAlreadyExists", destination


def test_a_gateway_of_another_vpc_is_refused(ec2: Client, table_id: str) -> None:
    """An internet gateway must be attached to the table's VPC, and a NAT gateway must be in it.

    https://github.com/smoketurner/serverless-vpc-plugin/issues/147
    """
    loose = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    assert refused(ec2.create_route, RouteTableId=table_id, GatewayId=loose, **DEFAULT) == "InvalidParameterValue"
    other = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    nat = private_nat(ec2, ec2.create_subnet(VpcId=other, CidrBlock="10.1.0.0/24")["Subnet"]["SubnetId"])
    assert refused(ec2.create_route, RouteTableId=table_id, NatGatewayId=nat, **DEFAULT) == "InvalidParameterValue"


def test_routes_of_endpoints_and_local_routes_stay(ec2: Client, vpc_id: str, table_id: str, gateway_id: str) -> None:
    """Routes of gateway endpoints change only through the endpoint; other routes can be deleted once.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-routing
    """
    ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName=S3EXPRESS, RouteTableIds=[table_id])
    [prefix_list] = (name for name in routes(ec2, table_id) if name.startswith("pl-"))
    before = routes(ec2, table_id)
    of_endpoint = {"RouteTableId": table_id, "DestinationPrefixListId": prefix_list}
    assert refused(ec2.delete_route, **of_endpoint) == "InvalidParameterValue"
    assert refused(ec2.replace_route, GatewayId=gateway_id, **of_endpoint) == "InvalidParameterValue"
    local = {"RouteTableId": table_id, "DestinationCidrBlock": "10.0.0.0/16"}
    assert refused(ec2.delete_route, **local) == "InvalidParameterValue"
    ec2.create_route(RouteTableId=table_id, GatewayId=gateway_id, **DEFAULT)
    ec2.delete_route(RouteTableId=table_id, **DEFAULT)
    assert refused(ec2.delete_route, RouteTableId=table_id, **DEFAULT) == "InvalidRoute.NotFound"
    assert routes(ec2, table_id) == before


# --- targets that go -------------------------------------------------------------------------------------------------

Target = tuple[dict[str, str], Callable[[], object]]
"""The parameters of CreateRoute that name a target, and what makes it unavailable."""


def internet_gateway(ec2: Client, vpc_id: str, _subnet_id: str) -> Target:
    """An internet gateway that is detached."""
    gateway = {"InternetGatewayId": ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]}
    ec2.attach_internet_gateway(**gateway, VpcId=vpc_id)
    target = {**DEFAULT, "GatewayId": gateway["InternetGatewayId"]}
    return target, lambda: ec2.detach_internet_gateway(**gateway, VpcId=vpc_id)


def nat_gateway(ec2: Client, _vpc_id: str, subnet_id: str) -> Target:
    """A NAT gateway that is deleted."""
    nat = {"NatGatewayId": private_nat(ec2, subnet_id)}
    return {**DEFAULT, **nat}, lambda: ec2.delete_nat_gateway(**nat)


def peering(ec2: Client, vpc_id: str, _subnet_id: str) -> Target:
    """A peering connection that is deleted."""
    peer = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    made = ec2.create_vpc_peering_connection(VpcId=vpc_id, PeerVpcId=peer)["VpcPeeringConnection"]
    target = {"VpcPeeringConnectionId": made["VpcPeeringConnectionId"]}
    ec2.accept_vpc_peering_connection(**target)
    return {**DEFAULT, **target}, lambda: ec2.delete_vpc_peering_connection(**target)


@pytest.mark.parametrize(
    "make",
    [
        internet_gateway,
        nat_gateway,
        peering,
    ],
)
def test_route_to_a_target_that_is_gone_is_a_blackhole(
    ec2: Client, vpc_id: str, table_id: str, subnet_id: str, make: Callable[[Client, str, str], Target]
) -> None:
    """The route remains, and keeps its target (botocore model, Route.State)."""
    target, end = make(ec2, vpc_id, subnet_id)
    ec2.create_route(RouteTableId=table_id, **target)
    route = default_route(ec2, table_id)
    assert route["State"] == "active"
    assert target.items() <= route.items()
    end()
    assert default_route(ec2, table_id) == {**route, "State": "blackhole"}


@pytest.mark.parametrize("by", ["InstanceId", "NetworkInterfaceId"])
def test_nat_instance(ec2: Client, table_id: str, subnet_id: str, by: str) -> None:
    """A route to an instance has its id, owner, and interface, whichever was given, until it is terminated."""
    [instance] = ec2.run_instances(ImageId="ami-00000000", MinCount=1, MaxCount=1, SubnetId=subnet_id)["Instances"]
    interface_id = instance["NetworkInterfaces"][0]["NetworkInterfaceId"]
    ids = {"InstanceId": instance["InstanceId"], "NetworkInterfaceId": interface_id}
    ec2.create_route(RouteTableId=table_id, **DEFAULT, **{by: ids[by]})
    route = default_route(ec2, table_id)
    assert ids.items() <= route.items()
    assert (route["InstanceOwnerId"], route["State"]) == ("123456789012", "active")
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    assert default_route(ec2, table_id)["State"] == "blackhole"


def test_deleted_gateway_load_balancer_endpoint(sandbox: Sandbox, ec2: Client, vpc_id: str, table_id: str) -> None:
    """Routes to a deleted Gateway Load Balancer endpoint remain blackholes, also after it is no longer described."""
    subnets = [ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.9.0/24")["Subnet"]["SubnetId"]]
    balancer = sandbox.client("elbv2").create_load_balancer(Name="appliances", Type="gateway", Subnets=subnets)
    service = ec2.create_vpc_endpoint_service_configuration(
        GatewayLoadBalancerArns=[balancer["LoadBalancers"][0]["LoadBalancerArn"]]
    )["ServiceConfiguration"]
    made = ec2.create_vpc_endpoint(
        VpcId=vpc_id, ServiceName=service["ServiceName"], VpcEndpointType="GatewayLoadBalancer"
    )["VpcEndpoint"]["VpcEndpointId"]
    ec2.create_route(RouteTableId=table_id, VpcEndpointId=made, **DEFAULT)
    assert (default_route(ec2, table_id)["GatewayId"], default_route(ec2, table_id)["State"]) == (made, "active")
    ec2.delete_vpc_endpoints(VpcEndpointIds=[made])
    for _ in range(3):
        assert default_route(ec2, table_id)["State"] == "blackhole"
        ec2.describe_vpc_endpoints()

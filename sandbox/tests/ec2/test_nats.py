"""NAT gateways and NAT instances.

https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-basics.html,
https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateways-regional.html,
https://docs.aws.amazon.com/vpc/latest/userguide/VPC_NAT_Instance.html
"""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox


@pytest.fixture
def gateway_id(ec2: Client, vpc_id: str) -> str:
    """Attach an internet gateway to the VPC and return its id."""
    made = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=made, VpcId=vpc_id)
    return str(made)


def described(ec2: Client, nat_gateway_id: str) -> dict[str, Any]:
    """Return the NAT gateway's description."""
    nat_gateway: dict[str, Any] = ec2.describe_nat_gateways(NatGatewayIds=[nat_gateway_id])["NatGateways"][0]
    return nat_gateway


def create(ec2: Client, **parameters: object) -> str:
    """Create a NAT gateway and return its id."""
    return str(ec2.create_nat_gateway(**parameters)["NatGateway"]["NatGatewayId"])


def test_zonal_and_private(ec2: Client, subnet_id: str) -> None:
    """A NAT gateway is zonal and public by default, with an Elastic IP address; a private one has no address."""
    address = ec2.allocate_address(Domain="vpc")
    public = described(ec2, create(ec2, SubnetId=subnet_id, AllocationId=address["AllocationId"]))
    assert (public["AvailabilityMode"], public["ConnectivityType"]) == ("zonal", "public")
    assert (public["SubnetId"], public["State"], "RouteTableId" in public) == (subnet_id, "available", False)
    assert public["NatGatewayAddresses"][0]["PublicIp"] == address["PublicIp"]
    private = described(ec2, create(ec2, SubnetId=subnet_id, ConnectivityType="private"))
    assert (private["ConnectivityType"], "PublicIp" in private["NatGatewayAddresses"][0]) == ("private", False)


def test_regional(ec2: Client, vpc_id: str, subnet_id: str, gateway_id: str) -> None:
    """A regional NAT gateway has an address in each zone of the VPC, and a route table of its own, both gone with it."""
    nat_gateway = described(ec2, create(ec2, VpcId=vpc_id, AvailabilityMode="regional"))
    assert (nat_gateway["AvailabilityMode"], nat_gateway["State"]) == ("regional", "available")
    assert (nat_gateway["VpcId"], nat_gateway.get("SubnetId")) == (vpc_id, None)
    [address] = nat_gateway["NatGatewayAddresses"]
    assert (address["AvailabilityZoneId"], bool(address["PublicIp"])) == ("use1-az4", bool(subnet_id))
    [table] = ec2.describe_route_tables(RouteTableIds=[nat_gateway["RouteTableId"]])["RouteTables"]
    [route] = [route for route in table["Routes"] if route.get("DestinationCidrBlock") == "0.0.0.0/0"]
    assert (route["GatewayId"], route["State"]) == (gateway_id, "active")
    assert not [item for item in table["Associations"] if item["Main"] or "SubnetId" in item]
    ec2.delete_nat_gateway(NatGatewayId=nat_gateway["NatGatewayId"])
    assert refused(ec2.describe_route_tables, RouteTableIds=[table["RouteTableId"]]) == "InvalidRouteTableID.NotFound"
    assert ec2.describe_addresses()["Addresses"] == []


def test_regional_without_an_internet_gateway_fails(ec2: Client, vpc_id: str) -> None:
    """Without an attached internet gateway, its state becomes failed (botocore model, NatGateway.FailureCode)."""
    nat_gateway = described(ec2, create(ec2, VpcId=vpc_id, AvailabilityMode="regional"))
    assert (nat_gateway["State"], nat_gateway["FailureCode"]) == ("failed", "Gateway.NotAttached")


REGIONAL = {"AvailabilityMode": "regional"}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"SubnetId": "{subnet}"}, "MissingParameter"),
        ({"SubnetId": "{subnet}", "ConnectivityType": "private", "AllocationId": "x"}, "InvalidParameterCombination"),
        ({"VpcId": "{vpc}"}, "MissingParameter"),
        ({**REGIONAL}, "MissingParameter"),
        ({**REGIONAL, "VpcId": "vpc-00000000"}, "InvalidVpcID.NotFound"),
        ({**REGIONAL, "VpcId": "{vpc}", "SubnetId": "{subnet}"}, "InvalidParameterCombination"),
        ({**REGIONAL, "VpcId": "{vpc}", "ConnectivityType": "private"}, "InvalidParameterCombination"),
    ],
)
def test_gateways_that_are_not_possible_are_refused(
    ec2: Client, vpc_id: str, subnet_id: str, given: dict[str, str], code: str
) -> None:
    """A zonal gateway needs a subnet and, if it is public, an address; a regional one has a VPC and is public.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateNatGateway.html
    """
    filled = {name: value.format(vpc=vpc_id, subnet=subnet_id) for name, value in given.items()}
    assert refused(ec2.create_nat_gateway, **filled) == code


def test_states(sandbox: Sandbox, ec2: Client, subnet_id: str) -> None:
    """The state pending is described as often as set, and a deleted gateway remains described."""
    sandbox.ec2.knobs.pending_describes = 1
    made = create(ec2, SubnetId=subnet_id, ConnectivityType="private")
    assert [described(ec2, made)["State"] for _ in range(2)] == ["pending", "available"]
    ec2.delete_nat_gateway(NatGatewayId=made)
    assert [described(ec2, made)["State"] for _ in range(2)] == ["deleted", "deleted"]
    assert described(ec2, made)["DeleteTime"]


def test_deleting_frees_interface_and_address(ec2: Client, subnet_id: str) -> None:
    """Deletion removes the network interface and disassociates the Elastic IP address, which remains allocated."""
    allocation_id = ec2.allocate_address(Domain="vpc")["AllocationId"]
    made = create(ec2, SubnetId=subnet_id, AllocationId=allocation_id)
    [found] = ec2.describe_network_interfaces()["NetworkInterfaces"]
    assert (found["InterfaceType"], found["SourceDestCheck"]) == ("nat_gateway", False)
    ec2.delete_nat_gateway(NatGatewayId=made)
    assert ec2.describe_network_interfaces()["NetworkInterfaces"] == []
    [address] = ec2.describe_addresses(AllocationIds=[allocation_id])["Addresses"]
    assert not address.get("AssociationId")


def test_unknown_ids_are_refused(ec2: Client) -> None:
    """NatGatewayNotFound (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html)."""
    unknown = "nat-00000000000000000"
    assert refused(ec2.describe_nat_gateways, NatGatewayIds=[unknown]) == "NatGatewayNotFound"
    assert refused(ec2.delete_nat_gateway, NatGatewayId=unknown) == "NatGatewayNotFound"


def test_a_token_makes_one(ec2: Client, subnet_id: str) -> None:
    """The same ClientToken makes one NAT gateway (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html)."""
    parameters = {"SubnetId": subnet_id, "ConnectivityType": "private", "ClientToken": "token"}
    assert create(ec2, **parameters) == create(ec2, **parameters)


def run(ec2: Client, subnet_id: str, **primary: object) -> tuple[str, str]:
    """Run an instance with a primary interface in a subnet; return the ids of both."""
    interfaces = [{"DeviceIndex": 0, "SubnetId": subnet_id, **primary}]
    made = ec2.run_instances(
        ImageId="ami-0123456789abcdef0", InstanceType="t4g.nano", NetworkInterfaces=interfaces, MinCount=1, MaxCount=1
    )["Instances"][0]
    return str(made["InstanceId"]), str(made["NetworkInterfaces"][0]["NetworkInterfaceId"])


def interface(ec2: Client, interface_id: str) -> dict[str, Any]:
    """Return the description of an interface."""
    [found] = ec2.describe_network_interfaces(NetworkInterfaceIds=[interface_id])["NetworkInterfaces"]
    return dict(found)


def test_primary_interface_ends_with_its_instance(ec2: Client, subnet_id: str) -> None:
    """A terminated instance takes its primary interface with it, unless DeleteOnTermination is false.

    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/scenarios-enis.html
    """
    (gone, gone_interface), (ended, kept) = run(ec2, subnet_id), run(ec2, subnet_id, DeleteOnTermination=False)
    ec2.terminate_instances(InstanceIds=[gone, ended])
    with pytest.raises(ClientError, match=r"InvalidNetworkInterfaceID\.NotFound"):
        interface(ec2, gone_interface)
    assert interface(ec2, kept)["NetworkInterfaceId"] == kept

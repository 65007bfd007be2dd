"""The run's own VPC: private subnets behind a NAT gateway. Nothing else of the account is evaluated or healed."""

from dataclasses import dataclass

from acceptance.place import Client, Place, pages

ANYWHERE = "0.0.0.0/0"
BLOCK = "10.213"


@dataclass(frozen=True, slots=True)
class Private:
    """A private subnet, and the route table that leads it to the NAT gateway."""

    subnet: str
    table: str


@dataclass(frozen=True, slots=True)
class Network:
    """The run's VPC: two private subnets with a table each, and a third one for what a customer edits."""

    vpc: str
    public: str
    nat_gateway: str
    first: Private
    second: Private
    third: Private

    @property
    def private(self) -> tuple[Private, ...]:
        """All private subnets."""
        return (self.first, self.second, self.third)


def make_network(place: Place) -> Network:
    """Make the VPC. Everything in it has the run's tag."""
    ec2 = place.client("ec2")
    vpc = ec2.create_vpc(CidrBlock=f"{BLOCK}.0.0/16", TagSpecifications=place.tagged("vpc"))["Vpc"]["VpcId"]
    ec2.get_waiter("vpc_available").wait(VpcIds=[vpc])
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": True})
    gateway = ec2.create_internet_gateway(TagSpecifications=place.tagged("internet-gateway"))["InternetGateway"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway["InternetGatewayId"], VpcId=vpc)
    public = _subnet(place, vpc, 0)
    route_table(place, vpc, public, GatewayId=gateway["InternetGatewayId"])
    address = ec2.allocate_address(Domain="vpc", TagSpecifications=place.tagged("elastic-ip"))["AllocationId"]
    nat = ec2.create_nat_gateway(SubnetId=public, AllocationId=address, TagSpecifications=place.tagged("natgateway"))[
        "NatGateway"
    ]["NatGatewayId"]
    ec2.get_waiter("nat_gateway_available").wait(NatGatewayIds=[nat])
    return Network(vpc, public, nat, *(_private(place, vpc, nat, number) for number in (1, 2, 3)))


def _private(place: Place, vpc: str, nat: str, number: int) -> Private:
    subnet = _subnet(place, vpc, number)
    return Private(subnet, route_table(place, vpc, subnet, NatGatewayId=nat))


def _subnet(place: Place, vpc: str, number: int) -> str:
    made = place.client("ec2").create_subnet(
        VpcId=vpc, CidrBlock=f"{BLOCK}.{number}.0/24", TagSpecifications=place.tagged("subnet")
    )
    return str(made["Subnet"]["SubnetId"])


def route_table(place: Place, vpc: str, subnet: str | None = None, **target: str) -> str:
    """Make a route table with a default route, associated with a subnet if there is one, and return its id."""
    ec2 = place.client("ec2")
    made = ec2.create_route_table(VpcId=vpc, TagSpecifications=place.tagged("route-table"))
    table = str(made["RouteTable"]["RouteTableId"])
    if target:
        ec2.create_route(RouteTableId=table, DestinationCidrBlock=ANYWHERE, **target)
    if subnet:
        ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)
    return table


def express(place: Place) -> str:
    """Return the name of the service in this Region."""
    return f"com.amazonaws.{place.region}.s3express"


def endpoints(place: Place, vpc: str) -> list[dict[str, object]]:
    """Return the S3 Express gateway endpoints of a VPC that are not being deleted."""
    ec2: Client = place.client("ec2")
    filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "service-name", "Values": [express(place)]}]
    found = pages(ec2, "describe_vpc_endpoints", "VpcEndpoints", Filters=filters)
    return [endpoint for endpoint in found if not endpoint["State"].lower().startswith("delet")]


def other_internet_gateways(place: Place) -> list[str]:
    """Return the internet gateways that are not the run's. A setting of the whole account would close them."""
    found = pages(place.client("ec2"), "describe_internet_gateways", "InternetGateways")
    return [
        one["InternetGatewayId"] for one in found if place.tags[0] not in one.get("Tags", []) and one["Attachments"]
    ]

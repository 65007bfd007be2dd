"""Networks in a sandbox, built through the EC2 API or, if they are large, directly in the sandbox's memory."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from moto.ec2.models import ec2_backends
from moto.ec2.models.route_tables import Route

from sandbox.config_items.direct import direct_client
from sandbox.server import Sandbox

ANYWHERE = "0.0.0.0/0"
ANYWHERE_IPV6 = "::/0"


class Builder:
    """Creates resources in the sandbox's account and Region and returns their ids."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Start with only the default VPC."""
        self.sandbox = sandbox
        self.ec2: Any = direct_client(sandbox, "ec2")
        self.region = sandbox.region
        self.memory: Any = ec2_backends[sandbox.account_id][sandbox.region]
        self._blocks: Iterator[int] = count()

    def vpc(self, block: str = "10.0.0.0/16") -> str:
        """Create a VPC."""
        return str(self.ec2.create_vpc(CidrBlock=block)["Vpc"]["VpcId"])

    def subnet(self, vpc_id: str, table_id: str | None = None, **more: object) -> str:
        """Create a subnet with the next free block of 10.0.0.0/16 and the given route table, or the main one."""
        block = f"10.0.{next(self._blocks)}.0/24"
        answer = self.ec2.create_subnet(VpcId=vpc_id, CidrBlock=block, **more)
        subnet_id = str(answer["Subnet"]["SubnetId"])
        if table_id:
            self.associate(table_id, subnet_id)
        return subnet_id

    def dual_stack(self, vpc_id: str, subnet_id: str) -> str:
        """Give a subnet an IPv6 block from the VPC's Amazon-provided block and return it."""
        self.ec2.associate_vpc_cidr_block(VpcId=vpc_id, AmazonProvidedIpv6CidrBlock=True)
        [vpc] = self.ec2.describe_vpcs(VpcIds=[vpc_id])["Vpcs"]
        block = vpc["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"].replace("/56", "/64")
        self.ec2.associate_subnet_cidr_block(SubnetId=subnet_id, Ipv6CidrBlock=block)
        return str(block)

    def associate(self, table_id: str, subnet_id: str) -> str:
        """Associate a table with a subnet and return the association."""
        return str(self.ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)["AssociationId"])

    def table(self, vpc_id: str, **target: str) -> str:
        """Create a route table, with a default route if a target (NatGatewayId="nat-...") is given."""
        table_id = str(self.ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"])
        if target:
            self.route(table_id, **target)
        return table_id

    def route(self, table_id: str, destination: str = ANYWHERE, **target: str) -> None:
        """Create a route; the destination is a CIDR block or the id of a prefix list."""
        named = "DestinationPrefixListId" if destination.startswith("pl-") else "DestinationCidrBlock"
        named = "DestinationIpv6CidrBlock" if ":" in destination else named
        self.ec2.create_route(RouteTableId=table_id, **{named: destination}, **target)

    def main_table(self, vpc_id: str) -> str:
        """Return the id of a VPC's main route table."""
        return str(self._main(vpc_id)["RouteTableId"])

    def make_main(self, vpc_id: str, table_id: str) -> None:
        """Make another route table the main one of its VPC."""
        association_id = next(
            association["RouteTableAssociationId"] for association in self._main(vpc_id)["Associations"]
        )
        self.ec2.replace_route_table_association(AssociationId=association_id, RouteTableId=table_id)

    def _main(self, vpc_id: str) -> dict[str, Any]:
        wanted = [{"Name": "vpc-id", "Values": [vpc_id]}, {"Name": "association.main", "Values": ["true"]}]
        [table] = self.ec2.describe_route_tables(Filters=wanted)["RouteTables"]
        found: dict[str, Any] = table
        return found

    def internet_gateway(self, vpc_id: str) -> str:
        """Create an internet gateway and attach it."""
        gateway_id = str(self.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"])
        self.ec2.attach_internet_gateway(InternetGatewayId=gateway_id, VpcId=vpc_id)
        return gateway_id

    def nat_gateway(self, subnet_id: str, **more: str) -> str:
        """Create a NAT gateway, public unless ConnectivityType="private" is given."""
        if not more:
            more = {"AllocationId": self.ec2.allocate_address(Domain="vpc")["AllocationId"]}
        return str(self.ec2.create_nat_gateway(SubnetId=subnet_id, **more)["NatGateway"]["NatGatewayId"])

    def endpoint(self, vpc_id: str, *table_ids: str, service: str = "s3express", **more: object) -> str:
        """Create a gateway endpoint of an AWS service."""
        name = f"com.amazonaws.{self.region}.{service}"
        answer = self.ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName=name, RouteTableIds=list(table_ids), **more)
        return str(answer["VpcEndpoint"]["VpcEndpointId"])

    def appliance_endpoint(self, vpc_id: str, subnet_id: str) -> str:
        """Create a Gateway Load Balancer and an endpoint for it in a subnet."""
        balancers = self.sandbox.client("elbv2")
        balancer = balancers.create_load_balancer(Name="firewall", Type="gateway", Subnets=[subnet_id])
        arns = [balancer["LoadBalancers"][0]["LoadBalancerArn"]]
        service = self.ec2.create_vpc_endpoint_service_configuration(
            GatewayLoadBalancerArns=arns, AcceptanceRequired=False
        )["ServiceConfiguration"]["ServiceName"]
        return str(
            self.ec2.create_vpc_endpoint(
                VpcId=vpc_id, ServiceName=service, VpcEndpointType="GatewayLoadBalancer", SubnetIds=[subnet_id]
            )["VpcEndpoint"]["VpcEndpointId"]
        )

    def prefix_list(self, *cidrs: str, family: str = "IPv4") -> str:
        """Create a customer-managed prefix list."""
        answer = self.ec2.create_managed_prefix_list(
            PrefixListName="customer",
            MaxEntries=10,
            AddressFamily=family,
            Entries=[{"Cidr": cidr} for cidr in cidrs],
        )
        return str(answer["PrefixList"]["PrefixListId"])

    def tag(self, resource_id: str, key: str, value: str = "") -> None:
        """Tag a resource."""
        self.ec2.create_tags(Resources=[resource_id], Tags=[{"Key": key, "Value": value}])

    def many_subnets(self, vpc_id: str, number: int) -> list[str]:
        """Create up to 2048 subnets in the upper half of 10.0.0.0/16 without one call for each."""
        zone, everything = f"{self.region}a", self.memory.subnets
        made = []
        for place in range(number):
            self.memory.subnets = defaultdict(dict)  # moto searches all of them for each one that it creates
            block = f"10.0.{128 + place // 16}.{place % 16 * 16}/28"
            made.append(self.memory.create_subnet(vpc_id, block, availability_zone=zone))
        self.memory.subnets = everything
        everything[zone].update({subnet.id: subnet for subnet in made})
        return [str(subnet.id) for subnet in made]

    def many_routes(self, table_id: str, destinations: Iterable[str], nat_gateway_id: str) -> None:
        """Create many routes to a NAT gateway without one call for each."""
        table = self.memory.get_route_table(table_id)
        for destination in destinations:
            route = Route(table, destination, None, nat_gateway=self.memory.nat_gateways[nat_gateway_id])
            table._routes[route.id] = route  # noqa: SLF001  # moto has no other way past its checks

    def many_tables(self, vpc_id: str, number: int) -> list[str]:
        """Create many route tables without one call for each."""
        return [str(self.memory.create_route_table(vpc_id).id) for _ in range(number)]


class Private:
    """A VPC with one private subnet, whose route table leads to a NAT gateway in a public subnet."""

    def __init__(self, builder: Builder) -> None:
        """Create the VPC."""
        self.vpc = builder.vpc()
        self.public = builder.table(self.vpc, GatewayId=builder.internet_gateway(self.vpc))
        self.public_subnet = builder.subnet(self.vpc, self.public)
        self.nat = builder.nat_gateway(self.public_subnet)
        self.table = builder.table(self.vpc, NatGatewayId=self.nat)
        self.subnet = builder.subnet(self.vpc, self.table)

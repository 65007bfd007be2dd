"""Networks in a sandbox, built through the EC2 API or, if they are large, directly in the sandbox's memory."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from moto.ec2.models import ec2_backends
from moto.ec2.models.route_tables import Route

from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.server import Sandbox


class Builder(Account):
    """Makes resources in the sandbox's own account, also large numbers of them, whose calls are not counted."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Start with only the default VPC."""
        super().__init__(sandbox)
        self.ec2: Any = direct_client(sandbox, "ec2")
        self.memory: Any = ec2_backends[sandbox.account_id][sandbox.region]

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
        """Create up to 2048 subnets in the upper half of the VPC's block without one call for each."""
        zone, everything = f"{self.sandbox.region}a", self.memory.subnets
        network = self.block(vpc_id).removesuffix(".0.0/16")
        made = []
        for place in range(number):
            self.memory.subnets = defaultdict(dict)  # moto searches all of them for each one that it creates
            block = f"{network}.{128 + place // 16}.{place % 16 * 16}/28"
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

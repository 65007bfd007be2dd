"""The network of one account and Region, and random changes of it, as its owners make them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import acting_in, direct_client
from config_rule_sandbox.server import Sandbox

ANYWHERE = "0.0.0.0/0"
SUBNETS = 4
"""The private subnets at the start."""
DELETED_ENDPOINTS = 0.3
"""The probability that an existing endpoint is deleted, and not changed."""
EXCLUDED = "express-path:exclude"


@dataclass(slots=True)
class _Subnet:
    id: str
    association_id: str = ""
    is_excluded: bool = False


@dataclass(slots=True)
class _Table:
    id: str
    nat_id: str = ""


@dataclass
class Network:
    """A VPC with private subnets, route tables, NAT gateways, and sometimes an endpoint. Calls are those of people."""

    sandbox: Sandbox
    account_id: str
    region: str
    random: Random
    subnets: list[_Subnet] = field(default_factory=list)
    tables: list[_Table] = field(default_factory=list)
    nat_ids: list[str] = field(default_factory=list)
    endpoint_id: str = ""

    def __post_init__(self) -> None:
        """Create the VPC: subnets behind a NAT gateway, and a second route table."""
        ec2: Client = direct_client(self.sandbox, "ec2", self.region)
        self.ec2 = ec2
        with acting_in(self.account_id):
            self._vpc_id = str(ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"])
            self._blocks = 0
            gateway_id = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
            ec2.attach_internet_gateway(InternetGatewayId=gateway_id, VpcId=self._vpc_id)
            self._public_id = self._new_subnet()
            public = self._new_table()
            ec2.create_route(RouteTableId=public, DestinationCidrBlock=ANYWHERE, GatewayId=gateway_id)
            ec2.associate_route_table(RouteTableId=public, SubnetId=self._public_id)
            self.add_nat_gateway()
            self.tables = [_Table(self._new_table()) for _ in range(2)]
            self.change_default_route(self.tables[0])
            for _ in range(SUBNETS):
                self.create_subnet()

    def change(self) -> None:
        """Make one random change."""
        changes: list[tuple[int, Callable[[], object]]] = [
            (5, self.associate),
            (5, self.change_default_route),
            (2, self.change_specific_route),
            (4, self.change_endpoint),
            (2, self.create_subnet),
            (2, self.delete_subnet),
            (2, self.change_tag),
            (1, self.add_nat_gateway),
            (1, self.delete_nat_gateway),
        ]
        [change] = self.random.choices([change for _, change in changes], [weight for weight, _ in changes])
        with acting_in(self.account_id):
            change()

    def associate(self, subnet: _Subnet | None = None) -> None:
        """Associate a subnet with another route table, or with none, so that the main one governs it."""
        subnet = subnet or (self.random.choice(self.subnets) if self.subnets else None)
        if subnet is None:
            return
        table = self.random.choice([*self.tables, None])
        if subnet.association_id and table:
            subnet.association_id = self.ec2.replace_route_table_association(
                AssociationId=subnet.association_id, RouteTableId=table.id
            )["NewAssociationId"]
        elif table:
            made = self.ec2.associate_route_table(RouteTableId=table.id, SubnetId=subnet.id)
            subnet.association_id = made["AssociationId"]
        elif subnet.association_id:
            self.ec2.disassociate_route_table(AssociationId=subnet.association_id)
            subnet.association_id = ""

    def change_default_route(self, table: _Table | None = None) -> None:
        """Delete the default route of a table, or let it lead to a NAT gateway."""
        table = table or self.random.choice(self.tables)
        if table.nat_id:
            self.ec2.delete_route(RouteTableId=table.id, DestinationCidrBlock=ANYWHERE)
            table.nat_id = ""
        elif self.nat_ids:
            table.nat_id = self.random.choice(self.nat_ids)
            self.ec2.create_route(RouteTableId=table.id, DestinationCidrBlock=ANYWHERE, NatGatewayId=table.nat_id)

    def change_specific_route(self) -> None:
        """Add or delete a route for a small part of S3 Express's addresses, which makes a path partly a NAT path."""
        table = self.random.choice(self.tables)
        routes = self.ec2.describe_route_tables(RouteTableIds=[table.id])["RouteTables"][0]["Routes"]
        block = self._s3express_block()
        if any(route.get("DestinationCidrBlock") == block for route in routes):
            self.ec2.delete_route(RouteTableId=table.id, DestinationCidrBlock=block)
        elif self.nat_ids:
            nat_id = self.random.choice(self.nat_ids)
            self.ec2.create_route(RouteTableId=table.id, DestinationCidrBlock=block, NatGatewayId=nat_id)

    def change_endpoint(self) -> None:
        """Create the endpoint, delete it, or add or remove the route table of private subnets."""
        if not self.endpoint_id:
            made = self.ec2.create_vpc_endpoint(
                VpcId=self._vpc_id,
                ServiceName=f"com.amazonaws.{self.region}.s3express",
                RouteTableIds=[self.random.choice(self.tables).id],
            )
            self.endpoint_id = made["VpcEndpoint"]["VpcEndpointId"]
        elif self.random.random() < DELETED_ENDPOINTS:
            self.ec2.delete_vpc_endpoints(VpcEndpointIds=[self.endpoint_id])
            self.endpoint_id = ""
        else:
            table_id = self.random.choice(self.tables).id
            [found] = self.ec2.describe_vpc_endpoints(VpcEndpointIds=[self.endpoint_id])["VpcEndpoints"]
            what = "RemoveRouteTableIds" if table_id in found["RouteTableIds"] else "AddRouteTableIds"
            self.ec2.modify_vpc_endpoint(VpcEndpointId=self.endpoint_id, **{what: [table_id]})

    def create_subnet(self) -> None:
        """Create a subnet, and associate it with a route table."""
        subnet = _Subnet(self._new_subnet())
        self.subnets.append(subnet)
        self.associate(subnet)

    def delete_subnet(self) -> None:
        """Delete a subnet, unless it is the last one."""
        if len(self.subnets) > 1:
            subnet = self.subnets.pop(self.random.randrange(len(self.subnets)))
            self.ec2.delete_subnet(SubnetId=subnet.id)

    def change_tag(self) -> None:
        """Exclude a subnet by its tag, or include it again."""
        subnet = self.random.choice(self.subnets)
        change = self.ec2.delete_tags if subnet.is_excluded else self.ec2.create_tags
        change(Resources=[subnet.id], Tags=[{"Key": EXCLUDED, "Value": "yes"}])
        subnet.is_excluded = not subnet.is_excluded

    def add_nat_gateway(self) -> None:
        """Create a NAT gateway."""
        made = self.ec2.create_nat_gateway(SubnetId=self._public_id, ConnectivityType="private")
        self.nat_ids.append(made["NatGateway"]["NatGatewayId"])

    def delete_nat_gateway(self) -> None:
        """Delete a NAT gateway. Its routes stay, and drop the traffic."""
        if len(self.nat_ids) > 1:
            self.ec2.delete_nat_gateway(NatGatewayId=self.nat_ids.pop(0))

    def _new_table(self) -> str:
        return str(self.ec2.create_route_table(VpcId=self._vpc_id)["RouteTable"]["RouteTableId"])

    def _new_subnet(self) -> str:
        self._blocks += 1
        block = f"10.0.{self._blocks}.0/24"
        return str(self.ec2.create_subnet(VpcId=self._vpc_id, CidrBlock=block)["Subnet"]["SubnetId"])

    def _s3express_block(self) -> str:
        """Return the first block of S3 Express, which is longer than any other route's."""
        name = {"Name": "prefix-list-name", "Values": [f"com.amazonaws.{self.region}.s3express"]}
        return str(min(self.ec2.describe_prefix_lists(Filters=[name])["PrefixLists"][0]["Cidrs"]))

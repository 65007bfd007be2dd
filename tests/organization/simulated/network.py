"""The network of one account and Region, and random changes of it, as its owners make them."""

from collections.abc import Callable
from random import Random

from sandbox.config_items.direct import acting_in
from sandbox.networks import ANYWHERE
from sandbox.server import Sandbox
from tests.support.network import Builder, Private

SUBNETS = 4
"""The private subnets at the start that change."""
DELETED_ENDPOINTS = 0.3
"""The probability that an existing endpoint is deleted, and not changed."""
EXCLUDED = "express-path:exclude"


class Network:
    """A VPC with private subnets, route tables, NAT gateways, and sometimes an endpoint. Calls are those of people."""

    def __init__(self, sandbox: Sandbox, random: Random) -> None:
        """Create the VPC in the account and Region of the sandbox: subnets behind a NAT gateway, and a second route table."""
        self._account_id, self._random = sandbox.account_id, random
        with acting_in(self._account_id):
            self._builder = Builder(sandbox)
            self._private = Private(self._builder)
            self._ec2, self._vpc_id = self._builder.ec2, self._private.vpc
            self._nat_ids = [self._private.nat]
            self._nat_of_table = {self._private.table: self._private.nat, self._builder.table(self._vpc_id): ""}
            self._with_specific_route: set[str] = set()
            self._endpoint_id = ""
            self._association_of_subnet: dict[str, str] = {}
            self._excluded: set[str] = set()
            for _ in range(SUBNETS):
                self._create_subnet()

    def change(self) -> None:
        """Make one random change."""
        changes: dict[Callable[[], None], int] = {
            self._associate: 5,
            self._change_default_route: 5,
            self._change_specific_route: 2,
            self._change_endpoint: 4,
            self._create_subnet: 2,
            self._delete_subnet: 2,
            self._change_tag: 2,
            self._add_nat_gateway: 1,
            self._delete_nat_gateway: 1,
        }
        [change] = self._random.choices(list(changes), list(changes.values()))
        with acting_in(self._account_id):
            change()

    def _any_table(self) -> str:
        return self._random.choice(list(self._nat_of_table))

    def _any_subnet(self) -> str:
        return self._random.choice(list(self._association_of_subnet))

    def _associate(self, subnet_id: str = "") -> None:
        """Associate a subnet with another route table, or with none, so that the main one governs it."""
        subnet_id = subnet_id or self._any_subnet()
        table_id = self._random.choice([*self._nat_of_table, ""])
        if association_id := self._association_of_subnet[subnet_id]:
            self._ec2.disassociate_route_table(AssociationId=association_id)
        self._association_of_subnet[subnet_id] = self._builder.associate(table_id, subnet_id) if table_id else ""

    def _change_default_route(self) -> None:
        """Delete the default route of a table, or let it lead to a NAT gateway."""
        table_id = self._any_table()
        if self._nat_of_table[table_id]:
            self._ec2.delete_route(RouteTableId=table_id, DestinationCidrBlock=ANYWHERE)
            self._nat_of_table[table_id] = ""
        else:
            self._nat_of_table[table_id] = self._random.choice(self._nat_ids)
            self._builder.route(table_id, NatGatewayId=self._nat_of_table[table_id])

    def _change_specific_route(self) -> None:
        """Add or delete a route for a small part of S3 Express's addresses, which makes a path partly a NAT path."""
        table_id, block = self._any_table(), self._s3express_block()
        if table_id in self._with_specific_route:
            self._ec2.delete_route(RouteTableId=table_id, DestinationCidrBlock=block)
        else:
            self._builder.route(table_id, block, NatGatewayId=self._random.choice(self._nat_ids))
        self._with_specific_route ^= {table_id}

    def _change_endpoint(self) -> None:
        """Create the endpoint, delete it, or add or remove the route table of private subnets."""
        table_id = self._any_table()
        if not self._endpoint_id:
            self._endpoint_id = self._builder.endpoint(self._vpc_id, table_id)
        elif self._random.random() < DELETED_ENDPOINTS:
            self._ec2.delete_vpc_endpoints(VpcEndpointIds=[self._endpoint_id])
            self._endpoint_id = ""
        else:
            [found] = self._ec2.describe_vpc_endpoints(VpcEndpointIds=[self._endpoint_id])["VpcEndpoints"]
            what = "RemoveRouteTableIds" if table_id in found["RouteTableIds"] else "AddRouteTableIds"
            self._ec2.modify_vpc_endpoint(VpcEndpointId=self._endpoint_id, **{what: [table_id]})

    def _create_subnet(self) -> None:
        """Create a subnet, and associate it with a route table."""
        subnet_id = self._builder.subnet(self._vpc_id)
        self._association_of_subnet[subnet_id] = ""
        self._associate(subnet_id)

    def _delete_subnet(self) -> None:
        """Delete a subnet, unless it is the last one."""
        if len(self._association_of_subnet) > 1:
            subnet_id = self._any_subnet()
            self._ec2.delete_subnet(SubnetId=subnet_id)
            del self._association_of_subnet[subnet_id]

    def _change_tag(self) -> None:
        """Exclude a subnet by its tag, or include it again."""
        subnet_id = self._any_subnet()
        change = self._ec2.delete_tags if subnet_id in self._excluded else self._ec2.create_tags
        change(Resources=[subnet_id], Tags=[{"Key": EXCLUDED, "Value": "yes"}])
        self._excluded ^= {subnet_id}

    def _add_nat_gateway(self) -> None:
        """Create a NAT gateway."""
        self._nat_ids.append(self._builder.nat_gateway(self._private.public_subnet))

    def _delete_nat_gateway(self) -> None:
        """Delete a NAT gateway. Its routes stay, and drop the traffic."""
        if len(self._nat_ids) > 1:
            self._ec2.delete_nat_gateway(NatGatewayId=self._nat_ids.pop(0))

    def _s3express_block(self) -> str:
        """Return the first block of S3 Express, which is longer than any other route's."""
        name = {"Name": "prefix-list-name", "Values": [f"com.amazonaws.{self._builder.sandbox.region}.s3express"]}
        return str(min(self._ec2.describe_prefix_lists(Filters=[name])["PrefixLists"][0]["Cidrs"]))

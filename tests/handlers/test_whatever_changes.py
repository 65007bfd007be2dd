"""After the events of random changes, in any order, the sweep has nothing to report."""

from collections.abc import Callable
from contextlib import suppress
from random import Random

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.config.items.items import ItemStyle
from config_rule_sandbox.networks.account import ANYWHERE
from config_rule_sandbox.server import Sandbox
from tests.support.network import Builder
from tests.support.rule import Rule

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

TAG = "express-path:exclude"


class Vpc:
    """A VPC with every kind of hop that changes at random."""

    def __init__(self, builder: Builder, random: Random, destinations: list[str]) -> None:
        """Build it: subnets with several tables, NAT gateways, forwarding interfaces, a firewall, and no endpoint."""
        self._builder, self._ec2, self._random = builder, builder.ec2, random
        self._destinations = [ANYWHERE, ANYWHERE, ANYWHERE, *destinations]
        self.id = builder.vpc()
        self._gateway = builder.internet_gateway(self.id)
        self._tables = [builder.table(self.id, GatewayId=self._gateway), *(builder.table(self.id) for _ in range(2))]
        self._subnets = [builder.subnet(self.id, table_id) for table_id in (*self._tables, None)]
        self._nats = [builder.nat_gateway(self._subnets[0])]
        self._interfaces = [self._interface() for _ in range(2)]
        self._firewall = builder.load_balancer_endpoint(self.id, random.choice(self._subnets))
        self._endpoints: list[str] = []

    def _interface(self) -> str:
        subnet = self._random.choice(self._subnets)
        made = str(self._ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"]["NetworkInterfaceId"])
        self._ec2.modify_network_interface_attribute(NetworkInterfaceId=made, SourceDestCheck={"Value": False})
        return made

    def change(self) -> None:
        """Make one change; a change that AWS rejects is skipped."""
        changes: list[Callable[[], object]] = [
            *[self._route] * 4,
            *[self._replace_route] * 2,
            self._remove_route,
            *[self._associate] * 2,
            *[self._disassociate] * 4,
            lambda: self._builder.make_main(self.id, self._table()),
            self._make_endpoint,
            self._associate_endpoint,
            self._delete_endpoint,
            lambda: self._nats.append(self._builder.nat_gateway(self._subnet())),
            lambda: self._ec2.delete_nat_gateway(NatGatewayId=self._random.choice(self._nats)),
            lambda: self._subnets.append(self._builder.subnet(self.id)),
            lambda: self._ec2.delete_subnet(SubnetId=self._subnet()),
            lambda: self._tables.append(self._builder.table(self.id)),
            lambda: self._ec2.delete_route_table(RouteTableId=self._table()),
            lambda: self._builder.tag(self._random.choice([self._subnet(), self._table()]), TAG),
            lambda: self._ec2.delete_tags(Resources=[*self._subnets, *self._tables], Tags=[{"Key": TAG}]),
        ]
        with suppress(ClientError, IndexError):
            self._random.choice(changes)()

    def _subnet(self) -> str:
        return self._random.choice(self._subnets)

    def _table(self) -> str:
        return self._random.choice([*self._tables, self._builder.main_table(self.id)])

    def _target(self) -> dict[str, str]:
        return self._random.choice(
            [
                *[{"NetworkInterfaceId": interface_id} for interface_id in self._interfaces],
                {"VpcEndpointId": self._firewall},
                {"NatGatewayId": self._random.choice(self._nats)},
                {"GatewayId": self._gateway},
            ]
        )

    def _route(self) -> None:
        self._builder.route(self._table(), self._random.choice(self._destinations), **self._target())

    def _replace_route(self) -> None:
        destination = self._random.choice(self._destinations)
        self._ec2.replace_route(RouteTableId=self._table(), DestinationCidrBlock=destination, **self._target())

    def _remove_route(self) -> None:
        destination = self._random.choice(self._destinations)
        self._ec2.delete_route(RouteTableId=self._table(), DestinationCidrBlock=destination)

    def _associate(self) -> None:
        self._builder.associate(self._table(), self._subnet())

    def _disassociate(self) -> None:
        of_vpc = [{"Name": "vpc-id", "Values": [self.id]}]
        tables = self._ec2.describe_route_tables(Filters=of_vpc)["RouteTables"]
        explicit = [association for table in tables for association in table["Associations"] if not association["Main"]]
        association = self._random.choice(explicit)["RouteTableAssociationId"]
        if self._random.random() < 0.5:
            self._ec2.disassociate_route_table(AssociationId=association)
        else:
            self._ec2.replace_route_table_association(AssociationId=association, RouteTableId=self._table())

    def _make_endpoint(self) -> None:
        self._endpoints.append(self._builder.endpoint(self.id, self._table()))

    def _associate_endpoint(self) -> None:
        change = self._random.choice(["AddRouteTableIds", "RemoveRouteTableIds"])
        endpoint = self._random.choice(self._endpoints)
        self._ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, **{change: [self._table()]})

    def _delete_endpoint(self) -> None:
        self._ec2.delete_vpc_endpoints(VpcEndpointIds=[self._random.choice(self._endpoints)])


@pytest.mark.parametrize("seed", [7, *(pytest.param(seed, marks=pytest.mark.long) for seed in (8, 32))])
def test_the_sweep_finds_nothing_that_events_did_not(sandbox: Sandbox, builder: Builder, seed: int) -> None:
    """After random changes of two VPCs with late or reordered events, the stored results equal those of a sweep."""
    random = Random(seed)
    lists = builder.ec2.describe_prefix_lists()["PrefixLists"]
    [express] = [prefix_list["Cidrs"] for prefix_list in lists if prefix_list["PrefixListName"].endswith(".s3express")]
    vpcs = [Vpc(builder, random, express[:2]) for _ in range(2)]
    rule = Rule(sandbox, style=ItemStyle(indirect_relationships=bool(seed % 2)))
    rule.loop.baseline()
    rule.changes()
    for _ in range(10):
        for _ in range(random.randint(1, 3)):
            random.choice(vpcs).change()
        rule.loop.notice()
        late = random.random() < 0.3
        deliveries = rule.loop.deliver(late=late, shuffled_with_seed=random.randint(0, 99))
        assert [delivery.error for delivery in deliveries if delivery.error] == []
        if not late:
            assert rule.held()
            assert rule.sweep() == {}

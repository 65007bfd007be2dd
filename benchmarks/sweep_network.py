"""A plain network for benchmarks, put straight into moto's memory: creating it call by call would take minutes."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from typing import Any

from moto.ec2.models import ec2_backends
from moto.ec2.models.managed_prefixes import ManagedPrefixList
from moto.ec2.models.route_tables import Route

from sandbox.dynamic import Moto

SUBNETS = 12
TABLES = 7
ANYWHERE = "0.0.0.0/0"


def seed(account_id: str, region: str, vpcs: int) -> None:
    """Put VPCs of 12 subnets and 7 route tables into a Region; DescribeSubnets then finds 12 subnets for each.

    Each has a main table that no subnet uses, a public table, and five private ones: three lead to a NAT gateway each,
    one to a NAT gateway past an endpoint of S3 Express, and one leads nowhere. The default VPC is taken away.
    """
    memory: Moto = ec2_backends[account_id][region]
    _forget_default_vpc(memory)
    for _ in range(vpcs):
        with _alone(memory):
            _vpc(memory)


@contextmanager
def _alone(memory: Moto) -> Iterator[None]:
    """Hide the subnets and tables of other VPCs, all of which moto would look through for each that is made."""
    subnets, route_tables = memory.subnets, memory.route_tables
    memory.subnets, memory.route_tables = defaultdict(dict), {}
    yield
    for zone, made in memory.subnets.items():
        subnets[zone].update(made)
    route_tables.update(memory.route_tables)
    memory.subnets, memory.route_tables = subnets, route_tables


def _forget_default_vpc(memory: Moto) -> None:
    for kept in (memory.vpcs, memory.subnets, memory.route_tables):
        kept.clear()


def _vpc(memory: Moto) -> None:
    vpc = memory.create_vpc("10.0.0.0/16")
    subnets = list(_subnets(memory, vpc.id))
    gateway = memory.create_internet_gateway()
    memory.attach_internet_gateway(gateway.id, vpc.id)
    tables = [memory.create_route_table(vpc.id) for _ in range(TABLES - 1)]
    public, *private, endpoint_table, _isolated = tables
    _add(public, _route(public, ANYWHERE, None, gateway=gateway))
    for table, subnet in zip([*private, endpoint_table], subnets, strict=False):
        nat_gateway = memory.create_nat_gateway(subnet.id, memory.allocate_address("vpc").allocation_id)
        _add(table, _route(table, ANYWHERE, None, nat_gateway=nat_gateway))
    _endpoint(memory, vpc.id, endpoint_table)
    for number, subnet in enumerate(subnets):
        memory.associate_route_table(tables[number % len(tables)].id, None, subnet.id)


def _subnets(memory: Moto, vpc_id: str) -> Iterator[Moto]:
    blocks = IPv4Network("10.0.0.0/16").subnets(new_prefix=20)
    for number, block in zip(range(SUBNETS), blocks, strict=False):
        yield memory.create_subnet(vpc_id, str(block), availability_zone=f"{memory.region_name}{'abc'[number % 3]}")


def _endpoint(memory: Moto, vpc_id: str, table: Moto) -> None:
    service = f"com.amazonaws.{memory.region_name}.s3express"
    endpoint = memory.create_vpc_endpoint(vpc_id, service, "Gateway", None, [table.id])
    endpoint.state = "available"
    prefix_list = _prefix_list(memory, service)
    _add(table, _route(table, None, None, destination_prefix_list=prefix_list, vpc_endpoint_id=endpoint.id))


def _prefix_list(memory: Moto, name: str) -> ManagedPrefixList:
    lists: Any = memory.managed_prefix_lists.values()
    found: ManagedPrefixList = next(prefix_list for prefix_list in lists if prefix_list.prefix_list_name == name)
    return found


def _route(*arguments: object, **targets: object) -> Route:
    """Return a route. moto's class declares methods of CloudFormation that it does not define."""
    make: Any = Route
    route: Route = make(*arguments, **targets)
    return route


def _add(table: Moto, route: Route) -> None:
    table._routes[route.id] = route  # noqa: SLF001  # moto's own way checks each against all others

"""Route tables, the routes inside them, and which table governs a subnet or is the main one of a VPC."""

from collections.abc import Sequence
from dataclasses import replace

from express_path.domain.network.resources import Rank, Route, TargetKind
from express_path_cli.sources.change.changed_network import ChangedNetwork, ChangedTable, tags_of
from express_path_cli.sources.change.families.routes import route_of
from express_path_cli.sources.change.families.vpcs import SUBNETS
from express_path_cli.sources.change.resource import (
    GONE,
    MADE,
    OPEN,
    Action,
    Possible,
    Resource,
    UnknownId,
    union,
)

TABLES = ("aws_route_table", "aws_default_route_table")


def _remove_default(network: ChangedNetwork, resource: Resource) -> None:
    """Leave unknown what a default route table leads to: whether routes stay depends on the version of the provider."""
    table = network.table_of(resource.id_before)
    if table and resource.action in GONE:
        name = UnknownId(resource.address)
        table.routes = [
            one if _is_kept(network, one) else replace(one, target_id=name, target_kind=TargetKind.UNKNOWN)
            for one in table.routes
        ]


def _remove_association(network: ChangedNetwork, resource: Resource) -> None:
    subnet_id = resource.before.text("subnet_id")
    network.note(subnet_id, resource)
    network.released.add(subnet_id)


def _remove_main(network: ChangedNetwork, resource: Resource) -> None:
    """Let the original main route table of a VPC be the main one again."""
    before = resource.before
    if resource.action is Action.DELETE and before.text("original_route_table_id"):
        network.main[before.text("vpc_id")] = before.text("original_route_table_id")


def _associate(network: ChangedNetwork, resource: Resource) -> None:
    subnet = resource.after.named("subnet_id")
    if subnet.certain:
        _govern(network, resource, subnet.certain, resource.after.named("route_table_id"))
    elif resource.after.values.get("subnet_id"):
        network.possible_associations[resource.block].append(resource)


def add_what_is_not_shown(network: ChangedNetwork, resources: Sequence[Resource]) -> None:
    """Leave unknown what exists and the network does not show: the table of a subnet, and a route to a NAT in a table."""
    for resource in resources:
        if resource.action in MADE:
            continue
        if resource.type in SUBNETS and resource.id not in (network.governing.keys() | network.base.subnets.keys()):
            network.governing[resource.id] = (UnknownId(f"which route table {resource.address} has"), OPEN)
        shown, table = network.base.route_tables.get(resource.id), network.tables.get(resource.id)
        if resource.type == "aws_route_table" and shown and table:
            read = [route_of(network, block) for block in resource.before.blocks("route")]
            nats = {(one.destination, one.target_id) for one in read if one.target_kind is TargetKind.NAT_GATEWAY}
            if nats - {(one.destination, one.target_id) for one in shown.routes}:
                table.add_unreadable(UnknownId(f"what routes {resource.address} has"))


def _add_table(network: ChangedNetwork, resource: Resource) -> None:
    after = resource.after
    if resource.id not in network.tables:
        vpc_id = after.one("vpc_id")
        main = network.tables.get(network.main.get(vpc_id, ""))
        local = [one for one in main.routes if one.target_kind is TargetKind.LOCAL] if main else []
        network.tables[resource.id] = ChangedTable(vpc_id, local, resource.account_id or network.account)
        if network.existed(resource):
            network.tables[resource.id].add_unreadable(UnknownId(f"what routes {resource.address} has"))
    network.tables[resource.id].tags = tags_of(resource)
    _add_inline(network, resource)


def _add_default(network: ChangedNetwork, resource: Resource) -> None:
    """Adopt the main route table of a VPC, whose routes are removed first.

    https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/default_route_table
    """
    after = resource.after
    named = after.named("default_route_table_id").certain or resource.id
    network.same_table[resource.address] = network.same_table[resource.id] = named
    table = network.tables.setdefault(named, ChangedTable(after.one("vpc_id")))
    table.tags = tags_of(resource)
    if not network.existed(resource):
        table.remove(lambda one: not _is_kept(network, one))
    _add_inline(network, resource)


def _is_kept(network: ChangedNetwork, route: Route) -> bool:
    """Return whether a route stays if a resource sets the routes inside a table."""
    endpoint = network.endpoints.get(route.target_id)
    is_gateway = endpoint is not None and endpoint.endpoint_type == "gateway"
    return route.target_id == "local" or route.rank is Rank.PROPAGATED or is_gateway


def _add_inline(network: ChangedNetwork, resource: Resource) -> None:
    """Lay the routes inside a route table, which replace all that are there, except those that stay as they are.

    https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/route_table
    """
    after, table = resource.after, network.table_of(resource.id)
    if table is None:
        return
    table_id, exists = network.real(resource.id), network.existed(resource)
    if "propagating_vgws" in after.values:
        _propagate(resource, table)
    before = resource.before.values.get("route") if exists else None
    is_same = after.values.get("route") == before or table_id not in network.base.route_tables
    if "route" not in after.values or (exists and is_same):
        return
    network.note(table_id, resource)
    old, new = ([route_of(network, block) for block in one.blocks("route")] for one in (resource.before, after))
    # What stays is what the network shows: another resource may delete it.
    stays = {route.destination for route in new if exists and route in old}
    table.remove(lambda one: one.destination not in stays and not _is_kept(network, one))
    if after.has_unknown_blocks("route"):
        table.add_unreadable(after.unknown("route"))
    table.routes.extend(route for route in new if route.destination not in stays)


def _propagate(resource: Resource, table: ChangedTable) -> None:
    after, before = resource.after, resource.before
    value = after.values.get("propagating_vgws")
    if value and value != before.values.get("propagating_vgws"):
        table.add_unreadable(UnknownId(f"{resource.address}.propagating_vgws"))
    elif not value:
        table.remove(lambda route: route.rank is Rank.PROPAGATED)


def _add_main(network: ChangedNetwork, resource: Resource) -> None:
    after = resource.after
    vpc, table_id = after.named("vpc_id"), after.named("route_table_id").certain
    for vpc_id in list(network.vpcs) if vpc.is_open else vpc.ids:
        if table_id and vpc.certain and network.table_of(table_id):
            network.main[vpc_id] = network.real(table_id)
        else:
            network.main[vpc_id] = network.unknown_table(after.unknown("route_table_id"), vpc_id)


def associate_possible(network: ChangedNetwork) -> None:
    """Associate subnets of which it is not certain which instance of a block names them: they are not those that are certain.

    A subnet has at most one association. So if a block has as many instances as there are subnets that it may name, it
    names each of them.
    """
    for rows in network.possible_associations.values():
        named = union([row.after.named("subnet_id") for row in rows])
        every = network.subnets if named.is_open else named.ids
        candidates = [one for one in every if one not in network.governing]
        tables = [row.after.named("route_table_id") for row in rows]
        if named.is_open or len(candidates) != len(rows):
            tables.append(Possible((network.MAIN,)))
        if not candidates:
            network.note_outside(rows[0])
        for subnet_id in candidates:
            _govern(network, rows[0], subnet_id, union(tables))


def _govern(network: ChangedNetwork, row: Resource, subnet_id: str, tables: Possible) -> None:
    """Note the route tables that may govern a subnet."""
    if subnet_id not in network.subnets:
        network.note_outside(row)
    name = row.after.unknown("route_table_id" if row.after.is_unknown("route_table_id") else "subnet_id")
    network.note(subnet_id, row)
    network.governing[subnet_id] = (name, tables)


ADD = {
    "aws_route_table": _add_table,
    "aws_default_route_table": _add_default,
    "aws_main_route_table_association": _add_main,
    "aws_route_table_association": _associate,
}
REMOVE = {
    "aws_default_route_table": _remove_default,
    "aws_main_route_table_association": _remove_main,
    "aws_route_table_association": _remove_association,
}

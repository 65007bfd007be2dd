"""Route tables, the routes inside them, and which table governs a subnet or is the main one of a VPC."""

from collections import defaultdict
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
        network.pending.associations[resource.block].append(resource)


def add_what_is_not_shown(network: ChangedNetwork, resources: Sequence[Resource]) -> None:
    """Leave unknown what exists and the network does not show: the table of a subnet, and a route to a NAT in a table."""
    for resource in resources:
        if resource.action in MADE:
            continue
        if resource.type in SUBNETS and resource.id not in (
            network.pending.governing.keys() | network.base.subnets.keys()
        ):
            network.pending.governing[resource.id] = (UnknownId(f"which route table {resource.address} has"), OPEN)
        shown, table = network.base.route_tables.get(resource.id), network.records.tables.get(resource.id)
        if resource.type == "aws_route_table" and shown and table:
            read = [route_of(network, block) for block in resource.before.blocks("route")]
            nats = {(one.destination, one.target_id) for one in read if one.target_kind is TargetKind.NAT_GATEWAY}
            if nats - {(one.destination, one.target_id) for one in shown.routes}:
                table.add_unreadable(UnknownId(f"what routes {resource.address} has"))


def _add_table(network: ChangedNetwork, resource: Resource) -> None:
    after = resource.after
    if resource.id not in network.records.tables:
        vpc_id = after.one("vpc_id")
        main = network.records.tables.get(network.main.get(vpc_id, ""))
        local = [one for one in main.routes if one.target_kind is TargetKind.LOCAL] if main else []
        network.records.tables[resource.id] = ChangedTable(vpc_id, local, resource.account_id or network.account)
        if network.existed(resource):
            network.records.tables[resource.id].add_unreadable(UnknownId(f"what routes {resource.address} has"))
    _tag(network.records.tables[resource.id], resource)
    _add_inline(network, resource)


def _tag(table: ChangedTable, resource: Resource) -> None:
    if resource.changes("tags"):
        table.tags = tags_of(resource)


def _add_default(network: ChangedNetwork, resource: Resource) -> None:
    """Adopt the main route table of a VPC, whose routes are removed first.

    https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/default_route_table
    """
    after = resource.after
    named = after.named("default_route_table_id").certain or resource.id
    network.same[resource.address] = network.same[resource.id] = named
    table = network.records.tables.setdefault(named, ChangedTable(after.one("vpc_id")))
    _tag(table, resource)
    if not network.existed(resource):
        table.remove(lambda one: not _is_kept(network, one))
    _add_inline(network, resource)


def _is_kept(network: ChangedNetwork, route: Route) -> bool:
    """Return whether a route stays if a resource sets the routes inside a table."""
    endpoint = network.records.endpoints.get(route.target_id)
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
    for vpc_id in list(network.records.vpcs) if vpc.is_open else vpc.ids:
        if table_id and vpc.certain and network.table_of(table_id):
            network.main[vpc_id] = network.real(table_id)
        else:
            network.main[vpc_id] = network.unknown_table(after.unknown("route_table_id"), vpc_id)


def associate_possible(network: ChangedNetwork) -> None:
    """Associate subnets of which it is not certain which association names them: they are not those that are certain.

    Any of the associations that may name a subnet may be the one, or the one that the network shows and nothing removes.
    A subnet has at most one association. So if there are as many of them as there are subnets that they may name, each of
    these has one.
    """
    blocks = list(network.pending.associations.values())
    candidates = [_candidates(network, rows) for rows in blocks]
    alike: defaultdict[frozenset[str], int] = defaultdict(int)
    for rows, subnet_ids in zip(blocks, candidates, strict=True):
        alike[frozenset(subnet_ids)] += len(rows)
        if not subnet_ids:
            network.note_outside(rows[0])
    kept = network.kept_tables()
    possible: defaultdict[str, list[Possible]] = defaultdict(list)
    first: dict[str, Resource] = {}
    has_one: set[str] = set()
    for rows, subnet_ids in zip(blocks, candidates, strict=True):
        is_open = any(row.after.named("subnet_id").is_open for row in rows)
        if not is_open and alike[frozenset(subnet_ids)] == len(subnet_ids):
            has_one.update(subnet_ids)
        for subnet_id in subnet_ids:
            possible[subnet_id].extend(row.after.named("route_table_id") for row in rows)
            first.setdefault(subnet_id, rows[0])
    for subnet_id, tables in possible.items():
        if subnet_id in kept:
            tables.append(Possible((kept[subnet_id],)))
        elif subnet_id not in has_one:
            tables.append(Possible((network.MAIN,)))
        _govern(network, first[subnet_id], subnet_id, union(tables))


def _candidates(network: ChangedNetwork, rows: Sequence[Resource]) -> list[str]:
    """Return the subnets that the associations of a block may name."""
    named = union([row.after.named("subnet_id") for row in rows])
    subnet_ids = network.records.subnets if named.is_open else named.ids
    return [subnet_id for subnet_id in subnet_ids if subnet_id not in network.pending.governing]


def _govern(network: ChangedNetwork, row: Resource, subnet_id: str, tables: Possible) -> None:
    """Note the route tables that may govern a subnet."""
    if subnet_id not in network.records.subnets:
        network.note_outside(row)
    name = row.after.unknown("route_table_id" if row.after.is_unknown("route_table_id") else "subnet_id")
    network.note(subnet_id, row)
    network.pending.governing[subnet_id] = (name, tables)


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

"""Route tables, the routes inside them, and which table governs a subnet or is the main one of a VPC."""

from collections.abc import Sequence
from dataclasses import replace

from express_path.domain.network.resources import Rank, Route, TargetKind
from express_path_cli.sources.proposal.draft import Draft, DraftTable, tags_of
from express_path_cli.sources.proposal.families.routes import route_of
from express_path_cli.sources.proposal.families.vpcs import SUBNETS
from express_path_cli.sources.proposal.resource import (
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


def _remove_default(draft: Draft, resource: Resource) -> None:
    """Leave unknown what a default route table leads to: whether routes stay depends on the version of the provider."""
    table = draft.table_of(resource.id_before)
    if table and resource.action in GONE:
        name = UnknownId(resource.address)
        table.routes = [
            one if _is_kept(draft, one) else replace(one, target_id=name, target_kind=TargetKind.UNKNOWN)
            for one in table.routes
        ]


def _remove_association(draft: Draft, resource: Resource) -> None:
    subnet_id = resource.before.text("subnet_id")
    draft.note(subnet_id, resource)
    draft.released.add(subnet_id)


def _remove_main(draft: Draft, resource: Resource) -> None:
    """Let the original main route table of a VPC be the main one again."""
    before = resource.before
    if resource.action is Action.DELETE and before.text("original_route_table_id"):
        draft.main[before.text("vpc_id")] = before.text("original_route_table_id")


def _associate(draft: Draft, resource: Resource) -> None:
    subnet = resource.after.named("subnet_id")
    if subnet.certain:
        _govern(draft, resource, subnet.certain, resource.after.named("route_table_id"))
    elif resource.after.values.get("subnet_id"):
        draft.possible_associations[resource.block].append(resource)


def add_what_is_not_shown(draft: Draft, resources: Sequence[Resource]) -> None:
    """Leave unknown what exists and the network does not show: the table of a subnet, and a route to a NAT in a table."""
    for resource in resources:
        if resource.action in MADE:
            continue
        if resource.type in SUBNETS and resource.id not in (draft.governing.keys() | draft.base.subnets.keys()):
            draft.governing[resource.id] = (UnknownId(f"which route table {resource.address} has"), OPEN)
        shown, table = draft.base.route_tables.get(resource.id), draft.tables.get(resource.id)
        if resource.type == "aws_route_table" and shown and table:
            read = [route_of(draft, block) for block in resource.before.blocks("route")]
            nats = {(one.destination, one.target_id) for one in read if one.target_kind is TargetKind.NAT_GATEWAY}
            if nats - {(one.destination, one.target_id) for one in shown.routes}:
                table.add_unreadable(UnknownId(f"what routes {resource.address} has"))


def _add_table(draft: Draft, resource: Resource) -> None:
    after = resource.after
    if resource.id not in draft.tables:
        vpc_id = after.one("vpc_id")
        main = draft.tables.get(draft.main.get(vpc_id, ""))
        local = [one for one in main.routes if one.target_kind is TargetKind.LOCAL] if main else []
        draft.tables[resource.id] = DraftTable(vpc_id, local, resource.account_id or draft.account)
        if draft.existed(resource):
            draft.tables[resource.id].add_unreadable(UnknownId(f"what routes {resource.address} has"))
    draft.tables[resource.id].tags = tags_of(resource)
    _add_inline(draft, resource)


def _add_default(draft: Draft, resource: Resource) -> None:
    """Adopt the main route table of a VPC, whose routes are removed first.

    https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/default_route_table
    """
    after = resource.after
    named = after.named("default_route_table_id").certain or resource.id
    draft.same_table[resource.address] = draft.same_table[resource.id] = named
    table = draft.tables.setdefault(named, DraftTable(after.one("vpc_id")))
    table.tags = tags_of(resource)
    if not draft.existed(resource):
        table.remove(lambda one: not _is_kept(draft, one))
    _add_inline(draft, resource)


def _is_kept(draft: Draft, route: Route) -> bool:
    """Return whether a route stays if a resource sets the routes inside a table."""
    endpoint = draft.endpoints.get(route.target_id)
    is_gateway = endpoint is not None and endpoint.endpoint_type == "gateway"
    return route.target_id == "local" or route.rank is Rank.PROPAGATED or is_gateway


def _add_inline(draft: Draft, resource: Resource) -> None:
    """Lay the routes inside a route table, which replace all that are there, except those that stay as they are.

    https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/route_table
    """
    after, table = resource.after, draft.table_of(resource.id)
    if table is None:
        return
    table_id, exists = draft.real(resource.id), draft.existed(resource)
    if "propagating_vgws" in after.values:
        _propagate(resource, table)
    before = resource.before.values.get("route") if exists else None
    is_same = after.values.get("route") == before or table_id not in draft.base.route_tables
    if "route" not in after.values or (exists and is_same):
        return
    draft.note(table_id, resource)
    old, new = ([route_of(draft, block) for block in one.blocks("route")] for one in (resource.before, after))
    # What stays is what the network shows: another resource may delete it.
    stays = {route.destination for route in new if exists and route in old}
    table.remove(lambda one: one.destination not in stays and not _is_kept(draft, one))
    if after.has_unknown_blocks("route"):
        table.add_unreadable(after.unknown("route"))
    table.routes.extend(route for route in new if route.destination not in stays)


def _propagate(resource: Resource, table: DraftTable) -> None:
    after, before = resource.after, resource.before
    value = after.values.get("propagating_vgws")
    if value and value != before.values.get("propagating_vgws"):
        table.add_unreadable(UnknownId(f"{resource.address}.propagating_vgws"))
    elif not value:
        table.remove(lambda route: route.rank is Rank.PROPAGATED)


def _add_main(draft: Draft, resource: Resource) -> None:
    after = resource.after
    vpc, table_id = after.named("vpc_id"), after.named("route_table_id").certain
    for vpc_id in list(draft.vpcs) if vpc.is_open else vpc.ids:
        if table_id and vpc.certain and draft.table_of(table_id):
            draft.main[vpc_id] = draft.real(table_id)
        else:
            draft.main[vpc_id] = draft.unknown_table(after.unknown("route_table_id"), vpc_id)


def associate_possible(draft: Draft) -> None:
    """Associate subnets of which it is not certain which instance of a block names them: they are not those that are certain.

    A subnet has at most one association. So if a block has as many instances as there are subnets that it may name, it
    names each of them.
    """
    for rows in draft.possible_associations.values():
        named = union([row.after.named("subnet_id") for row in rows])
        every = draft.subnets if named.is_open else named.ids
        candidates = [one for one in every if one not in draft.governing]
        tables = [row.after.named("route_table_id") for row in rows]
        if named.is_open or len(candidates) != len(rows):
            tables.append(Possible((draft.MAIN,)))
        if not candidates:
            draft.note_outside(rows[0])
        for subnet_id in candidates:
            _govern(draft, rows[0], subnet_id, union(tables))


def _govern(draft: Draft, row: Resource, subnet_id: str, tables: Possible) -> None:
    """Note the route tables that may govern a subnet."""
    if subnet_id not in draft.subnets:
        draft.note_outside(row)
    name = row.after.unknown("route_table_id" if row.after.is_unknown("route_table_id") else "subnet_id")
    draft.note(subnet_id, row)
    draft.governing[subnet_id] = (name, tables)


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

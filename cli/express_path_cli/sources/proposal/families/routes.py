"""Routes of VPC route tables, whichever resource makes them, and routes that a virtual private gateway propagates."""

from collections.abc import Sequence

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import Rank, Route, TargetKind, target_kind
from express_path.domain.path.routing import contains
from express_path_cli.sources.proposal.draft import ENDS, NOT_PUBLIC, Draft, DraftTable, PossibleRoute, cidr_of
from express_path_cli.sources.proposal.families.firewalls import one_of
from express_path_cli.sources.proposal.families.gateways import gateway_kind
from express_path_cli.sources.proposal.resource import Arguments, Resource, UnknownId, union

_TARGETS = {
    "nat_gateway_id": TargetKind.NAT_GATEWAY,
    "gateway_id": None,
    "egress_only_gateway_id": TargetKind.EGRESS_ONLY_INTERNET_GATEWAY,
    "transit_gateway_id": TargetKind.TRANSIT_GATEWAY,
    "vpc_endpoint_id": TargetKind.VPC_ENDPOINT,
    "network_interface_id": TargetKind.NETWORK_INTERFACE,
    "vpc_peering_connection_id": TargetKind.VPC_PEERING_CONNECTION,
    "carrier_gateway_id": TargetKind.CARRIER_GATEWAY,
    "local_gateway_id": TargetKind.LOCAL_GATEWAY,
    "core_network_arn": TargetKind.CORE_NETWORK,
    "odb_network_arn": TargetKind.ODB_NETWORK,
}
"""The arguments that name a route's target, and what each of them leads to; None for any kind of gateway."""
_DESTINATIONS = (
    *("cidr_block", "destination_cidr_block", "ipv6_cidr_block", "destination_ipv6_cidr_block"),
    *("destination_prefix_list_id", "prefix_list_id"),
)


def _remove_route(draft: Draft, resource: Resource) -> None:
    table = draft.table_of(resource.before.text("route_table_id"))
    if table:
        draft.note(resource.before.text("route_table_id"), resource)
        remove_route(table, resource.before)


def remove_route(table: DraftTable, before: Arguments) -> None:
    """Remove the route that arguments describe."""
    destinations = {cidr_of(before.text(name)) or before.text(name) for name in _DESTINATIONS} - {""}
    table.remove(
        lambda route: (
            route.destination in destinations and route.rank is not Rank.PROPAGATED and route.target_id != "local"
        )
    )


def _remove_propagation(draft: Draft, resource: Resource) -> None:
    table = draft.table_of(resource.before.text("route_table_id"))
    if table:
        draft.note(resource.before.text("route_table_id"), resource)
        table.remove_propagated(resource.before.text("vpn_gateway_id"))


def _add_route(draft: Draft, resource: Resource) -> None:
    place(draft, PossibleRoute(resource, "route_table_id", route_of(draft, resource.after), draft.tables))


def _propagate(draft: Draft, resource: Resource) -> None:
    """Add routes of which nothing is known: what a gateway propagates is not in a change."""
    tables = resource.after.listed("route_table_ids")
    named = resource.after.named("route_table_id")
    is_open = tables.is_open or named.is_open
    for table_id in list(draft.tables) if is_open else (*tables.ids, *tables.possible, *named.ids):
        table = draft.table_of(table_id)
        if table:
            draft.note(table_id, resource)
            table.add_unreadable(UnknownId(resource.address))


def route_of(draft: Draft, arguments: Arguments) -> Route:
    """Return the route that arguments describe."""
    target, kind = _target(draft, arguments)
    return Route(destination_of(arguments), target, kind, state="blackhole" if target in draft.gone else "active")


def destination_of(arguments: Arguments) -> Cidr | str:
    """Return the destination that arguments name: addresses, a prefix list, or what is not known."""
    given = [name for name in _DESTINATIONS if arguments.values.get(name)]
    if len(given) != 1:
        return arguments.unknown("destination")
    return cidr_of(arguments.known(given[0])) or arguments.one(given[0])


def _target(draft: Draft, arguments: Arguments) -> tuple[str, TargetKind]:
    given = [name for name in (*_TARGETS, "instance_id") if arguments.values.get(name)]
    if len(given) != 1:
        name = arguments.unknown(given[0]) if given else UnknownId(f"{arguments.where} has no target")
        return name, TargetKind.UNKNOWN
    [argument] = given
    found, unknown = arguments.named(argument), arguments.unknown(argument)
    if argument == "instance_id":
        return _interface_of(draft, arguments.one(argument)), TargetKind.NETWORK_INTERFACE
    kind = _TARGETS[argument] or gateway_kind(draft, found)
    if found.certain:
        return found.certain, target_kind(found.certain) if kind is TargetKind.UNKNOWN else kind
    return unknown, kind if kind in ENDS or one_of(draft, found, unknown) else TargetKind.UNKNOWN


def _interface_of(draft: Draft, instance_id: str) -> str:
    """Return the primary interface of an instance, to which a route to the instance leads."""
    found = (one.id for one in draft.interfaces.values() if one.instance_id == instance_id and not one.device_index)
    return next(found, instance_id)


def place(draft: Draft, found: PossibleRoute) -> None:
    """Put a route into its table, or keep it until all routes are in theirs of which the table is certain."""
    certain, route = found.named.certain, found.route
    if certain is None:
        if _may_matter(route.destination):
            draft.possible_routes[found.resource.block, route.destination].append(found)
        return
    table_id = draft.same_table.get(certain, certain)
    table = found.tables.get(table_id)
    draft.note(table_id, found.resource)
    if table is None and _may_matter(route.destination):
        draft.note_outside(found.resource)
    elif table is not None and route not in table.routes:
        table.routes.append(route)


def place_possible(draft: Draft) -> None:
    """Put routes of one block to one destination into the tables that any of them may be in.

    A table has at most one route to a destination. So if a block has as many routes to it as there are tables that
    they may be in, each of these tables has one.
    """
    for (_, destination), ones in draft.possible_routes.items():
        first = ones[0]
        is_open = any(one.named.is_open for one in ones)
        possible = union([one.named for one in ones])
        if first.tables is draft.tables:
            possible = draft.fitting(possible, _vpc_of_targets(draft, [one.route for one in ones]))
        ids = first.tables if is_open else dict.fromkeys(draft.same_table.get(one, one) for one in possible)
        candidates = [one for one in ids if one in first.tables and not first.tables[one].has(destination)]
        is_each = not is_open and len(candidates) == len(ones)
        is_same = len({draft.alike(one.route) for one in ones}) == 1
        if not candidates:
            draft.note_outside(first.resource)
        unknown = Route(destination, first.resource.after.unknown(first.argument), TargetKind.UNKNOWN)
        for table_id in candidates:
            draft.note(table_id, first.resource)
            first.tables[table_id].routes.append(first.route if is_each and is_same else unknown)


def _may_matter(destination: Cidr | str) -> bool:
    """Return whether a route may carry traffic to S3 Express, as far as its destination says."""
    return not isinstance(destination, Cidr) or not any(contains(private, destination) for private in NOT_PUBLIC)


def _vpc_of_targets(draft: Draft, routes: Sequence[Route]) -> str:
    """Return the VPC of the NAT gateways or endpoints that routes lead to, empty if that is not certain."""
    targets = [draft.nats.get(one.target_id) or draft.endpoints.get(one.target_id) for one in routes]
    found = {target.vpc_id if target else "" for target in targets}
    return found.pop() if len(found) == 1 else ""


ADD = {"aws_vpn_gateway_route_propagation": _propagate, "aws_route": _add_route}
REMOVE = {"aws_vpn_gateway_route_propagation": _remove_propagation, "aws_route": _remove_route}

"""Routes of VPC route tables, whichever resource makes them, and routes that a virtual private gateway propagates."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.resources import PrefixList, Rank, Route, TargetKind, target_kind
from express_path.domain.path.routing import contains
from express_path_cli.sources.proposal.draft import ENDS, NOT_PUBLIC, Draft, DraftTable, cidr_of
from express_path_cli.sources.proposal.families.firewalls import one_of
from express_path_cli.sources.proposal.families.gateways import gateway_kind
from express_path_cli.sources.proposal.resource import Arguments, Possible, Resource, UnknownId, union

_ROUTE, _PROPAGATION = "aws_route", "aws_vpn_gateway_route_propagation"
TYPES = frozenset({_ROUTE, _PROPAGATION})
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
_DESTINATIONS = {
    "cidr_block": Family.IPV4,
    "destination_cidr_block": Family.IPV4,
    "ipv6_cidr_block": Family.IPV6,
    "destination_ipv6_cidr_block": Family.IPV6,
    "destination_prefix_list_id": None,
}


def remove(draft: Draft, resource: Resource) -> None:
    """Remove the route that a resource makes now, or what it lets a gateway propagate."""
    before = resource.before
    table = draft.table_of(before.text("route_table_id"))
    if table is None:
        return
    draft.note(before.text("route_table_id"), resource)
    if resource.type == _PROPAGATION:
        table.remove_propagated(before.text("vpn_gateway_id"))
    else:
        remove_route(table, before)


def remove_route(table: DraftTable, before: Arguments) -> None:
    """Remove the route that arguments describe."""
    destinations = {cidr_of(before.text(name)) or before.text(name) for name in (*_DESTINATIONS, "prefix_list_id")} - {
        ""
    }
    table.remove(
        lambda route: (
            route.destination in destinations and route.rank is not Rank.PROPAGATED and route.target_id != "local"
        )
    )


def add(draft: Draft, resources: Sequence[Resource]) -> None:
    """Add routes, by block: a table has at most one route to a destination."""
    for resource in resources:
        if resource.type == _PROPAGATION:
            _propagate(draft, resource)
    place(draft, [one for one in resources if one.type == _ROUTE], route_of, "route_table_id", draft.tables)


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
    destination = _destination(draft, arguments)
    target, kind = _target(draft, arguments)
    return Route(destination, target, kind, state="blackhole" if target in draft.gone else "active")


def _destination(draft: Draft, arguments: Arguments) -> Cidr | str:
    given = [name for name in _DESTINATIONS if arguments.values.get(name)]
    if len(given) != 1:
        return arguments.unknown("destination")
    [name] = given
    family = _DESTINATIONS[name]
    if family is None:
        return arguments.one(name)
    found = cidr_of(arguments.known(name))
    if found is None:  # addresses of one family, and nothing else is known of them
        unknown = arguments.unknown(name)
        draft.lists[unknown] = PrefixList(unknown, "", family, None, aws_owned=False)
    return found or arguments.unknown(name)


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


def place(
    draft: Draft,
    resources: Sequence[Resource],
    made_by: Callable[[Draft, Arguments], Route],
    argument: str,
    tables: dict[str, DraftTable],
) -> None:
    """Put the routes of resources into the tables that an argument names: first the certain ones, then by block.

    A table has at most one route to a destination. So if a block has as many routes to it as there are tables that
    they may be in, each of these tables has one.
    """
    rest: defaultdict[tuple[str, Cidr | str], list[tuple[Resource, Possible, Route]]] = defaultdict(list)
    for resource in resources:
        after = resource.after
        named, route = after.named(argument), made_by(draft, after)
        if named.certain is None:
            rest[resource.block, route.destination].append((resource, named, route))
            continue
        table = tables.get(draft.same_table.get(named.certain, named.certain))
        draft.note(draft.same_table.get(named.certain, named.certain), resource)
        if table is None and _may_matter(route.destination):
            draft.note_outside(resource)
        elif table is not None and route not in table.routes:
            table.routes.append(route)
    for (_, destination), ones in rest.items():
        if _may_matter(destination):
            _place_possible(draft, ones, argument, tables)


def _place_possible(
    draft: Draft, ones: Sequence[tuple[Resource, Possible, Route]], argument: str, tables: dict[str, DraftTable]
) -> None:
    """Put routes of one block to one destination into the tables that any of them may be in."""
    resource, _, route = ones[0]
    is_open = any(named.is_open for _, named, _ in ones)
    found = union([named for _, named, _ in ones])
    if tables is draft.tables:
        found = draft.fitting(found, _vpc_of_targets(draft, [one for _, _, one in ones]))
    possible = dict.fromkeys(draft.same_table.get(table_id, table_id) for table_id in found)
    candidates = [
        one for one in (tables if is_open else possible) if one in tables and not tables[one].has(route.destination)
    ]
    is_each = not is_open and len(candidates) == len(ones)
    is_same = len({draft.alike(one) for _, _, one in ones}) == 1
    if not candidates:
        draft.note_outside(resource)
    for table_id in candidates:
        draft.note(table_id, resource)
        unknown = Route(route.destination, resource.after.unknown(argument), TargetKind.UNKNOWN)
        tables[table_id].routes.append(route if is_each and is_same else unknown)


def _may_matter(destination: Cidr | str) -> bool:
    """Return whether a route may carry traffic to S3 Express, as far as its destination says."""
    return not isinstance(destination, Cidr) or not any(contains(private, destination) for private in NOT_PUBLIC)


def _vpc_of_targets(draft: Draft, routes: Sequence[Route]) -> str:
    """Return the VPC of the NAT gateways or endpoints that routes lead to, empty if that is not certain."""
    targets = [draft.nats.get(one.target_id) or draft.endpoints.get(one.target_id) for one in routes]
    found = {target.vpc_id if target else "" for target in targets}
    return found.pop() if len(found) == 1 else ""

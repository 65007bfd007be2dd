"""Routes of VPC route tables, whichever resource makes them, and routes that a virtual private gateway propagates."""

from collections.abc import Callable, Sequence

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import Rank, Route, TargetKind, target_kind
from express_path.domain.path.routing import contains
from express_path_cli.sources.change.changed_network import ENDS, NOT_PUBLIC, ChangedNetwork, ChangedTable, cidr_of
from express_path_cli.sources.change.families.firewalls import one_of
from express_path_cli.sources.change.families.gateways import gateway_kind
from express_path_cli.sources.change.resource import Arguments, Kind, Resource, UnknownId, union

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
    Kind.ATTACHMENT: TargetKind.TRANSIT_GATEWAY_ATTACHMENT,
    "core_network_arn": TargetKind.CORE_NETWORK,
    "odb_network_arn": TargetKind.ODB_NETWORK,
}
"""The arguments that name a route's target, and what each of them leads to; None for any kind of gateway."""
_DESTINATIONS = (
    *("cidr_block", "destination_cidr_block", "ipv6_cidr_block", "destination_ipv6_cidr_block"),
    *("destination_prefix_list_id", "prefix_list_id"),
)


def remove_route(network: ChangedNetwork, resource: Resource) -> None:
    """Remove a route from its table."""
    before = resource.before
    destinations = {cidr_of(before.text(name)) or before.text(name) for name in _DESTINATIONS} - {""}
    _remove(
        network,
        resource,
        lambda route: (
            route.destination in destinations and route.rank is not Rank.PROPAGATED and route.target_id != "local"
        ),
    )


def remove_propagation(network: ChangedNetwork, resource: Resource) -> None:
    """Remove the routes that a gateway or an attachment propagates to a table."""
    source = resource.before.text("vpn_gateway_id") or resource.before.text(Kind.ATTACHMENT)
    _remove(network, resource, lambda route: route.rank is Rank.PROPAGATED and route.target_id == source)


def _remove(network: ChangedNetwork, resource: Resource, is_removed: Callable[[Route], bool]) -> None:
    table_id = resource.before.text(_table_argument(resource))
    table = _tables(network, resource).get(network.real(table_id))
    if table:
        network.note(table_id, resource)
        table.remove(is_removed)


def _table_argument(resource: Resource) -> Kind:
    """Return the argument that names the table which a resource changes: that of a transit gateway, or of a VPC."""
    return Kind.TRANSIT_TABLE if "_transit_gateway_" in resource.type else Kind.TABLE


def _tables(network: ChangedNetwork, resource: Resource) -> dict[str, ChangedTable]:
    return network.records.transit_tables if _table_argument(resource) is Kind.TRANSIT_TABLE else network.records.tables


def _propagate(network: ChangedNetwork, resource: Resource) -> None:
    """Add routes of which nothing is known: what a gateway propagates is not in a change."""
    certain, others = resource.after.listed("route_table_ids")
    named = union([others, resource.after.named("route_table_id")])
    for table_id in list(network.records.tables) if named.is_open else (*certain, *named.ids):
        table = network.table_of(table_id)
        if table:
            network.note(table_id, resource)
            table.add_unreadable(UnknownId(resource.address))


def route_of(network: ChangedNetwork, arguments: Arguments) -> Route:
    """Return the route that arguments describe."""
    target, kind = _target(network, arguments)
    state = "active" if target and target not in network.gone else "blackhole"
    return Route(_destination(arguments), target, kind, state=state)


def _destination(arguments: Arguments) -> Cidr | str:
    """Return the destination that arguments name: addresses, a prefix list, or what is not known."""
    given = [name for name in _DESTINATIONS if arguments.values.get(name)]
    if len(given) != 1:
        return arguments.unknown("destination")
    return cidr_of(arguments.known(given[0])) or arguments.one(given[0])


def _target(network: ChangedNetwork, arguments: Arguments) -> tuple[str, TargetKind]:
    """Return a target and its kind. A route of a transit gateway may drop traffic without one."""
    if arguments.known("blackhole") is True:
        return "", TargetKind.TRANSIT_GATEWAY_ATTACHMENT
    given = [name for name in (*_TARGETS, "instance_id") if arguments.values.get(name)]
    # A route has one target, so what is certain is it, although another argument is not known.
    certain = [name for name in given if isinstance(arguments.values[name], str)]
    if len(certain) == 1:
        given = certain
    if len(given) != 1:
        name = arguments.unknown(given[0]) if given else UnknownId(f"{arguments.where} has no target")
        return name, TargetKind.UNKNOWN
    [argument] = given
    target, unknown = arguments.named(argument), arguments.unknown(argument)
    if argument == "instance_id":
        return _interface_of(network, arguments.one(argument)), TargetKind.NETWORK_INTERFACE
    kind = _TARGETS[argument] or gateway_kind(network, target)
    if target.certain:
        target_id = network.real(target.certain)
        return target_id, target_kind(target_id) if kind is TargetKind.UNKNOWN else kind
    return unknown, kind if kind in ENDS or one_of(network, target, unknown) else TargetKind.UNKNOWN


def _interface_of(network: ChangedNetwork, instance_id: str) -> str:
    """Return the primary interface of an instance, to which a route to the instance leads."""
    for interface in network.records.interfaces.values():
        if interface.instance_id == instance_id and not interface.device_index:
            return interface.id
    return instance_id


def add_route(network: ChangedNetwork, resource: Resource) -> None:
    """Put a route into its table, or keep it until all routes are in theirs of which the table is certain."""
    certain, route = resource.after.named(_table_argument(resource)).certain, route_of(network, resource.after)
    if certain is None:
        if _may_matter(route.destination):
            network.pending.routes[resource.block, route.destination].append((resource, route))
        return
    table_id = network.real(certain)
    table = _tables(network, resource).get(table_id)
    network.note(table_id, resource)
    if table is None and _may_matter(route.destination):
        network.note_outside(resource)
    elif table is not None and route not in table.routes:
        table.routes.append(route)


def place_possible(network: ChangedNetwork) -> None:
    """Put routes of one block to one destination into the tables that any of them may be in.

    A table has at most one route to a destination. So if a block has as many routes to it as there are tables that
    they may be in, each of these tables has one.
    """
    for (_, destination), ones in network.pending.routes.items():
        resource, route = ones[0]
        argument, tables = _table_argument(resource), _tables(network, resource)
        named = union([one.after.named(argument) for one, _ in ones])
        possible = network.fitting(named.ids, _vpc_of_targets(network, [one for _, one in ones]))
        ids = tables if named.is_open else dict.fromkeys(network.real(one) for one in possible)
        candidates = [one for one in ids if one in tables and not tables[one].has(destination)]
        is_each = not named.is_open and len(candidates) == len(ones)
        is_same = len({network.alike(one) for _, one in ones}) == 1
        if not candidates:
            network.note_outside(resource)
        unknown = Route(destination, resource.after.unknown(argument), TargetKind.UNKNOWN)
        for table_id in candidates:
            network.note(table_id, resource)
            tables[table_id].routes.append(route if is_each and is_same else unknown)


def _may_matter(destination: Cidr | str) -> bool:
    """Return whether a route may carry traffic to S3 Express, as far as its destination says."""
    return not isinstance(destination, Cidr) or not any(contains(private, destination) for private in NOT_PUBLIC)


def _vpc_of_targets(network: ChangedNetwork, routes: Sequence[Route]) -> str:
    """Return the VPC of the NAT gateways or endpoints that routes lead to, empty if that is not certain."""
    targets = [
        network.records.nats.get(one.target_id) or network.records.endpoints.get(one.target_id) for one in routes
    ]
    found = {target.vpc_id if target else "" for target in targets}
    return found.pop() if len(found) == 1 else ""


ADD = {"aws_vpn_gateway_route_propagation": _propagate, "aws_route": add_route}
REMOVE = {"aws_vpn_gateway_route_propagation": remove_propagation, "aws_route": remove_route}

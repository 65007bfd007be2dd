"""A network of one Region while a change is laid over it: the records that the families of resource types change.

What is not certain becomes a record that the engine reports as UNRESOLVED_EGRESS, with the name of the value that decides:
a route to a target of an unknown kind, a route whose destination cannot be read, or a route table of which nothing is known.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from express_path.domain.network.addresses import Cidr, parse_cidr
from express_path.domain.network.resources import (
    Association,
    BlockMode,
    Rank,
    Route,
    RouteTable,
    Tags,
    TargetKind,
    TransitGatewayRouteTable,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.errors import RecordError
from express_path_cli.sources.change.resource import (
    MADE,
    OPEN,
    WITH_IDS,
    Action,
    Arguments,
    Kind,
    NewId,
    Possible,
    Resource,
    UnknownId,
    has_unknown,
)

ENDS = (
    TargetKind.NAT_GATEWAY,
    TargetKind.INTERNET_GATEWAY,
    TargetKind.EGRESS_ONLY_INTERNET_GATEWAY,
)
"""The kinds of targets that end a path, whichever one it is."""


NOT_PUBLIC = tuple(
    map(
        parse_cidr,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.168.0.0/16", "224.0.0.0/3"),
        ),
    )
)
"""IPv4 addresses that no AWS service has: https://www.iana.org/assignments/iana-ipv4-special-registry."""


@dataclass(slots=True)
class ChangedTable:
    """A route table of a VPC or of a transit gateway."""

    vpc_id: str = ""
    routes: list[Route] = field(default_factory=list)
    owner_id: str = ""
    tags: Tags = field(default_factory=dict)
    is_truncated: bool = False

    def has(self, destination: Cidr | str) -> bool:
        """Return whether there is a route to exactly this destination, except one that is propagated."""
        return any(route.destination == destination and route.rank is not Rank.PROPAGATED for route in self.routes)

    def remove(self, is_removed: Callable[[Route], bool]) -> None:
        """Remove routes."""
        self.routes = [route for route in self.routes if not is_removed(route)]

    def blackhole(self, gone: Collection[str]) -> None:
        """Let AWS drop what is routed to a target that is gone."""
        self.routes = [replace(one, state="blackhole") if one.target_id in gone else one for one in self.routes]

    def add_unreadable(self, name: UnknownId) -> None:
        """Add a route that may match any address, whose target is not known."""
        self.routes.append(Route(name, name, TargetKind.UNKNOWN))


@dataclass(slots=True)
class Noted:
    """What a reader should know of a change.

    with_routes: the values because of which it is not certain that a route table has the routes of an endpoint, by the
    table's id. addresses: of each subnet and route table of the change, by its id in the network. changed_by: the addresses
    of the resources that change a route table, or the table of a subnet, by their ids. undecided: the type of each resource,
    by its address, that may change paths in a way that is not modelled; empty if the network does not show its table or
    subnet.
    """

    with_routes: dict[str, UnknownId] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    changed_by: dict[str, dict[str, None]] = field(default_factory=dict)
    undecided: dict[str, str] = field(default_factory=dict)


class ChangedNetwork:
    """The records of a network that change."""

    MAIN = ""
    """In place of the id of a route table: the main one of a VPC."""

    def __init__(
        self, base: Snapshot, noted: Noted, account: str, zone_ids: Mapping[str, str], *, has_base: bool
    ) -> None:
        """Copy a network. account: that of resources that do not say theirs.

        has_base: the network was read; otherwise it contains only what the change itself contains.
        """
        self.base, self.has_base, self.noted, self.account, self.zone_ids = base, has_base, noted, account, zone_ids
        self.vpcs, self.subnets = dict(base.vpcs), dict(base.subnets)
        self.endpoints, self.nats = dict(base.vpc_endpoints), dict(base.nat_gateways)
        self.lists, self.firewalls = dict(base.prefix_lists), dict(base.firewalls or {})
        self.interfaces = dict(base.network_interfaces or {})
        self.attachments = dict(base.transit_gateway_attachments or {})
        self.transit_tables = {
            key: ChangedTable(routes=list(table.routes), is_truncated=table.truncated)
            for key, table in (base.transit_gateway_route_tables or {}).items()
        }
        self.tables = {
            key: ChangedTable(table.vpc_id, list(table.routes), table.owner_id, table.tags)
            for key, table in base.route_tables.items()
        }
        self.records: tuple[dict[str, Any], ...] = (
            *(self.vpcs, self.subnets, self.endpoints, self.nats, self.lists, self.firewalls, self.interfaces),
            *(self.attachments, self.transit_tables, self.tables),
        )
        self.main = {
            table.vpc_id: key for key, table in base.route_tables.items() if any(one.main for one in table.associations)
        }
        self.governing: dict[str, tuple[UnknownId, Possible]] = {}
        self.released: set[str] = set()
        self.possible_associations: defaultdict[str, list[Resource]] = defaultdict(list)
        self.possible_routes: defaultdict[tuple[str, Cidr | str], list[tuple[Resource, Route]]] = defaultdict(list)
        self.transit_default: dict[str, str] = {}
        self.gateway_kinds: dict[str, TargetKind] = {}
        self.gone: set[str] = set()
        self.same_table: dict[str, str] = {}
        self.possible: defaultdict[str, list[Route]] = defaultdict(list)
        self.fitting = cache(self._fitting)
        modes = {one.block_mode for rows in (base.vpcs, base.subnets) for one in rows.values()}
        self.may_be_closed = BlockMode.BIDIRECTIONAL in modes  # then it matters which NAT gateway it is
        self.new_block_mode = BlockMode.UNKNOWN if modes - {BlockMode.OFF} else BlockMode.OFF

    def counts(self, resource: Resource) -> bool:
        """Return whether a resource must be laid over the network: unless the network has it already, as it will be.

        A network that is older than the change does not list it, or what it connects.
        """
        if not self.has_base or resource.action is not Action.KEEP:
            return True
        if resource.type in WITH_IDS:
            own = {resource.id, resource.after.text("primary_network_interface_id")}
            return not any(own & records.keys() for records in self.records)
        listed: Mapping[Kind, Collection[str]] = {
            Kind.VPC: self.base.vpcs,
            Kind.SUBNET: self.base.subnets,
            Kind.TABLE: self.base.route_tables,
            Kind.ENDPOINT: self.base.vpc_endpoints,
        }
        return any(one not in rows for kind, rows in listed.items() for one in resource.after.named(kind).ids)

    def existed(self, resource: Resource) -> bool:
        """Return whether the network that was read should have a resource. One that is older than the change lacks it."""
        return self.has_base and resource.action not in MADE

    def remove(self, resource_id: str) -> None:
        """Remove what has an id. A route to it becomes a blackhole, unless it changes too."""
        self.gone.add(resource_id)
        for records in self.records:
            records.pop(resource_id, None)

    def note_outside(self, resource: Resource) -> None:
        """Note that a resource changes a route table or a subnet that the network does not show."""
        if resource.action is not Action.KEEP:
            self.noted.undecided.setdefault(resource.address, "")

    def note(self, changed: str, resource: Resource) -> None:
        """Note that a resource changes a route table or a subnet."""
        if resource.action is not Action.KEEP:
            self.noted.changed_by.setdefault(changed, {})[resource.address] = None

    def real(self, table_id: str) -> str:
        """Return the id of a route table: a default one has another one than its resource."""
        return self.same_table.get(table_id, table_id)

    def table_of(self, table_id: str) -> ChangedTable | None:
        """Return a route table of a VPC, None if it is not in the network."""
        return self.tables.get(self.real(table_id))

    def _fitting(self, table_ids: tuple[str, ...], vpc_id: str) -> tuple[str, ...]:
        """Return those of some route tables that may be in a VPC, or all if none is. Many resources share one tuple.

        A route table, its subnets, and the targets of its routes are in one VPC:
        https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Route_Tables.html.
        """
        if not vpc_id or isinstance(vpc_id, UnknownId) or len(table_ids) < 2:  # noqa: PLR2004
            return table_ids
        return tuple(one for one in table_ids if self._may_be_in(one, vpc_id)) or table_ids

    def _may_be_in(self, table_id: str, vpc_id: str) -> bool:
        table = self.table_of(table_id)
        return table is None or table.vpc_id in ("", vpc_id) or isinstance(table.vpc_id, UnknownId)

    def unknown_table(self, name: UnknownId, vpc_id: str) -> str:
        """Add a route table of which nothing is known, and return its id, which says why."""
        table = self.tables[name] = ChangedTable(vpc_id)
        table.add_unreadable(name)
        return name

    def alike(self, route: Route) -> object:
        """Return what routes have in common that lead to the same verdict, whichever gateway it is."""
        is_end = route.target_kind in ENDS and not self.may_be_closed
        return (route.destination, route.target_kind, route.state, route.rank) if is_end else route

    # --- the result --------------------------------------------------------------------------------------------------

    def networks(self) -> list[Snapshot]:
        """Return the network after the change, and if there are any, the same with the routes to endpoints that are possible."""
        base, associations = self.base, self._associations()
        network = replace(
            base,
            vpcs=self.vpcs,
            subnets=self.subnets,
            vpc_endpoints={
                key: replace(one, route_table_ids=tuple(id_ for id_ in one.route_table_ids if id_ not in self.gone))
                for key, one in self.endpoints.items()
            },
            nat_gateways=self.nats,
            prefix_lists=self.lists,
            # What could not be read stays None, unless the change adds to it.
            network_interfaces=self.interfaces or (base.network_interfaces and {}),
            transit_gateway_attachments=self.attachments or (base.transit_gateway_attachments and {}),
            transit_gateway_route_tables={
                key: TransitGatewayRouteTable(key, tuple(table.routes), table.is_truncated)
                for key, table in self.transit_tables.items()
            }
            or (base.transit_gateway_route_tables and {}),
            firewalls=self.firewalls or (base.firewalls and {}),
            route_tables={
                key: RouteTable(
                    key, table.vpc_id, tuple(table.routes), tuple(associations[key]), table.owner_id, table.tags
                )
                for key, table in self.tables.items()
            },
        )
        more = {
            key: replace(network.route_tables[key], routes=(*network.route_tables[key].routes, *routes))
            for key, routes in self.possible.items()
        }
        return [network, *([replace(network, route_tables={**network.route_tables, **more})] if more else [])]

    def leave_undecided(self, resource: Resource) -> None:
        """Give each subnet that a resource may affect a route table of which nothing is known."""
        self.noted.undecided[resource.address] = resource.type
        vpc_ids = {self._vpc_near(one) for one in (resource.before, resource.after) if one.values} or {None}
        for subnet in self.subnets.values():
            if None in vpc_ids or subnet.vpc_id in vpc_ids or isinstance(subnet.vpc_id, UnknownId):
                self.governing[subnet.id] = (UnknownId(resource.address), OPEN)

    def _vpc_near(self, arguments: Arguments) -> str | None:
        """Return the VPC that arguments name, by its id or by that of a subnet or route table in it; None if unknown."""
        subnets = (arguments.text("subnet_id"), *arguments.listed("vpc_zone_identifier")[0])
        subnet = next((self.subnets[one] for one in subnets if one in self.subnets), None)
        table = self.table_of(arguments.text("route_table_id"))
        found = arguments.text("vpc_id") or (subnet.vpc_id if subnet else "") or (table.vpc_id if table else "")
        return found if found in self.vpcs else None

    def _associations(self) -> Mapping[str, list[Association]]:
        """Return the associations of each route table."""
        found: defaultdict[str, list[Association]] = defaultdict(list)
        alike_of = cache(self._alike_of)
        for key, table in self.base.route_tables.items():
            for claim in table.associations:
                is_own = claim.subnet_id and claim.subnet_id not in (self.released | self.governing.keys())
                if is_own or not (claim.subnet_id or claim.main):
                    found[key].append(claim)
        for subnet_id, (name, tables) in self.governing.items():
            subnet = self.subnets.get(subnet_id)
            if subnet:
                chosen = "" if tables.is_open else alike_of(tables.ids, subnet.vpc_id)
                # The network does not show the main table of every VPC.
                is_main = tables.ids == (self.MAIN,) and subnet.vpc_id not in self.main
                table_id = chosen or ("" if is_main else self.unknown_table(name, subnet.vpc_id))
                found[table_id].append(Association(subnet_id=subnet_id))
        for table_id in self.main.values():
            found[table_id].append(Association(main=True))
        return found

    def _alike_of(self, table_ids: tuple[str, ...], vpc_id: str) -> str:
        """Return a route table that is like all that may govern a subnet; empty if they differ, or are not shown."""
        own = self.fitting(table_ids, vpc_id)
        every = {self.main.get(vpc_id, "") if one == self.MAIN else self.real(one) for one in own}
        is_one = every <= self.tables.keys() and len({self._signature(one) for one in every}) == 1
        return min(every) if is_one else ""

    def _signature(self, table_id: str) -> object:
        table = self.tables[table_id]
        routes = (*table.routes, *self.possible.get(table_id, ()))
        return (frozenset(table.tags.items()), *(frozenset(map(self.alike, one)) for one in (routes, table.routes)))


Effect = Callable[[ChangedNetwork, Resource], None]
"""Removes what a resource of one type decides before a change, or adds what it decides afterwards. Whatever has an id of its
own is removed by that, and not by the functions of its type."""


def add_nothing(_: ChangedNetwork, __: Resource) -> None:
    """Add nothing: resources of these types are only named by routes."""


def cidr_of(value: object) -> Cidr | None:
    """Return the CIDR that a value is, None if it is none."""
    try:
        return parse_cidr(value) if isinstance(value, str) and value else None
    except ValueError:
        return None


_CIDRS = ("cidr", "cidr_block", "destination_cidr_block", "ipv6_cidr_block", "destination_ipv6_cidr_block")
"""The arguments of resources, and of blocks in them, that are a CIDR."""


def check_cidrs(resource: Resource) -> None:
    """Raise RecordError if an argument of a resource that must be a CIDR is known and is none."""
    for whole in (resource.before, resource.after):
        for arguments in (whole, *whole.blocks("route"), *whole.blocks("entry")):
            for name in _CIDRS:
                value = arguments.values.get(name)
                is_id = isinstance(value, NewId | UnknownId)
                if value and not is_id and not has_unknown(value) and cidr_of(value) is None:
                    raise RecordError(arguments.unknown(name), "", value, "a CIDR block such as 10.0.0.0/16")


def tags_of(resource: Resource) -> Tags:
    """Return the tags of a resource that are known and not sensitive."""
    found = resource.after.values.get("tags")
    return found if isinstance(found, Mapping) else {}

"""A network of one Region while a change is laid over it: the records that the families of resource types change.

What is not certain becomes a record that the engine reports as UNRESOLVED_EGRESS, with the name of the value that decides:
a route to a target of an unknown kind, a route whose destination cannot be read, or a route table of which nothing is known.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from express_path.domain.network.addresses import Cidr, Family, parse_cidr
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
from express_path_cli.sources.proposal.resource import OPEN, Action, Arguments, Kind, Possible, Resource, UnknownId

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
class DraftTable:
    """A route table of a VPC or of a transit gateway."""

    vpc_id: str = ""
    routes: list[Route] = field(default_factory=list)
    owner_id: str = ""
    tags: Tags = field(default_factory=dict)

    def has(self, destination: Cidr | str) -> bool:
        """Return whether there is a route to exactly this destination, except one that is propagated."""
        return any(route.destination == destination and route.rank is not Rank.PROPAGATED for route in self.routes)

    def remove(self, is_removed: Callable[[Route], bool]) -> None:
        """Remove routes."""
        self.routes = [route for route in self.routes if not is_removed(route)]

    def add_unreadable(self, name: UnknownId) -> None:
        """Add a route that may match any address, whose target is not known."""
        self.routes.append(Route(name, name, TargetKind.UNKNOWN))


@dataclass(frozen=True, slots=True)
class Laid:
    """The network after the change.

    possible: the same with every route to an endpoint that is possible, and with_routes: the values because of which they
    are not certain, by the ids of their route tables; None and empty if there are none.
    addresses: of each subnet and route table of the change, by its id in the network. changed_by: the addresses of the
    resources that change a route table, or the table of a subnet, by their ids. undecided: the type of each resource, by
    its address, that may change paths in a way that is not modelled; empty if the network does not show its table or subnet.
    """

    network: Snapshot
    possible: Snapshot | None
    with_routes: Mapping[str, UnknownId]
    addresses: Mapping[str, str]
    changed_by: Mapping[str, Sequence[str]]
    undecided: Mapping[str, str]


class Draft:
    """The records of a network that change."""

    MAIN = ""
    """In place of the id of a route table: the main one of a VPC."""

    def __init__(
        self, base: Snapshot, owner: Callable[[Resource], str], zone_ids: Mapping[str, str], *, has_base: bool
    ) -> None:
        """Copy a network. has_base: it was read; otherwise it contains only what the change itself contains."""
        self.base, self.has_base, self.owner, self.zone_ids = base, has_base, owner, zone_ids
        self.vpcs, self.subnets = dict(base.vpcs), dict(base.subnets)
        self.endpoints, self.nats = dict(base.vpc_endpoints), dict(base.nat_gateways)
        self.lists, self.firewalls = dict(base.prefix_lists), dict(base.firewalls or {})
        self.interfaces = dict(base.network_interfaces or {})
        self.attachments = dict(base.transit_gateway_attachments or {})
        self.transit_tables = {
            key: DraftTable("", list(table.routes)) for key, table in (base.transit_gateway_route_tables or {}).items()
        }
        self.tables = {
            key: DraftTable(table.vpc_id, list(table.routes), table.owner_id, table.tags)
            for key, table in base.route_tables.items()
        }
        self.main = {
            table.vpc_id: key for key, table in base.route_tables.items() if any(one.main for one in table.associations)
        }
        self.governing: dict[str, tuple[UnknownId, Possible]] = {}
        self.released: set[str] = set()
        self.gateway_kinds: dict[str, TargetKind] = {}
        self.gone: set[str] = set()
        self.addresses: dict[str, str] = {}
        self.same_table: dict[str, str] = {}
        self.undecided: dict[str, Resource] = {}
        self.outside: dict[str, str] = {}
        self._fitting: dict[tuple[int, str], tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._alike: dict[tuple[int, str], str] = {}
        self.possible: defaultdict[str, list[Route]] = defaultdict(list)
        self.with_routes: dict[str, UnknownId] = {}
        self._changed_by: defaultdict[str, dict[str, None]] = defaultdict(dict)
        modes = {vpc.block_mode for vpc in base.vpcs.values()} | {subnet.block_mode for subnet in base.subnets.values()}
        self.may_be_closed = BlockMode.BIDIRECTIONAL in modes  # then it matters which NAT gateway it is
        self.new_block_mode = BlockMode.UNKNOWN if modes - {BlockMode.OFF} else BlockMode.OFF

    def is_listed(self, kind: Kind, resource_id: str) -> bool:
        """Return whether the network that was read lists an id, as far as it lists all of its kind."""
        every: Mapping[Kind, Mapping[str, Any]] = {
            Kind.VPC: self.base.vpcs,
            Kind.SUBNET: self.base.subnets,
            Kind.TABLE: self.base.route_tables,
            Kind.ENDPOINT: self.base.vpc_endpoints,
        }
        return kind not in every or resource_id in every[kind]

    def counts(self, resource: Resource, kind: Kind | None = None) -> bool:
        """Return whether a resource must be laid over the network: unless the network has it already, as it will be.

        kind: what the id of the resource names. A network that is older than the change does not list it, or what it names.
        """
        if not self.has_base or resource.action is not Action.KEEP:
            return True
        if kind is not None:
            return not self.is_listed(kind, resource.id)
        return any(not self.is_listed(one, found) for one in Kind for found in resource.after.named(one).ids)

    def note_outside(self, resource: Resource) -> None:
        """Note that a resource changes a route table or a subnet that the network does not show."""
        if resource.action is not Action.KEEP:
            self.outside[resource.address] = ""

    def note(self, changed: str, resource: Resource) -> None:
        """Note that a resource changes a route table or a subnet."""
        if resource.action is not Action.KEEP:
            self._changed_by[changed].setdefault(resource.address)

    def table_of(self, table_id: str) -> DraftTable | None:
        """Return a route table of a VPC, None if it is not in the network."""
        return self.tables.get(self.same_table.get(table_id, table_id))

    def vpc_of(self, arguments: Arguments) -> str:
        """Return the VPC that arguments name."""
        return arguments.named("vpc_id").certain or arguments.unknown("vpc_id")

    def fitting(self, table_ids: tuple[str, ...], vpc_id: str) -> tuple[str, ...]:
        """Return those of some route tables that may be in a VPC, or all if none is. Many resources share one tuple.

        A route table, its subnets, and the targets of its routes are in one VPC:
        https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Route_Tables.html.
        """
        if not vpc_id or isinstance(vpc_id, UnknownId) or len(table_ids) < 2:  # noqa: PLR2004
            return table_ids
        key = (id(table_ids), vpc_id)
        if key not in self._fitting:
            own = [one for one in table_ids if self._may_be_in(self.table_of(one), vpc_id)]
            self._fitting[key] = (table_ids, tuple(own) or table_ids)
        return self._fitting[key][1]

    @staticmethod
    def _may_be_in(table: DraftTable | None, vpc_id: str) -> bool:
        return table is None or table.vpc_id in ("", vpc_id) or isinstance(table.vpc_id, UnknownId)

    def unknown_table(self, name: UnknownId, vpc_id: str) -> str:
        """Add a route table of which nothing is known, and return its id, which says why."""
        routes = [Route(Cidr(family, 0, 0), name, TargetKind.UNKNOWN) for family in (Family.IPV4, Family.IPV6)]
        self.tables[name] = DraftTable(vpc_id, [*routes, Route(name, name, TargetKind.UNKNOWN)])
        return name

    def alike(self, route: Route) -> object:
        """Return what routes have in common that lead to the same verdict, whichever gateway it is."""
        is_end = route.target_kind in ENDS and not self.may_be_closed
        return (route.destination, route.target_kind, route.state, route.rank) if is_end else route

    # --- the result --------------------------------------------------------------------------------------------------

    def finished(self) -> Laid:
        """Return the network after the change."""
        for resource in self.undecided.values():
            self._leave_undecided(resource)
        associations = self._associations()
        base = self.base
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
            network_interfaces=_readable(self.interfaces, base.network_interfaces),
            transit_gateway_attachments=_readable(self.attachments, base.transit_gateway_attachments),
            transit_gateway_route_tables=_readable(
                {
                    key: TransitGatewayRouteTable(key, tuple(table.routes), self._is_truncated(key))
                    for key, table in self.transit_tables.items()
                },
                base.transit_gateway_route_tables,
            ),
            firewalls=_readable(self.firewalls, base.firewalls),
            route_tables={
                key: RouteTable(
                    key, table.vpc_id, tuple(table.routes), tuple(associations[key]), table.owner_id, table.tags
                )
                for key, table in self.tables.items()
            },
        )
        changed_by = {key: list(found) for key, found in self._changed_by.items()}
        undecided = self.outside | {address: resource.type for address, resource in self.undecided.items()}
        more = {
            key: replace(network.route_tables[key], routes=(*network.route_tables[key].routes, *routes))
            for key, routes in self.possible.items()
        }
        possible = replace(network, route_tables={**network.route_tables, **more}) if more else None
        return Laid(network, possible, self.with_routes, self.addresses, changed_by, undecided)

    def _is_truncated(self, table_id: str) -> bool:
        known = (self.base.transit_gateway_route_tables or {}).get(table_id)
        return known is not None and known.truncated

    def _leave_undecided(self, resource: Resource) -> None:
        """Give each subnet that a resource may affect a route table of which nothing is known."""
        arguments = [one for one in (resource.before, resource.after) if one.values]
        vpc_ids = {self._vpc_near(one) for one in arguments} or {None}
        for subnet in self.subnets.values():
            if None in vpc_ids or subnet.vpc_id in vpc_ids or isinstance(subnet.vpc_id, UnknownId):
                name = UnknownId(resource.address)
                self.governing[subnet.id] = (name, OPEN)

    def _vpc_near(self, arguments: Arguments) -> str | None:
        """Return the VPC that arguments name, by its id or by that of a subnet or route table in it; None if unknown."""
        subnets = (arguments.text("subnet_id"), *arguments.listed("vpc_zone_identifier").ids)
        subnet = next((self.subnets[one] for one in subnets if one in self.subnets), None)
        table = self.table_of(arguments.text("route_table_id"))
        found = arguments.text("vpc_id") or (subnet.vpc_id if subnet else "") or (table.vpc_id if table else "")
        return found if found in self.vpcs else None

    def _associations(self) -> Mapping[str, list[Association]]:
        """Return the associations of each route table."""
        found: defaultdict[str, list[Association]] = defaultdict(list)
        main = {vpc_id: self.same_table.get(table_id, table_id) for vpc_id, table_id in self.main.items()}
        for key, table in self.base.route_tables.items():
            for claim in table.associations:
                is_own = claim.subnet_id and claim.subnet_id not in (self.released | self.governing.keys())
                if is_own or not (claim.subnet_id or claim.main):
                    found[key].append(claim)
        for subnet_id, (name, tables) in self.governing.items():
            subnet = self.subnets.get(subnet_id)
            if subnet:
                chosen = "" if tables.is_open else self._alike_of(tables.ids, subnet.vpc_id, main)
                is_main = tables.ids == (self.MAIN,) and subnet.vpc_id not in main  # which the network does not show
                found[chosen or ("" if is_main else self.unknown_table(name, subnet.vpc_id))].append(
                    Association(subnet_id=subnet_id)
                )
        for table_id in main.values():
            found[table_id].append(Association(main=True))
        return found

    def _alike_of(self, table_ids: tuple[str, ...], vpc_id: str, main: Mapping[str, str]) -> str:
        """Return a route table that is like all that may govern a subnet; empty if they differ, or are not shown."""
        own = self.fitting(table_ids, vpc_id)
        key = (id(own), vpc_id)
        if key not in self._alike:
            every = {main.get(vpc_id, "") if one == self.MAIN else self.same_table.get(one, one) for one in own}
            is_one = every <= self.tables.keys() and len({self._signature(one) for one in every}) == 1
            self._alike[key] = min(every) if is_one else ""
        return self._alike[key]

    def _signature(self, table_id: str) -> object:
        table = self.tables[table_id]
        routes = (*table.routes, *self.possible.get(table_id, ()))
        return (frozenset(table.tags.items()), *(frozenset(map(self.alike, one)) for one in (routes, table.routes)))


def _readable(found: dict[str, Any], base: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return records, None if there are none and the network does not show them."""
    return found if found or base is not None else None


def cidr_of(value: object) -> Cidr | None:
    """Return the CIDR that a value is, None if it is none."""
    try:
        return parse_cidr(value) if isinstance(value, str) and value else None
    except ValueError:
        return None


def tags_of(resource: Resource) -> Tags:
    """Return the tags of a resource that are known and not sensitive."""
    found = resource.after.values.get("tags")
    return found if isinstance(found, Mapping) else {}


def certain_or(found: Possible, name: UnknownId) -> str:
    """Return the only id that is possible, or the name of the value."""
    return found.certain or name


def groups(rows: Iterable[Resource]) -> Iterator[list[Resource]]:
    """Yield the resources of each block with count or for_each."""
    found: defaultdict[str, list[Resource]] = defaultdict(list)
    for row in rows:
        found[row.block].append(row)
    yield from found.values()

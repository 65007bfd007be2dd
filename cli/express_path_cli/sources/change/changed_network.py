"""A network of one Region while a change is laid over it: the records that the families of resource types change.

What is not certain becomes a record that the engine reports as UNRESOLVED_EGRESS, with the name of the value that decides:
a route to a target of an unknown kind, a route whose destination cannot be read, or a route table of which nothing is known.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

from express_path.domain.network.addresses import Cidr, parse_cidr
from express_path.domain.network.resources import (
    Association,
    BlockMode,
    Firewall,
    NatGateway,
    NetworkInterface,
    PrefixList,
    Rank,
    Route,
    RouteTable,
    Subnet,
    Tags,
    TargetKind,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
    Vpc,
    VpcEndpoint,
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
    table's id. addresses: of each subnet, route table, and endpoint of the change, by its id in the network. changed_by: each
    resource that changes a route table, or the table of a subnet, or that is removed, by its address; by their ids. undecided: the type of each resource,
    by its address, that may change paths in a way that is not modelled; empty if the network does not show its table or
    subnet.
    """

    with_routes: dict[str, UnknownId] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    changed_by: dict[str, dict[str, Resource]] = field(default_factory=dict)
    undecided: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Records:
    """The records of a network by their ids, which change one by one."""

    vpcs: dict[str, Vpc]
    subnets: dict[str, Subnet]
    endpoints: dict[str, VpcEndpoint]
    nats: dict[str, NatGateway]
    lists: dict[str, PrefixList]
    firewalls: dict[str, Firewall]
    interfaces: dict[str, NetworkInterface]
    attachments: dict[str, TransitGatewayAttachment]
    transit_tables: dict[str, ChangedTable]
    tables: dict[str, ChangedTable]

    @classmethod
    def of(cls, base: Snapshot) -> "Records":
        """Copy the records of a network."""
        transit_tables = base.transit_gateway_route_tables or {}
        return cls(
            vpcs=dict(base.vpcs),
            subnets=dict(base.subnets),
            endpoints=dict(base.vpc_endpoints),
            nats=dict(base.nat_gateways),
            lists=dict(base.prefix_lists),
            firewalls=dict(base.firewalls or {}),
            interfaces=dict(base.network_interfaces or {}),
            attachments=dict(base.transit_gateway_attachments or {}),
            transit_tables={key: ChangedTable(routes=list(table.routes)) for key, table in transit_tables.items()},
            tables={
                key: ChangedTable(table.vpc_id, list(table.routes), table.owner_id, table.tags)
                for key, table in base.route_tables.items()
            },
        )

    def by_kind(self) -> tuple[dict[str, Any], ...]:
        """Return the records of each kind."""
        return tuple(getattr(self, field.name) for field in fields(Records))


@dataclass(slots=True)
class Pending:
    """What is not certain while resources are laid over a network, and is decided once all of them are.

    governing: of a subnet, the route tables that may govern it, and the name of the value that decides. associations: those
    of which the subnet is not certain, by block. routes: those of which the table is not certain, by block and destination.
    endpoint_routes: the routes of endpoints that a table may have.
    """

    governing: dict[str, tuple[UnknownId, Possible]] = field(default_factory=dict)
    associations: defaultdict[str, list[Resource]] = field(default_factory=lambda: defaultdict(list))
    routes: defaultdict[tuple[str, Cidr | str], list[tuple[Resource, Route]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    endpoint_routes: defaultdict[str, list[Route]] = field(default_factory=lambda: defaultdict(list))


class ChangedNetwork:
    """A network that changes: its records, and what is known about them besides.

    main: the main route table of each VPC. released: the subnets that lose the association that the network shows.
    gone: the ids of what no longer exists. same: other ids of one thing, such as the address of an adopted route table.
    undecided: the resources that may change paths in a way that is not modelled, by the subnets that they may change.
    """

    MAIN = ""
    """In place of the id of a route table: the main one of a VPC."""

    def __init__(
        self, base: Snapshot, noted: Noted, account: str, zone_ids: Mapping[str, str], *, has_base: bool
    ) -> None:
        """Copy a network. account: that of resources that do not say theirs.

        has_base: the network was read; otherwise it contains only what the change itself contains.
        """
        self.base, self.has_base, self.noted, self.account, self.zone_ids = base, has_base, noted, account, zone_ids
        self.records, self.pending = Records.of(base), Pending()
        self.main = {
            table.vpc_id: key for key, table in base.route_tables.items() if any(one.main for one in table.associations)
        }
        self.released: set[str] = set()
        self.gone: set[str] = set()
        self.same: dict[str, str] = {}
        self.undecided: dict[str, UnknownId] = {}
        self.transit_default: dict[str, str] = {}
        self.gateway_kinds: dict[str, TargetKind] = {}
        self.fitting = cache(self._fitting)
        modes = {record.block_mode for records in (base.vpcs, base.subnets) for record in records.values()}
        self.may_be_closed = BlockMode.BIDIRECTIONAL in modes  # then it matters which NAT gateway it is
        self.new_block_mode = BlockMode.UNKNOWN if modes - {BlockMode.OFF} else BlockMode.OFF

    def put(self, records: dict[str, Any], resource: Resource, record: Any, **arguments: str) -> None:  # noqa: ANN401
        """Add the record of a resource, or change the one that is there.

        arguments: the argument of the resource that decides about a field, by the field. What the resource does not change
        stays as it is: the network shows more of it than a change does.
        """
        known = records.get(resource.id)
        if known is None:
            records[resource.id] = record
            return
        changed = {name: getattr(record, name) for name, argument in arguments.items() if resource.changes(argument)}
        records[resource.id] = replace(known, **changed)

    def counts(self, resource: Resource) -> bool:
        """Return whether a resource must be laid over the network: unless the network has it already, as it will be.

        A network that is older than the change does not list it, or what it connects.
        """
        if not self.has_base or resource.action is not Action.KEEP:
            return True
        if resource.type in WITH_IDS:
            own = {resource.id, resource.after.text("primary_network_interface_id")}
            return not any(own & records.keys() for records in self.records.by_kind())
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
        for records in self.records.by_kind():
            records.pop(resource_id, None)

    def note_outside(self, resource: Resource) -> None:
        """Note that a resource changes a route table or a subnet that the network does not show."""
        if resource.action is not Action.KEEP:
            self.noted.undecided.setdefault(resource.address, "")

    def note(self, changed: str, resource: Resource) -> None:
        """Note that a resource changes a route table or a subnet, or is removed."""
        if resource.action is not Action.KEEP:
            self.noted.changed_by.setdefault(changed, {})[resource.address] = resource

    def real(self, resource_id: str) -> str:
        """Return the id that the records have of a thing with several, such as an adopted route table."""
        return self.same.get(resource_id, resource_id)

    def table_of(self, table_id: str) -> ChangedTable | None:
        """Return a route table of a VPC, None if it is not in the network."""
        return self.records.tables.get(self.real(table_id))

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

    def kept_tables(self) -> dict[str, str]:
        """Return the route table of each subnet whose association the network shows, and nothing removes."""
        kept = {}
        for table_id, table in self.base.route_tables.items():
            for claim in table.associations:
                if claim.subnet_id and claim.subnet_id not in self.released:
                    kept[claim.subnet_id] = table_id
        return kept

    def unknown_table(self, name: UnknownId, vpc_id: str) -> str:
        """Add a route table of which nothing is known, and return its id, which says why."""
        table = self.records.tables[name] = ChangedTable(vpc_id)
        table.add_unreadable(name)
        return name

    def alike(self, route: Route) -> object:
        """Return what routes have in common that lead to the same verdict, whichever gateway it is."""
        is_end = route.target_kind in ENDS and not self.may_be_closed
        return (route.destination, route.target_kind, route.state, route.rank) if is_end else route

    # --- the result --------------------------------------------------------------------------------------------------

    def networks(self, *, with_undecided: bool = True) -> list[Snapshot]:
        """Return the network after the change, and if there are any, the same with the routes to endpoints that are possible.

        with_undecided: also with what resources may change whose effect is not modelled.
        """
        network = self._network(self._associations(with_undecided=with_undecided))
        tables = dict(network.route_tables)
        for table_id, routes in self.pending.endpoint_routes.items():
            tables[table_id] = replace(tables[table_id], routes=(*tables[table_id].routes, *routes))
        if not self.pending.endpoint_routes:
            return [network]
        return [network, replace(network, route_tables=tables)]

    def _network(self, associations: Mapping[str, Sequence[Association]]) -> Snapshot:
        base, records = self.base, self.records
        endpoints = {}
        for endpoint_id, endpoint in records.endpoints.items():
            table_ids = tuple(table_id for table_id in endpoint.route_table_ids if table_id not in self.gone)
            endpoints[endpoint_id] = replace(endpoint, route_table_ids=table_ids)
        tables = {}
        for table_id, table in records.tables.items():
            routes, claims = tuple(table.routes), tuple(associations.get(table_id, ()))
            tables[table_id] = RouteTable(table_id, table.vpc_id, routes, claims, table.owner_id, table.tags)
        transit_tables = {}
        for table_id, table in records.transit_tables.items():
            shown = (base.transit_gateway_route_tables or {}).get(table_id) or TransitGatewayRouteTable(table_id)
            transit_tables[table_id] = replace(shown, routes=tuple(table.routes))
        return replace(
            base,
            vpcs=records.vpcs,
            subnets=records.subnets,
            vpc_endpoints=endpoints,
            nat_gateways=records.nats,
            prefix_lists=records.lists,
            route_tables=tables,
            # What could not be read stays None, unless the change adds to it.
            network_interfaces=records.interfaces or (base.network_interfaces and {}),
            transit_gateway_attachments=records.attachments or (base.transit_gateway_attachments and {}),
            transit_gateway_route_tables=transit_tables or (base.transit_gateway_route_tables and {}),
            firewalls=records.firewalls or (base.firewalls and {}),
        )

    def leave_undecided(self, resource: Resource) -> None:
        """Note each subnet that a resource may affect: of the table that it has then, nothing is known."""
        self.noted.undecided[resource.address] = resource.type
        vpc_ids = {self._vpc_near(one) for one in (resource.before, resource.after) if one.values} or {None}
        for subnet in self.records.subnets.values():
            if None in vpc_ids or subnet.vpc_id in vpc_ids or isinstance(subnet.vpc_id, UnknownId):
                self.undecided[subnet.id] = UnknownId(resource.address)

    def _vpc_near(self, arguments: Arguments) -> str | None:
        """Return the VPC that arguments name, by its id or by that of a subnet or route table in it; None if unknown."""
        subnets = (arguments.text("subnet_id"), *arguments.listed("vpc_zone_identifier")[0])
        subnet = next((self.records.subnets[one] for one in subnets if one in self.records.subnets), None)
        table = self.table_of(arguments.text("route_table_id"))
        found = arguments.text("vpc_id") or (subnet.vpc_id if subnet else "") or (table.vpc_id if table else "")
        return found if found in self.records.vpcs else None

    def _associations(self, *, with_undecided: bool) -> Mapping[str, Sequence[Association]]:
        """Return the associations of each route table."""
        governing = dict(self.pending.governing)
        if with_undecided:
            governing |= {subnet_id: (name, OPEN) for subnet_id, name in self.undecided.items()}
        associations: defaultdict[str, list[Association]] = defaultdict(list)
        for table_id, table in self.base.route_tables.items():
            for claim in table.associations:
                is_kept = claim.subnet_id and claim.subnet_id not in (self.released | governing.keys())
                if is_kept or not (claim.subnet_id or claim.main):
                    associations[table_id].append(claim)
        alike_of = cache(self._alike_of)
        for subnet_id, (name, tables) in governing.items():
            subnet = self.records.subnets.get(subnet_id)
            if subnet is None:
                continue
            chosen = "" if tables.is_open else alike_of(tables.ids, subnet.vpc_id)
            # The network does not show the main table of every VPC.
            is_main = tables.ids == (self.MAIN,) and subnet.vpc_id not in self.main
            if not chosen and not is_main:
                chosen = self.unknown_table(name, subnet.vpc_id)
            associations[chosen].append(Association(subnet_id=subnet_id))
        for table_id in self.main.values():
            associations[table_id].append(Association(main=True))
        return associations

    def _alike_of(self, table_ids: tuple[str, ...], vpc_id: str) -> str:
        """Return a route table that is like all that may govern a subnet; empty if they differ, or are not shown."""
        possible = set()
        for table_id in self.fitting(table_ids, vpc_id):
            possible.add(self.main.get(vpc_id, "") if table_id == self.MAIN else self.real(table_id))
        if not possible <= self.records.tables.keys() or len({self._signature(table_id) for table_id in possible}) > 1:
            return ""
        return min(possible, default="")

    def _signature(self, table_id: str) -> object:
        table = self.records.tables[table_id]
        routes = (*table.routes, *self.pending.endpoint_routes.get(table_id, ()))
        return (
            frozenset(table.tags.items()),
            frozenset(map(self.alike, routes)),
            frozenset(map(self.alike, table.routes)),
        )


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

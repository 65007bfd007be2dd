"""Lay a plan over the network of one Region: the records of the network as they would be after the apply.

A resource whose id is not known yet has its address as its id. What a value may name is in `identity`: if that is not
certain, the record says so in a way that the engine reports as UNRESOLVED_EGRESS, with the name of the value:

- a route whose target is not known leads to a target of an unknown kind;
- a route whose destination is not known has a prefix list that cannot be read, which may match any address;
- a route table that may have a route has one record with the route, and one without it;
- a subnet has one record for each record of a table that may govern it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from math import prod
from typing import Any, TypeVar

from express_path.domain.network.addresses import Cidr, Family, parse_cidr
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
    target_kind,
)
from express_path.domain.network.snapshot import Snapshot, is_express_service
from express_path.domain.path.routing import contains
from express_path_cli.sources.plan.configuration import Configuration
from express_path_cli.sources.plan.identity import (
    OPEN,
    Identities,
    Kind,
    Listed,
    Possible,
    firewall_endpoints,
    made_id,
    union,
)
from express_path_cli.sources.plan.terraform import Action, Block, Plan, Resource, Values, objects, references

UNKNOWN_VALUE = " (known after apply)"
"""The end of the name of a value that is known only after the apply."""
MAIN_TABLE = "default_route_table_id"
_VPCS = ("aws_vpc", "aws_default_vpc")
_SUBNETS = ("aws_subnet", "aws_default_subnet")
_BLOCK_PUBLIC_ACCESS = ("aws_vpc_block_public_access_options", "aws_vpc_block_public_access_exclusion")
_GONE = (Action.DELETE, Action.REPLACE)
_MADE = (Action.CREATE, Action.REPLACE)
_TARGETS: Mapping[str, tuple[TargetKind, Kind | None]] = {
    "nat_gateway_id": (TargetKind.NAT_GATEWAY, Kind.NAT),
    "gateway_id": (TargetKind.INTERNET_GATEWAY, Kind.GATEWAY),
    "egress_only_gateway_id": (TargetKind.EGRESS_ONLY_INTERNET_GATEWAY, Kind.EGRESS_ONLY),
    "transit_gateway_id": (TargetKind.TRANSIT_GATEWAY, Kind.TRANSIT_GATEWAY),
    "vpc_endpoint_id": (TargetKind.VPC_ENDPOINT, Kind.ENDPOINT),
    "network_interface_id": (TargetKind.NETWORK_INTERFACE, Kind.INTERFACE),
    "vpc_peering_connection_id": (TargetKind.VPC_PEERING_CONNECTION, None),
    "carrier_gateway_id": (TargetKind.CARRIER_GATEWAY, None),
    "local_gateway_id": (TargetKind.LOCAL_GATEWAY, None),
    "core_network_arn": (TargetKind.CORE_NETWORK, None),
    "odb_network_arn": (TargetKind.ODB_NETWORK, None),
}
"""The arguments that name a route's target, what each of them leads to, and how its references are followed."""
_ALWAYS = (TargetKind.NAT_GATEWAY, TargetKind.EGRESS_ONLY_INTERNET_GATEWAY)
_ENDS = frozenset({*_ALWAYS, TargetKind.INTERNET_GATEWAY})
"""The kinds of targets that end a path whichever one it is. Of an internet gateway, the kind must be known."""
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
MAX_RECORDS = 32
"""How many records of a route table or of a subnet there may be. If there are more, nothing is known of what they differ in."""
_MOST_NAMES = 3
"""How many values are named that a subnet's path depends on."""


_T = TypeVar("_T", str, str | None)


def unknown(resource: Resource, attribute: str) -> str:
    """Return the name of a value that is known only after the apply."""
    return f"{resource.address}.{attribute}{UNKNOWN_VALUE}"


@dataclass(frozen=True, slots=True)
class _Doubt:
    """What is not certain about a table: the routes of one of the options are in it. name: the value that decides."""

    name: str
    options: tuple[tuple[Route, ...], ...]


@dataclass(slots=True)
class _Table:
    """A route table while the plan is laid over it."""

    vpc_id: str
    routes: list[Route] = field(default_factory=list)
    doubts: list[_Doubt] = field(default_factory=list)
    owner_id: str = ""
    tags: Tags = field(default_factory=dict)

    def has(self, destination: Cidr | str) -> bool:
        """Return whether there is a route to exactly this destination, except one that is propagated."""
        return any(route.destination == destination and route.rank is not Rank.PROPAGATED for route in self.routes)

    def add(self, name: str, options: Iterable[tuple[Route, ...]]) -> None:
        """Add the routes of one of these options."""
        distinct = tuple(dict.fromkeys(options))
        if len(distinct) > 1:
            self.doubts.append(_Doubt(name, distinct))
        else:
            self.routes.extend(route for routes in distinct for route in routes if route not in self.routes)

    def possible(self) -> list[tuple[Route, ...]]:
        """Return the routes for each combination of options, or one list with unknown targets if there are too many."""
        if prod(len(doubt.options) for doubt in self.doubts) > MAX_RECORDS:
            return [self.with_unknown_targets()]
        chosen = product(*(doubt.options for doubt in self.doubts))
        return list(dict.fromkeys((*self.routes, *chain.from_iterable(options)) for options in chosen))

    def with_unknown_targets(self) -> tuple[Route, ...]:
        """Return the routes, with a target of an unknown kind for each that is not certain."""
        found = {
            Route(route.destination, doubt.name, TargetKind.UNKNOWN): None
            for doubt in self.doubts
            for options in doubt.options
            for route in options
        }
        return (*self.routes, *found)


@dataclass(frozen=True, slots=True)
class _Governing:
    """The route tables that may govern a subnet, None for the main one of its VPC, and the one that probably does.

    name: the value that decides.
    """

    table_ids: tuple[str | None, ...]
    probable: str | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Overlaid:
    """The network after the apply.

    addresses: the address of each subnet and route table of the plan, by its id in the network. copies: the subnets and
    route tables of which the network has several records, because it is not certain which table governs them, or which
    routes it has: for each of their records, the id. probable: the record of each of these subnets that has the route
    table with the same key of count. unknown: the values that decide about each of these subnets. changed_by: the
    addresses of the resources that change a route table, or the table of a subnet, by their ids.
    """

    network: Snapshot
    addresses: Mapping[str, str]
    copies: Mapping[str, str]
    probable: Mapping[str, str]
    unknown: Mapping[str, Sequence[str]]
    changed_by: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class _Options:
    """The records of tables that may govern a subnet, None for the main one of its VPC, and the values that decide."""

    records: tuple[str | None, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Placed:
    """A route, the route tables that it may be in, and the value that names them."""

    resource: Resource
    table: Possible
    routes: tuple[Route, ...]


class _Overlay:
    """A network into which a plan is being laid."""

    def __init__(
        self,
        plan: Plan,
        base: Snapshot,
        resources: Sequence[Resource],
        owner: Callable[[Resource], str],
        configuration: Configuration | None,
        *,
        has_base: bool,
    ) -> None:
        """Copy the network. has_base: it was read; otherwise it contains only what the plan itself contains."""
        self._plan, self._base, self._has_base, self._owner = plan, base, has_base, owner
        self._identities = Identities(plan, configuration)
        self._resources = resources
        self._vpcs = dict(base.vpcs)
        self._subnets = dict(base.subnets)
        self._endpoints = dict(base.vpc_endpoints)
        self._nats = dict(base.nat_gateways)
        self._lists = dict(base.prefix_lists)
        self._interfaces = dict(base.network_interfaces or {})
        self._attachments = dict(base.transit_gateway_attachments or {})
        self._transit_tables = {
            key: _Table("", list(table.routes)) for key, table in (base.transit_gateway_route_tables or {}).items()
        }
        self._truncated = {key for key, table in (base.transit_gateway_route_tables or {}).items() if table.truncated}
        self._firewalls = dict(base.firewalls or {})
        self._tables: dict[str, _Table] = {}
        self._governed: dict[str, _Governing] = {}
        self._records: dict[str, dict[str, tuple[Route, ...]]] = {}
        self._options_of: dict[int, tuple[object, dict[object, str | None], tuple[str, ...]]] = {}
        self._fitting_of: dict[tuple[int, str], tuple[object, Any]] = {}
        self._vpc_resources: dict[str, Resource] = {}
        for key, table in base.route_tables.items():
            self._tables[key] = _Table(table.vpc_id, list(table.routes), owner_id=table.owner_id, tags=table.tags)
        self._claims = {
            key: [claim for claim in table.associations if not claim.subnet_id]
            for key, table in base.route_tables.items()
        }
        self._explicit: defaultdict[str, dict[str, Association]] = defaultdict(dict)
        for key, table in base.route_tables.items():
            for claim in table.associations:
                if claim.subnet_id:
                    self._explicit[claim.subnet_id][key] = claim
        self._main: dict[str, str] = {}
        self._gone: set[str] = set()
        self._changed_by: defaultdict[str, dict[str, None]] = defaultdict(dict)
        modes = {vpc.block_mode for vpc in base.vpcs.values()} | {subnet.block_mode for subnet in base.subnets.values()}
        self._may_be_closed = BlockMode.BIDIRECTIONAL in modes  # then it matters which NAT gateway it is
        self._zones = _zone_ids(plan)
        self._addresses: dict[str, str] = {}
        self._by_type: defaultdict[str, list[Resource]] = defaultdict(list)
        for resource in resources:
            if resource.after is not None:
                self._by_type[resource.type].append(resource)

    # --- what is new, changed, or gone -------------------------------------------------------------------------------

    def _of(self, *types: str) -> Iterator[Resource]:
        for kind in types:
            yield from self._by_type[kind]

    def _note(self, changed: str, resource: Resource) -> None:
        """Note that a resource changes a route table or a subnet."""
        if resource.action is not Action.KEEP:
            self._changed_by[changed].setdefault(resource.address)

    def _counts(self, resource: Resource, *, is_there: bool = True) -> bool:
        """Return whether what a resource says must be laid over the network: unless the network has it already."""
        return not (self._has_base and is_there and resource.action is Action.KEEP)

    def lay(self) -> Overlaid:
        """Lay every resource over the network."""
        if self._has_base:
            self._remove()
        self._lay_nodes()
        self._lay_transit_gateways()
        self._lay_associations()
        self._lay_tables()
        self._lay_routes()
        self._lay_endpoints()
        self._lay_unknown_changes()
        return self._finished()

    def _remove(self) -> None:
        """Remove what the apply deletes. A route whose target is gone is a blackhole, unless it changes too."""
        for resource in self._resources:
            if resource.action in _GONE:
                self._remove_node(resource)
            if resource.action in (*_GONE, Action.UPDATE):
                self._remove_link(resource)
        for table in (*self._tables.values(), *self._transit_tables.values()):
            table.routes = [
                replace(route, state="blackhole") if route.target_id in self._gone else route for route in table.routes
            ]

    def _remove_node(self, resource: Resource) -> None:
        gone, before = resource.id_before, resource.before or {}
        if not gone:
            return
        if resource.type in _VPCS:
            self._vpcs.pop(gone, None)
            for table_id in [key for key, table in self._tables.items() if table.vpc_id == gone]:
                self._tables.pop(table_id)
        elif resource.type in _SUBNETS:
            self._subnets.pop(gone, None)
        elif resource.type == "aws_route_table":
            self._tables.pop(gone, None)
        elif resource.type == "aws_nat_gateway":
            self._nats.pop(gone, None)
        elif resource.type == "aws_vpc_endpoint":
            found = self._endpoints.pop(gone, None)
            if found and found.endpoint_type == "gateway":
                for table_id, table in self._tables.items():
                    if any(route.target_id == gone for route in table.routes):
                        self._note(table_id, resource)
                    table.routes = [route for route in table.routes if route.target_id != gone]
        elif resource.type == "aws_ec2_transit_gateway_vpc_attachment":
            self._attachments.pop(gone, None)
            vpc_id, gateway_id = before.get("vpc_id"), before.get("transit_gateway_id")
            for table in self._tables.values():
                if table.vpc_id == vpc_id:
                    table.routes = [
                        replace(route, state="blackhole") if route.target_id == gateway_id else route
                        for route in table.routes
                    ]
        elif resource.type == "aws_ec2_transit_gateway_route_table":
            self._transit_tables.pop(gone, None)
        elif resource.type == "aws_ec2_managed_prefix_list":
            self._lists.pop(gone, None)
        elif resource.type in ("aws_network_interface", "aws_instance"):
            interface_id = (
                gone if resource.type == "aws_network_interface" else before.get("primary_network_interface_id")
            )
            self._interfaces.pop(str(interface_id), None)
            self._gone.add(str(interface_id))
        self._gone.add(gone)

    def _remove_link(self, resource: Resource) -> None:
        """Remove what the resource, as it is now, adds to another one."""
        before = resource.before or {}
        table = self._tables.get(str(before.get("route_table_id")))
        if table and resource.type != "aws_main_route_table_association":
            self._note(str(before["route_table_id"]), resource)
        if resource.type == "aws_route_table_association":
            self._note(str(before.get("subnet_id")), resource)
        match resource.type:
            case "aws_route" if table:
                found = {before.get(name) for name in ("destination_cidr_block", "destination_ipv6_cidr_block")}
                wanted = {_cidr(text) for text in found if isinstance(text, str) and text}
                wanted |= {before.get("destination_prefix_list_id") or None}
                table.routes = [
                    route
                    for route in table.routes
                    if route.destination not in wanted or route.rank is Rank.PROPAGATED or route.target_id == "local"
                ]
            case "aws_route_table_association":
                self._explicit.pop(str(before.get("subnet_id")), None)
            case "aws_main_route_table_association":
                original = before.get("original_route_table_id")
                if resource.action is Action.DELETE and isinstance(original, str):
                    self._main[str(before.get("vpc_id"))] = original
            case "aws_vpc_endpoint_route_table_association" if table:
                gone = before.get("vpc_endpoint_id")
                table.routes = [route for route in table.routes if route.target_id != gone]
            case "aws_ec2_transit_gateway_route":
                transit = self._transit_tables.get(str(before.get("transit_gateway_route_table_id")))
                destination = _cidr(before.get("destination_cidr_block"))
                if transit:
                    transit.routes = [
                        route
                        for route in transit.routes
                        if route.destination != destination or route.rank is Rank.PROPAGATED
                    ]
            case "aws_ec2_transit_gateway_route_table_association":
                attachment = self._attachments.get(str(before.get("transit_gateway_attachment_id")))
                if attachment:
                    self._attachments[attachment.id] = replace(attachment, route_table_id=None)
            case "aws_ec2_managed_prefix_list_entry":
                listed = self._lists.get(str(before.get("prefix_list_id")))
                if listed and listed.cidrs is not None:
                    cidr = _cidr(before.get("cidr"))
                    self._lists[listed.id] = replace(listed, cidrs=tuple(one for one in listed.cidrs if one != cidr))
            case _:
                return

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _vpc_of(self, resource: Resource) -> str:
        found = self._identities.named_by(resource, "vpc_id", Kind.VPC)
        return found.certain or unknown(resource, "vpc_id")

    def _fitting(self, table_ids: tuple[_T, ...], vpc_id: str) -> tuple[_T, ...]:
        """Return those of some route tables that may be in a VPC. Many resources share one tuple, before and after.

        A route table, its subnets, and the targets of its routes are in one VPC:
        https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Route_Tables.html.
        """
        if not vpc_id or vpc_id.endswith(UNKNOWN_VALUE):
            return table_ids
        key = (id(table_ids), vpc_id)
        if key not in self._fitting_of:
            own = tuple(one for one in table_ids if one not in self._tables or self._may_be_in(one, vpc_id))
            self._fitting_of[key] = (table_ids, own if 0 < len(own) < len(table_ids) else table_ids)
        found: tuple[_T, ...] = self._fitting_of[key][1]
        return found

    def _may_be_in(self, table_id: str | None, vpc_id: str) -> bool:
        found = self._tables[table_id or ""].vpc_id
        return found == vpc_id or not found or found.endswith(UNKNOWN_VALUE)

    def _lay_nodes(self) -> None:
        self._vpc_resources = {vpc.id: vpc for vpc in self._of(*_VPCS)}
        for vpc in self._vpc_resources.values():
            known = self._vpcs.get(vpc.id)
            self._vpcs[vpc.id] = Vpc(
                vpc.id, self._owner(vpc), _tags(vpc), known.block_mode if known else self._new_block_mode()
            )
            if not known:
                self._lay_main_table(vpc)
        for subnet in self._of(*_SUBNETS):
            self._addresses[subnet.id] = subnet.address
            known_subnet = self._subnets.get(subnet.id)
            if self._counts(subnet, is_there=known_subnet is not None):
                self._subnets[subnet.id] = self._subnet(subnet, known_subnet)
        for nat in self._of("aws_nat_gateway"):
            if self._counts(nat, is_there=nat.id in self._nats):
                found = self._identities.named_by(nat, "subnet_id", Kind.SUBNET)
                vpcs = {self._subnets[one].vpc_id for one in found.ids if one in self._subnets}
                is_one = len(vpcs) == 1 and not found.is_open
                self._nats[nat.id] = NatGateway(
                    id=nat.id,
                    vpc_id=vpcs.pop() if is_one else nat.text("vpc_id"),
                    subnet_id=found.certain,
                    connectivity=nat.text("connectivity_type") or "public",
                    availability_mode=nat.text("availability_mode") or "zonal",
                )
        for endpoint in self._of("aws_vpc_endpoint"):
            known_endpoint = self._endpoints.get(endpoint.id)
            if self._counts(endpoint, is_there=known_endpoint is not None):
                self._endpoints[endpoint.id] = self._endpoint(endpoint, known_endpoint)
        for firewall in self._of("aws_networkfirewall_firewall"):
            self._lay_firewall(firewall)
        self._lay_interfaces()
        self._lay_prefix_lists()

    def _new_block_mode(self) -> BlockMode:
        """Return the mode of VPC Block Public Access that a new VPC has: that of the Region, if it is certain."""
        modes = {vpc.block_mode for vpc in self._base.vpcs.values()}
        return BlockMode.UNKNOWN if modes - {BlockMode.OFF} else BlockMode.OFF

    def _lay_main_table(self, vpc: Resource) -> None:
        """Add the main route table of a VPC. That of a VPC that exists may have routes that the plan does not show."""
        table_id = vpc.text("main_route_table_id") or made_id(vpc, MAIN_TABLE)
        if table_id in self._tables:
            return
        self._tables[table_id] = _Table(vpc.id, self._local_routes(vpc.id))
        self._main.setdefault(vpc.id, table_id)
        is_managed = any(self._identities.id_of(row) == table_id for row in self._of("aws_default_route_table"))
        if vpc.action not in _MADE and not is_managed:
            self._add_unreadable(self._tables[table_id], f"{vpc.address}.{MAIN_TABLE} (its routes are not in the plan)")

    def _local_routes(self, vpc_id: str) -> list[Route]:
        vpc = self._vpc_resources.get(vpc_id)
        cidr = _cidr(vpc.known("cidr_block")) if vpc else None
        return [Route(cidr, "local", TargetKind.LOCAL)] if cidr else []

    def _subnet(self, resource: Resource, known: Subnet | None) -> Subnet:
        vpc_id = known.vpc_id if known else self._vpc_of(resource)
        zone = resource.text("availability_zone_id") or self._zones.get(resource.text("availability_zone"), "")
        vpc = self._vpcs.get(vpc_id)
        mode = known.block_mode if known else vpc.block_mode if vpc else self._new_block_mode()
        return Subnet(
            id=resource.id,
            vpc_id=vpc_id,
            owner_id=known.owner_id if known else self._owner(resource),
            # A name that no zone has: traffic from there may leave an attachment in every subnet.
            availability_zone_id=zone or resource.text("availability_zone") or f"{resource.address}{UNKNOWN_VALUE}",
            ipv6_native=resource.known("ipv6_native") is True,
            has_ipv6=resource.is_unknown("ipv6_cidr_block") or bool(resource.text("ipv6_cidr_block")),
            dns64=resource.is_unknown("enable_dns64") or resource.known("enable_dns64") is True,
            tags=_tags(resource),
            block_mode=mode,
        )

    def _endpoint(self, resource: Resource, known: VpcEndpoint | None) -> VpcEndpoint:
        configured = self._plan.expressions(resource.block)
        subnets = self._identities.listed(resource, "subnet_ids", Kind.SUBNET)
        ip_type = resource.text("ip_address_type") or (known.ip_address_type if known else "")
        if not ip_type:
            ip_type = (
                "unknown" if "ip_address_type" in configured and resource.is_unknown("ip_address_type") else "ipv4"
            )
        return VpcEndpoint(
            id=resource.id,
            vpc_id=known.vpc_id if known else self._vpc_of(resource),
            endpoint_type=(resource.text("vpc_endpoint_type") or "gateway").lower(),
            service_name=resource.text("service_name") or unknown(resource, "service_name"),
            # AWS makes an endpoint for its own services available; one that exists keeps its state.
            state=known.state if known else resource.text("state").lower() or "available",
            ip_address_type=ip_type,
            subnet_ids=(*subnets.ids, *subnets.possible),
            route_table_ids=known.route_table_ids if known else (),
            owner_id=self._owner(resource),
            tags=_tags(resource),
        )

    def _lay_firewall(self, resource: Resource) -> None:
        """Add a firewall and its endpoints, one in each of its subnets."""
        arn = resource.text("arn") or resource.address
        if not self._counts(resource, is_there=arn in self._firewalls):
            return
        endpoint_ids = firewall_endpoints(resource)
        rows = objects((resource.after or {}).get("subnet_mapping"))
        marks = resource.unknown.get("subnet_mapping")
        names = references(self._plan.expressions(resource.block).get("subnet_mapping")) or _block_references(
            self._plan.expressions(resource.block).get("subnet_mapping"), "subnet_id"
        )
        possible = self._identities.referred(resource, names or ["local.subnets"], Kind.SUBNET)
        known = {str(row["subnet_id"]) for row in rows if row.get("subnet_id")}
        subnet_ids = tuple(sorted(known)) or possible.ids
        for number, endpoint_id in enumerate(endpoint_ids):
            if endpoint_id not in self._endpoints:
                subnets = subnet_ids if marks or len(subnet_ids) != len(endpoint_ids) else (subnet_ids[number],)
                self._endpoints[endpoint_id] = VpcEndpoint(
                    endpoint_id, self._vpc_of(resource), "gatewayloadbalancer", "", "available", subnet_ids=subnets
                )
        self._firewalls[arn] = Firewall(arn, endpoint_ids)

    def _lay_interfaces(self) -> None:
        for resource in self._of("aws_network_interface"):
            if self._counts(resource, is_there=resource.id in self._interfaces):
                self._interfaces[resource.id] = self._interface(resource, resource.id)
        for resource in self._of("aws_instance"):
            interface_id = made_id(resource, "primary_network_interface_id")
            given = (resource.after or {}).get("network_interface")
            if not given and self._counts(resource, is_there=interface_id in self._interfaces):
                self._interfaces[interface_id] = self._interface(resource, interface_id)

    def _interface(self, resource: Resource, interface_id: str) -> NetworkInterface:
        subnet = self._identities.named_by(resource, "subnet_id", Kind.SUBNET)
        checks = resource.is_unknown("source_dest_check") or resource.known("source_dest_check") is not False
        return NetworkInterface(interface_id, subnet.certain or unknown(resource, "subnet_id"), checks, resource.id)

    def _lay_prefix_lists(self) -> None:
        for resource in self._of("aws_ec2_managed_prefix_list"):
            if not self._counts(resource, is_there=resource.id in self._lists):
                continue
            family = Family.IPV6 if resource.text("address_family") == "IPv6" else Family.IPV4
            known, before = resource.known("entry"), self._lists.get(resource.id)
            is_given = "entry" in self._plan.expressions(resource.block)
            cidrs: tuple[Cidr, ...] | None = before.cidrs if before else ()
            if isinstance(known, list) and (known or is_given or not before):
                read = [_cidr(row.get("cidr")) for row in objects(known)]
                cidrs = None if None in read or len(read) != len(known) else tuple(filter(None, read))
            elif resource.is_unknown("entry") and (is_given or (resource.unknown.get("entry") is not True)):
                cidrs = None
            self._lists[resource.id] = PrefixList(resource.id, resource.text("name"), family, cidrs, aws_owned=False)
        for resource in self._of("aws_ec2_managed_prefix_list_entry"):
            found = self._identities.named_by(resource, "prefix_list_id", Kind.PREFIX_LIST)
            if not self._counts(resource):
                continue
            cidr = _cidr(resource.known("cidr"))
            for list_id in found.ids:
                listed = self._lists.get(list_id)
                if listed and listed.cidrs is not None:
                    cidrs = (*listed.cidrs, cidr) if cidr and found.certain else None
                    self._lists[list_id] = replace(listed, cidrs=cidrs)

    # --- transit gateways --------------------------------------------------------------------------------------------

    def _lay_transit_gateways(self) -> None:
        gateways = {resource.id: resource for resource in self._of("aws_ec2_transit_gateway")}
        for resource in gateways.values():
            table_id = made_id(resource, "association_default_route_table_id")
            if resource.action in _MADE:
                self._transit_tables.setdefault(table_id, _Table(""))
        for resource in self._of("aws_ec2_transit_gateway_route_table"):
            if resource.action in _MADE:
                self._transit_tables.setdefault(resource.id, _Table(""))
            elif not self._has_base:
                table = self._transit_tables.setdefault(resource.id, _Table(""))
                self._add_unreadable(table, f"{resource.address} (its routes are not in the plan)")
        for resource in self._of("aws_ec2_transit_gateway_vpc_attachment"):
            known = self._attachments.get(resource.id)
            if self._counts(resource, is_there=known is not None):
                self._attachments[resource.id] = self._attachment(resource, known, gateways)
        self._lay_transit_associations()
        self._lay_propagations()

    def _attachment(
        self, resource: Resource, known: TransitGatewayAttachment | None, gateways: Mapping[str, Resource]
    ) -> TransitGatewayAttachment:
        gateway_id = self._identities.named_by(resource, "transit_gateway_id", Kind.TRANSIT_GATEWAY).certain
        gateway = gateways.get(gateway_id or "")
        subnets = self._identities.listed(resource, "subnet_ids", Kind.SUBNET)
        is_certain = not subnets.possible and not subnets.is_open
        table_id = known.route_table_id if known else None
        is_default = resource.known("transit_gateway_default_route_table_association") is not False
        if not known and gateway and is_default and gateway.text("default_route_table_association") != "disable":
            table_id = made_id(gateway, "association_default_route_table_id")
        unlisted = () if is_certain else (unknown(resource, "subnet_ids"),)
        return TransitGatewayAttachment(
            id=resource.id,
            transit_gateway_id=gateway_id or unknown(resource, "transit_gateway_id"),
            resource_type="vpc",
            resource_id=known.resource_id if known else self._vpc_of(resource),
            route_table_id=table_id,
            subnet_ids=(*subnets.ids, *subnets.possible, *unlisted),
            # If the subnets are not certain, each of them may carry the traffic of any zone.
            appliance_mode=not is_certain or resource.text("appliance_mode_support") != "disable",
        )

    def _lay_transit_associations(self) -> None:
        for rows in self._groups("aws_ec2_transit_gateway_route_table_association"):
            tables = {
                row: self._identities.named_by(row, Kind.TRANSIT_TABLE, Kind.TRANSIT_TABLE).certain for row in rows
            }
            same = {*tables.values()}
            for row in rows:
                attachment = self._identities.named_by(row, Kind.ATTACHMENT, Kind.ATTACHMENT)
                is_one = attachment.certain is not None
                is_all = len(attachment.ids) == len(rows) and not attachment.is_open and len(same) == 1
                for attachment_id in attachment.ids:
                    found = self._attachments.get(attachment_id)
                    if found:
                        table_id = tables[row] if is_one or is_all else None
                        self._attachments[attachment_id] = replace(found, route_table_id=table_id)
                if attachment.is_open:
                    for found in self._attachments.values():
                        self._attachments[found.id] = replace(found, route_table_id=None)

    def _lay_propagations(self) -> None:
        """Add what is propagated. A VPC propagates its own addresses, where S3 Express is not; others, any route."""
        for row in self._changed("aws_ec2_transit_gateway_route_table_propagation"):
            found = self._identities.named_by(row, Kind.ATTACHMENT, Kind.ATTACHMENT)
            attachments = [self._attachments.get(one) for one in found.ids]
            if not found.is_open and all(one is not None and one.resource_type == "vpc" for one in attachments):
                continue
            tables = self._identities.named_by(row, Kind.TRANSIT_TABLE, Kind.TRANSIT_TABLE)
            for table_id in self._transit_tables if tables.is_open else tables.ids:
                if table_id in self._transit_tables:
                    self._add_unreadable(self._transit_tables[table_id], unknown(row, "routes"))

    # --- associations of VPC route tables ----------------------------------------------------------------------------

    def _changed(self, *types: str) -> Iterator[Resource]:
        """Yield the resources of these types that the network does not have as they will be."""
        return (resource for resource in self._of(*types) if self._counts(resource))

    def _groups(self, *types: str) -> Iterator[Sequence[Resource]]:
        """Yield the changed resources of each block."""
        found: defaultdict[Block, list[Resource]] = defaultdict(list)
        for resource in self._changed(*types):
            found[resource.block].append(resource)
        yield from found.values()

    def _lay_associations(self) -> None:
        for table in self._of("aws_route_table"):
            if self._counts(table, is_there=table.id in self._tables) and table.id not in self._tables:
                vpc_id = self._vpc_of(table)
                self._tables[table.id] = _Table(vpc_id, self._local_routes(vpc_id), owner_id=self._owner(table))
            if table.id in self._tables:
                self._tables[table.id].tags = _tags(table)
                self._addresses[table.id] = table.address
        for default in self._of("aws_default_route_table"):
            table_id = self._identities.id_of(default)
            vpc_id = default.text("vpc_id") or next(
                (vpc for vpc, main in self._main.items() if main == table_id), unknown(default, "vpc_id")
            )
            self._tables.setdefault(table_id, _Table(vpc_id))
            self._tables[table_id].tags = _tags(default)
            self._addresses[table_id] = default.address
        for resource in self._changed("aws_main_route_table_association"):
            vpc = self._identities.named_by(resource, "vpc_id", Kind.VPC)
            main = self._identities.named_by(resource, "route_table_id", Kind.TABLE).certain
            for vpc_id in list(self._vpcs) if vpc.is_open else vpc.ids:
                is_certain = main is not None and vpc.certain is not None
                self._main[vpc_id] = (
                    str(main) if is_certain else self._unknown_table(unknown(resource, "route_table_id"), vpc_id)
                )
        rest = [self._associate_certain(rows) for rows in self._groups("aws_route_table_association")]
        for rows in filter(None, rest):
            self._associate_possible(rows)
        if not self._has_base:
            self._lay_unknown_associations()

    def _lay_unknown_associations(self) -> None:
        """Give each subnet that exists a table of which nothing is known, unless the plan has its association.

        The association may be in another configuration.
        """
        for subnet in self._of(*_SUBNETS):
            if subnet.id not in self._governed and subnet.action not in _MADE:
                name = f"{subnet.address} (its association is not in the plan)"
                table_id = self._unknown_table(name, self._subnets[subnet.id].vpc_id)
                self._governed[subnet.id] = _Governing((table_id,))

    @staticmethod
    def _is_of_gateway(row: Resource) -> bool:
        """Return whether an association is with a gateway (edge association), not with a subnet."""
        return not row.is_unknown("subnet_id") and not row.text("subnet_id")

    def _unknown_table(self, table_id: str, vpc_id: str) -> str:
        """Add a route table of which nothing is known, and return its id, which says why."""
        self._tables[table_id] = _Table(vpc_id)
        for family in (Family.IPV4, Family.IPV6):
            self._tables[table_id].routes.append(Route(Cidr(family, 0, 0), table_id, TargetKind.UNKNOWN))
        return table_id

    def _associate_certain(self, rows: Sequence[Resource]) -> dict[Resource, Possible]:
        """Associate the subnets that are certain; return what the other associations may name."""
        rest: dict[Resource, Possible] = {}
        for row in rows:
            if not self._is_of_gateway(row):
                found = self._identities.named_by(row, "subnet_id", Kind.SUBNET)
                if found.certain:
                    self._govern(row, found.certain, self._governing(row, found.certain))
                else:
                    rest[row] = found
        return rest

    def _associate_possible(self, possible: Mapping[Resource, Possible]) -> None:
        """Associate subnets of which it is not certain which instance of a block names them.

        A subnet has at most one association. So if a block has as many instances as there are subnets that it may
        name, it names each of them.
        """
        named = dict.fromkeys(union(list(possible.values())))
        is_open = any(found.is_open for found in possible.values())
        if is_open:
            named |= dict.fromkeys(self._subnets)
        candidates = [one for one in named if one not in self._governed and one not in self._explicit]
        governing = {row: self._governing(row) for row in possible}
        tables = _joined([found.table_ids for found in governing.values()])
        if is_open or len(candidates) != len(possible):
            tables = (*tables, None)
        row_of = {found.same_key: row for row, found in possible.items() if found.same_key}
        first = next(iter(possible))
        for subnet_id in candidates:
            row = row_of.get(subnet_id, first)
            probable = governing[row].probable if subnet_id in row_of else None
            fitting = self._fitting(tables, self._subnets[subnet_id].vpc_id if subnet_id in self._subnets else "")
            name = governing[row].name if row.is_unknown("route_table_id") else unknown(row, "subnet_id")
            self._govern(row, subnet_id, _Governing(fitting, probable, name))

    def _governing(self, row: Resource, subnet_id: str | None = None) -> _Governing:
        """Return the route tables that an association may name."""
        vpc_id = self._subnets[subnet_id].vpc_id if subnet_id in self._subnets else ""
        found, name = self._identities.named_by(row, "route_table_id", Kind.TABLE), unknown(row, "route_table_id")
        ids = self._fitting(found.ids, vpc_id)
        if not found.is_open:
            return _Governing(ids, ids[0] if len(ids) == 1 else found.same_key, name)
        return _Governing((*ids, self._unknown_table(name, vpc_id)), None, name)

    def _govern(self, resource: Resource, subnet_id: str, governing: _Governing) -> None:
        self._note(subnet_id, resource)
        self._explicit.pop(subnet_id, None)
        self._governed[subnet_id] = governing

    # --- routes ------------------------------------------------------------------------------------------------------

    def _add_unreadable(self, table: _Table, name: str) -> None:
        """Add a route that may match any address, whose target is not known."""
        table.routes.append(Route(name, name, TargetKind.UNKNOWN))

    def _lay_tables(self) -> None:
        """Lay the routes inside route tables, which replace all that are there.

        https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/route_table
        """
        for resource in self._of("aws_route_table", "aws_default_route_table"):
            table_id = self._identities.id_of(resource)
            is_adopted = resource.type == "aws_default_route_table" and resource.action in _MADE
            is_same = resource.action is Action.UPDATE and not resource.is_unknown("route")
            if is_same and (resource.before or {}).get("route") == (resource.after or {}).get("route"):
                continue
            if not self._counts(resource, is_there=table_id in self._base.route_tables):
                continue
            is_given = "route" in self._plan.expressions(resource.block)
            rows, marks = (resource.after or {}).get("route"), resource.unknown.get("route")
            if (marks is True or rows is None) and not is_given and not is_adopted:
                continue
            table = self._tables[table_id]
            self._note(table_id, resource)
            if self._has_base:
                table.routes = [
                    route
                    for route in table.routes
                    if route.target_id == "local" or route.rank is Rank.PROPAGATED or self._is_endpoint_route(route)
                ]
            if marks is True and is_given:
                self._add_unreadable(table, unknown(resource, "route"))
            if isinstance(rows, list) and len(objects(rows)) != len(rows):
                self._add_unreadable(table, unknown(resource, "route"))
            for number, row in enumerate(objects(rows)):
                mark = marks[number] if isinstance(marks, list) and number < len(marks) else {}
                table.routes.extend(self._inline(resource, row, mark if isinstance(mark, dict) else {}))
            if not self._has_base and (resource.after or {}).get("propagating_vgws"):
                self._add_unreadable(table, f"{resource.address}.propagating_vgws")

    def _is_endpoint_route(self, route: Route) -> bool:
        endpoint = self._endpoints.get(route.target_id)
        return endpoint is not None and endpoint.endpoint_type == "gateway"

    def _inline(self, resource: Resource, row: Values, marks: Values) -> tuple[Route, ...]:
        # A `dynamic` block is not in the configuration of a plan; what is around it may be meant.
        names = references(self._plan.expressions(resource.block).get("route")) or ["local.routes"]
        return self._route(
            resource,
            "route.",
            {"cidr_block": Family.IPV4, "ipv6_cidr_block": Family.IPV6, "destination_prefix_list_id": None},
            row,
            marks,
            lambda _, kind: self._identities.referred(resource, names, kind),
        )

    def _separate(self, resource: Resource) -> tuple[Route, ...]:
        configured = self._plan.expressions(resource.block)
        marks = {name: mark for name, mark in resource.unknown.items() if name in configured}
        return self._route(
            resource,
            "",
            {
                "destination_cidr_block": Family.IPV4,
                "destination_ipv6_cidr_block": Family.IPV6,
                "destination_prefix_list_id": None,
            },
            resource.after or {},
            marks,
            lambda name, kind: self._identities.named_by(resource, name, kind),
        )

    def _route(
        self,
        resource: Resource,
        prefix: str,
        destinations: Mapping[str, Family | None],
        row: Values,
        marks: Values,
        follow: Callable[[str, Kind], Possible],
    ) -> tuple[Route, ...]:
        """Return the record of one route, or several of which any may be meant."""
        destination: Cidr | str | None = None
        for name, family in destinations.items():
            if marks.get(name):
                found = follow(name, Kind.PREFIX_LIST).certain if family is None else None
                destination = found or unknown(resource, prefix + name)
                if found is None:
                    self._lists[destination] = PrefixList(destination, "", family or Family.IPV4, None, aws_owned=False)
                    if family is None:
                        self._lists.pop(destination)
            elif row.get(name):
                destination = str(row[name]) if family is None else _cidr(row[name])
        if destination is None:
            name = unknown(resource, f"{prefix}destination")
            return (Route(name, name, TargetKind.UNKNOWN),)
        known = [name for name in _TARGETS if isinstance(row.get(name), str) and row[name] and not marks.get(name)]
        open_names = [name for name in _TARGETS if marks.get(name)]
        if len(open_names) == 1 and not [name for name in known if name != "network_interface_id"]:
            name = open_names[0]
            targets = self._targets(unknown(resource, prefix + name), name, follow)
        elif open_names:
            target = unknown(resource, prefix + open_names[0])
            targets = ((target, TargetKind.UNKNOWN),)
        elif known:
            target = str(row[known[0]])
            targets = ((target, target_kind(target)),)
        else:
            targets = ((f"{resource.address} has no target", TargetKind.UNKNOWN),)
        return tuple(
            Route(destination, target, kind, state="blackhole" if target in self._gone else "active")
            for target, kind in targets
        )

    def _targets(
        self, name: str, attribute: str, follow: Callable[[str, Kind], Possible]
    ) -> tuple[tuple[str, TargetKind], ...]:
        """Return the targets that an unknown value may name, each with its kind."""
        target, kind = _TARGETS[attribute]
        found = follow(attribute, kind) if kind else OPEN
        if target in _ALWAYS:
            return ((found.certain or (not self._may_be_closed and found.same_key) or name, target),)
        if kind is Kind.GATEWAY:
            kinds = {self._gateway_kind(one) for one in found.ids}
            if found.is_open or len(kinds) != 1:
                return ((name, TargetKind.UNKNOWN),)
            return ((found.certain or found.same_key or name, kinds.pop()),)
        if found.is_open or not found.ids:
            return ((name, target),)
        return tuple((one, target) for one in found.ids)

    def _gateway_kind(self, gateway_id: str) -> TargetKind:
        is_internet = any(found.id == gateway_id for found in self._of("aws_internet_gateway"))
        return TargetKind.INTERNET_GATEWAY if is_internet else target_kind(gateway_id)

    def _lay_routes(self) -> None:
        for rows in self._groups("aws_route"):
            placed = [
                _Placed(row, self._identities.named_by(row, "route_table_id", Kind.TABLE), self._separate(row))
                for row in rows
            ]
            self._place(placed, self._tables, "route_table_id")
        for rows in self._groups("aws_ec2_transit_gateway_route"):
            transit = [
                _Placed(
                    row,
                    self._identities.named_by(row, Kind.TRANSIT_TABLE, Kind.TRANSIT_TABLE),
                    self._transit_route(row),
                )
                for row in rows
            ]
            self._place(transit, self._transit_tables, Kind.TRANSIT_TABLE)

    def _transit_route(self, resource: Resource) -> tuple[Route, ...]:
        destination = _cidr(resource.known("destination_cidr_block")) or unknown(resource, "destination_cidr_block")
        if resource.known("blackhole") is True:
            return (Route(destination, "", TargetKind.TRANSIT_GATEWAY_ATTACHMENT, state="blackhole"),)
        found = self._identities.named_by(resource, Kind.ATTACHMENT, Kind.ATTACHMENT)
        name = unknown(resource, Kind.ATTACHMENT)
        targets = (name,) if found.is_open or not found.ids else found.ids
        return tuple(Route(destination, target, TargetKind.TRANSIT_GATEWAY_ATTACHMENT) for target in targets)

    def _place(self, placed: Sequence[_Placed], tables: dict[str, _Table], attribute: str) -> None:
        """Put the routes of one block into their tables.

        A table has at most one route to a destination. So if a block has as many routes to it as there are tables that
        they may be in, each of these tables has one.
        """
        rest: defaultdict[Cidr | str, list[_Placed]] = defaultdict(list)
        for one in placed:
            ids = self._fitting(one.table.ids, self._vpc_of_target(one.routes))
            if len(ids) == 1 and not one.table.is_open:
                if ids[0] in tables:
                    self._note(ids[0], one.resource)
                    tables[ids[0]].add("", [one.routes])
            elif one.routes and self._may_matter(one.routes[0].destination):
                rest[one.routes[0].destination].append(replace(one, table=replace(one.table, ids=ids)))
        for destination, ones in rest.items():
            is_open = any(one.table.is_open for one in ones)
            found = dict.fromkeys(table_id for table_id in union([one.table for one in ones]) if table_id in tables)
            if is_open:
                found |= dict.fromkeys(tables)
            candidates = [table_id for table_id in found if not tables[table_id].has(destination)]
            own = {one.table.same_key: one for one in ones}
            options = {tuple(map(self._alike, one.routes)): one.routes for one in reversed(ones)}
            may_lack_it = is_open or len(candidates) != len(ones)
            for table_id in candidates:
                one = own.get(table_id, ones[0])
                self._note(table_id, one.resource)
                routes = {**options, tuple(map(self._alike, one.routes)): one.routes}.values()
                tables[table_id].add(unknown(one.resource, attribute), [*([()] if may_lack_it else []), *routes])

    def _may_matter(self, destination: Cidr | str) -> bool:
        """Return whether a route may carry traffic to S3 Express, as far as its destination says."""
        if not isinstance(destination, Cidr) or any(one.cidrs is None for one in self._base.express_prefix_lists):
            return True
        return not any(contains(private, destination) for private in NOT_PUBLIC)

    def _alike(self, route: Route) -> object:
        """Return what routes have in common that lead to the same verdict, whichever gateway it is."""
        is_end = route.target_kind in _ENDS and not self._may_be_closed
        return (route.destination, route.target_kind, route.state, route.rank) if is_end else route

    def _vpc_of_target(self, routes: Sequence[Route]) -> str:
        """Return the VPC of the NAT gateway or endpoint that a route leads to, empty if that is not certain."""
        found = {
            target.vpc_id
            for route in routes
            for target in (self._nats.get(route.target_id), self._endpoints.get(route.target_id))
            if target
        }
        return found.pop() if len(found) == 1 and len(routes) == 1 else ""

    # --- gateway endpoints -------------------------------------------------------------------------------------------

    def _lay_endpoints(self) -> None:
        for resource in self._of("aws_vpc_endpoint"):
            endpoint = self._endpoints[resource.id]
            if endpoint.endpoint_type != "gateway":
                continue
            if not self._counts(resource, is_there=resource.id in self._base.vpc_endpoints):
                continue
            is_given = "route_table_ids" in self._plan.expressions(resource.block)
            if resource.is_unknown("route_table_ids") and not is_given:
                continue
            tables = self._identities.listed(resource, "route_table_ids", Kind.TABLE)
            self._attach(resource, endpoint, tables)
        for rows in self._groups("aws_vpc_endpoint_route_table_association"):
            self._attach_each(rows)

    def _attach(self, resource: Resource, endpoint: VpcEndpoint, tables: Listed) -> None:
        """Give an endpoint's routes to the tables that it lists, and remove them from those that it lists no longer."""
        may_be = dict.fromkeys(self._fitting(tables.possible, endpoint.vpc_id))
        if tables.is_open:
            may_be |= dict.fromkeys(self._fitting(tuple(self._tables), endpoint.vpc_id))
        before = (resource.before or {}).get("route_table_ids")
        for table_id in before if isinstance(before, list) and self._has_base else ():
            if table_id in self._tables:
                table = self._tables[table_id]
                table.routes = [route for route in table.routes if route.target_id != endpoint.id]
                if table_id not in tables.ids:
                    self._note(table_id, resource)
        for table_id in tables.ids:
            self._add_endpoint(table_id, endpoint)
        for table_id in may_be:
            if table_id not in tables.ids:
                self._add_endpoint(table_id, endpoint, unknown(resource, "route_table_ids"))

    def _attach_each(self, rows: Sequence[Resource]) -> None:
        """Associate tables with endpoints, for all instances of one block.

        Terraform associates one table twice without an error, so counting shows nothing:
        https://github.com/hashicorp/terraform-provider-aws/issues/26663.
        """
        rest: dict[Resource, Possible] = {}
        endpoints: dict[str, VpcEndpoint] = {}
        for row in rows:
            named = self._identities.named_by(row, "vpc_endpoint_id", Kind.ENDPOINT)
            every = [self._endpoints[one] for one in named.ids if one in self._endpoints]
            if named.is_open:
                every.append(VpcEndpoint("", "", "gateway", unknown(row, "vpc_endpoint_id"), "available", "unknown"))
            express = [one for one in every if self._may_be_express(one)]
            if not express:
                continue
            table = self._identities.named_by(row, "route_table_id", Kind.TABLE)
            ids = self._fitting(table.ids, express[0].vpc_id if named.certain else "")
            if named.certain and len(ids) == 1 and not table.is_open:
                self._add_endpoint(ids[0], express[0])
            else:
                rest[row] = replace(table, ids=ids)
                endpoints.setdefault(express[0].id, express[0])
        found = dict.fromkeys(union([*rest.values()]))
        is_open = any(table.is_open for table in rest.values())
        for endpoint in endpoints.values():
            every_table = self._fitting(tuple(self._tables), endpoint.vpc_id) if is_open else ()
            for table_id in (*found, *(one for one in every_table if one not in found)):
                self._add_endpoint(table_id, endpoint, unknown(next(iter(rest)), "route_table_id"))

    def _may_be_express(self, endpoint: VpcEndpoint) -> bool:
        name = endpoint.service_name
        is_gateway = endpoint.endpoint_type == "gateway"
        return is_gateway and (name.endswith(UNKNOWN_VALUE) or is_express_service(name, self._base.region))

    def _add_endpoint(self, table_id: str, endpoint: VpcEndpoint, doubt: str = "") -> None:
        """Add an endpoint's routes to a table. doubt: the value because of which it is not certain that it has them."""
        table = self._tables.get(table_id)
        if table is None or not self._may_be_express(endpoint):
            return
        routes = {
            one.family: Route(one.id, endpoint.id, TargetKind.VPC_ENDPOINT)
            for one in self._base.express_prefix_lists
            if not table.has(one.id)
        }
        families = {"ipv4": [[Family.IPV4]], "ipv6": [[Family.IPV6]], "dualstack": [list(Family)]}
        some = families.get(endpoint.ip_address_type, [*chain.from_iterable(families.values())])
        options = [tuple(routes[family] for family in one if family in routes) for one in some]
        name = endpoint.service_name
        if doubt or name.endswith(UNKNOWN_VALUE):
            options = [(), *options]
        else:
            name = f"{endpoint.id}.ip_address_type{UNKNOWN_VALUE}"
        table.add(doubt or name, options)

    # --- the result --------------------------------------------------------------------------------------------------

    def _lay_unknown_changes(self) -> None:
        """Lay what may change everything: deferred resources, and VPC Block Public Access."""
        for address in self._plan.deferred:
            for table in self._tables.values():
                self._add_unreadable(table, f"{address} (deferred)")
        if any(found.type in _BLOCK_PUBLIC_ACCESS and found.action is not Action.KEEP for found in self._resources):
            for subnet in list(self._subnets.values()):
                self._subnets[subnet.id] = replace(subnet, block_mode=BlockMode.UNKNOWN)

    def _finished(self) -> Overlaid:
        """Return the network, with several records of each table that is not certain, and of each subnet."""
        main = {
            table.vpc_id: key
            for key, others in self._claims.items()
            if key in self._tables and any(claim.main for claim in others)
            for table in [self._tables[key]]
        } | self._main
        for key, table in self._tables.items():
            every = enumerate(table.possible())
            self._records[key] = {key if number == 0 else f"{key} ({number})": routes for number, routes in every}
        self._govern_by_uncertain_tables(main)
        claims: defaultdict[str, list[Association]] = defaultdict(list)
        for key, others in self._claims.items():
            claims[key].extend(claim for claim in others if not claim.main)
        for explicit in self._explicit.values():
            for key, claim in explicit.items():
                claims[key].append(claim)
        for table_id in main.values():
            claims[table_id].append(Association(main=True))
        copies = {record: key for key, records in self._records.items() for record in records if record != key}
        probable: dict[str, str] = {}
        unknown_values: dict[str, Sequence[str]] = {}
        copies_of: dict[str, list[str]] = {}
        subnets = dict(self._subnets)
        for subnet_id, governing in self._governed.items():
            subnet = self._subnets.get(subnet_id)
            if subnet is None:
                continue
            options = self._options(governing)
            for number, record in enumerate(options.records):
                copy = subnet_id if number == 0 else f"{subnet_id} ({number})"
                if number:
                    subnets[copy] = replace(subnet, id=copy)
                    copies[copy] = copies[subnet_id] = subnet_id
                    copies_of.setdefault(subnet_id, [subnet_id]).append(copy)
                    unknown_values[subnet_id] = options.names
                if record is not None and record == governing.probable and len(self._records.get(record, ())) == 1:
                    probable[subnet_id] = copy
                if record:
                    claims[record].append(Association(subnet_id=copy))
        # The engine takes the worst of all subnets of an attachment or an appliance. One whose table has several records
        # is not listed instead, so that the path of what leaves through it is not known.
        for subnet_id in copies_of:
            if any(len(self._records.get(one or "", ())) > 1 for one in self._governed[subnet_id].table_ids):
                copies_of[subnet_id] = [unknown_subnet(subnet_id)]
        network = replace(
            self._base,
            vpcs=self._vpcs,
            subnets=subnets,
            route_tables={
                record: RouteTable(record, table.vpc_id, routes, tuple(claims[record]), table.owner_id, table.tags)
                for key, table in self._tables.items()
                for record, routes in self._records[key].items()
            },
            vpc_endpoints={
                key: replace(
                    one,
                    subnet_ids=_copied(one.subnet_ids, copies_of),
                    route_table_ids=tuple(table_id for table_id in one.route_table_ids if table_id not in self._gone),
                )
                for key, one in self._endpoints.items()
            },
            nat_gateways={
                key: replace(one, subnet_id=unknown_subnet(one.subnet_id)) if one.subnet_id in copies_of else one
                for key, one in self._nats.items()
            },
            prefix_lists=self._lists,
            network_interfaces={
                key: replace(one, subnet_id=unknown_subnet(one.subnet_id)) if one.subnet_id in copies_of else one
                for key, one in self._interfaces.items()
            }
            if self._interfaces or self._base.network_interfaces is not None
            else None,
            transit_gateway_attachments={
                key: replace(one, subnet_ids=None if one.subnet_ids is None else _copied(one.subnet_ids, copies_of))
                for key, one in self._attachments.items()
            }
            if self._attachments or self._base.transit_gateway_attachments is not None
            else None,
            transit_gateway_route_tables={
                key: TransitGatewayRouteTable(key, table.with_unknown_targets(), key in self._truncated)
                for key, table in self._transit_tables.items()
            }
            if self._transit_tables or self._base.transit_gateway_route_tables is not None
            else None,
            firewalls=self._firewalls if self._firewalls or self._base.firewalls is not None else None,
        )
        changed_by = {key: list(found) for key, found in self._changed_by.items()}
        return Overlaid(network, self._addresses, copies, probable, unknown_values, changed_by)

    def _govern_by_uncertain_tables(self, main: Mapping[str, str]) -> None:
        """Note what governs each subnet whose table has several records, as for a subnet that several may govern."""
        with_main: dict[tuple[int, str], tuple[str, ...]] = {}
        for subnet in self._subnets.values():
            governing = self._governed.get(subnet.id)
            if governing and None in governing.table_ids and subnet.vpc_id in main:
                key = (id(governing.table_ids), subnet.vpc_id)
                if key not in with_main:
                    with_main[key] = tuple(dict.fromkeys(one or main[subnet.vpc_id] for one in governing.table_ids))
                self._governed[subnet.id] = replace(governing, table_ids=with_main[key])
            if governing is None:
                tables = [*self._explicit.get(subnet.id, ())] or [main.get(subnet.vpc_id, "")]
                if len(tables) == 1 and len(self._records.get(tables[0], ())) > 1:
                    self._explicit.pop(subnet.id, None)
                    self._governed[subnet.id] = _Governing((tables[0],))

    def _options(self, governing: _Governing) -> _Options:
        """Return one record for all with the same verdict: that of the probable table, if it is among them."""
        ids = governing.table_ids
        if id(ids) not in self._options_of:
            records: dict[object, str | None] = {}
            names: dict[str, None] = {}
            for table_id in ids:
                for signature, record in self._signatures(table_id):
                    records.setdefault(signature, record)
                if table_id in self._tables and len(names) < _MOST_NAMES:
                    names |= dict.fromkeys(doubt.name for doubt in self._tables[table_id].doubts)
            self._options_of[id(ids)] = (ids, records, tuple(names))
        _, found, values = self._options_of[id(ids)]
        named = (governing.name, *values)[:_MOST_NAMES] if len(ids) > 1 else values[:_MOST_NAMES]
        if len(found) > MAX_RECORDS:
            return _Options((self._unknown_record(governing.name),), named)
        if governing.probable in self._tables:
            found = {**found, **dict(self._signatures(governing.probable))}
        return _Options(tuple(found.values()), named)

    def _unknown_record(self, name: str) -> str:
        """Return a record of a route table of which nothing is known."""
        if name not in self._records:
            self._records[name] = {self._unknown_table(name, ""): tuple(self._tables[name].routes)}
        return name

    def _signatures(self, table_id: str | None) -> Iterator[tuple[object, str | None]]:
        """Yield each record of a table, and what it has in common with records that lead to the same verdict."""
        if table_id is None or table_id not in self._records:
            yield table_id, table_id
        else:
            table = self._tables[table_id]
            same = (table.vpc_id, frozenset(table.tags.items()))  # a tag may exclude a table
            for record, routes in self._records[table_id].items():
                yield (same, tuple(map(self._alike, routes))), record


def _joined(many: Sequence[tuple[_T, ...]]) -> tuple[_T, ...]:
    """Return what is in any of these tuples. Many resources with count share one tuple, which is not copied."""
    distinct = list({id(one): one for one in many if one}.values())
    return distinct[0] if len(distinct) == 1 else tuple(dict.fromkeys(chain.from_iterable(distinct)))


def unknown_subnet(subnet_id: str) -> str:
    """Return the id of a subnet whose route table is not certain, where a network interface or a NAT gateway is."""
    return f"{subnet_id}{UNKNOWN_VALUE}"


def _copied(subnet_ids: Iterable[str], copies_of: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(copy for subnet_id in subnet_ids for copy in copies_of.get(subnet_id, (subnet_id,)))


def _cidr(text: object) -> Cidr | None:
    if not isinstance(text, str) or not text:
        return None
    try:
        return parse_cidr(text)
    except ValueError:
        return None


def _tags(resource: Resource) -> Tags:
    """Return the tags that are known and not sensitive."""
    for name in ("tags_all", "tags"):
        found = (resource.after or {}).get(name)
        if isinstance(found, dict) and found:
            marks, hidden = resource.unknown.get(name), resource.hidden.get(name)
            if marks is True or hidden is True:
                continue
            left_out = {
                key for marked in (marks, hidden) if isinstance(marked, dict) for key, mark in marked.items() if mark
            }
            return {key: str(value or "") for key, value in found.items() if key not in left_out}
    return {}


def _block_references(blocks: object, attribute: str) -> list[str]:
    rows = blocks if isinstance(blocks, list) else [blocks] if isinstance(blocks, dict) else []
    return [name for row in rows if isinstance(row, dict) for name in references(row.get(attribute))]


def _zone_ids(plan: Plan) -> dict[str, str]:
    """Return the id of each Availability Zone of the account by its name, as far as the plan shows them."""
    found: dict[str, str] = {}
    for data in plan.data:
        names, ids = data.values.get("names"), data.values.get("zone_ids")
        if data.type == "aws_availability_zones" and isinstance(names, list) and isinstance(ids, list):
            found.update(zip(map(str, names), map(str, ids), strict=False))
    for resource in plan.resources:
        values = resource.before or {}
        if resource.type in _SUBNETS and values.get("availability_zone_id"):
            found[str(values.get("availability_zone"))] = str(values["availability_zone_id"])
    return found


def overlay(
    plan: Plan,
    base: Snapshot,
    resources: Sequence[Resource],
    owner: Callable[[Resource], str],
    configuration: Configuration | None = None,
    *,
    has_base: bool,
) -> Overlaid:
    """Return the network of one Region as it would be after the apply.

    base: the network as it is, or without has_base, one that contains nothing but prefix lists. resources: those of the
    plan that are in this Region. owner: returns the account that a resource is in. configuration: what the plan was
    made of, if it is there.
    """
    return _Overlay(plan, base, resources, owner, configuration, has_base=has_base).lay()

"""Where traffic of other VPCs may enter a VPC, which route tables it consults there, and whether a response has a way back."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from express_path.domain.network.addresses import Cidr, Family, parse_cidr
from express_path.domain.network.ids import wrong_form
from express_path.domain.network.resources import PrefixList, Route, RouteTable, TargetKind, target_ids
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.hops import gateway_of_proxy, trace_from_any
from express_path.domain.path.outcomes import UNKNOWN_ID, Hop, Outcome, TableLookup, Trace, TraceState, nat_on
from express_path.domain.path.reasons import NAT_REASONS, NO_WAY_OUT, Reason
from express_path.domain.path.routing import AddressSet, contains
from express_path.domain.path.tracing import Tracer

_GATEWAYS = (TargetKind.TRANSIT_GATEWAY, TargetKind.CORE_NETWORK)
_INTERFACES = (TargetKind.NETWORK_INTERFACE, TargetKind.INSTANCE)
_ENDPOINTS = (TargetKind.VPC_ENDPOINT, TargetKind.APPLIANCE_ENDPOINT)
_ELSEWHERE = frozenset(
    {
        *_GATEWAYS,
        TargetKind.VPC_PEERING_CONNECTION,
        TargetKind.VIRTUAL_PRIVATE_GATEWAY,
        TargetKind.CARRIER_GATEWAY,
        TargetKind.LOCAL_GATEWAY,
        TargetKind.ODB_NETWORK,
    }
)
"""The kinds of targets beyond which traffic is outside of the VPC, except for gateways to the internet."""
_GONE = frozenset({"deleted", "deleting", "failed", "failing", "rejected", "rejecting"})
"""The states of attachments that carry no traffic (botocore model: ec2 TransitGatewayAttachmentState,
networkmanager AttachmentState)."""
_OTHER_TYPES = frozenset(
    {
        *("vpc", "vpn", "vpn-concentrator", "direct-connect-gateway", "peering", "tgw-peering"),
        *("network-function", "client-vpn"),
    }
)
"""The types of transit gateway attachments that are no Connect attachments
(botocore model: ec2 TransitGatewayAttachmentResourceType)."""
_NOT_SHOWN = ""
"""In place of the id of a subnet that is not known."""
_UNLISTED = "the route table of a subnet on the way is not listed"
_RESERVED = (parse_cidr("169.254.0.0/16"), parse_cidr("fd00:ec2::/32"))
"""The addresses inside a VPC that AWS reserves for its own services
(https://docs.aws.amazon.com/vpc/latest/userguide/subnet-route-tables.html)."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where a gateway lets traffic of other VPCs into a VPC.

    gateway_id is the transit gateway's id or the core network's ARN. If kind is UNKNOWN, it is the target of a route that
    may lead to such a gateway, empty if that is not shown. attachment_id is empty if the attachment is not listed; then
    each subnet of the VPC may be one of its subnets. If accounts disagree about the attachment, subnet_ids has the subnets
    that any of them shows. If connect_ids is not empty, traffic enters in the tunnels of these Connect attachments, which
    run over attachment_id or may do so, and subnet_ids are those from which an appliance at their end may send it on.
    leads_back is false if no table of the VPC leads to such a gateway, or may do so: then traffic comes only if a table of
    the transit gateway leads it here.
    """

    kind: TargetKind
    gateway_id: str
    attachment_id: str
    subnet_ids: tuple[str, ...]
    connect_ids: tuple[str, ...] = ()
    leads_back: bool = True


def entrances(snapshot: Snapshot, vpc_id: str) -> Iterator[Entrance]:
    """Yield where traffic of other VPCs may enter a VPC."""
    tables, subnet_ids = _tables_of(snapshot, vpc_id), _subnets_of(snapshot, vpc_id)
    named = [(kind, gateway_id) for kind in _GATEWAYS for gateway_id in target_ids(tables, kind)]
    named += [(TargetKind.UNKNOWN, target_id) for target_id in unknown_gateways(snapshot, vpc_id)]
    attached = set()
    for attachment in snapshot.attachments_by_vpc.get(vpc_id, ()):
        versions = [version for version in snapshot.versions_of(attachment) if version.state not in _GONE]
        is_core = attachment.id in (snapshot.core_network_attachments or {})
        if is_core and not named:
            continue  # the routes of a core network are not read
        kind = TargetKind.CORE_NETWORK if is_core else TargetKind.TRANSIT_GATEWAY
        of_attachment = {subnet_id for version in versions for subnet_id in version.subnet_ids or subnet_ids}
        for gateway_id in sorted({version.transit_gateway_id for version in versions}):
            attached.add(gateway_id)
            yield Entrance(kind, gateway_id, attachment.id, tuple(sorted(of_attachment)), leads_back=bool(named))
            if is_core or not named:
                continue
            connect_ids = tuple(_connects_over(snapshot, attachment.id, gateway_id))
            appliances = _appliance_subnets(snapshot, vpc_id, subnet_ids) if connect_ids else ()
            if appliances:
                yield Entrance(kind, gateway_id, attachment.id, appliances, connect_ids)
    for kind, gateway_id in named:
        if gateway_id not in attached:
            yield Entrance(kind, gateway_id, "", subnet_ids)


def has_connects(snapshot: Snapshot) -> bool:
    """Return whether a transit gateway attachment is a Connect attachment, or may be one because its type is not known."""
    return any(not types <= _OTHER_TYPES for types in snapshot.attachment_types.values())


def _connects_over(snapshot: Snapshot, attachment_id: str, gateway_id: str) -> Iterator[str]:
    """Yield the Connect attachments of a transit gateway that run over a VPC's attachment to it, or may do so.

    A Connect attachment carries traffic in GRE tunnels over its transport attachment, which is that of a VPC or of a Direct
    Connect gateway, to an appliance (https://docs.aws.amazon.com/vpc/latest/tgw/tgw-connect.html).
    """
    listed, transports = snapshot.transit_gateway_attachments or {}, snapshot.transit_gateway_connects or {}
    for connect_id, types in sorted(snapshot.attachment_types.items()):
        versions = snapshot.versions_of(listed[connect_id]) if connect_id in listed else ()
        is_of_gateway = not versions or gateway_id in {version.transit_gateway_id for version in versions}
        if types <= _OTHER_TYPES or not is_of_gateway:
            continue
        for transport_id in transports.get(connect_id, ("",)):
            is_known = transport_id in listed or not wrong_form(transport_id, "transitGatewayAttachmentId")
            if transport_id == attachment_id or not is_known:
                yield connect_id
                break


def _appliance_subnets(snapshot: Snapshot, vpc_id: str, subnet_ids: tuple[str, ...]) -> tuple[str, ...]:
    """Return the subnets of a VPC from which an appliance may send on traffic of other VPCs, all if that is not known.

    Only an interface whose source/destination check is disabled sends traffic with the address of another source
    (https://docs.aws.amazon.com/vpc/latest/userguide/work-with-nat-instances.html).
    """
    if vpc_id not in snapshot.interfaces_listed_in or not snapshot.forwarding_subnets <= snapshot.subnets.keys():
        return subnet_ids
    return tuple(subnet_id for subnet_id in subnet_ids if subnet_id in snapshot.forwarding_subnets)


def unknown_gateways(snapshot: Snapshot, vpc_id: str) -> list[str]:
    """Return the targets of a VPC's routes that are not known, so that each may be a gateway to other VPCs.

    One of them is empty if a route does not show its target, or if the VPC's route tables are not all listed.
    """
    routes = (route for table in _tables_of(snapshot, vpc_id) for route in table.routes)
    targets = {route.target_id for route in routes if _may_be_gateway(snapshot, route)}
    if vpc_id in snapshot.partly_listed_vpcs:
        targets.add("")
    return sorted(targets)


def _may_be_gateway(snapshot: Snapshot, route: Route) -> bool:
    """Return whether a route with a target that is not known may lead to other VPCs.

    It does not if its destination is AWS's own, as in the routes of VPC Lattice, whose addresses are reserved ones and those of
    its prefix lists (https://docs.aws.amazon.com/vpc-lattice/latest/ug/security-groups.html#managed-prefix-list).
    """
    if route.target_kind is not TargetKind.UNKNOWN or route.is_blackhole:
        return False
    if isinstance(route.destination, Cidr):
        return not any(contains(block, route.destination) for block in (*_RESERVED, *snapshot.blocks_of_aws))
    prefix_list = snapshot.prefix_lists.get(route.destination)
    return prefix_list is None or not prefix_list.aws_owned


def _tables_of(snapshot: Snapshot, vpc_id: str) -> Sequence[RouteTable]:
    """Return every description of the route tables of a VPC, and of those that do not show their VPC."""
    return [table for owner in dict.fromkeys((vpc_id, "")) for table in snapshot.tables_by_vpc.get(owner, ())]


def _subnets_of(snapshot: Snapshot, vpc_id: str) -> tuple[str, ...]:
    """Return the ids of the subnets of a VPC, and of those that do not show their VPC."""
    return tuple(
        subnet_id for owner in dict.fromkeys((vpc_id, "")) for subnet_id in snapshot.subnets_by_vpc.get(owner, ())
    )


@dataclass(frozen=True, slots=True)
class Passage:
    """How a block of S3 Express addresses passes through a VPC from an entrance.

    is_certain is false for the block of all addresses, which stands for those of a list that is not known as a whole. trace is from the entrance's subnets. further_traces are from the subnets where hops may send it out that do not show
    their next route table: the other interfaces of appliances, and endpoints that carry nothing now. unclear says where
    any route table of the VPC may be the next one; empty if that is known.
    """

    block: Cidr
    is_certain: bool
    trace: Trace
    further_traces: tuple[Trace, ...]
    unclear: str

    @property
    def consulted(self) -> frozenset[str]:
        """The ids of the route tables that the traffic consults."""
        return self.trace.consulted.union(*(trace.consulted for trace in self.further_traces))

    @property
    def leaves(self) -> bool:
        """Whether a part of the traffic has a way out, or may have one."""
        return bool(self.unclear) or any(map(self.is_way_out, outcomes_of(self.trace, *self.further_traces)))

    def is_way_out(self, outcome: Outcome) -> bool:
        """Return whether traffic of another VPC leaves there: neither a gateway endpoint nor an internet gateway serves it.

        An internet gateway carries IPv4 only from addresses that are mapped to an interface of its own VPC, so only what a
        NAT has translated (https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Internet_Gateway.html).
        """
        if outcome.reason is Reason.INTERNET_GATEWAY and self.block.family is Family.IPV4:
            return False
        ends_at_endpoint = bool(outcome.path) and outcome.path[-1].kind is TargetKind.GATEWAY_ENDPOINT
        return outcome.reason not in NO_WAY_OUT and not ends_at_endpoint


def passages(
    tracer: Tracer, entrance: Entrance, lists: Sequence[PrefixList], *, skip_gateway_endpoints: bool = False
) -> Iterator[Passage]:
    """Yield how each block of these prefix lists passes through a VPC from an entrance."""
    # The route table of the gateway that led here is the first one, so all descriptions of the next one are followed.
    lookups = frozenset({TableLookup(entrance.gateway_id, Family.IPV4)})
    state = TraceState(lookups=lookups, skip_gateway_endpoints=skip_gateway_endpoints)
    for prefix_list in lists:
        for block in prefix_list.cidrs or ():
            yield _passage(tracer, entrance, block, state, is_certain=True)
        if prefix_list.cidrs is None or prefix_list.is_partial:
            everything = Cidr(prefix_list.family, 0, 0)
            yield _passage(tracer, entrance, everything, state, is_certain=False)


def _passage(tracer: Tracer, entrance: Entrance, block: Cidr, state: TraceState, *, is_certain: bool) -> Passage:
    traces = list[Trace]()
    traced, subnet_ids, unclear = set[str](), set(entrance.subnet_ids), ""
    while subnet_ids or not traces:
        traces.append(trace_from_any(tracer, subnet_ids, AddressSet(block), state, _UNLISTED))
        traced |= subnet_ids
        subnet_ids = set()
        for outcome in outcomes_of(traces[-1]):
            continued = _continued(tracer.snapshot, entrance, outcome)
            subnet_ids |= continued.subnet_ids - traced
            unclear = unclear or continued.unclear
    return Passage(block, is_certain, traces[0], tuple(traces[1:]), unclear)


def outcomes_of(*traces: Trace) -> Iterator[Outcome]:
    """Yield every outcome of some traces."""
    for trace in traces:
        for traced in trace.results:
            yield from traced.outcomes


@dataclass(frozen=True, slots=True)
class _Continued:
    """Where traffic may go on in a VPC that a path does not show: subnets that it may leave from, and what is unclear."""

    subnet_ids: frozenset[str] = frozenset()
    unclear: str = ""


def _continued(snapshot: Snapshot, entrance: Entrance, outcome: Outcome) -> _Continued:
    """Return where traffic may go on beyond the hops of a path, as far as they are in the VPC."""
    if outcome.reason in NO_WAY_OUT:
        return _Continued()
    hops = list(takewhile(lambda hop: hop.kind not in _ELSEWHERE and not _leads_through(entrance, hop), outcome.path))
    ends_here = outcome.reason is Reason.UNRESOLVED_EGRESS and len(hops) == len(outcome.path)
    if ends_here and not hops:
        return _Continued(unclear=outcome.note)
    subnet_ids, unclear = set[str](), ""
    for hop in hops:
        is_last = ends_here and hop is hops[-1]
        if hop.kind in _INTERFACES and _forwards(snapshot, hop.id):
            subnet_ids |= _subnets_of_appliance(snapshot, hop.id)
        if hop.kind in _ENDPOINTS and is_last and not _is_gateway_endpoint(snapshot, hop.id):
            subnet_ids |= _subnets_of_endpoint(snapshot, hop.id)
        is_unknown = _NOT_SHOWN in subnet_ids or (is_last and hop.kind is TargetKind.UNKNOWN)
        if is_unknown or (ends_here and _may_translate(snapshot, hop)):
            unclear = unclear or f"{hop.id} ({outcome.note})"
    return _Continued(frozenset(subnet_ids - {_NOT_SHOWN}), unclear)


def _may_translate(snapshot: Snapshot, hop: Hop) -> bool:
    """Return whether a hop is an endpoint whose appliance may translate traffic, and send it out of another interface."""
    if hop.kind not in _ENDPOINTS or _is_gateway_endpoint(snapshot, hop.id):
        return False
    endpoint = snapshot.vpc_endpoints.get(hop.id)
    return endpoint is None or any(
        firewall is None or gateway_of_proxy(snapshot, endpoint, firewall) is not None
        for firewall in snapshot.firewalls_of(endpoint)
    )


def _is_gateway_endpoint(snapshot: Snapshot, endpoint_id: str) -> bool:
    endpoint = snapshot.vpc_endpoints.get(endpoint_id)
    return endpoint is not None and all(
        version.endpoint_type == "gateway" for version in snapshot.versions_of(endpoint)
    )


def _subnets_of_endpoint(snapshot: Snapshot, endpoint_id: str) -> set[str]:
    """Return the subnets of an endpoint; one of them is _NOT_SHOWN if they are not all known."""
    endpoint = snapshot.vpc_endpoints.get(endpoint_id)
    versions = snapshot.versions_of(endpoint) if endpoint else ()
    appliances = [version for version in versions if version.endpoint_type != "gateway"]
    subnet_ids = {subnet_id for version in appliances for subnet_id in version.subnet_ids or (_NOT_SHOWN,)}
    return subnet_ids or {_NOT_SHOWN}


def _forwards(snapshot: Snapshot, target_id: str) -> bool:
    """Return whether an interface, or one of an instance, forwards traffic, or may do so because it is not listed."""
    named = snapshot.interfaces_by_name.get(target_id, ())
    return not named or not all(interface.source_dest_check for interface in named)


def _subnets_of_appliance(snapshot: Snapshot, target_id: str) -> set[str]:
    """Return the subnets of all interfaces of an instance that a route names by its id or by that of an interface.

    One of them is _NOT_SHOWN if they are not all known.
    """
    named = snapshot.interfaces_by_name.get(target_id, ())
    subnet_ids = {interface.subnet_id for interface in named}
    for instance_id in {interface.instance_id for interface in named if interface.instance_id}:
        subnet_ids |= {interface.subnet_id for interface in snapshot.interfaces_by_name[instance_id]}
        instance = snapshot.instances.get(instance_id)
        if instance:
            subnet_ids |= set(instance.subnet_of_interface.values())
        elif "ec2:DescribeInstances" in snapshot.denied:
            subnet_ids.add(_NOT_SHOWN)
    return subnet_ids or {_NOT_SHOWN}


def possible_tables(tracer: Tracer, subnet_id: str) -> list[RouteTable | None]:
    """Return the route tables that may govern a subnet: several if accounts disagree about it. None: it is not known."""
    subnet = tracer.snapshot.subnets.get(subnet_id)
    if subnet is None:
        return [None]
    return [table for version in tracer.snapshot.versions_of(subnet) for table in tracer.possible_tables(version)]


def may_come(tracer: Tracer, vpc_id: str, entrance: Entrance, passed: Collection[Passage]) -> bool:
    """Return whether traffic may come through an entrance if it is not known what the gateway leads here.

    None comes if its path ends at a NAT of this VPC from which nothing leads back, or leads out where it came in without an
    appliance between.
    """
    for passage in passed:
        entering = [
            outcome
            for outcome in outcomes_of(passage.trace)
            if entrance.connect_ids or not (outcome.path and _leads_through(entrance, outcome.path[0]))
        ]
        leaving = filter(passage.is_way_out, (*entering, *outcomes_of(*passage.further_traces)))
        if passage.unclear or not all(
            _ends_without_way_back(tracer, vpc_id, entrance, route_out) for route_out in leaving
        ):
            return True
    return False


def _leads_through(entrance: Entrance, hop: Hop) -> bool:
    """Return whether a hop is the gateway of an entrance."""
    return hop.kind is entrance.kind and hop.id == (entrance.gateway_id or UNKNOWN_ID)


def _ends_without_way_back(tracer: Tracer, vpc_id: str, entrance: Entrance, outcome: Outcome) -> bool:
    """Return whether a path ends at a NAT of a VPC from which certainly nothing leads back to another VPC.

    Responses reach the NAT, and then each appliance before it that may have translated the requests, too.
    """
    is_elsewhere = any(hop.kind in _ELSEWHERE for hop in outcome.path)
    if is_elsewhere or nat_on(outcome.path) is None or outcome.reason not in NAT_REASONS:
        return False
    way_back = _WayBack(tracer, vpc_id, is_unknown_only=entrance.kind is TargetKind.UNKNOWN)
    for hop in outcome.path:
        if hop.kind is TargetKind.NAT_GATEWAY:
            way_back.add_nat_gateway(hop.id)
        elif hop.kind in _INTERFACES:
            way_back.add_subnets(_subnets_of_appliance(tracer.snapshot, hop.id))
        elif _may_translate(tracer.snapshot, hop):
            way_back.add_subnets(_subnets_of_endpoint(tracer.snapshot, hop.id))
    return not way_back.may_exist()


class _WayBack:
    """Follows every route from some tables of a VPC, through firewalls and appliances, to a gateway to other VPCs."""

    def __init__(self, tracer: Tracer, vpc_id: str, *, is_unknown_only: bool) -> None:
        """Start without a table. is_unknown_only: transit gateways and core networks do not count, for they are known."""
        self._tracer = tracer
        self._snapshot = tracer.snapshot
        self._vpc_id = vpc_id
        self._kinds = () if is_unknown_only else _GATEWAYS
        self._tables: dict[str, RouteTable] = {}
        self._is_unknown = False

    def may_exist(self) -> bool:
        """Return whether a route leads to a gateway to other VPCs, or something on the way is not known."""
        followed: set[str] = set()
        while not self._is_unknown and (left := self._tables.keys() - followed):
            table = self._tables[min(left)]
            followed.add(table.id)
            versions = self._snapshot.versions_of(table)
            routes = [route for version in versions for route in version.routes]
            if any(target_ids(versions, kind) for kind in self._kinds):
                return True
            if any(_may_be_gateway(self._snapshot, route) for route in routes):
                return True
            for endpoint_id in target_ids(versions, TargetKind.VPC_ENDPOINT):
                if not _is_gateway_endpoint(self._snapshot, endpoint_id):
                    self.add_subnets(_subnets_of_endpoint(self._snapshot, endpoint_id))
            for kind in _INTERFACES:
                for target_id in target_ids(versions, kind):
                    self.add_subnets(_subnets_of_appliance(self._snapshot, target_id))
        return self._is_unknown

    def add_nat_gateway(self, gateway_id: str) -> None:
        """Follow the table of a NAT gateway: its subnet's, or a regional one's own."""
        gateway = self._snapshot.nat_gateways.get(gateway_id)
        self._is_unknown |= gateway is None
        for version in self._snapshot.versions_of(gateway) if gateway else ():
            if version.vpc_id != self._vpc_id:
                self._is_unknown = True
            elif version.subnet_id:
                self.add_subnets({version.subnet_id})
            elif table := self._snapshot.route_tables.get(version.route_table_id or ""):
                self._tables[table.id] = table
            else:
                self._is_unknown = True

    def add_subnets(self, subnet_ids: Collection[str]) -> None:
        """Follow the tables of these subnets."""
        for subnet_id in subnet_ids:
            for table in possible_tables(self._tracer, subnet_id):
                if table:
                    self._tables[table.id] = table
                else:
                    self._is_unknown = True

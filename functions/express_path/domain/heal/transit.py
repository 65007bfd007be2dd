"""Traffic of other VPCs: whether it enters a VPC through a transit gateway and consults a route table that a heal would change.

A gateway endpoint serves only its own VPC. Its route takes traffic of other VPCs nowhere
(https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from express_path.domain.heal.records import Blocker, Concern
from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.resources import (
    NetworkInterface,
    RouteTable,
    TargetKind,
    TransitGatewayRouteTable,
    target_ids,
)
from express_path.domain.network.snapshot import Snapshot, is_express_service
from express_path.domain.path.hops import trace_from_any
from express_path.domain.path.outcomes import Outcome, TableLookup, Trace, TraceState, nat_on
from express_path.domain.path.reasons import NAT_REASONS, NO_WAY_OUT, Reason
from express_path.domain.path.routing import AddressSet
from express_path.domain.path.tracing import Tracer

TRANSIT = frozenset({Blocker.TRANSIT_TRAFFIC, Blocker.TRANSIT_UNKNOWN})
"""The blockers about traffic of other VPCs."""
_GATEWAYS = (TargetKind.TRANSIT_GATEWAY, TargetKind.CORE_NETWORK)
_GONE = frozenset({"deleted", "deleting", "failed", "failing", "rejected", "rejecting"})
"""The states of attachments that carry no traffic (botocore model: ec2 TransitGatewayAttachmentState,
networkmanager AttachmentState)."""
_UNLISTED = "the route table of the attachment's subnet is not listed"
_FIX = (
    "first give each VPC behind {} its own endpoint for S3 Express; then give the workloads in {} a route table of their "
    "own, and associate that one"
)


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where a gateway lets traffic of other VPCs into a VPC.

    gateway_id is the transit gateway's id or the core network's ARN. attachment_id is empty if the attachment is not
    listed; then each subnet of the VPC may be one of its subnets. If accounts disagree about the attachment, subnet_ids has
    the subnets that any of them shows.
    """

    kind: TargetKind
    gateway_id: str
    attachment_id: str
    subnet_ids: tuple[str, ...]


def transit_concerns(tracer: Tracer, table: RouteTable, network_role_arn: str) -> Iterator[Concern]:
    """Yield what traffic of other VPCs consults a route table on its way to S3 Express, or may do so."""
    for entrance in entrances(tracer.snapshot, table.vpc_id):
        traces = _traces_over(tracer, table, entrance)
        if not traces:
            continue
        leading = next(_tables_that_lead_to(tracer, entrance, traces), None)
        if leading:
            yield Concern(
                Blocker.TRANSIT_TRAFFIC,
                table.id,
                f"{leading.id} sends S3 Express traffic of other VPCs, also of those in other accounts, to "
                f"{entrance.attachment_id} in {table.vpc_id}, where it consults {table.id}; a gateway endpoint serves only its "
                "own VPC, so the endpoint's route would cut these VPCs off from S3 Express",
                _FIX.format(entrance.gateway_id, table.vpc_id),
            )
        elif not _is_whole(tracer, entrance) and _may_come(tracer, table.vpc_id, entrance, traces.values()):
            yield _unknown(tracer.snapshot, table, entrance, network_role_arn)


@dataclass(frozen=True, slots=True)
class CutOff:
    """A route table of a VPC that leads other VPCs' S3 Express traffic to a gateway endpoint, which does not serve them.

    is_certain is true if a route table of the transit gateway leads such traffic to the VPC, and false if one may.
    """

    entrance: Entrance
    route_table_id: str
    endpoint_id: str
    is_certain: bool


def cut_off(tracer: Tracer, vpc_id: str) -> Iterator[CutOff]:
    """Yield the route tables of a VPC whose route to an endpoint cuts other VPCs off from S3 Express, or may do so."""
    for entrance in entrances(tracer.snapshot, vpc_id):
        to_endpoints = {block: _ends(tracer, trace) for block, trace in _traces(tracer, entrance)}
        blocks = [block for block, ends in to_endpoints.items() if ends]
        if not blocks:
            continue
        comes = any(_tables_that_lead_to(tracer, entrance, blocks))
        if not comes and (_is_whole(tracer, entrance) or not _may_come_without_endpoints(tracer, vpc_id, entrance)):
            continue
        certain: dict[tuple[str, str], bool] = {}
        for ends in to_endpoints.values():
            for end, serves in ends.items():
                certain[end] = certain.get(end, False) or (comes and serves)
        for (table_id, endpoint_id), is_certain in sorted(certain.items()):
            yield CutOff(entrance, table_id, endpoint_id, is_certain)


def _ends(tracer: Tracer, trace: Trace) -> dict[tuple[str, str], bool]:
    """Return the tables that lead to an endpoint of S3 Express, with the endpoint, and whether the traffic surely gets there.

    An appliance may translate traffic to an address of its own VPC, which the endpoint serves.
    """
    snapshot, found = tracer.snapshot, dict[tuple[str, str], bool]()
    for outcome in _outcomes(trace):
        endpoint = snapshot.vpc_endpoints.get(outcome.path[-1].id) if outcome.path else None
        if endpoint is None or not is_express_service(endpoint.service_name, snapshot.region):
            continue
        for table_id in trace.consulted & snapshot.route_tables.keys():
            versions = snapshot.versions_of(snapshot.route_tables[table_id])
            if endpoint.id in target_ids(versions, TargetKind.VPC_ENDPOINT):
                end = (table_id, endpoint.id)
                found[end] = found.get(end, False) or outcome.reason is Reason.ENDPOINT
    return found


def _may_come_without_endpoints(tracer: Tracer, vpc_id: str, entrance: Entrance) -> bool:
    """Return whether traffic might come if no table had a route to an endpoint: in a heal, none has it yet."""
    traces = [trace for _, trace in _traces(tracer, entrance, skip_gateway_endpoints=True)]
    return _may_come(tracer, vpc_id, entrance, traces)


def entrances(snapshot: Snapshot, vpc_id: str) -> Iterator[Entrance]:
    """Yield where traffic of other VPCs may enter a VPC; nowhere if no table of the VPC leads back to a gateway."""
    tables = snapshot.tables_by_vpc.get(vpc_id, ())
    subnet_ids = snapshot.subnets_by_vpc.get(vpc_id, ())
    named = [(kind, gateway_id) for kind in _GATEWAYS for gateway_id in target_ids(tables, kind)]
    if not named:
        return
    attached = set()
    for attachment in snapshot.attachments_by_vpc.get(vpc_id, ()):
        versions = [version for version in snapshot.versions_of(attachment) if version.state not in _GONE]
        if not versions:
            continue
        attached.add(attachment.transit_gateway_id)
        is_core = attachment.id in (snapshot.core_network_attachments or {})
        kind = TargetKind.CORE_NETWORK if is_core else TargetKind.TRANSIT_GATEWAY
        of_attachment = {subnet_id for version in versions for subnet_id in version.subnet_ids or subnet_ids}
        yield Entrance(kind, attachment.transit_gateway_id, attachment.id, tuple(sorted(of_attachment)))
    for kind, gateway_id in named:
        if gateway_id not in attached:
            yield Entrance(kind, gateway_id, "", subnet_ids)


def _traces_over(tracer: Tracer, table: RouteTable, entrance: Entrance) -> dict[Cidr, Trace]:
    """Return the traces of S3 Express addresses from an entrance that have a way out and consult a table, by block."""
    is_uncertain = any(None in _possible_tables(tracer, subnet_id) for subnet_id in entrance.subnet_ids)
    return {
        block: trace
        for block, trace in _traces(tracer, entrance)
        if (is_uncertain or table.id in trace.consulted) and any(map(_leaves, _outcomes(trace)))
    }


def _traces(
    tracer: Tracer, entrance: Entrance, *, skip_gateway_endpoints: bool = False
) -> Iterator[tuple[Cidr, Trace]]:
    """Yield the blocks of S3 Express with the trace of each from an entrance."""
    # The route table of the gateway that led here is the first one, so all descriptions of the next one are followed.
    lookups = frozenset({TableLookup(entrance.gateway_id, Family.IPV4)})
    state = TraceState(lookups=lookups, skip_gateway_endpoints=skip_gateway_endpoints)
    for prefix_list in tracer.snapshot.express_prefix_lists:
        everything = (Cidr(prefix_list.family, 0, 0),)
        for block in everything if prefix_list.cidrs is None else prefix_list.cidrs:
            yield block, trace_from_any(tracer, entrance.subnet_ids, AddressSet(block), state, _UNLISTED)


def _possible_tables(tracer: Tracer, subnet_id: str) -> list[RouteTable | None]:
    """Return the route tables that may govern a subnet: several if accounts disagree about it. None: it is not known."""
    subnet = tracer.snapshot.subnets.get(subnet_id)
    if subnet is None:
        return [None]
    return [table for version in tracer.snapshot.versions_of(subnet) for table in tracer.possible_tables(version)]


def _outcomes(trace: Trace) -> Iterator[Outcome]:
    for traced in trace.results:
        yield from traced.outcomes


def _leaves(outcome: Outcome) -> bool:
    """Return whether traffic that enters through a transit gateway leaves: a gateway endpoint does not serve it."""
    ends_at_endpoint = bool(outcome.path) and outcome.path[-1].kind is TargetKind.GATEWAY_ENDPOINT
    return outcome.reason not in NO_WAY_OUT and not ends_at_endpoint


def _tables_that_lead_to(
    tracer: Tracer, entrance: Entrance, blocks: Iterable[Cidr]
) -> Iterator[TransitGatewayRouteTable]:
    """Yield the transit gateway's route tables in which a route to the entrance wins for an address of these blocks."""
    wanted = list(blocks)
    for _, table in sorted((tracer.snapshot.transit_gateway_route_tables or {}).items()):
        is_unread = all(version.truncated for version in tracer.snapshot.versions_of(table))
        if is_unread or not entrance.attachment_id:
            continue
        indexes = tracer.indexes_of(table)
        routed = (routes for index in indexes for block in wanted for _, routes in index.split(block))
        if any(
            route.target_id == entrance.attachment_id and not route.is_blackhole
            for routes in routed
            for route in routes
        ):
            yield table


def _is_whole(tracer: Tracer, entrance: Entrance) -> bool:
    """Return whether all routes of all route tables of the entrance's transit gateway are known.

    Only the transit gateway's owner can list its route tables
    (https://docs.aws.amazon.com/vpc/latest/tgw/working-with-transit-gateways.html).
    """
    listed = _listed_tables(tracer.snapshot, entrance)
    read = tracer.snapshot.transit_gateway_route_tables or {}
    return (
        bool(entrance.attachment_id and listed)
        and read.keys() >= set(listed)
        and not _truncated_tables(tracer.snapshot, entrance)
        and not any(
            unreadable.route.target_id == entrance.attachment_id
            for table_id in listed
            for index in tracer.indexes_of(read[table_id])
            for unreadable in index.unreadable
        )
    )


def _listed_tables(snapshot: Snapshot, entrance: Entrance) -> list[str]:
    tables = (snapshot.transit_gateway_of_table or {}).items()
    return sorted(table_id for table_id, gateway_id in tables if gateway_id == entrance.gateway_id)


def _truncated_tables(snapshot: Snapshot, entrance: Entrance) -> list[str]:
    """Return the tables of the entrance's transit gateway that some account could not read whole."""
    read = snapshot.transit_gateway_route_tables or {}
    return [
        table_id
        for table_id in _listed_tables(snapshot, entrance)
        if table_id in read and any(version.truncated for version in snapshot.versions_of(read[table_id]))
    ]


def _may_come(tracer: Tracer, vpc_id: str, entrance: Entrance, traces: Iterable[Trace]) -> bool:
    """Return whether traffic may come through an entrance whose transit gateway cannot be read.

    None comes if its path ends at a NAT of this VPC from which nothing leads back, or leads out where it came in.
    """
    for trace in traces:
        for outcome in filter(_leaves, _outcomes(trace)):
            first = outcome.path[0] if outcome.path else None
            if first and (first.kind, first.id) == (entrance.kind, entrance.gateway_id):
                continue
            if not _ends_without_way_back(tracer, vpc_id, outcome):
                return True
    return False


def _ends_without_way_back(tracer: Tracer, vpc_id: str, outcome: Outcome) -> bool:
    """Return whether a path ends at a NAT of a VPC from which certainly nothing leads back to another VPC."""
    nat = nat_on(outcome.path)
    if nat is None or outcome.reason not in NAT_REASONS:
        return False
    way_back = _WayBack(tracer, vpc_id)
    if nat.kind is TargetKind.NAT_GATEWAY:
        way_back.add_nat_gateway(nat.id)
    else:
        way_back.add_interface(nat.id)
    return not way_back.may_exist()


class _WayBack:
    """Follows every route from some tables of a VPC, through firewalls and appliances, to a transit gateway or core network."""

    def __init__(self, tracer: Tracer, vpc_id: str) -> None:
        """Start without a table."""
        self._tracer = tracer
        self._snapshot = tracer.snapshot
        self._vpc_id = vpc_id
        self._tables: dict[str, RouteTable] = {}
        self._is_unknown = False

    def may_exist(self) -> bool:
        """Return whether a route leads to a transit gateway or core network, or something on the way is not known."""
        followed: set[str] = set()
        while not self._is_unknown and (left := self._tables.keys() - followed):
            table = self._tables[min(left)]
            followed.add(table.id)
            versions = self._snapshot.versions_of(table)
            if any(target_ids(versions, kind) for kind in _GATEWAYS):
                return True
            for endpoint_id in target_ids(versions, TargetKind.VPC_ENDPOINT):
                self._add_endpoint(endpoint_id)
            for kind in (TargetKind.NETWORK_INTERFACE, TargetKind.INSTANCE):
                for target_id in target_ids(versions, kind):
                    self.add_interface(target_id)
        return self._is_unknown

    def add_nat_gateway(self, gateway_id: str) -> None:
        """Follow the table of a NAT gateway: its subnet's, or a regional one's own."""
        gateway = self._snapshot.nat_gateways.get(gateway_id)
        self._is_unknown |= gateway is None
        for version in self._snapshot.versions_of(gateway) if gateway else ():
            if version.vpc_id != self._vpc_id:
                self._is_unknown = True
            elif version.subnet_id:
                self._add_subnet(version.subnet_id)
            elif table := self._snapshot.route_tables.get(version.route_table_id or ""):
                self._tables[table.id] = table
            else:
                self._is_unknown = True

    def add_interface(self, target_id: str) -> None:
        """Follow the tables of all interfaces of the instance that a route names by its id or by that of an interface."""
        interfaces = [
            version
            for interface in (self._snapshot.network_interfaces or {}).values()
            for version in self._snapshot.versions_of(interface)
        ]
        named = [interface for interface in interfaces if target_id in (interface.id, interface.instance_id)]
        self._is_unknown |= not named
        for interface in named:
            self._add_instance_of(interface, interfaces)

    def _add_instance_of(self, interface: NetworkInterface, interfaces: Iterable[NetworkInterface]) -> None:
        self._add_subnet(interface.subnet_id)
        if interface.instance_id is None:
            return
        for other in interfaces:
            if other.instance_id == interface.instance_id:
                self._add_subnet(other.subnet_id)
        instance = self._snapshot.instances.get(interface.instance_id)
        if instance:
            for subnet_id in instance.subnet_of_interface.values():
                self._add_subnet(subnet_id)
        self._is_unknown |= instance is None and "ec2:DescribeInstances" in self._snapshot.denied

    def _add_endpoint(self, endpoint_id: str) -> None:
        endpoint = self._snapshot.vpc_endpoints.get(endpoint_id)
        self._is_unknown |= endpoint is None
        for version in self._snapshot.versions_of(endpoint) if endpoint else ():
            if version.endpoint_type != "gateway":
                for subnet_id in version.subnet_ids:
                    self._add_subnet(subnet_id)

    def _add_subnet(self, subnet_id: str) -> None:
        for table in _possible_tables(self._tracer, subnet_id):
            if table:
                self._tables[table.id] = table
            else:
                self._is_unknown = True


def _unknown(snapshot: Snapshot, table: RouteTable, entrance: Entrance, network_role_arn: str) -> Concern:
    where = entrance.attachment_id or f"an attachment of {table.vpc_id} to {entrance.gateway_id}"
    return Concern(
        Blocker.TRANSIT_UNKNOWN,
        table.id,
        f"{_what_decides(snapshot, entrance, network_role_arn)}; S3 Express traffic of other VPCs that comes through {where} "
        f"would consult {table.id}, and the endpoint's route would cut these VPCs off from S3 Express",
        f"if such traffic comes, {_FIX.format(entrance.gateway_id, table.vpc_id)}; if you are sure that none comes, make "
        "TRANSIT_UNKNOWN a warning (stack parameter WarnOnly)",
    )


_TABLE_READS = (
    "ec2:DescribeTransitGatewayAttachments, ec2:DescribeTransitGatewayRouteTables, and ec2:SearchTransitGatewayRoutes"
)


def _what_decides(snapshot: Snapshot, entrance: Entrance, network_role_arn: str) -> str:
    """Return the role or the setting that would decide whether traffic comes, and why it is not known."""
    if entrance.kind is TargetKind.CORE_NETWORK:
        if snapshot.core_network_attachments is None:
            reads = "networkmanager:ListAttachments and networkmanager:GetVpcAttachment"
            return f"the plan function's role (stack output PlanRoleArn) needs {reads} to find the subnets of the attachment"
        return "stack parameter WarnOnly decides, because the routes of a core network are not read"
    if truncated := _truncated_tables(snapshot, entrance):
        return f"stack parameter WarnOnly decides, because {truncated[0]} has more routes than one search returns"
    owner = f"the account that owns {entrance.gateway_id}"
    if network_role_arn:
        return f"{network_role_arn} (networkRoleArn) must be a role in {owner} and needs {_TABLE_READS}"
    return f"rule parameter networkRoleArn, with a role in {owner}, would decide: the role needs {_TABLE_READS}"

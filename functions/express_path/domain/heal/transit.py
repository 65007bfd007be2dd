"""Traffic of other VPCs: whether it enters a VPC through a transit gateway and consults a route table that a heal would change.

A gateway endpoint serves only its own VPC. Its route takes traffic of other VPCs nowhere
(https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html).
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from express_path.domain.heal.entrances import (
    Entrance,
    Passage,
    entrances,
    may_come,
    outcomes_of,
    passages,
    possible_tables,
)
from express_path.domain.heal.records import Blocker, Concern
from express_path.domain.network.addresses import Cidr
from express_path.domain.network.ids import wrong_form
from express_path.domain.network.resources import (
    PrefixList,
    Route,
    RouteTable,
    TargetKind,
    TransitGatewayRouteTable,
    target_ids,
)
from express_path.domain.network.snapshot import Snapshot, is_express_service
from express_path.domain.path.outcomes import Trace
from express_path.domain.path.reasons import Reason
from express_path.domain.path.tracing import Tracer

TRANSIT = frozenset({Blocker.TRANSIT_TRAFFIC, Blocker.TRANSIT_UNKNOWN})
"""The blockers about traffic of other VPCs."""
_FIX = (
    "first give each VPC behind {} its own endpoint for S3 Express; then give the workloads in {} a route table of their "
    "own, and associate that one"
)


def transit_concerns(
    tracer: Tracer, table: RouteTable, vpc_id: str, lists: Sequence[PrefixList], network_role_arn: str
) -> Iterator[Concern]:
    """Yield what traffic of other VPCs consults a route table on its way to S3 Express, or may do so.

    lists are the prefix lists to which the heal adds routes in the table.
    """
    concerned_gateways = set[str]()
    for entrance in entrances(tracer.snapshot, vpc_id):
        if entrance.kind is TargetKind.UNKNOWN and concerned_gateways:
            return  # it may be the gateway about which there is a concern
        if entrance.connect_ids and entrance.gateway_id in concerned_gateways:
            continue
        leaving = [passage for passage in passages(tracer, entrance, lists) if passage.leaves]
        is_uncertain = any(None in possible_tables(tracer, subnet_id) for subnet_id in entrance.subnet_ids)
        consulting = [passage for passage in leaving if is_uncertain or table.id in passage.consulted]
        concerned = [passage for passage in leaving if passage in consulting or passage.unclear]
        certain = [passage.block for passage in consulting if passage.is_certain and not entrance.connect_ids]
        leading = next(_tables_that_lead_to(tracer, entrance, certain), None)
        if leading:
            concerned_gateways.add(entrance.gateway_id)
            yield Concern(
                Blocker.TRANSIT_TRAFFIC,
                table.id,
                f"{leading.id} sends S3 Express traffic of other VPCs, also of those in other accounts, to "
                f"{entrance.attachment_id} in {vpc_id}, where it consults {table.id}; a gateway endpoint serves only its "
                "own VPC, so the endpoint's route would cut these VPCs off from S3 Express",
                _FIX.format(entrance.gateway_id, vpc_id),
            )
            continue
        if not entrance.leads_back:
            continue
        decides, leading = "", next(_tables_that_lead_to(tracer, entrance, _blocks(concerned)), None)
        if leading:
            decides = _what_is_unclear(tracer, vpc_id, entrance, leading, concerned)
        elif not _is_whole(tracer, entrance, _blocks(concerned)) and may_come(tracer, vpc_id, entrance, concerned):
            decides = _what_decides(tracer, vpc_id, entrance, _blocks(concerned), network_role_arn)
        if decides:
            concerned_gateways.add(entrance.gateway_id)
            yield _unknown(table, vpc_id, entrance, decides)


def _blocks(passed: Collection[Passage]) -> list[Cidr]:
    return [passage.block for passage in passed]


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
    """Yield the route tables of a VPC whose route to an endpoint cuts other VPCs off from S3 Express, or may do so.

    Only gateways that are known count, because a list of hubs names them.
    """
    for entrance in entrances(tracer.snapshot, vpc_id):
        if entrance.kind is TargetKind.UNKNOWN:
            continue
        all_passages = list(passages(tracer, entrance, tracer.snapshot.express_prefix_lists))
        to_endpoints = {passage.block: _ends(tracer, passage.trace) for passage in all_passages}
        blocks = [block for block, ends in to_endpoints.items() if ends]
        if not blocks:
            continue
        certain_blocks = [passage.block for passage in all_passages if passage.is_certain and passage.block in blocks]
        surely_comes = not entrance.connect_ids and any(_tables_that_lead_to(tracer, entrance, certain_blocks))
        may_come_here = any(_tables_that_lead_to(tracer, entrance, blocks)) or (
            not entrance.connect_ids
            and not _is_whole(tracer, entrance, blocks)
            and _may_come_without_endpoints(tracer, vpc_id, entrance)
        )
        if not (surely_comes or (entrance.leads_back and may_come_here)):
            continue
        certain: dict[tuple[str, str], bool] = {}
        for ends in to_endpoints.values():
            for end, serves in ends.items():
                certain[end] = certain.get(end, False) or (surely_comes and serves)
        for (table_id, endpoint_id), is_certain in sorted(certain.items()):
            yield CutOff(entrance, table_id, endpoint_id, is_certain)


def _ends(tracer: Tracer, trace: Trace) -> dict[tuple[str, str], bool]:
    """Return the tables that lead to an endpoint of S3 Express, with the endpoint, and whether the traffic surely gets there.

    An appliance may translate traffic to an address of its own VPC, which the endpoint serves.
    """
    snapshot, reaches_endpoint = tracer.snapshot, dict[tuple[str, str], bool]()
    for outcome in outcomes_of(trace):
        endpoint = snapshot.vpc_endpoints.get(outcome.path[-1].id) if outcome.path else None
        if endpoint is None or not is_express_service(endpoint.service_name, snapshot.region):
            continue
        for table_id in trace.consulted & snapshot.route_tables.keys():
            versions = snapshot.versions_of(snapshot.route_tables[table_id])
            if endpoint.id in target_ids(versions, TargetKind.VPC_ENDPOINT):
                end = (table_id, endpoint.id)
                reaches_endpoint[end] = reaches_endpoint.get(end, False) or outcome.reason is Reason.ENDPOINT
    return reaches_endpoint


def _may_come_without_endpoints(tracer: Tracer, vpc_id: str, entrance: Entrance) -> bool:
    """Return whether traffic might come if no table had a route to an endpoint: in a heal, none has it yet."""
    lists = tracer.snapshot.express_prefix_lists
    return may_come(tracer, vpc_id, entrance, list(passages(tracer, entrance, lists, skip_gateway_endpoints=True)))


def _tables_that_lead_to(
    tracer: Tracer, entrance: Entrance, blocks: Sequence[Cidr]
) -> Iterator[TransitGatewayRouteTable]:
    """Yield the transit gateway's route tables in which a route to the entrance wins for an address of these blocks."""
    for _, table in sorted((tracer.snapshot.transit_gateway_route_tables or {}).items()):
        is_unread = all(version.truncated for version in tracer.snapshot.versions_of(table))
        if is_unread or not entrance.attachment_id:
            continue
        if any(_leads_to(entrance, route) for route in _winning_routes(tracer, table, blocks)):
            yield table


def _leads_to(entrance: Entrance, route: Route) -> bool:
    """Return whether a transit gateway's route leads to an entrance, or may do so if that is in a tunnel."""
    return route.target_id in (entrance.connect_ids or (entrance.attachment_id,))


def _winning_routes(tracer: Tracer, table: TransitGatewayRouteTable, blocks: Sequence[Cidr]) -> Iterator[Route]:
    """Yield the routes that win for an address of these blocks, except for those that drop traffic."""
    for index in tracer.indexes_of(table):
        for block in blocks:
            for _, routes in index.split(block):
                yield from (route for route in routes if not route.is_blackhole)


def _is_whole(tracer: Tracer, entrance: Entrance, blocks: Sequence[Cidr]) -> bool:
    """Return whether it is known where all route tables of the entrance's transit gateway lead these blocks.

    Only the transit gateway's owner can list its route tables
    (https://docs.aws.amazon.com/vpc/latest/tgw/working-with-transit-gateways.html).
    """
    listed = _listed_tables(tracer.snapshot, entrance)
    read = tracer.snapshot.transit_gateway_route_tables or {}
    return (
        bool(entrance.attachment_id and listed)
        and read.keys() >= set(listed)
        and not _truncated_tables(tracer.snapshot, entrance)
        and not any(_unclear_routes(tracer, entrance, blocks))
    )


def _unclear_routes(tracer: Tracer, entrance: Entrance, blocks: Sequence[Cidr]) -> Iterator[str]:
    """Yield what would decide about each table of the entrance's transit gateway whose routes may lead these blocks here."""
    read = tracer.snapshot.transit_gateway_route_tables or {}
    for table_id in _listed_tables(tracer.snapshot, entrance):
        if table_id not in read:
            continue
        unreadable = (entry.route for index in tracer.indexes_of(read[table_id]) for entry in index.unreadable)
        matching = (route for route in unreadable if not route.is_blackhole)
        if any(_leads_to(entrance, route) for route in matching):
            yield f"ec2:GetManagedPrefixListEntries would decide, because a prefix list in {table_id} cannot be read"
        elif any(_is_unknown(tracer.snapshot, route) for route in _winning_routes(tracer, read[table_id], blocks)):
            yield _WARN_ONLY.format(f"{table_id} has a route to S3 Express whose attachment is not known")


def _is_unknown(snapshot: Snapshot, route: Route) -> bool:
    """Return whether a transit gateway's route does not show its target, or only in a form that is not known."""
    is_listed = route.target_id in (snapshot.transit_gateway_attachments or {})
    return not is_listed and wrong_form(route.target_id, "transitGatewayAttachmentId") != ""


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


def _unknown(table: RouteTable, vpc_id: str, entrance: Entrance, decides: str) -> Concern:
    gateway = entrance.gateway_id or "a gateway that its route tables do not show"
    where = " or ".join(entrance.connect_ids) or entrance.attachment_id or f"an attachment of {vpc_id} to {gateway}"
    return Concern(
        Blocker.TRANSIT_UNKNOWN,
        table.id,
        f"{decides}; S3 Express traffic of other VPCs that comes through {where} may consult {table.id}, and the "
        "endpoint's route would cut these VPCs off from S3 Express",
        f"if such traffic consults {table.id}, {_FIX.format(gateway, vpc_id)}; if you are sure that none does, make "
        "TRANSIT_UNKNOWN a warning (stack parameter WarnOnly)",
    )


_TABLE_READS = (
    "ec2:DescribeTransitGatewayAttachments, ec2:DescribeTransitGatewayRouteTables, and ec2:SearchTransitGatewayRoutes"
)
_CONNECT_READ = "ec2:DescribeTransitGatewayConnects in the account of the Connect attachment would decide"
_WARN_ONLY = "stack parameter WarnOnly decides, because {}"
_UNCLEAR = _WARN_ONLY.format("which route tables S3 Express traffic of other VPCs consults is not known beyond {}")
_CONNECT = "{} sends S3 Express traffic of other VPCs to the Connect attachment {}, {}"


def _what_is_unclear(
    tracer: Tracer, vpc_id: str, entrance: Entrance, leading: TransitGatewayRouteTable, concerned: Sequence[Passage]
) -> str:
    """Return the role or the setting that would decide whether traffic consults a table, if a table leads it here."""
    if entrance.connect_ids:
        routes = _winning_routes(tracer, leading, _blocks(concerned))
        connect_id = next(route.target_id for route in routes if _leads_to(entrance, route))
        transports = (tracer.snapshot.transit_gateway_connects or {}).get(connect_id, ())
        if entrance.attachment_id in transports:
            appliance = f"whose appliance in {vpc_id} may translate it to an address that the endpoint serves, or not"
            return _WARN_ONLY.format(_CONNECT.format(leading.id, connect_id, appliance))
        unknown = f"which may run over {entrance.attachment_id}"
        return f"{_CONNECT_READ}, because {_CONNECT.format(leading.id, connect_id, unknown)}"
    unclear = next((passage.unclear for passage in concerned if passage.unclear), "")
    if unclear:
        return _UNCLEAR.format(unclear)
    return "ec2:GetManagedPrefixListEntries would decide, because S3 Express's prefix list cannot be read whole"


def _what_decides(
    tracer: Tracer, vpc_id: str, entrance: Entrance, blocks: Sequence[Cidr], network_role_arn: str
) -> str:
    """Return the role or the setting that would decide whether traffic comes, and why it is not known."""
    snapshot = tracer.snapshot
    if entrance.kind is TargetKind.UNKNOWN:
        if entrance.gateway_id:
            return _WARN_ONLY.format(f"{entrance.gateway_id} is a route's target of a form that is not known")
        if vpc_id in snapshot.partly_listed_vpcs:
            return _WARN_ONLY.format(
                f"{snapshot.partly_listed_vpcs[vpc_id]}, which is not listed (ec2:DescribeRouteTables)"
            )
        return _WARN_ONLY.format("a route does not show its target, which may be a Cloud WAN core network")
    if entrance.kind is TargetKind.CORE_NETWORK:
        if snapshot.core_network_attachments is None:
            reads = "networkmanager:ListAttachments and networkmanager:GetVpcAttachment"
            return f"the plan function's role (stack output PlanRoleArn) needs {reads} to find the subnets of the attachment"
        return _WARN_ONLY.format("the routes of a core network are not read")
    if truncated := _truncated_tables(snapshot, entrance):
        return _WARN_ONLY.format(f"{truncated[0]} has more routes than one search returns")
    if unclear := next(_unclear_routes(tracer, entrance, blocks), ""):
        return unclear
    owner = f"the account that owns {entrance.gateway_id}"
    if network_role_arn:
        return f"{network_role_arn} (networkRoleArn) must be a role in {owner} and needs {_TABLE_READS}"
    return f"rule parameter networkRoleArn, with a role in {owner}, would decide: the role needs {_TABLE_READS}"

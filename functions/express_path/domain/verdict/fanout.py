"""Fan-out: which subnets a changed resource affects."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from express_path.domain.network.resources import AnyRouteTable, Subnet, TargetKind
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.tracing import Tracer


class ResourceType(StrEnum):
    """The resource types whose changes the rule follows (botocore model: config ResourceType)."""

    ROUTE_TABLE = "AWS::EC2::RouteTable"
    SUBNET = "AWS::EC2::Subnet"
    VPC_ENDPOINT = "AWS::EC2::VPCEndpoint"
    NAT_GATEWAY = "AWS::EC2::NatGateway"
    BLOCK_PUBLIC_ACCESS_OPTIONS = "AWS::EC2::VPCBlockPublicAccessOptions"
    BLOCK_PUBLIC_ACCESS_EXCLUSION = "AWS::EC2::VPCBlockPublicAccessExclusion"
    PREFIX_LIST = "AWS::EC2::PrefixList"
    FIREWALL = "AWS::NetworkFirewall::Firewall"
    DIRECTORY_BUCKET = "AWS::S3Express::DirectoryBucket"


@dataclass(frozen=True, slots=True)
class ChangedResource:
    """A changed resource, limited to what AWS Config's item records.

    resource_id is empty, and vpc_id and owner_id are None, if the item does not name the resource, its VPC, or the owner.
    earlier_subnet_ids are the subnets that a route table governed before the change, None if that is not known. main_changed
    says whether a route table became the main one, or stopped being it. subnet_id is the subnet of an exclusion from Block Public Access, None if it excludes a VPC.
    is_appliance_endpoint is true for an endpoint of a Gateway Load Balancer, which names no route tables.
    may_be_regional is true for a NAT gateway without a known subnet: a regional one names a route table of its own.
    """

    resource_type: ResourceType
    resource_id: str
    vpc_id: str | None = None
    earlier_subnet_ids: frozenset[str] | None = frozenset()
    main_changed: bool = False
    deleted: bool = False
    owner_id: str | None = None
    subnet_id: str | None = None
    is_appliance_endpoint: bool = False
    may_be_regional: bool = False


def concerned_subnets(change: ChangedResource, tracer: Tracer) -> list[str]:
    """Return the sorted ids of the subnets whose verdict a change may affect, including deleted subnets."""
    return sorted(set(FAN_OUT[change.resource_type](change, tracer)))


def _of_route_table(change: ChangedResource, tracer: Tracer) -> Iterator[str]:
    """The subnets that the table governs, governed before, or may govern, and those whose path leads through it."""
    earlier_subnet_ids = change.earlier_subnet_ids or frozenset()
    if change.earlier_subnet_ids is None:  # It may have governed any subnet of its VPC.
        yield from _leading_through(_subnets_of_vpc(change, tracer), tracer)
    table_ids = {change.resource_id, *_current_tables(earlier_subnet_ids, tracer)}
    yield from earlier_subnet_ids
    for subnet in tracer.snapshot.listed_subnets:
        if _is_affected(change, table_ids, tracer, subnet):
            yield subnet.id


def _of_subnet(change: ChangedResource, tracer: Tracer) -> Iterator[str]:
    """The subnet itself, and those whose path leads through a NAT gateway, endpoint, interface, or attachment in it."""
    yield change.resource_id
    yield from _leading_through({change.resource_id}, tracer)


def _of_endpoint(change: ChangedResource, tracer: Tracer) -> Iterator[str]:
    """The subnets of its VPC, and those whose path leads through the endpoint or was unknown because of it."""
    of_vpc = _subnets_of_vpc(change, tracer)
    yield from (subnet.id for subnet in tracer.snapshot.listed_subnets if subnet.id in of_vpc)
    yield from _crossing({change.resource_id}, tracer)
    if not change.is_appliance_endpoint:
        # The tables that a gateway endpoint names may have shown that the VPC's list of tables was partial.
        yield from _leading_through(of_vpc, tracer)


def _of_nat_gateway(change: ChangedResource, tracer: Tracer) -> Iterator[str]:
    """The subnets whose path crosses the NAT gateway, and if it is regional, all paths into its VPC."""
    yield from _crossing({change.resource_id}, tracer)
    if change.may_be_regional and change.vpc_id:
        # The table that it names may have shown that the VPC's list of tables was partial.
        yield from _leading_through(_subnets_of_vpc(change, tracer), tracer)


def _of_exclusion(change: ChangedResource, tracer: Tracer) -> Iterator[str]:
    """The subnets of its VPC, or its subnet, and those whose path leads through one of them."""
    return _leading_through({change.subnet_id} if change.subnet_id else _subnets_of_vpc(change, tracer), tracer)


def _of_prefix_list(change: ChangedResource, tracer: Tracer) -> Iterator[str]:
    """The subnets whose path consults a route table, of a VPC or a transit gateway, that names the list."""
    naming = _tables_naming(change.resource_id, tracer.snapshot)
    for subnet in tracer.snapshot.listed_subnets:
        if any(tracer.consults(subnet, table_id) for table_id in naming):
            yield subnet.id


def _of_firewall(change: ChangedResource, tracer: Tracer) -> Iterator[str]:
    """The subnets whose path crosses one of its endpoints."""
    return _crossing(_endpoints_of_firewall(change.resource_id, tracer.snapshot), tracer)


def _all(_change: ChangedResource, tracer: Tracer) -> Iterator[str]:
    """All subnets."""
    return (subnet.id for subnet in tracer.snapshot.listed_subnets)


def _of_directory_bucket(change: ChangedResource, tracer: Tracer) -> Iterator[str]:
    """All subnets, if `scope` is DIRECTORY_BUCKETS and the bucket is new or was the Region's last."""
    return _all(change, tracer)


FAN_OUT: Mapping[ResourceType, Callable[[ChangedResource, Tracer], Iterator[str]]] = {
    ResourceType.ROUTE_TABLE: _of_route_table,
    ResourceType.SUBNET: _of_subnet,
    ResourceType.VPC_ENDPOINT: _of_endpoint,
    ResourceType.NAT_GATEWAY: _of_nat_gateway,
    ResourceType.PREFIX_LIST: _of_prefix_list,
    ResourceType.FIREWALL: _of_firewall,
    ResourceType.BLOCK_PUBLIC_ACCESS_OPTIONS: _all,
    ResourceType.BLOCK_PUBLIC_ACCESS_EXCLUSION: _of_exclusion,
    ResourceType.DIRECTORY_BUCKET: _of_directory_bucket,
}
"""Which subnets a change of each type concerns. how-it-decides.md shows the docstrings of these functions."""


def _subnets_of_vpc(change: ChangedResource, tracer: Tracer) -> set[str]:
    """Return the subnets of the VPC of a change, also those of other accounts; all if the VPC is not known."""
    return {subnet.id for subnet in tracer.snapshot.subnets.values() if change.vpc_id in (None, subnet.vpc_id)}


def _crossing(hop_ids: Collection[str], tracer: Tracer) -> Iterator[str]:
    """Yield the subnets whose path crosses one of these hops."""
    for subnet in tracer.snapshot.listed_subnets:
        if any(hop.id in hop_ids for hop in tracer.hops(subnet)):
            yield subnet.id


def _leading_through(subnet_ids: Collection[str], tracer: Tracer) -> Iterator[str]:
    """Yield the subnets that are among these, and those whose path leads through one of them."""
    for subnet in tracer.snapshot.listed_subnets:
        places = {subnet.id, *(place for hop in tracer.hops(subnet) for place in _places(hop, tracer.snapshot))}
        if not places.isdisjoint(subnet_ids):
            yield subnet.id


def _places(hop: Hop, snapshot: Snapshot) -> Iterable[str | None]:
    """Return the subnets in which a hop is: that of a NAT gateway or an interface, those of an endpoint or an attachment."""
    if gateway := snapshot.nat_gateways.get(hop.id):
        return (gateway.subnet_id,)
    if interface := (snapshot.network_interfaces or {}).get(hop.id):
        return (interface.subnet_id,)
    if endpoint := snapshot.vpc_endpoints.get(hop.id):
        return endpoint.subnet_ids
    attachment = (snapshot.transit_gateway_attachments or {}).get(hop.id)
    return (attachment and attachment.subnet_ids) or ()


def _tables_naming(prefix_list_id: str, snapshot: Snapshot) -> set[str]:
    """Return the route tables, of VPCs and of transit gateways, with a route to a prefix list or to one of its entries."""
    of_transit_gateways = (snapshot.transit_gateway_route_tables or {}).values()
    tables: tuple[AnyRouteTable, ...] = (*snapshot.route_tables.values(), *of_transit_gateways)
    return {
        table.id
        for table in tables
        if any(prefix_list_id in (route.destination, route.prefix_list_id) for route in table.routes)
    }


def _endpoints_of_firewall(arn: str, snapshot: Snapshot) -> Collection[str]:
    """Return the endpoints of a firewall; if it is gone or cannot be read, every endpoint that is not another firewall's."""
    named: dict[str, set[str]] = {}
    for firewall in (snapshot.firewalls or {}).values():
        versions = snapshot.versions_of(firewall)
        named[firewall.arn] = set[str]().union(*(version.named_endpoint_ids for version in versions))
    if arn in named:
        return named[arn]
    routes = (route for table in snapshot.route_tables.values() for route in table.routes)
    in_routes = {route.target_id for route in routes if route.target_kind is TargetKind.VPC_ENDPOINT}
    return in_routes.difference(*named.values())


def _current_tables(subnet_ids: Iterable[str], tracer: Tracer) -> Iterator[str]:
    """Yield the tables that govern these subnets now.

    If an appliance is in one of the subnets, its new table also decides for the subnets that route to the appliance.
    """
    for subnet_id in subnet_ids:
        subnet = tracer.snapshot.subnets.get(subnet_id)
        table = tracer.governing_table(subnet) if subnet else None
        if table:
            yield table.id


def _is_affected(change: ChangedResource, table_ids: Iterable[str], tracer: Tracer, subnet: Subnet) -> bool:
    """Return whether one of these tables decides for a subnet, or the changed table was or may be its main table."""
    if any(tracer.consults(subnet, table_id) for table_id in table_ids):
        return True
    if change.vpc_id not in (None, subnet.vpc_id):
        return False
    table = tracer.governing_table(subnet)
    if table is None:
        return True
    return change.main_changed and any(association.main and association.counts for association in table.associations)

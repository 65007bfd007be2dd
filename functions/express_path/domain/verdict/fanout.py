"""Fan-out: which subnets a changed resource affects."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from express_path.domain.network.resources import Subnet
from express_path.domain.path.tracing import Tracer


class ResourceType(StrEnum):
    """The resource types whose changes the rule follows (botocore model: config ResourceType)."""

    ROUTE_TABLE = "AWS::EC2::RouteTable"
    SUBNET = "AWS::EC2::Subnet"
    VPC_ENDPOINT = "AWS::EC2::VPCEndpoint"
    NAT_GATEWAY = "AWS::EC2::NatGateway"
    DIRECTORY_BUCKET = "AWS::S3Express::DirectoryBucket"


@dataclass(frozen=True, slots=True)
class ChangedResource:
    """A changed resource, limited to what AWS Config's item records.

    vpc_id and owner_id are None if the item does not name the VPC or the owner. earlier_subnet_ids are the subnets that
    a route table governed before the change. main_changed says whether a route table became the main one, or stopped
    being it.
    """

    resource_type: ResourceType
    resource_id: str
    vpc_id: str | None = None
    earlier_subnet_ids: frozenset[str] = frozenset()
    main_changed: bool = False
    deleted: bool = False
    owner_id: str | None = None


def concerned_subnets(change: ChangedResource, tracer: Tracer) -> list[str]:
    """Return the sorted ids of the subnets whose verdict a change may affect, including deleted subnets."""
    subnets = tracer.snapshot.own_subnets
    match change.resource_type:
        case ResourceType.SUBNET:
            return [change.resource_id]
        case ResourceType.VPC_ENDPOINT:
            return [subnet.id for subnet in subnets if change.vpc_id in (None, subnet.vpc_id)]
        case ResourceType.NAT_GATEWAY:
            return [subnet.id for subnet in subnets if tracer.crosses(subnet, change.resource_id)]
        case _:
            table_ids = {change.resource_id, *_current_tables(change.earlier_subnet_ids, tracer)}
            affected = {subnet.id for subnet in subnets if _is_affected(change, table_ids, tracer, subnet)}
            return sorted(affected | change.earlier_subnet_ids)


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

"""Fan-out: which subnets a changed resource concerns."""

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
class Change:
    """A changed resource, as far as AWS Config's item tells of it.

    vpc_id and owner_id are None where the item does not name the VPC or the owner. earlier_subnet_ids are the subnets
    that a route table governed before, main_changed whether the table became, or ceased to be, a main one.
    """

    resource_type: ResourceType
    resource_id: str
    vpc_id: str | None = None
    earlier_subnet_ids: frozenset[str] = frozenset()
    main_changed: bool = False
    deleted: bool = False
    owner_id: str | None = None


def concerned_subnets(change: Change, tracer: Tracer) -> list[str]:
    """The ids of the subnets whose verdict a change may turn, sorted; among them subnets that are gone by now."""
    subnets = tracer.snapshot.own_subnets
    match change.resource_type:
        case ResourceType.SUBNET:
            return [change.resource_id]
        case ResourceType.VPC_ENDPOINT:
            return [each.id for each in subnets if change.vpc_id in (None, each.vpc_id)]
        case ResourceType.NAT_GATEWAY:
            return [each.id for each in subnets if tracer.crosses(each, change.resource_id)]
        case _:
            asked = {change.resource_id, *_tables_now(change.earlier_subnet_ids, tracer)}
            governed = {each.id for each in subnets if _is_concerned(change, asked, tracer, each)}
            return sorted(governed | change.earlier_subnet_ids)


def _tables_now(subnet_ids: Iterable[str], tracer: Tracer) -> Iterator[str]:
    """The tables that govern now what another one governed: they decide for the subnets behind an appliance there."""
    for subnet_id in subnet_ids:
        subnet = tracer.snapshot.subnets.get(subnet_id)
        table = tracer.governing_table(subnet) if subnet else None
        if table:
            yield table.id


def _is_concerned(change: Change, table_ids: Iterable[str], tracer: Tracer, subnet: Subnet) -> bool:
    """Whether one of these tables governs a subnet or decides further on, or the changed one was its main one."""
    if any(tracer.consults(subnet, each) for each in table_ids):
        return True
    if change.vpc_id not in (None, subnet.vpc_id):
        return False
    table = tracer.governing_table(subnet)
    if table is None:
        return True
    return change.main_changed and any(each.main and each.counts for each in table.associations)

"""Short functions that make the records of a network."""

from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.resources import (
    Association,
    Firewall,
    PrefixList,
    Rank,
    Route,
    RouteTable,
    Subnet,
    TargetKind,
    VpcEndpoint,
    target_kind,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters

ACCOUNT, NEIGHBOUR, REGION = "111122223333", "444455556666", "us-east-1"
EXPRESS = f"com.amazonaws.{REGION}.s3express"
EXPRESS_LIST = PrefixList("pl-express", EXPRESS, Family.IPV4, (parse_cidr("198.51.100.0/24"),))


def by_id(*records: object) -> dict[str, object]:
    """Return records by their ids."""
    return {record.id: record for record in records}


def route(destination: str, target: str, *, rank: Rank = Rank.STATIC, state: str = "active") -> Route:
    """Return a route to a CIDR block, or to a prefix list if the destination starts with pl-."""
    kind = TargetKind.TRANSIT_GATEWAY_ATTACHMENT if target.startswith("tgw-attach") else target_kind(target)
    return Route(destination if destination.startswith("pl-") else parse_cidr(destination), target, kind, rank, state)


def table(
    table_id: str, *routes: Route, subnets: tuple[str, ...] = (), main: bool = False, **more: object
) -> RouteTable:
    """Return a route table of vpc-1 unless another VPC is given, associated with subnets or as the main table."""
    associations = tuple(Association(subnet_id=subnet_id) for subnet_id in subnets) + (
        (Association(main=True),) if main else ()
    )
    return RouteTable(table_id, more.pop("vpc_id", "vpc-1"), tuple(routes), associations, **more)


def subnet(subnet_id: str = "subnet-1", vpc_id: str = "vpc-1", **more: object) -> Subnet:
    """Return a subnet of the account."""
    return Subnet(subnet_id, vpc_id, more.pop("owner_id", ACCOUNT), **more)


def endpoint(endpoint_id: str = "vpce-express", **more: object) -> VpcEndpoint:
    """Return an available gateway endpoint for S3 Express in vpc-1, unless other fields are given."""
    described = {"vpc_id": "vpc-1", "endpoint_type": "gateway", "service_name": EXPRESS, "state": "available", **more}
    return VpcEndpoint(endpoint_id, **described)


def firewalls(*endpoint_ids: str, **more: object) -> dict[str, Firewall]:
    """Return a firewall that names these endpoints as its own; it forwards traffic unless other fields are given."""
    arn = f"arn:aws:network-firewall:{REGION}:{ACCOUNT}:firewall/firewall"
    return {arn: Firewall(arn, endpoint_ids, owner_id=ACCOUNT, **more)}


def snapshot(**more: object) -> Snapshot:
    """Return a snapshot with one S3 Express prefix list of 256 addresses."""
    known = {"prefix_lists": by_id(EXPRESS_LIST), "lists_ipv6_prefix_lists": True}
    return Snapshot(ACCOUNT, REGION, **{**known, **more})


def evaluator(network: Snapshot, **parameters: object) -> Evaluator:
    """Return an evaluator of a network under a rule's parameters."""
    return Evaluator(Tracer(network), RuleParameters(**parameters))


def verdict_on(network: Snapshot, subnet_id: str = "subnet-1", **parameters: object) -> Verdict:
    """Return the verdict on a subnet under a rule's parameters."""
    return evaluator(network, **parameters).verdict(subnet_id)

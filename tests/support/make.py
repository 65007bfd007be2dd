"""Short ways to write a network down."""

from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.resources import Association, PrefixList, Rank, Route, RouteTable, Subnet, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.network.targets import TargetKind, target_kind
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters

ACCOUNT, NEIGHBOUR, REGION = "111122223333", "444455556666", "us-east-1"
EXPRESS = f"com.amazonaws.{REGION}.s3express"
EXPRESS_LIST = PrefixList("pl-express", EXPRESS, Family.IPV4, (parse_cidr("198.51.100.0/24"),))


def by_id(*records: object) -> dict[str, object]:
    """Records under their ids."""
    return {each.id: each for each in records}


def route(destination: str, target: str, *, rank: Rank = Rank.STATIC, state: str = "active") -> Route:
    """A route to a block or, where it starts with pl-, to a prefix list."""
    kind = TargetKind.TRANSIT_GATEWAY_ATTACHMENT if target.startswith("tgw-attach") else target_kind(target)
    return Route(destination if destination.startswith("pl-") else parse_cidr(destination), target, kind, rank, state)


def table(
    table_id: str, *routes: Route, subnets: tuple[str, ...] = (), main: bool = False, **more: object
) -> RouteTable:
    """A table of vpc-1, unless told otherwise, associated with subnets or the main one."""
    associations = tuple(Association(subnet_id=each) for each in subnets) + ((Association(main=True),) if main else ())
    return RouteTable(table_id, more.pop("vpc_id", "vpc-1"), tuple(routes), associations, **more)


def subnet(subnet_id: str = "subnet-1", vpc_id: str = "vpc-1", **more: object) -> Subnet:
    """A subnet of the account."""
    return Subnet(subnet_id, vpc_id, more.pop("owner_id", ACCOUNT), **more)


def endpoint(endpoint_id: str = "vpce-express", **more: object) -> VpcEndpoint:
    """An available gateway endpoint for S3 Express in vpc-1, unless told otherwise."""
    described = {"vpc_id": "vpc-1", "endpoint_type": "gateway", "service_name": EXPRESS, "state": "available", **more}
    return VpcEndpoint(endpoint_id, **described)


def snapshot(**more: object) -> Snapshot:
    """A snapshot with one S3 Express prefix list of 256 addresses."""
    return Snapshot(ACCOUNT, REGION, **{"prefix_lists": by_id(EXPRESS_LIST), **more})


def evaluator(network: Snapshot, **parameters: object) -> Evaluator:
    """A judge of a network under a rule's parameters."""
    return Evaluator(Tracer(network), RuleParameters(**parameters))


def judged(network: Snapshot, subnet_id: str = "subnet-1", **parameters: object) -> Verdict:
    """The verdict on a subnet under a rule's parameters."""
    return evaluator(network, **parameters).verdict(subnet_id)

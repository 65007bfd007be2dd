"""The core's speed: subnets that share tables, and single tables of many routes.

Floors of the same run: a loop that does no more than build the verdicts, and a longest-prefix match written naively
with `ipaddress`, which tries each route for each block of the prefix list.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from benchmarks.measuring import Figure, Measured, seconds
from express_path.adapters.records import route_table
from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.resources import PrefixList, RouteTable, Subnet, Vpc, VpcEndpoint
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters

ACCOUNT, REGION, SERVICE = "111122223333", "us-east-1", "com.amazonaws.us-east-1.s3express"
SUBNETS, TABLES, ROUTES = 100_000, 1_000, 10
SIZES = (10, 100, 1_000)
CIDRS = tuple(f"198.51.{number}.0/24" for number in range(6))
"""As many blocks as AWS gives the prefix list weight
(https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html)."""

EXPRESS_LIST = PrefixList("pl-express", SERVICE, Family.IPV4, tuple(map(parse_cidr, CIDRS)))
ENDPOINT = VpcEndpoint("vpce-express", "vpc-1", "gateway", SERVICE, "available")
Description = dict[str, Any]


def main() -> None:
    """Measure and print."""
    _subnets().show()
    for size in SIZES:
        _tables(size).show()


def describe_table(number: int, size: int) -> Description:
    """A route table as EC2 describes it: local, default, endpoint and private routes, unlike those of other tables."""
    first = (number * size * 256) % (1 << 24)
    routes = [{"DestinationCidrBlock": "10.0.0.0/16", "GatewayId": "local"}]
    routes += [
        {
            "DestinationCidrBlock": f"{IPv4Address((10 << 24) + (first + place * 256) % (1 << 24))}/24",
            "GatewayId": "vgw-1",
        }
        for place in range(size - 3)
    ]
    routes += [
        {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1"},
        {"DestinationPrefixListId": "pl-express", "GatewayId": "vpce-express"},
    ]
    return {"RouteTableId": f"rtb-{number}", "VpcId": "vpc-1", "Routes": routes}


def _network(tables: Iterable[RouteTable], subnets: int) -> Snapshot:
    return Snapshot(
        ACCOUNT,
        REGION,
        vpcs={"vpc-1": Vpc("vpc-1", ACCOUNT)},
        subnets={f"subnet-{number}": Subnet(f"subnet-{number}", "vpc-1", ACCOUNT) for number in range(subnets)},
        route_tables={table.id: table for table in tables},
        vpc_endpoints={ENDPOINT.id: ENDPOINT},
        prefix_lists={EXPRESS_LIST.id: EXPRESS_LIST},
    )


def _subnets() -> Measured:
    described = []
    for number in range(TABLES):
        governed = range(number, SUBNETS, TABLES)
        associations = [{"Main": False, "SubnetId": f"subnet-{subnet}"} for subnet in governed]
        described.append({**describe_table(number, ROUTES), "Associations": associations})
    network = _network(map(route_table, described), SUBNETS)
    figures = [
        Figure("floor: only building the verdicts", SUBNETS / seconds(lambda: _bare_loop(network))),
        Figure("express-path", SUBNETS / seconds(lambda: _judge_all(network))),
        Figure("naive: ipaddress, each table once", SUBNETS / seconds(lambda: _naive_all(network, described), times=2)),
    ]
    title = f"{SUBNETS:,} subnets that share {TABLES:,} tables of {ROUTES} routes"
    return Measured(title, "subnets per second", "of the floor's speed", figures[0].value, figures)


def _bare_loop(network: Snapshot) -> list[Verdict]:
    return [_endpoint_verdict(subnet, "rtb-1") for subnet in network.subnets.values()]


def _endpoint_verdict(subnet: Subnet, table_id: str) -> Verdict:
    reason = Reason.ENDPOINT
    return Verdict(ACCOUNT, REGION, subnet.vpc_id, subnet.id, "", table_id, Compliance.COMPLIANT, reason, "uses it", ())


def _judge_all(network: Snapshot) -> list[Verdict]:
    judge = Evaluator(Tracer(network), RuleParameters())
    return [judge.verdict(subnet_id) for subnet_id in network.subnets]


def _naive_all(network: Snapshot, described: list[Description]) -> list[Verdict]:
    governing = {association["SubnetId"]: table for table in described for association in table["Associations"]}
    decided: dict[str, set[str]] = {}
    verdicts = []
    for subnet in network.subnets.values():
        table = governing[subnet.id]
        if table["RouteTableId"] not in decided:
            decided[table["RouteTableId"]] = naive_targets(table)
        verdicts.append(_endpoint_verdict(subnet, table["RouteTableId"]))
    return verdicts


def naive_targets(table: Description) -> set[str]:
    """The targets to which S3 Express's blocks go, by longest prefix; more specific routes inside a block go unseen."""
    routes = []
    for route in table["Routes"]:
        target = route.get("GatewayId") or route["NatGatewayId"]
        texts = CIDRS if "DestinationPrefixListId" in route else (route["DestinationCidrBlock"],)
        routes += [(IPv4Network(text), target) for text in texts]
    targets = set()
    for wanted in map(IPv4Network, CIDRS):
        fitting = [(block.prefixlen, target) for block, target in routes if wanted.subnet_of(block)]
        targets.add(max(fitting)[1])
    return targets


def _tables(size: int) -> Measured:
    count = max(20, 10_000 // size)
    described = [describe_table(number, size) for number in range(count)]
    network = _network(map(route_table, described), 0)
    naive = described[: max(2, count // 10)]
    reading = seconds(lambda: _read_and_trace(described, network), before=_forget)
    figures = [
        Figure("naive: ipaddress", seconds(lambda: [*map(naive_targets, naive)]) / len(naive) * 1e6),
        Figure("express-path, from EC2's descriptions", reading / count * 1e6),
        Figure("express-path, from records", seconds(lambda: _trace(network), before=_forget) / count * 1e6),
    ]
    title = f"tables of {size:,} routes, one prefix list of {len(CIDRS)} CIDRs"
    return Measured(title, "us per table", "of the naive one's speed", figures[0].value, figures, more_is_better=False)


def _forget() -> None:
    parse_cidr.cache_clear()


def _read_and_trace(described: list[Description], network: Snapshot) -> None:
    tracer, subnet = Tracer(network), Subnet("subnet-1", "vpc-1", ACCOUNT)
    for table in map(route_table, described):
        tracer.trace_subnet(table, subnet)


def _trace(network: Snapshot) -> None:
    tracer, subnet = Tracer(network), Subnet("subnet-1", "vpc-1", ACCOUNT)
    for table in network.route_tables.values():
        tracer.trace_subnet(table, subnet)

"""Paths of many hops end in a verdict, and in time."""

import pytest

from express_path.domain.network.addresses import Cidr
from express_path.domain.network.resources import AnyRouteTable, NetworkInterface
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.outcomes import MAX_ROUTE_TABLES, Trace, TraceState
from express_path.domain.path.tracing import Tracer
from tests.support.make import by_id, endpoint, route, snapshot, subnet, table, verdict_on

DEFAULT = "0.0.0.0/0"


class Counting(Tracer):
    """A tracer that counts how often it traces from a route table."""

    def __init__(self, network: Snapshot) -> None:
        """Start at 0."""
        super().__init__(network)
        self.traces = 0

    def trace(self, table: AnyRouteTable, block: Cidr, state: TraceState) -> Trace:
        """Count, and trace."""
        self.traces += 1
        return super().trace(table, block, state)


class Following(Tracer):
    """A tracer that records the route tables whose routes it followed."""

    def __init__(self, network: Snapshot) -> None:
        """Start without any."""
        super().__init__(network)
        self.followed: list[str] = []

    def follow(self, table: AnyRouteTable, block: Cidr, state: TraceState) -> Trace:
        """Record the table, and follow."""
        self.followed.append(table.id)
        return super().follow(table, block, state)


def chain(number: int, hop: str, last: str) -> Snapshot:
    """Numbered subnets, each with a table that leads to the hop in the next one, the last one's elsewhere."""
    places = range(1, number + 1)
    targets = [f"{hop}{place + 1}" for place in places[:-1]] + [last]
    ids = [f"subnet-{place}" for place in places]
    tables = [table(f"rtb-{place}", route(DEFAULT, targets[place - 1]), subnets=(ids[place - 1],)) for place in places]
    appliances = [
        endpoint(f"vpce-{place}", endpoint_type="gatewayloadbalancer", subnet_ids=(f"subnet-{place}",))
        for place in places
    ]
    interfaces = [NetworkInterface(f"eni-{place}", f"subnet-{place}", source_dest_check=False) for place in places]
    return snapshot(
        subnets=by_id(*map(subnet, ids)),
        route_tables=by_id(*tables),
        vpc_endpoints=by_id(*appliances),
        network_interfaces=by_id(*interfaces),
    )


@pytest.mark.parametrize("hop", ["vpce-", "eni-"])
@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (MAX_ROUTE_TABLES, "NAT_BEHIND_APPLIANCE"),
        (MAX_ROUTE_TABLES + 1, "UNRESOLVED_EGRESS"),
        (1000, "UNRESOLVED_EGRESS"),
    ],
)
def test_a_path_is_followed_as_far_as_a_packet_would_live(number: int, hop: str, reason: str) -> None:
    """With one more route table, or a thousand, the path is unresolved."""
    verdict = verdict_on(chain(number, hop, "nat-1"))
    assert verdict.reason == reason
    assert len(verdict.path) == min(number, MAX_ROUTE_TABLES)


def test_interfaces_in_a_row_do_not_double_the_work() -> None:
    """Each interface is traced with and without gateway endpoints, but the ones behind it are not traced four times."""
    number = 12
    network = chain(number, "eni-", "igw-1")
    tracer = Counting(network)
    tracer.trace_subnet(network.route_tables["rtb-1"], network.subnets["subnet-1"])
    assert verdict_on(network).reason == "NAT_BEHIND_APPLIANCE"
    assert number < tracer.traces < number**2


def test_what_many_paths_share_is_followed_once() -> None:
    """Forty subnets with their own tables lead to one firewall: its subnet's table is followed once for all of them."""
    number = 40
    ids = [f"subnet-{place}" for place in range(number)]
    sources = [table(f"rtb-{subnet_id}", route(DEFAULT, "vpce-1"), subnets=(subnet_id,)) for subnet_id in ids]
    network = snapshot(
        subnets=by_id(subnet("subnet-fw"), *map(subnet, ids)),
        route_tables=by_id(table("rtb-fw", route(DEFAULT, "nat-1"), subnets=("subnet-fw",)), *sources),
        vpc_endpoints=by_id(endpoint("vpce-1", endpoint_type="gatewayloadbalancer", subnet_ids=("subnet-fw",))),
    )
    tracer = Following(network)
    for source in sources:
        [traced] = tracer.trace_subnet(source, network.subnets[source.id.removeprefix("rtb-")]).results
        assert {outcome.reason for outcome in traced.outcomes} == {"NAT_BEHIND_APPLIANCE"}
    assert tracer.followed.count("rtb-fw") == 1
    assert all(tracer.consults(network.subnets[subnet_id], "rtb-fw") for subnet_id in ids)

"""A tracer that several threads share gives the same results as one tracer per thread."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.outcomes import Trace
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from tests.support.make import by_id, endpoint, route, snapshot, subnet, table

THREADS = 4
SOURCES = 30
LENGTH = 10


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Make Python switch threads after almost every instruction."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def shared_chain() -> Snapshot:
    """Thirty subnets that lead into a chain of appliances at different positions; the chain ends at a NAT gateway."""
    positions = range(LENGTH)
    targets = [*(f"vpce-{position + 1}" for position in positions[:-1]), "nat-1"]
    chain = [
        table(f"rtb-{position}", route("0.0.0.0/0", targets[position]), subnets=(f"subnet-{position}",))
        for position in positions
    ]
    sources = [
        table(f"rtb-s{number}", route("0.0.0.0/0", f"vpce-{number % LENGTH}"), subnets=(f"subnet-s{number}",))
        for number in range(SOURCES)
    ]
    appliances = [
        endpoint(f"vpce-{position}", endpoint_type="gatewayloadbalancer", subnet_ids=(f"subnet-{position}",))
        for position in positions
    ]
    subnet_ids = [association.subnet_id for found in (*chain, *sources) for association in found.associations]
    return snapshot(
        subnets=by_id(*map(subnet, subnet_ids)),
        route_tables=by_id(*chain, *sources),
        vpc_endpoints=by_id(*appliances),
    )


def trace(tracer: Tracer, subnet_id: str) -> Trace:
    """The trace from a subnet."""
    found = tracer.snapshot.subnets[subnet_id]
    return tracer.trace_subnet(tracer.governing_table(found), found)


def test_threads_that_share_an_evaluator_get_the_same_verdicts() -> None:
    """Every word of a verdict is that of an evaluator that no other thread uses."""
    network = shared_chain()
    shared, barrier = Evaluator(Tracer(network), RuleParameters()), Barrier(THREADS)

    def evaluate_all(first: int) -> dict[str, Verdict]:
        subnet_ids = [*network.subnets][first:] + [*network.subnets][:first]
        barrier.wait()
        return {subnet_id: shared.verdict(subnet_id) for subnet_id in subnet_ids}

    fresh = {
        subnet_id: Evaluator(Tracer(network), RuleParameters()).verdict(subnet_id) for subnet_id in network.subnets
    }
    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(evaluate_all, range(0, 4 * THREADS, 4))) == [fresh] * THREADS

"""The ways of a subnet's S3 Express traffic, for drawing: the one that decided the verdict, and those besides."""

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple

from express_path.domain.network.targets import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import SEVERITY_ORDER, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.report.headline import CROSSES
from express_path_cli.result import View


class Way(NamedTuple):
    """Where some of a subnet's traffic leaves, and by which hops."""

    reason: Reason
    hops: tuple[Hop, ...]


_KIND_WORDS = {
    TargetKind.VPC_ENDPOINT: "VPC endpoint",
    TargetKind.VPC_PEERING_CONNECTION: "VPC peering connection",
    TargetKind.NAT_GATEWAY: "NAT gateway",
    TargetKind.ODB_NETWORK: "Oracle database network",
    TargetKind.EGRESS_ONLY_INTERNET_GATEWAY: "egress-only internet gateway",
    TargetKind.UNKNOWN: "unknown target",
}
LINES: Mapping[Reason, str] = {
    **dict.fromkeys(Reason, "none"),
    **dict.fromkeys(CROSSES, "nat"),
    Reason.ENDPOINT: "endpoint",
    Reason.INTERNET_GATEWAY: "internet",
    Reason.UNRESOLVED_EGRESS: "unresolved",
}
"""How a way of each reason is drawn; none where no traffic leaves."""


def decided(verdict: Verdict) -> Way:
    """The way that decided a verdict."""
    return Way(verdict.reason, verdict.path)


def besides(verdict: Verdict, view: View | None) -> tuple[Way, ...]:
    """The ways of a subnet's other addresses, or that AWS may choose instead, worst first; none without a path."""
    if view is None or verdict.route_table_id is None or not verdict.path:
        return ()
    snapshot = view.tracer.snapshot
    table, subnet = snapshot.route_tables[verdict.route_table_id], snapshot.subnets[verdict.subnet_id]
    ways = {
        Way(outcome.reason, outcome.path)
        for traced in view.tracer.trace_subnet(table, subnet).results
        for outcome in traced.outcomes
        if outcome.path and outcome.path != verdict.path
    }
    return tuple(sorted(ways, key=lambda way: (SEVERITY_ORDER[way.reason], way.hops)))


def hop_words(way: Way) -> Iterator[tuple[str, bool]]:
    """For each hop what it is in words, and whether it is the NAT that the way crosses."""
    crosses = way.reason in CROSSES
    for hop, onward in zip_longest(way.hops, way.hops[1:]):
        # The engine follows an interface to an internet gateway only as what a NAT instance does.
        instance = (
            crosses
            and hop.kind is TargetKind.NETWORK_INTERFACE
            and onward is not None
            and onward.kind is TargetKind.INTERNET_GATEWAY
        )
        words = _KIND_WORDS.get(hop.kind, hop.kind.replace("_", " ").lower())
        yield (
            "NAT instance's interface" if instance else words,
            instance or (crosses and hop.kind is TargetKind.NAT_GATEWAY),
        )

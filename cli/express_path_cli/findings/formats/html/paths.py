"""The paths of a subnet's S3 Express traffic: the one that decided the verdict, and the other ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from express_path.domain.network.resources import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import SEVERITY_ORDER, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.formats.target_labels import target_label
from express_path_cli.findings.worklist import CROSSES_NAT
from express_path_cli.sources.network import View


class TrafficPath(NamedTuple):
    """The hops of some of a subnet's traffic, and the reason that they lead to; a tuple, since a report has many."""

    reason: Reason
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class HopLabel:
    """What a hop is, and whether it is the NAT that the path crosses."""

    text: str
    is_nat: bool


LINE_STYLES: Mapping[Reason, str] = {
    **dict.fromkeys(Reason, "none"),
    **dict.fromkeys(CROSSES_NAT, "nat"),
    Reason.ENDPOINT: "endpoint",
    Reason.INTERNET_GATEWAY: "internet",
    Reason.UNRESOLVED_EGRESS: "unresolved",
}
"""How the page draws the paths of each reason; none: no traffic leaves."""


def deciding_path(verdict: Verdict) -> TrafficPath:
    """Return the path that decided a verdict."""
    return TrafficPath(verdict.reason, verdict.path)


def other_paths(verdict: Verdict, view: View | None) -> tuple[TrafficPath, ...]:
    """Return the paths of a subnet's other addresses, or that AWS may choose instead, worst first."""
    if view is None or verdict.route_table_id is None or not verdict.path:
        return ()
    snapshot = view.tracer.snapshot
    table, subnet = snapshot.route_tables[verdict.route_table_id], snapshot.subnets[verdict.subnet_id]
    paths = {
        TrafficPath(outcome.reason, outcome.path)
        for traced in view.tracer.trace_subnet(table, subnet).results
        for outcome in traced.outcomes
        if outcome.path and outcome.path != verdict.path
    }
    return tuple(sorted(paths, key=lambda path: (SEVERITY_ORDER[path.reason], path.hops)))


def hop_labels(path: TrafficPath) -> Iterator[HopLabel]:
    """Yield a label for each hop."""
    crosses_nat = path.reason in CROSSES_NAT
    for hop, next_hop in zip_longest(path.hops, path.hops[1:]):
        if crosses_nat and _is_nat_instance(hop, next_hop):
            yield HopLabel("NAT instance's interface", is_nat=True)
        else:
            yield HopLabel(target_label(hop.kind), is_nat=crosses_nat and hop.kind is TargetKind.NAT_GATEWAY)


def _is_nat_instance(hop: Hop, next_hop: Hop | None) -> bool:
    """Return whether a hop is a NAT instance: the engine follows no other interface to an internet gateway."""
    return (
        hop.kind is TargetKind.NETWORK_INTERFACE
        and next_hop is not None
        and next_hop.kind is TargetKind.INTERNET_GATEWAY
    )

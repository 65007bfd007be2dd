"""Verdicts as plain JSON: what the functions return and the command prints."""

from typing import Any

from express_path.domain.network.snapshot import Snapshot
from express_path.domain.verdict.capacity import Capacity, capacities, carrying_hops
from express_path.domain.verdict.evaluator import Verdict


def verdict_answer(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON."""
    return {
        "subnetId": verdict.subnet_id,
        "routeTableId": verdict.route_table_id,
        "compliance": verdict.compliance.value,
        "reason": verdict.reason.value,
        "annotation": verdict.annotation,
        "path": [hop._asdict() for hop in verdict.path],
    }


def capacity_answer(capacity: Capacity) -> dict[str, Any]:
    """Return what one hop can carry, in Gbit/s, as JSON; null if AWS does not document it."""
    return {
        "hopId": capacity.hop_id,
        "name": capacity.name,
        "baselineGbps": capacity.baseline_gbps,
        "peakGbps": capacity.peak_gbps,
    }


def verdict_with_capacity(verdict: Verdict, snapshot: Snapshot | None) -> dict[str, Any]:
    """Return a verdict as JSON, with what the hops of its path can carry. Without a snapshot there is no path."""
    found = capacities(carrying_hops(verdict.reason, verdict.path), snapshot) if snapshot else []
    return {**verdict_answer(verdict), "capacity": [capacity_answer(capacity) for capacity in found]}

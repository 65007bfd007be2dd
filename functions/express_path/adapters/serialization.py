"""Verdicts as plain JSON, as the functions answer and the command writes them."""

from typing import Any

from express_path.domain.verdict.capacity import Capacity
from express_path.domain.verdict.evaluator import Verdict


def verdict_answer(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON."""
    return {
        "subnetId": verdict.subnet_id,
        "routeTableId": verdict.route_table_id,
        "compliance": verdict.compliance.value,
        "reason": verdict.reason.value,
        "annotation": verdict.annotation,
        "path": [hop._asdict() for hop in verdict.path],
    }


def capacity_answer(capacity: Capacity) -> dict[str, Any]:
    """What one hop can carry, in Gbit/s, as JSON; null where AWS does not tell."""
    return {
        "hopId": capacity.hop_id,
        "name": capacity.name,
        "baselineGbps": capacity.baseline_gbps,
        "peakGbps": capacity.peak_gbps,
    }

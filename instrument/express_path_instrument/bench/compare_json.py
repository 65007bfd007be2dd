"""A comparison as JSON."""

from typing import Any

from express_path_cli.terminal.files import json_document
from express_path_instrument.bench.classify import LoadPoint, share_of_model
from express_path_instrument.bench.compare import Comparison, Run
from express_path_instrument.bench.compare_verdict import verdict
from express_path_instrument.bench.results import SCHEMA_VERSION


def as_comparison_json(comparison: Comparison) -> str:
    """Return the verdict, and for each measurement its cause, cost, and points; ratios are to the first one."""
    document = {
        "kind": comparison.kind,
        "verdict": verdict(comparison),
        "runs": [_run(comparison, run) for run in comparison.runs],
    }
    return json_document(SCHEMA_VERSION, document)


def _run(comparison: Comparison, run: Run) -> dict[str, Any]:
    best = run.best if run.points else None
    return {
        "name": run.name,
        "cause": run.cause,
        "valid": run.result.valid,
        "costPerHour": run.cost_per_hour,
        "bestGbps": best and best.gbps,
        "bestGbpsTp80": best and best.gbps_tp80,
        "gbpsPerCost": best.gbps / run.cost_per_hour if best and run.cost_per_hour else None,
        "points": [_point(comparison, run, point) for point in run.points],
    }


def _point(comparison: Comparison, run: Run, point: LoadPoint) -> dict[str, Any]:
    return {
        "load": point.load,
        "gbps": point.gbps,
        "gbpsTp80": point.gbps_tp80,
        "requestsPerSecond": point.throughput,
        "shareOfModel": round(share_of_model(run.points, point), 3),
        "p50Ms": point.p50_ms,
        "p99Ms": point.p99_ms,
        "p99RangeMs": point.p99_range_ms,
        "cpuPercent": point.cpu_percent,
        "throttledShare": point.throttled_share,
        "ratio": comparison.ratio(run, point.load),
    }

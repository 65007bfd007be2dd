"""Verdicts as JSON, in the shape that other tools rely on. `history.py` and `baseline.py` read it."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from express_path.domain.path.reasons import Compliance
from express_path_cli.findings.baseline import PAST, PastFinding
from express_path_cli.findings.formats.findings import Finding
from express_path_cli.findings.formats.json_rows import JsonRows, json_document
from express_path_cli.findings.history import TIME
from express_path_cli.findings.result import Result
from express_path_cli.findings.scan_file import SCHEMA_VERSION
from express_path_cli.terminal.errors import one_line


def as_json(result: Result) -> Iterator[str]:
    """Yield all verdicts as one JSON document; routeTableId is null if the subnet's route table cannot be read.

    `names` and `tags` contain only those that exist.
    """
    rows = JsonRows(result, partial(_row, compared=result.comparison is not None)).of(result.verdicts)
    return json_document({**_scan(result), "subnets": [], **_past(result)}, "subnets", rows)


def _scan(result: Result) -> dict[str, Any]:
    """Return what the scan covered and found. The totals also count subnets that are not shown."""
    point = result.as_point()
    return {
        "schemaVersion": SCHEMA_VERSION,
        "madeAt": point.made_at.strftime(TIME),
        "parameters": point.parameters,
        "accounts": point.accounts,
        "filters": point.filters,
        "notRead": [{"where": failure.where, "error": one_line(failure.error)} for failure in result.failures],
        "totals": {
            "evaluated": point.evaluated,
            "compliances": {compliance: point.compliances.get(compliance, 0) for compliance in Compliance},
            "reasons": dict(sorted(point.reasons.items())),
        },
    }


def _past(result: Result) -> dict[str, Any]:
    """Return the findings of the baseline that are not in this scan; empty without a baseline."""
    if result.comparison is None:
        return {}
    return {mark: [_past_finding(past) for past in result.comparison.past if past.mark is mark] for mark in PAST}


def _past_finding(past: PastFinding) -> dict[str, Any]:
    """Return a finding of the baseline. `now` is null if its subnet was not evaluated, `cause` if it is known."""
    return {
        "accountId": past.finding.account_id,
        "region": past.finding.region,
        "vpcId": past.vpc_id,
        "subnetId": past.finding.subnet_id,
        "reason": past.finding.reason,
        "now": past.now.reason if past.now else None,
        "cause": past.cause.name if past.cause else None,
    }


def _row(finding: Finding, *, compared: bool) -> dict[str, Any]:
    """Return the row of a finding. With a baseline, `baseline` is null if the subnet has no finding."""
    verdict = finding.verdict
    return {
        "accountId": verdict.account_id,
        "region": verdict.region,
        "vpcId": verdict.vpc_id,
        "subnetId": verdict.subnet_id,
        "availabilityZoneId": verdict.availability_zone_id,
        "routeTableId": verdict.route_table_id,
        "compliance": verdict.compliance,
        "reason": verdict.reason,
        "annotation": verdict.annotation,
        "path": [{"kind": hop.kind, "id": hop.id, "destination": hop.destination} for hop in verdict.path],
        "names": finding.names.fields(),
        "tags": finding.tags,
        **({"baseline": finding.mark} if compared else {}),
    }

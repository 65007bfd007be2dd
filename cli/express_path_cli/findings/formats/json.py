"""Rows as JSON, in the shape that other tools rely on: schema/scan.schema.json. `scan_file.py` reads it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC
from itertools import chain
from typing import Any

from express_path.domain.path.reasons import Compliance
from express_path_cli.findings.baseline import PAST, PastFinding
from express_path_cli.findings.planned import TableChange, known_id
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row
from express_path_cli.findings.scan_file import SCHEMA_VERSION
from express_path_cli.terminal.errors import one_line
from express_path_cli.terminal.files import to_json


def as_json(result: Result) -> Iterator[bytes]:
    """Yield all rows as one JSON document. `names` and `tags` contain only those that exist.

    routeTableId is null if the subnet's route table cannot be read.
    """
    compared, planned = result.comparison is not None, result.plan is not None
    subnets = (_row(row, compared=compared, planned=planned) for row in result.rows)
    plan = {"plan": [*result.plan.sentences]} if result.plan else {}
    tables = {"routeTables": map(_table_change, result.plan.tables)} if result.plan else {}
    yield from document({**_scan(result), **plan, **tables, "subnets": subnets, **_past(result)})


def document(content: Mapping[str, object] | Iterator[object]) -> Iterator[bytes]:
    """Yield JSON in UTF-8 that ends with a line break.

    A field of an object and an item of an iterator is on a line of its own, which is easy to search and to diff. An
    iterator is an array that is never in memory as a whole. It may yield objects that contain iterators.
    """
    yield from _pieces(content)
    yield b"\n"


def _pieces(content: object) -> Iterator[bytes]:
    if isinstance(content, Mapping) and any(isinstance(value, Iterator) for value in content.values()):
        separator = b"{\n"
        for name, value in content.items():
            yield separator + to_json(name) + b": "
            yield from _pieces(value)
            separator = b",\n"
        yield b"\n}"
    elif isinstance(content, Iterator):
        separator = b"[\n"
        for value in content:
            yield separator
            yield from _pieces(value)
            separator = b",\n"
        yield b"[]" if separator == b"[\n" else b"\n]"
    else:
        yield to_json(content)


def _scan(result: Result) -> dict[str, Any]:
    """Return what the scan covered and found. The totals also count subnets that are not shown."""
    coverage, rows = result.coverage, list(chain(result.rows, result.unlisted))
    compliances = Counter(row.compliance for row in rows)
    return {
        "schemaVersion": SCHEMA_VERSION,
        "madeAt": result.made_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "parameters": coverage.parameters,
        "accounts": coverage.accounts,
        "filters": coverage.filters,
        "notRead": [{"where": failure.where, "error": one_line(failure.error)} for failure in result.failures],
        "totals": {
            "evaluated": len(rows),
            "compliances": {compliance.value: compliances[compliance] for compliance in Compliance},
            "reasons": dict(sorted(Counter(row.reason.value for row in rows).items())),
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


def _planned(row: Row) -> dict[str, Any]:
    """Return what only the row of a plan has. A table of the plan has an address as long as its ID is not known."""
    table_id = row.route_table_id
    return {
        "address": row.address or None,
        "routeTableAddress": None if table_id is None or known_id(table_id) else table_id,
        "changedBy": list(row.changed_by),
        **({"file": row.file, "line": row.line} if row.file else {}),
    }


def _table_change(change: TableChange) -> dict[str, Any]:
    return {
        "routeTableId": known_id(change.route_table_id),
        "address": change.address or (None if known_id(change.route_table_id) else change.route_table_id),
        "before": {reason.value: number for reason, number in sorted(change.before.items())},
        "after": {reason.value: number for reason, number in sorted(change.after.items())},
    }


def _row(row: Row, *, compared: bool, planned: bool) -> dict[str, Any]:
    """Return a row as JSON. With a baseline, `baseline` is null if the subnet has no finding.

    planned: the row is of a plan, in which IDs may not be known yet.
    """
    return {
        "accountId": row.account_id,
        "region": row.region,
        "vpcId": row.vpc_id,
        "subnetId": known_id(row.subnet_id) if planned else row.subnet_id,
        "availabilityZoneId": row.availability_zone_id,
        "routeTableId": known_id(row.route_table_id) if planned else row.route_table_id,
        "compliance": row.compliance,
        "reason": row.reason,
        "annotation": row.annotation,
        "path": [{"kind": hop.kind, "id": hop.id, "destination": hop.destination} for hop in row.path],
        "names": row.names(),
        "tags": row.tags,
        **({"baseline": row.baseline} if compared else {}),
        **(_planned(row) if planned else {}),
    }

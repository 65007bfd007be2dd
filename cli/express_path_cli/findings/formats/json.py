"""Rows as JSON, in the shape that other tools rely on: schema/scan.schema.json. `saved.py` reads all of it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC
from itertools import chain
from typing import Any

from express_path.domain.heal.endpoints import NEW_ENDPOINT
from express_path.domain.network.resources import VpcEndpoint
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance
from express_path_cli.findings.baseline import PAST, PastFinding
from express_path_cli.findings.change import ChangeFindings, TableChange
from express_path_cli.findings.hubs import Hub
from express_path_cli.findings.options import ScanOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row, fix_key, known_id
from express_path_cli.findings.scan_file import SCHEMA_VERSION
from express_path_cli.findings.worklist import Fix, fixes_of, worklist
from express_path_cli.sources.source import Source
from express_path_cli.terminal.files import to_json


def as_json(result: Result, scan: ScanOptions) -> Iterator[bytes]:
    """Yield a scan as one JSON document: everything that another format or a report shows of it."""
    is_compared, is_of_change = result.comparison is not None, result.change is not None
    fixes = fixes_of(worklist(result.rows).items())
    places = {fix_key(fix.rows[0]): place for place, fix in enumerate(fixes)}
    content = _scan(result, scan)
    if result.account_names:
        content["accountNames"] = result.account_names
    if result.change:
        content |= _change_findings(result.change)
    if result.hubs:
        content["hubs"] = list(map(_hub, result.hubs))
    content["changes"] = map(_fix, fixes)
    content["subnets"] = (
        _row(row, places.get(fix_key(row)), is_compared=is_compared, is_of_change=is_of_change) for row in result.rows
    )
    yield from document(content | _past(result))


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


def _scan(result: Result, scan: ScanOptions) -> dict[str, Any]:
    """Return what the scan covered and found. The totals also count subnets that are not shown."""
    coverage, rows = result.coverage, list(chain(result.rows, result.unlisted))
    compliances = Counter(row.compliance for row in rows)
    return {
        "schemaVersion": SCHEMA_VERSION,
        "settings": result.settings,
        "madeAt": result.made_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "parameters": coverage.parameters,
        "setParameters": [
            {**parameter._asdict(), "expires": parameter.expires.isoformat()} for parameter in result.set_parameters
        ],
        "accounts": coverage.accounts,
        "filters": coverage.filters,
        "source": _source(scan.source),
        "notRead": [
            {**failure.fields(), "message": failure.message, "hint": failure.hint} for failure in result.failures
        ],
        "notes": result.notes,
        "totals": {
            "evaluated": len(rows),
            "compliances": {compliance.value: compliances[compliance] for compliance in Compliance},
            "reasons": dict(sorted(Counter(row.reason.value for row in rows).items())),
            "ignored": len(result.ignored),
            "setByFile": result.set_by_file,
        },
        "notSelected": _not_selected(result),
    }


def _source(source: Source) -> dict[str, Any]:
    """Return the options that selected the source, without those that were not given."""
    live = source.live
    options = {
        "fromDump": str(source.from_dump or ""),
        "example": source.example,
        "aggregator": source.aggregator,
        "regions": live.regions,
        "allRegions": live.all_regions,
        "profile": live.profile,
        "organization": live.organization,
        "roleName": live.role_name,
        "externalId": live.external_id,
    }
    return {name: value for name, value in options.items() if value}


def _hub(hub: Hub) -> dict[str, Any]:
    return {
        "accountId": hub.account_id,
        "region": hub.region,
        "vpcId": hub.vpc_id,
        "routeTableIds": hub.route_table_ids,
        "endpointId": hub.endpoint_id,
        "gatewayId": hub.gateway_id,
        "attachmentId": hub.attachment_id,
        "certain": hub.is_certain,
        "subnets": hub.subnets,
    }


def _not_selected(result: Result) -> list[dict[str, Any]]:
    """Return the subnets that were read and not evaluated, by account and Region."""
    evaluated = {row.key for row in chain(result.rows, result.unlisted)}
    not_selected = []
    for (account_id, region), listed in sorted(result.listed.items()):
        subnet_ids = sorted(subnet_id for subnet_id in listed if (account_id, region, subnet_id) not in evaluated)
        if subnet_ids:
            not_selected.append({"accountId": account_id, "region": region, "subnetIds": subnet_ids})
    return not_selected


def _fix(fix: Fix) -> dict[str, Any]:
    """Return what to do about the subnets that refer to it. `endpoint` is null for a fix of another kind."""
    remedy = fix.remedy
    fields = {
        "text": remedy.text,
        "note": remedy.note,
        "command": remedy.command,
        "url": remedy.url,
        "patches": {tool: patch for tool, patch in remedy.patches.items() if tool != "cli"},
        "routeTableIds": fix.route_table_ids,
        "subnets": len(fix.rows),
        "endpoint": _endpoint(remedy.endpoint, fix.rows[0].endpoint_address) if remedy.endpoint else None,
    }
    if remedy.owner:
        fields["owner"] = remedy.owner
    return fields


def _endpoint(endpoint: VpcEndpoint, address: str) -> dict[str, Any]:
    """Return the endpoint to associate route tables with, and its address in a plan. `id` is null if it is a new one."""
    fields = {
        "id": None if endpoint.id == NEW_ENDPOINT else endpoint.id,
        "vpcId": endpoint.vpc_id,
        "serviceName": endpoint.service_name,
        "ipAddressType": endpoint.ip_address_type,
        "routeTableIds": endpoint.route_table_ids,
        "tags": endpoint.tags,
    }
    if address:
        fields["address"] = address
    return fields


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


def _change_findings(change: ChangeFindings) -> dict[str, Any]:
    """Return what a plan changes, and what of it could not be decided."""
    tables = map(_table_change, change.tables)
    return {"plan": [*change.sentences], "undecided": [*change.undecided], "routeTables": tables}


def _only_of_change(row: Row) -> dict[str, Any]:
    """Return what only the row of a change has. A new route table has an address as long as its ID is not known."""
    fields: dict[str, Any] = {
        "before": row.before,
        "address": row.address or None,
        "routeTableAddress": (row.table_address or None) if known_id(row.route_table_id) else row.route_table_id,
        "changedBy": list(row.changed_by),
    }
    if row.file:
        fields |= {"file": row.file, "line": row.line}
    return fields


def _table_change(change: TableChange) -> dict[str, Any]:
    return {
        "routeTableId": change.route_table_id,
        "address": change.address or None,
        "before": {reason.value: number for reason, number in sorted(change.before.items())},
        "after": {reason.value: number for reason, number in sorted(change.after.items())},
    }


def _row(row: Row, fix: int | None, *, is_compared: bool, is_of_change: bool) -> dict[str, Any]:
    """Return a row as JSON. `names`, `tags`, and what follows them contain only what exists.

    fix: its place in the list of fixes. is_of_change: its IDs may not be known yet.
    """
    fields: dict[str, Any] = {
        "accountId": row.account_id,
        "region": row.region,
        "vpcId": row.vpc_id,
        "subnetId": known_id(row.subnet_id) if is_of_change else row.subnet_id,
        "availabilityZoneId": row.availability_zone_id,
        "routeTableId": known_id(row.route_table_id) if is_of_change else row.route_table_id,
        "compliance": row.compliance,
        "reason": row.reason,
        "annotation": row.annotation,
        "path": list(map(_hop, row.path)),
        "names": row.names(),
        "tags": row.tags,
    }
    if row.table_tags:
        fields["tableTags"] = row.table_tags
    fields["change"] = fix
    optional = {
        "note": row.note,
        "lacks": row.lacks,
        "unknown": row.unknown,
        "excludedBy": row.excluded_by,
        "otherPaths": [{"reason": reason, "path": list(map(_hop, hops))} for reason, hops in row.other_paths],
    }
    fields |= {name: value for name, value in optional.items() if value}
    if row.ignored:
        fields["ignored"] = {"why": row.ignored.why, "expires": row.ignored.expires.isoformat()}
    if row.set_by:
        fields["setBy"] = row.set_by.name
    if is_compared:
        fields["baseline"] = row.baseline
    if is_of_change:
        fields |= _only_of_change(row)
    return fields


def _hop(hop: Hop) -> dict[str, str]:
    return {"kind": hop.kind, "id": hop.id, "destination": hop.destination}

"""The status of an organization as JSON, for other tools."""

import json
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from express_path_cli.findings.worklist import WorklistRow
from express_path_cli.org.status_results import AccountReason, OrgStatus, PlaceStatus
from express_path_cli.terminal.errors import one_line

SCHEMA_VERSION = 1


def as_org_status_json(found: OrgStatus) -> str:
    """Return every account and Region, the verdicts by account and reason, and what needs attention.

    Numbers of NOT_APPLICABLE and unresolved subnets are null if the sweep was not read, because an aggregator does not
    contain them.
    """
    document = {
        "schemaVersion": SCHEMA_VERSION,
        "madeAt": found.now.isoformat(timespec="seconds"),
        "exitStatus": found.exit_status,
        "byAccount": [_account(row, number, found.names) for row, number in found.by_account.items()],
        "worklist": [_row(row, found.names) for row in found.worklist.flagged],
        "natIds": found.nat_ids,
        "places": [_place(status, found) for status in found.places],
        "accountsWithoutRule": [{"accountId": row, "accountName": found.names[row]} for row in found.without_rule],
        "stackSets": [
            {"name": row.name, "remediationMode": row.mode or None, "version": row.version or None}
            for row in found.stack_sets
        ],
        "failures": [{"where": failure.where, "error": one_line(failure.error)} for failure in found.failures],
        "notes": list(found.remarks),
    }
    return json.dumps(document, indent=2) + "\n"


def _account(row: AccountReason, number: int, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "accountId": row.account_id,
        "accountName": names.get(row.account_id),
        "compliance": row.compliance,
        "reason": row.reason,
        "subnets": number,
    }


def _row(row: WorklistRow, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "accountId": row.account_id,
        "accountName": names.get(row.account_id),
        "region": row.region,
        "vpcId": row.vpc_id or None,
        "routeTableId": row.route_table_id,
        "reason": row.reason,
        "natIds": list(row.nat_ids),
        "subnetIds": [verdict.subnet_id for verdict in row.verdicts],
    }


def _place(status: PlaceStatus, found: OrgStatus) -> dict[str, Any]:
    gauges = status.sweep.gauges if status.sweep else {}
    instance = status.instance
    return {
        "accountId": status.place.account_id,
        "accountName": found.names.get(status.place.account_id),
        "region": status.place.region,
        "nonCompliant": status.flagged if status.verdicts else None,
        "compliant": len(status.verdicts) - status.flagged if status.verdicts else None,
        "notApplicable": gauges.get("NotApplicable"),
        "unresolved": gauges.get("Unresolved"),
        "excluded": [{"by": by, "subnets": number} for by, number in status.excluded.items()],
        "stackSet": instance.stack_set.name if instance else None,
        "stackStatus": instance.status if instance else None,
        "lastSweepAt": status.sweep.time.astimezone(UTC).isoformat() if status.sweep and status.sweep.time else None,
        "attention": [{"code": row.code, "text": row.text} for row in status.notes(found.now)],
    }

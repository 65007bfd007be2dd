"""Past heals as JSON, for other tools."""

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from express_path_cli.automation.ledger import PastHeal

SCHEMA_VERSION = 1


def as_heals_json(heals: Sequence[PastHeal], region: str, undo_options: str) -> Iterator[str]:
    """Yield the document; a time or id is null if it did not happen. undo_options: those of the undo command."""
    document = {"schemaVersion": SCHEMA_VERSION, "heals": [_heal(heal, region, undo_options) for heal in heals]}
    yield json.dumps(document, indent=2) + "\n"


def _heal(heal: PastHeal, region: str, undo_options: str) -> dict[str, Any]:
    run = heal.run
    return {
        "runId": run.run_id,
        "state": heal.state,
        "accountId": run.account_id,
        "region": region,
        "vpcId": run.vpc_id,
        "subnetId": run.subnet_id,
        "routeTableId": run.route_table_id,
        "endpointId": run.endpoint_id,
        "createdEndpoint": run.created_endpoint,
        "startedBy": run.started_by,
        "startedAt": run.started_at or None,
        "intendedAt": run.intended_at or run.associated_at or None,
        "associatedAt": run.associated_at if run.is_associated else None,
        "finishedAt": run.finished_at or None,
        "undoneByRunId": run.undo_run_id or None,
        "undoneAt": (heal.undo.finished_at or None) if heal.undo else None,
        "deletedEndpoint": bool(heal.undo and heal.undo.deleted_at),
        "replacedByRunId": heal.later_run_id or None,
        "undo": f"express-path undo {shlex.quote(run.run_id)}{undo_options}" if heal.can_be_undone else None,
    }

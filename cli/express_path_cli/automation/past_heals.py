"""Past heals, from the ledger."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from express_path.adapters.aws import pages
from express_path.adapters.ledger import LedgerItem, run_record, table_record
from express_path.domain.heal.ledger_records import (
    RUN_PREFIX,
    TABLE_PREFIX,
    RunKind,
    RunRecord,
    TableRecord,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class HealState(StrEnum):
    """The state of a heal.

    UNFINISHED: it still runs, or it ended before it verified its change. UNCONFIRMED: it started to change something,
    and the ledger does not confirm that the call succeeded, so an undo changes nothing. REPLACED: a later heal started
    to associate the route table, so undo that heal instead.
    """

    HEALED = "HEALED"
    UNFINISHED = "UNFINISHED"
    UNCONFIRMED = "UNCONFIRMED"
    REPLACED = "REPLACED"
    UNDONE = "UNDONE"


@dataclass(frozen=True, slots=True)
class PastHeal:
    """A heal that changed something, or may have changed something.

    `undo` is the run that undid it, None if there is none or its item was deleted. `later_run_id` is the heal that
    replaced it, or empty.
    """

    run: RunRecord
    state: HealState
    undo: RunRecord | None = None
    later_run_id: str = ""

    @property
    def can_be_undone(self) -> bool:
        """Return whether there is something to undo."""
        return self.state in (HealState.HEALED, HealState.UNFINISHED)


@dataclass(frozen=True, slots=True)
class History:
    """Every run and every route table in the ledger, by ID."""

    runs: Mapping[str, RunRecord]
    tables: Mapping[str, TableRecord]


def past_heals(history: History) -> list[PastHeal]:
    """Return the heals that changed something, or may have, latest first."""
    wanted = [
        run
        for run in history.runs.values()
        if run.kind is RunKind.HEAL
        and (run.is_associated or run.created_endpoint or run.unconfirmed_since or run.creation_intended_at)
    ]
    latest_first = sorted(wanted, key=lambda run: (run.started_at, run.run_id), reverse=True)
    return [_past(run, history) for run in latest_first]


def _past(run: RunRecord, history: History) -> PastHeal:
    if run.undo_run_id:
        return PastHeal(run, HealState.UNDONE, history.runs.get(run.undo_run_id))
    table = history.tables.get(run.route_table_id)
    if not (run.is_associated or run.created_endpoint):
        return PastHeal(run, HealState.UNCONFIRMED)
    if run.is_associated and table and table.heal_run_id not in ("", run.run_id):
        return PastHeal(run, HealState.REPLACED, later_run_id=table.heal_run_id)
    return PastHeal(run, HealState.HEALED if run.finished_at else HealState.UNFINISHED)


def read_history(dynamodb: "DynamoDBClient", table_name: str) -> History:
    """Read every run and route table of a ledger. Raise ApiError, and RecordError for an item that cannot be read.

    A scan reads every item, page by page (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html).
    """
    items = pages(dynamodb, "dynamodb", "scan", "Items", TableName=table_name, ConsistentRead=True)
    by_id: dict[str, LedgerItem] = {item["id"]["S"]: item for item in items}
    runs = [run_record(item) for key, item in by_id.items() if key.startswith(RUN_PREFIX)]
    table_ids = [key.removeprefix(TABLE_PREFIX) for key in by_id if key.startswith(TABLE_PREFIX)]
    return History(
        {run.run_id: run for run in runs},
        {table_id: table_record(table_id, by_id[TABLE_PREFIX + table_id]) for table_id in table_ids},
    )

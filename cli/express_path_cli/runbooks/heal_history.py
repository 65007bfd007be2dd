"""What became of past heals, out of the ledger's history."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from express_path.domain.heal.ledger import RunKind, RunRecord, TableRecord


class HealState(StrEnum):
    """What became of a heal.

    UNFINISHED: it still runs, or it ended before it could verify its change. REPLACED: a later heal associated the
    route table, so that one is to be undone instead.
    """

    HEALED = "HEALED"
    UNFINISHED = "UNFINISHED"
    REPLACED = "REPLACED"
    UNDONE = "UNDONE"


@dataclass(frozen=True, slots=True)
class PastHeal:
    """A heal that changed something.

    undo is the run that undid it, None where there is none or its item is gone. later_run_id is the heal that replaced
    it, empty for none.
    """

    run: RunRecord
    state: HealState
    undo: RunRecord | None = None
    later_run_id: str = ""

    @property
    def changed_at(self) -> str:
        """When it was undone, else when it changed the table, else when it started, in ISO 8601."""
        undone_at = self.undo.finished_at if self.undo else ""
        return undone_at or self.run.associated_at or self.run.started_at

    @property
    def can_be_undone(self) -> bool:
        """Whether an undo of it has something to do."""
        return self.state in (HealState.HEALED, HealState.UNFINISHED)


@dataclass(frozen=True, slots=True)
class History:
    """Every run and every route table that the ledger names, by id."""

    runs: Mapping[str, RunRecord]
    tables: Mapping[str, TableRecord]


def past_heals(history: History, vpc_ids: Iterable[str] = (), run_ids: Iterable[str] = ()) -> list[PastHeal]:
    """The heals that changed something, by VPC, the latest of each first; only those of some VPCs and runs if named."""
    vpcs, runs = frozenset(vpc_ids), frozenset(run_ids)
    wanted = [
        each
        for each in history.runs.values()
        if each.kind is RunKind.HEAL
        and (each.associated_at or each.created_endpoint)
        and (not vpcs or each.vpc_id in vpcs)
        and (not runs or each.run_id in runs)
    ]
    latest_first = sorted(wanted, key=lambda each: (each.started_at, each.run_id), reverse=True)
    return [_past(each, history) for each in sorted(latest_first, key=lambda each: each.vpc_id)]


def _past(run: RunRecord, history: History) -> PastHeal:
    if run.undo_run_id:
        return PastHeal(run, HealState.UNDONE, history.runs.get(run.undo_run_id))
    table = history.tables.get(run.route_table_id)
    if run.associated_at and table and table.heal_run_id not in ("", run.run_id):
        return PastHeal(run, HealState.REPLACED, later_run_id=table.heal_run_id)
    return PastHeal(run, HealState.HEALED if run.finished_at else HealState.UNFINISHED)

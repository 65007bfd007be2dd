"""What the plan function does for an undo: plan it, and look whether its changes took effect. It only reads."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from express_path.adapters.aws import Aws
from express_path.adapters.ec2_snapshot import SnapshotReader
from express_path.adapters.ledger import Ledger
from express_path.adapters.run_states import has_ended
from express_path.adapters.undo_reader import read_sight
from express_path.adapters.undo_requests import NOBODY, Circumstance, UndoAction, UndoRequest, undo_answer
from express_path.domain.heal.ledger import TableRecord
from express_path.domain.heal.undo import Change, Records, Undo, check_deleted, check_heal, check_not_undone, make_undo
from express_path.domain.heal.undo_effects import moves
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator
from express_path.domain.verdict.parameters import RuleParameters, Scope
from express_path.errors import ClaimHeldError, ClaimLostError, NotDeletedError, NotDisassociatedError, SettingError
from express_path.heal_steps import repeated_reads
from express_path.heal_steps.repeated_reads import look_settled, look_until

LOOKS_FOR_TURN = 40
"""How often one invocation looks whether another run's claim has ended; the runbook's step tries several times."""
UNDONE = "UNDONE"
"""The answer to a run that waited, where the run that it waited for undid the same heal."""


class Undoing:
    """Plans undos in one account."""

    def __init__(
        self,
        aws: Aws,
        snapshots: SnapshotReader,
        account_id: str,
        parameters: RuleParameters,
        settings: Mapping[str, str],
    ) -> None:
        """Prepare; nothing is read before it is asked for. settings are the function's environment."""
        self._aws = aws
        self._snapshots = snapshots
        self._account_id = account_id
        self._parameters = parameters
        self._ledger_table = settings.get("LEDGER_TABLE_NAME", "")
        if not self._ledger_table:
            raise SettingError("LEDGER_TABLE_NAME", "", "the name of the ledger's table")
        self._ledger = Ledger(aws.dynamodb, self._ledger_table)

    def answer(self, request: UndoRequest) -> dict[str, Any]:
        """Answer one question of the runbook.

        Raises UndoError where there is nothing to undo or not what the heal left, ClaimHeldError and ClaimLostError
        where another run has the table, and NotDisassociatedError and NotDeletedError where a change is not seen.
        """
        questions: Mapping[UndoAction, Callable[[UndoRequest], dict[str, Any]]] = {
            UndoAction.PLAN: self._plan,
            UndoAction.AWAIT: self._await_turn,
            UndoAction.CHECK: self._check,
            UndoAction.REST: self._rest,
            UndoAction.CONFIRM: self._confirm,
            UndoAction.DELETED: self._deleted,
        }
        return questions[request.action](request)

    def _plan(self, request: UndoRequest) -> dict[str, Any]:
        records = self._records(request)
        check_not_undone(records.heal)
        undo = self._still_associated(records)
        return self._answer(request, records, undo, told=True)

    def _await_turn(self, request: UndoRequest) -> dict[str, Any]:
        """Wait until no other run has the table; nothing is left to do where that run undid the same heal."""
        records = self._records(request)
        for _ in range(LOOKS_FOR_TURN):
            if records.heal.undo_run_id:
                undone = Undo(records.heal, associated=False, is_live=False)
                return undo_answer(undone, UNDONE, Circumstance(self._ledger_table, _now()))
            is_held = self._is_claimed_by_other(records.table, request.run_id)
            if not is_held or has_ended(self._aws.ssm, records.table.run_id):
                return self._answer(request, records, self._still_associated(records))
            time.sleep(repeated_reads.SECONDS_APART)
            records = self._records(request)
        raise ClaimHeldError(records.heal.route_table_id, records.table.run_id)

    def _check(self, request: UndoRequest) -> dict[str, Any]:
        """Plan again, now that the table is claimed."""
        records = self._claimed(request)
        return self._answer(request, records, self._still_associated(records))

    def _rest(self, request: UndoRequest) -> dict[str, Any]:
        """What is left once the association is removed."""
        records = self._claimed(request)
        undo = look_until(lambda: self._look(records), lambda seen: not seen.associated)
        if undo.associated:
            raise NotDisassociatedError(undo.heal.route_table_id, undo.heal.endpoint_id)
        return self._answer(request, records, look_settled(lambda: self._look(records)))

    def _confirm(self, request: UndoRequest) -> dict[str, Any]:
        """Look once more after the ledger says that the endpoint is deleted: no heal uses it from then on."""
        records = self._claimed(request)
        undo = look_settled(lambda: self._look(records))
        action = Change.KEEP_ENDPOINT if undo.is_live and not undo.deletes else undo.change
        return self._answer(request, records, undo, action)

    def _deleted(self, request: UndoRequest) -> dict[str, Any]:
        """Whether EC2 deleted the endpoint: it answers the deletion with success even where it refused it."""
        check_deleted(request.refusals)
        records = self._claimed(request)
        undo = look_until(lambda: self._look(records), lambda seen: not seen.is_live)
        if undo.is_live:
            raise NotDeletedError(undo.heal.endpoint_id, "StillDescribed", "EC2 still describes it as usable")
        return self._answer(request, records, undo)

    def _records(self, request: UndoRequest) -> Records:
        heal = check_heal(request.heal_run_id, self._ledger.run(request.heal_run_id), self._account_id)
        view = self._ledger.view(heal.route_table_id, heal.vpc_id)
        associated_last = self._ledger.run(view.table.heal_run_id) if view.table.heal_run_id else None
        return Records(heal, view.table, view.vpc, associated_last)

    def _claimed(self, request: UndoRequest) -> Records:
        """The records, where the table's claim is this run's. Raises ClaimLostError."""
        records = self._records(request)
        if not records.table.is_claimed_by(request.run_id, int(_now().timestamp())):
            raise ClaimLostError(records.heal.route_table_id, request.run_id, records.table.run_id)
        return records

    def _still_associated(self, records: Records) -> Undo:
        """A late answer must not hide the association that is to be removed, so one look without it is not enough."""
        return look_until(lambda: self._look(records), lambda seen: seen.associated)

    def _look(self, records: Records) -> Undo:
        return make_undo(records, read_sight(self._aws, records.heal), self._aws.region)

    def _is_claimed_by_other(self, table: TableRecord, run_id: str) -> bool:
        return table.is_claimed(int(_now().timestamp())) and table.run_id != run_id

    def _answer(
        self, request: UndoRequest, records: Records, undo: Undo, action: Change | None = None, *, told: bool = False
    ) -> dict[str, Any]:
        owner = records.table.run_id
        is_held = self._is_claimed_by_other(records.table, request.run_id)
        void_run = owner if is_held and has_ended(self._aws.ssm, owner) else NOBODY
        context = Circumstance(self._ledger_table, _now(), void_run)
        return undo_answer(undo, action or undo.change, context, self._moves(undo) if told else ())

    def _moves(self, undo: Undo) -> tuple[str, ...]:
        """Where each subnet's traffic goes, as the rule judges it but for what its parameters leave out."""
        if not undo.associated:
            return ()
        parameters = replace(self._parameters, scope=Scope.ALL, vpc_ids=frozenset(), exclude_tag="")
        heal = undo.heal
        snapshot = self._snapshots.read(self._account_id, heal.vpc_id, parameters)
        return moves(Evaluator(Tracer(snapshot), parameters), heal.route_table_id, heal.endpoint_id)


def _now() -> datetime:
    return datetime.now(UTC)

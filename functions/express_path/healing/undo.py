"""Answer the steps of an undo."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from express_path.adapters.heal_answers import WAITING, turn_answer, undo_answer
from express_path.adapters.heal_reader import is_in_history, read_live_resources
from express_path.adapters.heal_requests import UndoAction, UndoRequest
from express_path.adapters.ledger import Write, Writer
from express_path.domain.heal.claims import NextStep
from express_path.domain.heal.undo_plan import (
    UNDONE,
    HealRecords,
    UndoChange,
    UndoFact,
    UndoPlan,
    check_heal,
    check_not_undone,
    make_undo_plan,
    moves,
)
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator
from express_path.domain.verdict.parameters import Scope
from express_path.errors import ClaimHeldError, ClaimLostError, NotDeletedError, NotDisassociatedError
from express_path.healing.rereading import read_settled, read_until
from express_path.healing.services import HealServices, creators_of, current_time, is_other_run_working


class UndoSteps:
    """Answers the steps of undos in one account."""

    def __init__(self, services: HealServices) -> None:
        """Read the settings about owners. Raise SettingError."""
        self._services = services
        self._aws = services.aws
        self._ledger = services.ledger
        self._settings = services.read_owners()

    def answer(self, request: UndoRequest) -> dict[str, Any]:
        """Answer one step.

        Raise UndoError if there is nothing to undo, or if the heal's changes were changed since; UndoBlockedError if
        the heal's change is not confirmed, or somebody else owns what it changed; ClaimHeldError and
        ClaimLostError if another run has claimed the route table; NotDisassociatedError and NotDeletedError if EC2 does
        not show a change.
        """
        steps: Mapping[UndoAction, Callable[[UndoRequest], dict[str, Any]]] = {
            UndoAction.PLAN: self._plan,
            UndoAction.TURN: self._turn,
            UndoAction.CHECK: self._check,
            UndoAction.REST: self._after_disassociation,
            UndoAction.CONFIRM: self._confirm,
            UndoAction.DELETED: self._deleted,
        }
        return steps[request.action](request)

    def _plan(self, request: UndoRequest) -> dict[str, Any]:
        records = self._records(request)
        check_not_undone(records.heal)
        undo = self._still_associated(records)
        writes = [] if request.dry_run else [self._writer(request).start_undo(records.heal)]
        return self._answer(undo, writes, moves=self._moves(undo))

    def _turn(self, request: UndoRequest) -> dict[str, Any]:
        """Return whether the run can claim the table now; it need not if another run undid the same heal."""
        records, now = self._records(request), current_time()
        if records.heal.undo_run_id:
            return turn_answer(NextStep.DONE)
        if is_other_run_working(self._aws, records.table, request.run_id, now):
            return turn_answer(NextStep.WAIT)
        void_run_id = records.table.run_id if records.table.is_claimed_by_other(request.run_id, now) else ""
        return turn_answer(
            NextStep.CLAIM, self._writer(request).claim_for_undo(records.heal, void_run_id=void_run_id, if_lost=WAITING)
        )

    def _check(self, request: UndoRequest) -> dict[str, Any]:
        """Plan again, now that this run has claimed the table; nothing is left to do if another run undid the heal.

        Raise ClaimHeldError if the run that this one waited for still has the claim.
        """
        records = self._records(request)
        if records.heal.undo_run_id:
            undone = UndoPlan(records.heal, associated=False, is_live=False)
            return self._answer(undone, [], UNDONE)
        if is_other_run_working(self._aws, records.table, request.run_id, current_time()):
            raise ClaimHeldError(records.heal.route_table_id, records.table.run_id)
        undo = self._still_associated(self._claimed_records(request))
        writes = [self._writer(request).intend_disassociation()] if undo.associated else []
        return self._answer(undo, writes)

    def _after_disassociation(self, request: UndoRequest) -> dict[str, Any]:
        """Return what is left to do after the association was removed."""
        records = self._claimed_records(request)
        undo = read_until(lambda: self._current_plan(records), lambda plan: not plan.associated)
        if undo.associated:
            raise NotDisassociatedError(undo.heal.route_table_id, undo.heal.endpoint_id)
        undo = read_settled(lambda: self._current_plan(records))
        writer = self._writer(request)
        if undo.change is UndoChange.DELETE_ENDPOINT:
            return self._answer(undo, [writer.mark_for_deletion(undo.heal)])
        return self._answer(undo, writer.undone(undo.heal))

    def _confirm(self, request: UndoRequest) -> dict[str, Any]:
        """Plan once more after the ledger records the endpoint as deleted: no heal uses it from then on."""
        records = self._claimed_records(request)
        undo = read_settled(lambda: self._current_plan(records))
        writer = self._writer(request)
        if undo.is_live and not undo.deletes:
            writes = [writer.unmark_for_deletion(undo.heal), *writer.undone(undo.heal)]
            return self._answer(undo, writes, UndoChange.KEEP_ENDPOINT)
        if undo.change is UndoChange.DELETE_ENDPOINT:
            return self._answer(undo, [writer.intend_deletion()])
        return self._answer(undo, writer.undone(undo.heal))

    def _deleted(self, request: UndoRequest) -> dict[str, Any]:
        """Return what is left to do once EC2 deleted the endpoint."""
        records = self._claimed_records(request)
        undo = read_until(lambda: self._current_plan(records), lambda plan: not plan.is_live)
        if undo.is_live:
            raise NotDeletedError(undo.heal.endpoint_id)
        writer = self._writer(request)
        return self._answer(undo, [writer.deleted(), *writer.undone(undo.heal)])

    def _records(self, request: UndoRequest) -> HealRecords:
        heal = check_heal(request.heal_run_id, self._ledger.run(request.heal_run_id), self._services.account_id)
        view = self._ledger.view(heal.route_table_id, heal.vpc_id)
        creators = creators_of(self._services, view.vpc, request.run_id)
        last, since = self._ledger.run(view.table.heal_run_id), self._ledger.created_at()
        return HealRecords(heal, view.table, view.vpc, last, creators, since, is_in_history(self._aws.ssm, heal, since))

    def _claimed_records(self, request: UndoRequest) -> HealRecords:
        """Return the records if this run has the claim on the table. Raise ClaimLostError."""
        records = self._records(request)
        if not records.table.is_claimed_by(request.run_id, current_time()):
            raise ClaimLostError(records.heal.route_table_id, request.run_id, records.table.run_id)
        return records

    def _still_associated(self, records: HealRecords) -> UndoPlan:
        """Plan again while EC2 does not show the association: a late answer must not hide what is to be removed."""
        return read_until(lambda: self._current_plan(records), lambda plan: plan.associated)

    def _current_plan(self, records: HealRecords) -> UndoPlan:
        """Plan the undo from what EC2 shows now."""
        live = read_live_resources(self._aws, records.heal.vpc_id, records.heal.endpoint_id)
        return make_undo_plan(records, live, self._aws.region, self._settings)

    def _writer(self, request: UndoRequest) -> Writer:
        return Writer(self._ledger.table_name, request.run_id, current_time())

    def _answer(
        self, undo: UndoPlan, writes: list[Write], action: str = "", moves: tuple[UndoFact, ...] = ()
    ) -> dict[str, Any]:
        """Return the answer with these writes. The next change is that of the undo, unless another action is given."""
        answer = undo_answer(undo, action or undo.change, self._ledger.table_name, current_time(), moves)
        return {**answer, "ledger": writes}

    def _moves(self, undo: UndoPlan) -> tuple[UndoFact, ...]:
        """Return where the traffic of each subnet will go, including subnets that the rule's parameters leave out."""
        if not undo.associated:
            return ()
        parameters = replace(self._services.parameters, scope=Scope.ALL, vpc_ids=frozenset(), exclude_tag="")
        heal = undo.heal
        snapshot = self._services.snapshots.read(self._services.account_id, heal.vpc_id, parameters)
        return moves(Evaluator(Tracer(snapshot), parameters), heal.route_table_id, heal.endpoint_id)

"""Answer the steps of a heal."""

from datetime import datetime
from typing import Any

from express_path.adapters.heal_answers import (
    WAITING,
    check_not_blocked,
    elected_answer,
    plan_answer,
    plan_fields,
    seen,
    stopped_answer,
    turn_answer,
    verify_answer,
)
from express_path.adapters.heal_reader import read_live_resources
from express_path.adapters.heal_requests import (
    AssociatedRequest,
    ChangeRequest,
    ConfirmRequest,
    ElectedRequest,
    HealRequest,
    HealStepRequest,
    PlanRequest,
    TableRequest,
    TargetRequest,
    TurnRequest,
    VerifyRequest,
)
from express_path.adapters.ledger import Write, Writer
from express_path.domain.heal.claims import (
    AFTER_CLAIM,
    BEFORE_ASSOCIATION,
    BEFORE_CREATION,
    FIRST_PLAN,
    NextStep,
    Observation,
    RepeatPolicy,
    elect,
    endpoint_in_use,
    is_change,
    is_ready,
    may_be_finished,
    may_be_unrecorded,
    never,
    next_before_claim,
    next_change,
    why_not_healed,
    why_not_ready,
)
from express_path.domain.heal.ledger_records import Marks, RunKind, RunRecord
from express_path.domain.heal.ownership import marks_of
from express_path.domain.heal.records import NONE, PlanAction, RemediationMode
from express_path.domain.heal.undo_plan import LiveResources, leads_to
from express_path.domain.verdict.evaluator import Evaluator
from express_path.errors import (
    ApprovedPlanError,
    ClaimHeldError,
    ClaimLostError,
    ElectionError,
    EndpointNotReadyError,
    NotAssociatedError,
    NotCuredError,
    TableChangedError,
)
from express_path.healing.planning import Planner
from express_path.healing.rereading import read_until
from express_path.healing.services import HealServices, current_time, is_other_run_working

_BEFORE_CHANGES = (PlanRequest, TurnRequest, ConfirmRequest, ElectedRequest, TargetRequest)
"""The steps before a change. Each of them ends the run if somebody stopped all heals."""


class HealSteps:
    """Answers the steps of heals in one account."""

    def __init__(self, services: HealServices, planner: Planner) -> None:
        """Prepare; nothing is read yet."""
        self._aws = services.aws
        self._ledger = services.ledger
        self._planner = planner

    def answer(self, request: HealStepRequest) -> dict[str, Any]:
        """Answer one step. An exception fails the step."""
        if isinstance(request, _BEFORE_CHANGES) and not request.dry_run:
            stop = self._ledger.current_stop()
            if stop:
                return stopped_answer(stop, request.subnet_id)
        match request:
            case PlanRequest():
                return self.plan(request)
            case TurnRequest():
                return self.turn(request)
            case ConfirmRequest():
                return self.confirm(request)
            case ElectedRequest():
                return self.elected(request)
            case TargetRequest():
                return self.target(request)
            case AssociatedRequest():
                return self.associated(request)
            case VerifyRequest():
                return self.verify(request)

    def plan(self, request: PlanRequest) -> dict[str, Any]:
        """Return what a heal would change. Unless it is a dry run, a blocked plan raises BlockedError."""
        observation = self._planner.settled_plan(request, FIRST_PLAN, needs_approval=self._needs_approval(request))
        if not request.dry_run:
            check_not_blocked(observation.plan)
        finished = self._finished_endpoint(observation, request)
        step = next_before_claim(observation.plan, dry_run=request.dry_run, finishes=bool(finished))
        record = observation.ledger.table
        answer = plan_answer(observation.plan, step, self._planner.settings, record, observation.now, finished)
        writes: list[Write] = []
        if step is NextStep.FINISH:
            writes = [self._writer(request, observation.now).healed_earlier(record, finished)]
        return {**answer, "ledger": writes}

    def turn(self, request: TurnRequest) -> dict[str, Any]:
        """Return whether the run can claim its route table now. It plans again if the ledger changed since its plan."""
        record, now = self._ledger.table(request.route_table_id), current_time()
        if is_other_run_working(self._aws, record, request.run_id, now):
            return turn_answer(NextStep.WAIT)
        void_run_id = ""  # the run whose claim no longer counts, because it has ended
        if record.is_claimed_by_other(request.run_id, now):
            void_run_id = record.run_id
        claim = self._writer(request, now).claim(
            record, void_run_id=void_run_id, subnet_id=request.subnet_id, vpc_id=request.vpc_id, if_lost=WAITING
        )
        if {"seenRun": request.seen_run, "seenState": request.seen_state} == seen(record):
            return turn_answer(NextStep.CLAIM, claim)
        observation = self._plan_change(request, FIRST_PLAN, needs_approval=self._needs_approval(request))
        if observation.plan.action is PlanAction.NOTHING_TO_DO:
            return turn_answer(NextStep.DONE)
        return turn_answer(NextStep.CLAIM, claim)

    def confirm(self, request: ConfirmRequest) -> dict[str, Any]:
        """Return what this run changes, now that it has claimed the route table: two plans in a row must agree.

        If the run creates the VPC's endpoint, it is to be elected first, so that all runs use one client token.

        A run without the claim changes nothing. Raise ClaimHeldError if the run that it waited for still has the claim.
        """
        record, now = self._ledger.table(request.route_table_id), current_time()
        has_claim = record.is_claimed_by(request.run_id, now)
        if is_other_run_working(self._aws, record, request.run_id, now):
            raise ClaimHeldError(request.route_table_id, record.run_id)
        needs_approval = self._needs_approval(request)
        observation = self._plan_change(request, AFTER_CLAIM, needs_approval=needs_approval)
        election = elect(observation, request.run_id)
        step = next_change(observation.plan)
        if not has_claim:
            if step is not NextStep.VERIFY:
                raise ClaimLostError(request.route_table_id, request.run_id, record.run_id)
            step = NextStep.DONE
        writer = self._writer(request, observation.now)
        writes: list[Write] = []
        if needs_approval and step not in (NextStep.VERIFY, NextStep.DONE):
            writes.append(writer.use_approval(request.route_table_id, observation.plan.fingerprint))
        if step is NextStep.CREATE and election.must_elect:
            writes.append(writer.elect(observation.ledger.vpc.vpc_id, election))
        creates_again = may_be_unrecorded(observation)
        if creates_again:  # with the same token, for which EC2 returns the endpoint that exists
            step = NextStep.CREATE
        fingerprint = observation.plan.fingerprint or NONE
        return {
            "details": plan_fields(observation.plan),
            "next": step.value,
            "fingerprint": fingerprint,
            "ledger": writes,
        }

    def elected(self, request: ElectedRequest) -> dict[str, Any]:
        """Return which run's client token creates the endpoint, unless it exists by now.

        Raise ElectionError, and ApprovedPlanError.
        """
        self._check_claim(request)
        observation = self._plan_change(request, BEFORE_CREATION)
        election = elect(observation, request.run_id)
        creates_again = may_be_unrecorded(observation)
        if election.must_elect:
            raise ElectionError(observation.ledger.vpc.vpc_id)
        if observation.plan.action is PlanAction.CREATE_AND_ASSOCIATE and self._needs_approval(request):
            observation = self._confirmed(request)
        step = next_change(observation.plan)
        if creates_again:
            step = NextStep.CREATE
        answer = elected_answer(observation.plan, step, election, self._planner.settings)
        writes: list[Write] = []
        if step is NextStep.CREATE:
            run = self._run(request, observation)
            writes = [self._writer(request, observation.now).intend_creation(run)]
        return {**answer, "ledger": writes}

    def target(self, request: TargetRequest) -> dict[str, Any]:
        """Return the endpoint to associate, once it is available. Raise EndpointNotReadyError, ApprovedPlanError."""
        self._check_claim(request)
        observation = self._plan_change(request, BEFORE_ASSOCIATION)
        if is_ready(observation):
            observation = self._confirmed(request)
        step = next_change(observation.plan)
        if not is_ready(observation) and step is not NextStep.VERIFY:
            raise EndpointNotReadyError(request.subnet_id, why_not_ready(observation))
        record = observation.ledger.vpc
        created = request.run_id in record.token_runs and observation.plan.endpoint_id in record.token_ids
        writes: list[Write] = []
        if step is NextStep.ASSOCIATE:
            run = self._run(request, observation, created=created)
            marks = self._marks(observation)
            writes = self._writer(request, observation.now).intend_association(run, marks)
        return {"next": step.value, "endpointId": observation.plan.endpoint_id or "", "ledger": writes}

    def _confirmed(self, request: ChangeRequest) -> Observation:
        """Plan with the pre-flight again: the endpoint may be another one than in the plan that the run confirmed.

        Raise ApprovedPlanError if the heal needs an approval, and the plan is no longer the one that was approved.
        """
        as_confirmed = RepeatPolicy(
            lambda current: is_change(current) and current.plan.fingerprint == request.confirmed_plan, never
        )
        observation = self._plan_change(request, as_confirmed)
        has_changed = is_change(observation) and observation.plan.fingerprint != request.confirmed_plan
        if has_changed and self._needs_approval(request):
            raise ApprovedPlanError(request.subnet_id, request.route_table_id)
        return observation

    def _marks(self, observation: Observation) -> Marks:
        """Return the owners and the policy before the change. Raise EndpointNotReadyError if EC2 shows no endpoint."""
        verdict, endpoint_id = observation.plan.verdict, str(observation.plan.endpoint_id)
        live = read_until(
            lambda: read_live_resources(self._aws, verdict.vpc_id, endpoint_id), lambda live: bool(live.endpoints)
        )
        tables = [table for table in live.tables if table.id == verdict.route_table_id]
        if not (live.endpoints and tables):
            raise EndpointNotReadyError(verdict.subnet_id, f"{endpoint_id} or {verdict.route_table_id} does not exist")
        return marks_of(live.endpoints[0], live.policy, tables[0], self._planner.settings)

    def associated(self, request: AssociatedRequest) -> dict[str, Any]:
        """Read back that the table uses the endpoint of this run's intention. Raise NotAssociatedError."""
        run = self._ledger.run(request.run_id)
        if run is None:
            raise NotAssociatedError(request.route_table_id, "the endpoint")
        live = read_until(
            lambda: read_live_resources(self._aws, run.vpc_id, run.endpoint_id),
            lambda live: _uses(live, run),
        )
        if not _uses(live, run):
            raise NotAssociatedError(run.route_table_id, run.endpoint_id)
        tag_keys = {key for endpoint in live.endpoints for key in endpoint.tags}
        writes = [self._writer(request, current_time()).associated(tag_keys)]
        return {"routeTableId": run.route_table_id, "endpointId": run.endpoint_id, "ledger": writes}

    def verify(self, request: VerifyRequest) -> dict[str, Any]:
        """Return the verdict after a heal; read again for some seconds while routes settle. Raise NotCuredError."""
        evaluator = read_until(
            lambda: self._planner.evaluator(request.subnet_id),
            lambda evaluator: not self._fault(evaluator, request.subnet_id),
        )
        fault = self._fault(evaluator, request.subnet_id)
        if fault:
            raise NotCuredError(request.subnet_id, fault)
        verdict = evaluator.verdict(request.subnet_id)
        table = self._ledger.table(verdict.route_table_id or "")
        heal = self._ledger.run(table.heal_run_id)
        endpoint_id = endpoint_in_use(evaluator, request.subnet_id)
        writer = self._writer(request, current_time())
        finishes_run = table.heal_run_id == request.run_id
        writes = writer.healed(table.route_table_id, endpoint_id, finishes_run=finishes_run)
        return verify_answer(verdict, endpoint_id, heal, writes)

    def _writer(self, request: HealRequest, now: datetime) -> Writer:
        return Writer(self._ledger.table_name, request.run_id, now)

    def _run(self, request: ChangeRequest, observation: Observation, *, created: bool = False) -> RunRecord:
        """Return what the ledger keeps of this run before it changes anything."""
        verdict = observation.plan.verdict
        return RunRecord(
            request.run_id,
            RunKind.HEAL,
            request.started_by,
            verdict.account_id,
            request.subnet_id,
            verdict.vpc_id,
            request.route_table_id,
            observation.plan.endpoint_id or "",
            created_endpoint=created,
            started_at=request.started_at,
        )

    def _fault(self, evaluator: Evaluator, subnet_id: str) -> str:
        """Return why a subnet is not healed; empty if it is."""
        vpc_id = evaluator.verdict(subnet_id).vpc_id
        return why_not_healed(evaluator, subnet_id, self._ledger.vpc(vpc_id).deleted_ids)

    def _needs_approval(self, request: HealRequest) -> bool:
        return self._planner.settings.mode is RemediationMode.APPROVAL and not request.dry_run

    def _finished_endpoint(self, observation: Observation, request: HealRequest) -> str:
        """Return the endpoint that an interrupted heal associated and did not record; empty if there is none."""
        record = observation.ledger.table
        if is_other_run_working(self._aws, record, request.run_id, observation.now):
            return ""
        heal = self._ledger.run(record.heal_run_id)
        return heal.endpoint_id if heal and may_be_finished(observation, heal) else ""

    def _check_claim(self, request: TableRequest) -> None:
        """Raise ClaimLostError if this run does not, or no longer, have the claim on the route table."""
        record = self._ledger.table(request.route_table_id)
        if not record.is_claimed_by(request.run_id, current_time()):
            raise ClaimLostError(request.route_table_id, request.run_id, record.run_id)

    def _plan_change(self, request: TableRequest, policy: RepeatPolicy, *, needs_approval: bool = False) -> Observation:
        """Plan the change of the route table that the run has claimed or will claim.

        Raise BlockedError if the plan is blocked, and TableChangedError if another table governs the subnet now.
        """
        observation = self._planner.settled_plan(request, policy, needs_approval=needs_approval)
        check_not_blocked(observation.plan)
        governing = observation.plan.verdict.route_table_id or ""
        if governing != request.route_table_id:
            raise TableChangedError(request.subnet_id, request.route_table_id, governing)
        return observation


def _uses(live: LiveResources, run: RunRecord) -> bool:
    return any(table.id == run.route_table_id and leads_to(table, run.endpoint_id) for table in live.tables)

"""Answer the steps of a heal. It only reads; every change is a step of the runbook."""

from datetime import UTC, datetime
from typing import Any

from express_path.adapters.heal_reader import has_ended, read_live_resources
from express_path.adapters.heal_steps import (
    WAITING,
    HealAction,
    HealRequest,
    blocked_error,
    elected_answer,
    how_to_undo,
    plan_answer,
    seen,
    summary,
    turn_answer,
)
from express_path.adapters.ledger import Write, Writer
from express_path.adapters.serialization import verdict_answer
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
    found_instead,
    is_change,
    is_ready,
    is_unrecorded,
    may_be_finished,
    never,
    next_before_claim,
    next_change,
    why_not_healed,
)
from express_path.domain.heal.ledger import Marks, RunKind, RunRecord, TableRecord, marks_of
from express_path.domain.heal.records import NONE, Action, RemediationMode
from express_path.domain.heal.undo import LiveResources, leads_to
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
from express_path.heal_steps import repeated_reads
from express_path.heal_steps.planning import Planner
from express_path.heal_steps.services import Services


class HealSteps:
    """Answers the steps of heals in one account."""

    def __init__(self, services: Services, planner: Planner) -> None:
        """Prepare; nothing is read yet."""
        self._aws = services.aws
        self._ledger = services.ledger
        self._planner = planner

    def answer(self, request: HealRequest) -> dict[str, Any]:
        """Answer one step. An exception fails the step."""
        steps = {
            HealAction.PLAN: self.plan,
            HealAction.TURN: self.turn,
            HealAction.CONFIRM: self.confirm,
            HealAction.ELECTED: self.elected,
            HealAction.TARGET: self.target,
            HealAction.ASSOCIATED: self.associated,
            HealAction.VERIFY: self.verify,
        }
        return steps[request.action](request)

    def plan(self, request: HealRequest) -> dict[str, Any]:
        """Return what a heal would change. Unless it is a dry run, a blocked plan raises BlockedError."""
        observation = self._planner.settled_plan(
            request.subnet_id, request.started_by, FIRST_PLAN, needs_approval=self._needs_approval(request)
        )
        if not request.dry_run:
            _check_blocked(observation)
        finished = self._finished_endpoint(observation, request)
        step = next_before_claim(observation.plan, observation.ledger, dry_run=request.dry_run, finishes=bool(finished))
        record = observation.records.table
        answer = plan_answer(observation.plan, step, self._planner.settings, record, observation.now, finished)
        writer = self._writer(request, observation.now)
        finishes = step is NextStep.FINISH
        return {**answer, "ledger": [writer.healed_earlier(record, finished)] if finishes else []}

    def turn(self, request: HealRequest) -> dict[str, Any]:
        """Return whether the run can claim its route table now. It plans again if the ledger changed since its plan."""
        record, now = self._ledger.table(request.route_table_id), datetime.now(UTC)
        void_run = ""
        if self._is_held(record, request, now):
            if not has_ended(self._aws.ssm, record.run_id):
                return turn_answer(NextStep.WAIT) | {"ledger": []}
            void_run = record.run_id
        claim = self._writer(request, now).claim(
            record, void_run=void_run, subnet_id=request.subnet_id, vpc_id=request.vpc_id, lost=WAITING
        )
        if {"seenRun": request.seen_run, "seenState": request.seen_state} == seen(record):
            return turn_answer(NextStep.CLAIM) | {"ledger": [claim]}
        observation = self._planner.settled_plan(
            request.subnet_id, request.started_by, FIRST_PLAN, needs_approval=self._needs_approval(request)
        )
        self._check(observation, request)
        if observation.plan.action is Action.NOTHING_TO_DO:
            return turn_answer(NextStep.DONE) | {"ledger": []}
        return turn_answer(NextStep.CLAIM) | {"ledger": [claim]}

    def confirm(self, request: HealRequest) -> dict[str, Any]:
        """Return what this run changes, now that it has claimed the route table: two plans in a row must agree.

        If the run creates the VPC's endpoint, it is to be elected first, so that all runs use one client token.

        A run without the claim changes nothing. Raise ClaimHeldError if the run that it waited for still has the claim.
        """
        record, now = self._ledger.table(request.route_table_id), datetime.now(UTC)
        has_claim = record.is_claimed_by(request.run_id, _seconds(now))
        if self._is_held(record, request, now) and not has_ended(self._aws.ssm, record.run_id):
            raise ClaimHeldError(request.route_table_id, record.run_id)
        needs_approval = self._needs_approval(request)
        observation = self._planner.settled_plan(
            request.subnet_id, request.started_by, AFTER_CLAIM, needs_approval=needs_approval
        )
        self._check(observation, request)
        snapshot, ledger = observation.evaluator.snapshot, observation.records
        election = elect(ledger.vpc, snapshot, request.run_id)
        step = next_change(observation.plan)
        if not has_claim:
            if step is not NextStep.VERIFY:
                raise ClaimLostError(request.route_table_id, request.run_id, record.run_id)
            step = NextStep.DONE
        writer, writes = self._writer(request, observation.now), list[Write]()
        if needs_approval and step not in (NextStep.VERIFY, NextStep.DONE):
            writes.append(writer.use_approval(request.route_table_id, observation.plan.fingerprint))
        if step is NextStep.CREATE and election.must_elect:
            writes.append(writer.elect(ledger.vpc.vpc_id, election))
        if is_unrecorded(observation.plan, ledger.vpc, snapshot):
            step = NextStep.CREATE
        fingerprint = observation.plan.fingerprint or NONE
        return {"next": step.value, "summary": summary(observation.plan), "fingerprint": fingerprint, "ledger": writes}

    def elected(self, request: HealRequest) -> dict[str, Any]:
        """Return which run's client token creates the endpoint, unless it exists by now.

        Raise ElectionError, and ApprovedPlanError.
        """
        self._check_claim(request)
        observation = self._planner.settled_plan(request.subnet_id, request.started_by, BEFORE_CREATION)
        self._check(observation, request)
        snapshot, ledger = observation.evaluator.snapshot, observation.records
        election = elect(ledger.vpc, snapshot, request.run_id)
        if election.must_elect:
            raise ElectionError(ledger.vpc.vpc_id)
        if observation.plan.action is Action.CREATE_AND_ASSOCIATE and self._needs_approval(request):
            observation = self._confirmed(request)
        step = (
            NextStep.CREATE if is_unrecorded(observation.plan, ledger.vpc, snapshot) else next_change(observation.plan)
        )
        answer = elected_answer(observation.plan, step, election, self._planner.settings)
        run = self._run(request, observation)
        writer = self._writer(request, observation.now)
        return {**answer, "ledger": [writer.intend_creation(run)] if step is NextStep.CREATE else []}

    def target(self, request: HealRequest) -> dict[str, Any]:
        """Return the endpoint to associate, once it is available. Raise EndpointNotReadyError, ApprovedPlanError."""
        self._check_claim(request)
        observation = self._planner.settled_plan(request.subnet_id, request.started_by, BEFORE_ASSOCIATION)
        self._check(observation, request)
        is_foreign = observation.plan.endpoint_id not in observation.records.vpc.created_ids
        if is_ready(observation) and (is_foreign or self._needs_approval(request)):
            observation = self._confirmed(request)
        step = next_change(observation.plan)
        if not is_ready(observation) and step is not NextStep.VERIFY:
            raise EndpointNotReadyError(request.subnet_id, found_instead(observation))
        record = observation.records.vpc
        created = request.run_id in record.token_runs and observation.plan.endpoint_id in record.token_ids
        writes: list[Write] = []
        if step is NextStep.ASSOCIATE:
            run = self._run(request, observation, created=created)
            marks = self._marks(observation)
            writes = self._writer(request, observation.now).intend_association(run, marks)
        return {"next": step.value, "endpointId": observation.plan.endpoint_id or "", "ledger": writes}

    def _confirmed(self, request: HealRequest) -> Observation:
        """Plan with the pre-flight again: the endpoint may be another one than in the plan that the run confirmed.

        Raise ApprovedPlanError if the heal needs an approval, and the plan is no longer the one that was approved.
        """
        observation = self._planner.settled_plan(
            request.subnet_id,
            request.started_by,
            RepeatPolicy(lambda now: is_change(now) and now.plan.fingerprint == request.confirmed_plan, never),
        )
        self._check(observation, request)
        has_changed = is_change(observation) and observation.plan.fingerprint != request.confirmed_plan
        if has_changed and self._needs_approval(request):
            raise ApprovedPlanError(request.subnet_id, request.route_table_id)
        return observation

    def _marks(self, observation: Observation) -> Marks:
        """Return the owners and the policy before the change. Raise EndpointNotReadyError if EC2 shows no endpoint."""
        verdict, endpoint_id = observation.plan.verdict, str(observation.plan.endpoint_id)
        live = repeated_reads.read_until(
            lambda: read_live_resources(self._aws, verdict.vpc_id, endpoint_id), lambda now: bool(now.endpoints)
        )
        tables = [table for table in live.tables if table.id == verdict.route_table_id]
        if not (live.endpoints and tables):
            raise EndpointNotReadyError(verdict.subnet_id, f"{endpoint_id} or {verdict.route_table_id} does not exist")
        return marks_of(live.endpoints[0], live.policy, tables[0], self._planner.settings)

    def associated(self, request: HealRequest) -> dict[str, Any]:
        """Read back that the table uses the endpoint of this run's intention. Raise NotAssociatedError."""
        run = self._ledger.run(request.run_id)
        if run is None:
            raise NotAssociatedError(request.route_table_id, "the endpoint")
        live = repeated_reads.read_until(
            lambda: read_live_resources(self._aws, run.vpc_id, run.endpoint_id),
            lambda now: _uses(now, run),
        )
        if not _uses(live, run):
            raise NotAssociatedError(run.route_table_id, run.endpoint_id)
        writes = [self._writer(request, datetime.now(UTC)).associated()]
        return {"routeTableId": run.route_table_id, "endpointId": run.endpoint_id, "ledger": writes}

    def verify(self, request: HealRequest) -> dict[str, Any]:
        """Return the verdict after a heal; read again for some seconds while routes settle. Raise NotCuredError."""
        evaluator = repeated_reads.read_until(
            lambda: self._planner.evaluator(request.subnet_id), lambda now: not self._fault(now, request.subnet_id)
        )
        if found := self._fault(evaluator, request.subnet_id):
            raise NotCuredError(request.subnet_id, found)
        verdict = evaluator.verdict(request.subnet_id)
        table = self._ledger.table(str(verdict.route_table_id))
        heal = self._ledger.run(table.heal_run_id) if table.heal_run_id else None
        endpoint_id, changed = endpoint_in_use(evaluator, request.subnet_id), table.heal_run_id == request.run_id
        writer = self._writer(request, datetime.now(UTC))
        return {
            **verdict_answer(verdict),
            "endpointId": endpoint_id,
            "undo": how_to_undo(heal),
            "ledger": writer.healed(table.route_table_id, endpoint_id, finishes_run=changed),
        }

    def _writer(self, request: HealRequest, now: datetime) -> Writer:
        return Writer(self._ledger.table_name, request.run_id, now)

    def _run(self, request: HealRequest, observation: Observation, *, created: bool = False) -> RunRecord:
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
        record = observation.records.table
        if self._is_held(record, request, observation.now) and not has_ended(self._aws.ssm, record.run_id):
            return ""
        heal = self._ledger.run(record.heal_run_id) if record.heal_run_id else None
        if heal and may_be_finished(observation.plan, record, heal, observation.evaluator.snapshot):
            return heal.endpoint_id
        return ""

    @staticmethod
    def _is_held(record: TableRecord, request: HealRequest, now: datetime) -> bool:
        """Return whether the ledger lists another run's claim, whether or not that run has ended."""
        return record.is_claimed(_seconds(now)) and record.run_id != request.run_id

    def _check_claim(self, request: HealRequest) -> None:
        """Raise ClaimLostError if this run does not, or no longer, have the claim on the route table."""
        record = self._ledger.table(request.route_table_id)
        if not record.is_claimed_by(request.run_id, _seconds(datetime.now(UTC))):
            raise ClaimLostError(request.route_table_id, request.run_id, record.run_id)

    @staticmethod
    def _check(observation: Observation, request: HealRequest) -> None:
        """Raise BlockedError if the plan is blocked, and TableChangedError if another table governs the subnet now."""
        _check_blocked(observation)
        governing = observation.plan.verdict.route_table_id or ""
        if governing != request.route_table_id:
            raise TableChangedError(request.subnet_id, request.route_table_id, governing)


def _uses(live: LiveResources, run: RunRecord) -> bool:
    return any(table.id == run.route_table_id and leads_to(table, run.endpoint_id) for table in live.tables)


def _check_blocked(observation: Observation) -> None:
    if observation.plan.action is Action.BLOCKED:
        raise blocked_error(observation.plan)


def _seconds(now: datetime) -> int:
    return int(now.timestamp())

"""Answer the steps of the runbooks that heal, ask for approval, and undo. Only the runbooks change anything."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from express_path.adapters.aws import Aws, calling
from express_path.adapters.entrances import with_entrances
from express_path.adapters.heal_reader import (
    approval_run,
    evidence_for,
    failed_steps,
    has_ended,
    is_in_history,
    is_rejected,
    read_live_resources,
)
from express_path.adapters.heal_steps import (
    WAITING,
    ApprovalAction,
    FailureRequest,
    HealAction,
    HealRequest,
    UndoAction,
    UndoRequest,
    approval_answer,
    check_not_blocked,
    elected_answer,
    plan_answer,
    plan_fields,
    seen,
    stopped_answer,
    turn_answer,
    undo_answer,
    verify_answer,
)
from express_path.adapters.ledger import Ledger, Write, Writer
from express_path.adapters.network_reader import SnapshotReader
from express_path.adapters.step_failures import failure_answer
from express_path.domain.heal.approvals import ApprovalStep, denial, next_step, open_request
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
from express_path.domain.heal.ledger import (
    NO_RECORDS,
    ApprovalState,
    Marks,
    RunKind,
    RunRecord,
    StartedBy,
    TableRecord,
    VpcRecord,
    marks_of,
)
from express_path.domain.heal.plan import BLOCKER_BY_REASON, PlanContext, is_healable, make_plan
from express_path.domain.heal.preflight import Evidence
from express_path.domain.heal.records import NONE, Action, HealSettings, RemediationMode, parse_endpoint_policy
from express_path.domain.heal.undo import (
    UNDONE,
    LiveResources,
    Records,
    Undo,
    UndoChange,
    UndoFact,
    check_heal,
    check_not_undone,
    leads_to,
    make_undo,
    moves,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters, Scope
from express_path.errors import (
    ApprovedPlanError,
    ClaimHeldError,
    ClaimLostError,
    ElectionError,
    EndpointNotReadyError,
    NotAssociatedError,
    NotCuredError,
    NotDeletedError,
    NotDisassociatedError,
    SettingError,
    TableChangedError,
)


@dataclass(frozen=True, slots=True)
class HealServices:
    """The services of one account and Region. Heals evaluate subnets with the rule's parameters.

    Only heals and approvals read all settings: an undo must be possible even if one of them is invalid, for which
    read_settings raises SettingError. An undo reads the settings about owners.
    """

    account_id: str
    aws: Aws
    snapshots: SnapshotReader
    ledger: Ledger
    parameters: RuleParameters
    read_settings: Callable[[], HealSettings]
    read_owners: Callable[[], HealSettings]


Request = HealRequest | UndoRequest | FailureRequest


def answer_step(services: HealServices, request: Request) -> dict[str, Any]:
    """Return the answer to one step of a runbook, as JSON. An exception fails the step; its message says why."""
    if isinstance(request, FailureRequest):
        return failure_answer(request.run_id, failed_steps(services.aws.ssm, request.run_id))
    if isinstance(request, UndoRequest):
        return UndoSteps(services).answer(request)
    planner = Planner(services)
    if isinstance(request.action, ApprovalAction):
        return answer_approval(services, planner, request)
    return HealSteps(services, planner).answer(request)


ATTEMPTS = 5
"""How often one invocation reads what a step changed: a late answer may show the state before it.

https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
"""
SECONDS_APART = 2
"""The pause between two reads."""
AGREEING = 3
"""How many reads in a row must agree before a decision that one late answer could spoil."""

_State = TypeVar("_State")


def read_until(read: Callable[[], _State], expected: Callable[[_State], bool]) -> _State:
    """Return the state once it is as expected, else the state that the last of ATTEMPTS reads shows."""
    return read_until_two_agree(read, lambda _before, _now: False, expected, ATTEMPTS)


def read_until_two_agree(
    read: Callable[[], _State],
    agree: Callable[[_State, _State], bool],
    expected: Callable[[_State], bool],
    attempts: int,
) -> _State:
    """Return the state if it is as expected, else the state on which two reads in a row agree.

    If no two reads agree, return what the last one shows.
    """
    state = read()
    for _ in range(attempts - 1):
        if expected(state):
            break
        time.sleep(SECONDS_APART)
        before, state = state, read()
        if agree(before, state):
            break
    return state


def read_settled(read: Callable[[], _State]) -> _State:
    """Return the state on which AGREEING reads in a row agree, else what the last read shows."""
    state = read()
    agreeing = 1
    for _ in range(2 * ATTEMPTS):
        if agreeing == AGREEING:
            break
        time.sleep(SECONDS_APART)
        before, state = state, read()
        agreeing = agreeing + 1 if state == before else 1
    return state


class Planner:
    """Plans heals in one account, by the rule's parameters and the stack's settings."""

    def __init__(self, services: HealServices) -> None:
        """Read the settings. Raise SettingError, and ApiError if the endpoint policy cannot be read."""
        self._services = services
        self.settings = with_endpoint_policy(services.aws, services.read_settings())

    def evaluator(self, subnet_id: str) -> Evaluator:
        """Return an evaluator for a snapshot of the subnet's VPC as it is now, empty without the subnet. Raise ApiError."""
        services = self._services
        snapshot = Snapshot(services.account_id, services.aws.region)
        if vpc_id := services.snapshots.vpc_of(subnet_id):
            snapshot = services.snapshots.read(services.account_id, vpc_id, services.parameters)
            role_arn = services.parameters.network_role_arn or ""
            snapshot = with_entrances(services.aws, services.snapshots, snapshot, vpc_id, role_arn)
        return Evaluator(Tracer(snapshot), services.parameters)

    def settled_plan(self, request: HealRequest, policy: RepeatPolicy, *, needs_approval: bool = False) -> Observation:
        """Plan until a plan is as expected, or two plans in a row agree, so that one late answer decides nothing.

        needs_approval: the plan is blocked unless somebody approved the heal. Raise ApiError.
        """
        return read_until_two_agree(
            lambda: self._plan(request, needs_approval=needs_approval, has_preflight=policy.has_preflight),
            lambda before, now: _decision(before) == _decision(now) and not policy.temporary(now),
            policy.expected,
            policy.attempts or ATTEMPTS,
        )

    def _plan(self, request: HealRequest, *, needs_approval: bool, has_preflight: bool) -> Observation:
        """Plan once. Without a pre-flight, only the network, the ledger and the change calendar are read."""
        evaluator = self.evaluator(request.subnet_id)
        verdict = evaluator.verdict(request.subnet_id)
        table_id = verdict.route_table_id
        view = self._services.ledger.view(table_id, verdict.vpc_id) if table_id else NO_RECORDS
        now = _now()
        evidence = self._evidence(evaluator, verdict, has_preflight=has_preflight)
        approval = view.table.approval if needs_approval else None
        run = (
            approval_run(self._services.aws.ssm, approval.run_id, self.settings, table_id, request.run_id)
            if approval and table_id
            else None
        )
        creators = creators_of(self._services, view.vpc, request.run_id)
        context = PlanContext(evidence, self.settings, now, view, request.started_by, needs_approval, run, creators)
        return Observation(evaluator, make_plan(evaluator, request.subnet_id, context), view, now)

    def _evidence(self, evaluator: Evaluator, verdict: Verdict, *, has_preflight: bool) -> Evidence:
        """Read what the pre-flight checks; nothing if there is nothing to heal."""
        if verdict.compliance is not Compliance.NON_COMPLIANT and verdict.reason not in BLOCKER_BY_REASON:
            return Evidence()
        calendar_open = self._is_calendar_open()
        table = evaluator.table_of(verdict)
        if table is None or not (has_preflight and is_healable(verdict)):
            return Evidence(calendar_open=calendar_open)
        return evidence_for(self._services.aws, evaluator, verdict, table, calendar_open=calendar_open)

    def _is_calendar_open(self) -> bool:
        """Return whether the change calendar allows heals now. Raise ApiError, also if the calendar does not exist."""
        if not self.settings.calendar:
            return True
        with calling("ssm:GetCalendarState"):
            ssm = self._services.aws.ssm
            return ssm.get_calendar_state(CalendarNames=[self.settings.calendar])["State"] == "OPEN"


def _decision(observation: Observation) -> tuple[object, ...]:
    plan = observation.plan
    return plan.action, plan.endpoint_id, plan.verdict.route_table_id, [found.code for found in plan.blockers]


def with_endpoint_policy(aws: Aws, settings: HealSettings) -> HealSettings:
    """Return the settings with the policy from the SSM parameter that they name. Raise SettingError, ApiError."""
    if not settings.policy_parameter:
        return settings
    with calling("ssm:GetParameter"):
        found = aws.ssm.get_parameter(Name=settings.policy_parameter, WithDecryption=True)
    return replace(settings, policy=parse_endpoint_policy(found["Parameter"]["Value"]))


def creators_of(services: HealServices, vpc: VpcRecord, run_id: str) -> tuple[RunRecord, ...]:
    """Return the heals that created, or may have created, endpoints of a VPC, and are over. Raise ApiError, RecordError.

    A heal is over once it has read its change back, or if its run has ended. run_id is the run that asks.
    """
    run_ids = sorted({vpc.token_run, *vpc.creator_runs})
    runs = [run for run in map(services.ledger.run, run_ids) if run and run.creation_intended_at]
    return tuple(
        run for run in runs if run.is_associated or (run.run_id != run_id and has_ended(services.aws.ssm, run.run_id))
    )


BEFORE_CHANGES = frozenset(
    {HealAction.PLAN, HealAction.TURN, HealAction.CONFIRM, HealAction.ELECTED, HealAction.TARGET}
)
"""The steps before a change. Each of them ends the run if somebody stopped all heals."""


class HealSteps:
    """Answers the steps of heals in one account."""

    def __init__(self, services: HealServices, planner: Planner) -> None:
        """Prepare; nothing is read yet."""
        self._aws = services.aws
        self._ledger = services.ledger
        self._planner = planner

    def answer(self, request: HealRequest) -> dict[str, Any]:
        """Answer one step. An exception fails the step."""
        steps: Mapping[HealAction | ApprovalAction, Callable[[HealRequest], dict[str, Any]]] = {
            HealAction.PLAN: self.plan,
            HealAction.TURN: self.turn,
            HealAction.CONFIRM: self.confirm,
            HealAction.ELECTED: self.elected,
            HealAction.TARGET: self.target,
            HealAction.ASSOCIATED: self.associated,
            HealAction.VERIFY: self.verify,
        }
        stop = None if request.dry_run or request.action not in BEFORE_CHANGES else self._ledger.stop()
        return stopped_answer(stop, request.subnet_id) if stop else steps[request.action](request)

    def plan(self, request: HealRequest) -> dict[str, Any]:
        """Return what a heal would change. Unless it is a dry run, a blocked plan raises BlockedError."""
        observation = self._planner.settled_plan(request, FIRST_PLAN, needs_approval=self._needs_approval(request))
        if not request.dry_run:
            check_not_blocked(observation.plan)
        finished = self._finished_endpoint(observation, request)
        step = next_before_claim(observation.plan, dry_run=request.dry_run, finishes=bool(finished))
        record = observation.ledger.table
        answer = plan_answer(observation.plan, step, self._planner.settings, record, observation.now, finished)
        writer = self._writer(request, observation.now)
        finishes = step is NextStep.FINISH
        return {**answer, "ledger": [writer.healed_earlier(record, finished)] if finishes else []}

    def turn(self, request: HealRequest) -> dict[str, Any]:
        """Return whether the run can claim its route table now. It plans again if the ledger changed since its plan."""
        record, now = self._ledger.table(request.route_table_id), _now()
        if _is_working(self._aws, record, request.run_id, now):
            return turn_answer(NextStep.WAIT)
        void_run = record.run_id if record.is_claimed_by_other(request.run_id, now) else ""
        claim = self._writer(request, now).claim(
            record, void_run=void_run, subnet_id=request.subnet_id, vpc_id=request.vpc_id, lost=WAITING
        )
        if {"seenRun": request.seen_run, "seenState": request.seen_state} == seen(record):
            return turn_answer(NextStep.CLAIM, claim)
        observation = self._changeable(request, FIRST_PLAN, needs_approval=self._needs_approval(request))
        if observation.plan.action is Action.NOTHING_TO_DO:
            return turn_answer(NextStep.DONE)
        return turn_answer(NextStep.CLAIM, claim)

    def confirm(self, request: HealRequest) -> dict[str, Any]:
        """Return what this run changes, now that it has claimed the route table: two plans in a row must agree.

        If the run creates the VPC's endpoint, it is to be elected first, so that all runs use one client token.

        A run without the claim changes nothing. Raise ClaimHeldError if the run that it waited for still has the claim.
        """
        record, now = self._ledger.table(request.route_table_id), _now()
        has_claim = record.is_claimed_by(request.run_id, now)
        if _is_working(self._aws, record, request.run_id, now):
            raise ClaimHeldError(request.route_table_id, record.run_id)
        needs_approval = self._needs_approval(request)
        observation = self._changeable(request, AFTER_CLAIM, needs_approval=needs_approval)
        election = elect(observation, request.run_id)
        step = next_change(observation.plan)
        if not has_claim:
            if step is not NextStep.VERIFY:
                raise ClaimLostError(request.route_table_id, request.run_id, record.run_id)
            step = NextStep.DONE
        writer, writes = self._writer(request, observation.now), list[Write]()
        if needs_approval and step not in (NextStep.VERIFY, NextStep.DONE):
            writes.append(writer.use_approval(request.route_table_id, observation.plan.fingerprint))
        if step is NextStep.CREATE and election.must_elect:
            writes.append(writer.elect(observation.ledger.vpc.vpc_id, election))
        if is_unrecorded(observation):
            step = NextStep.CREATE
        fingerprint = observation.plan.fingerprint or NONE
        return {
            "details": plan_fields(observation.plan),
            "next": step.value,
            "fingerprint": fingerprint,
            "ledger": writes,
        }

    def elected(self, request: HealRequest) -> dict[str, Any]:
        """Return which run's client token creates the endpoint, unless it exists by now.

        Raise ElectionError, and ApprovedPlanError.
        """
        self._check_claim(request)
        observation = self._changeable(request, BEFORE_CREATION)
        election, creates_again = elect(observation, request.run_id), is_unrecorded(observation)
        if election.must_elect:
            raise ElectionError(observation.ledger.vpc.vpc_id)
        if observation.plan.action is Action.CREATE_AND_ASSOCIATE and self._needs_approval(request):
            observation = self._confirmed(request)
        step = NextStep.CREATE if creates_again else next_change(observation.plan)
        answer = elected_answer(observation.plan, step, election, self._planner.settings)
        run = self._run(request, observation)
        writer = self._writer(request, observation.now)
        return {**answer, "ledger": [writer.intend_creation(run)] if step is NextStep.CREATE else []}

    def target(self, request: HealRequest) -> dict[str, Any]:
        """Return the endpoint to associate, once it is available. Raise EndpointNotReadyError, ApprovedPlanError."""
        self._check_claim(request)
        observation = self._changeable(request, BEFORE_ASSOCIATION)
        if is_ready(observation):
            observation = self._confirmed(request)
        step = next_change(observation.plan)
        if not is_ready(observation) and step is not NextStep.VERIFY:
            raise EndpointNotReadyError(request.subnet_id, found_instead(observation))
        record = observation.ledger.vpc
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
        as_confirmed = RepeatPolicy(lambda now: is_change(now) and now.plan.fingerprint == request.fingerprint, never)
        observation = self._changeable(request, as_confirmed)
        has_changed = is_change(observation) and observation.plan.fingerprint != request.fingerprint
        if has_changed and self._needs_approval(request):
            raise ApprovedPlanError(request.subnet_id, request.route_table_id)
        return observation

    def _marks(self, observation: Observation) -> Marks:
        """Return the owners and the policy before the change. Raise EndpointNotReadyError if EC2 shows no endpoint."""
        verdict, endpoint_id = observation.plan.verdict, str(observation.plan.endpoint_id)
        live = read_until(
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
        live = read_until(
            lambda: read_live_resources(self._aws, run.vpc_id, run.endpoint_id),
            lambda now: _uses(now, run),
        )
        if not _uses(live, run):
            raise NotAssociatedError(run.route_table_id, run.endpoint_id)
        tag_keys = {key for endpoint in live.endpoints for key in endpoint.tags}
        writes = [self._writer(request, _now()).associated(tag_keys)]
        return {"routeTableId": run.route_table_id, "endpointId": run.endpoint_id, "ledger": writes}

    def verify(self, request: HealRequest) -> dict[str, Any]:
        """Return the verdict after a heal; read again for some seconds while routes settle. Raise NotCuredError."""
        evaluator = read_until(
            lambda: self._planner.evaluator(request.subnet_id), lambda now: not self._fault(now, request.subnet_id)
        )
        if found := self._fault(evaluator, request.subnet_id):
            raise NotCuredError(request.subnet_id, found)
        verdict = evaluator.verdict(request.subnet_id)
        table = self._ledger.table(verdict.route_table_id or "")
        heal = self._ledger.run(table.heal_run_id)
        endpoint_id, changed = endpoint_in_use(evaluator, request.subnet_id), table.heal_run_id == request.run_id
        writer = self._writer(request, _now())
        writes = writer.healed(table.route_table_id, endpoint_id, finishes_run=changed)
        return verify_answer(verdict, endpoint_id, heal, writes)

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
        record = observation.ledger.table
        if _is_working(self._aws, record, request.run_id, observation.now):
            return ""
        heal = self._ledger.run(record.heal_run_id)
        return heal.endpoint_id if heal and may_be_finished(observation, heal) else ""

    def _check_claim(self, request: HealRequest) -> None:
        """Raise ClaimLostError if this run does not, or no longer, have the claim on the route table."""
        record = self._ledger.table(request.route_table_id)
        if not record.is_claimed_by(request.run_id, _now()):
            raise ClaimLostError(request.route_table_id, request.run_id, record.run_id)

    def _changeable(self, request: HealRequest, policy: RepeatPolicy, *, needs_approval: bool = False) -> Observation:
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


def _is_working(aws: Aws, record: TableRecord, run_id: str, now: datetime) -> bool:
    """Return whether another run has claimed a route table and has not ended."""
    return record.is_claimed_by_other(run_id, now) and not has_ended(aws.ssm, record.run_id)


def _now() -> datetime:
    return datetime.now(UTC)


def answer_approval(services: HealServices, planner: Planner, request: HealRequest) -> dict[str, Any]:
    """Answer a step that asks people to approve a heal: whether to ask, whom, and the message.

    Unless it is a dry run, a blocked plan raises BlockedError. Raise SettingError if no approvers are configured.
    """
    writer = Writer(services.ledger.table_name, request.run_id, _now())
    if request.action is ApprovalAction.APPROVED:
        return {"routeTableId": request.route_table_id, "ledger": [writer.approve(request.route_table_id)]}
    if request.action is ApprovalAction.UNAPPROVED:
        if is_rejected(services.aws.ssm, request.run_id):
            denied = writer.deny(request.route_table_id, request.run_id)
            return {"next": ApprovalStep.DENIED.value, "ledger": [denied]}
        return {"next": ApprovalStep.DONE.value, "ledger": []}
    stop = None if request.dry_run else services.ledger.stop()
    if stop:
        return stopped_answer(stop, request.subnet_id)
    observation = _blocked_if_denied(planner.settled_plan(request, FIRST_PLAN), request)
    if not request.dry_run:
        check_not_blocked(observation.plan)
    other = open_request(observation.ledger.table.approval, request.run_id, observation.now)
    void_run = other if other and has_ended(services.aws.ssm, other) else ""
    step = next_step(observation.plan, dry_run=request.dry_run, is_pending=bool(other) and not void_run)
    writes: list[Write] = []
    if step is ApprovalStep.ASK:
        _check_approvers(planner.settings)
        table_id, lost = observation.plan.verdict.route_table_id or "", {"next": ApprovalStep.ASK_AGAIN}
        if rejected_run := _rejected_run(services, observation, request):
            step, writes = ApprovalStep.DENIED, [writer.deny(table_id, rejected_run, lost)]
        else:
            fingerprint = request.fingerprint or observation.plan.fingerprint
            writes = [writer.request_approval(table_id, fingerprint, void_run=void_run, lost=lost)]
    answer = approval_answer(observation.plan, step, planner.settings, _governed_subnets(observation))
    return {**answer, "ledger": writes}


def _blocked_if_denied(observation: Observation, request: HealRequest) -> Observation:
    """Return the observation, with its plan blocked if AWS Config starts a heal that the approvers denied."""
    denied = denial(observation.ledger.table, request.started_by)
    if denied is None or observation.plan.action is Action.NOTHING_TO_DO:
        return observation
    blockers = (*observation.plan.blockers, denied)
    return replace(observation, plan=replace(observation.plan, action=Action.BLOCKED, blockers=blockers))


def _rejected_run(services: HealServices, observation: Observation, request: HealRequest) -> str:
    """Return the run whose request was rejected and that ended before it recorded that; empty if there is none.

    AWS says that an automation stops if a request is not approved, and has an example in which it goes on
    (https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-approve.html). Raise ApiError.
    """
    approval = observation.ledger.table.approval
    if request.started_by is not StartedBy.CONFIG or approval is None or approval.run_id == request.run_id:
        return ""
    is_open = approval.state is ApprovalState.REQUESTED
    return approval.run_id if is_open and is_rejected(services.aws.ssm, approval.run_id) else ""


def _check_approvers(settings: HealSettings) -> None:
    """Raise SettingError if the stack does not configure whom to ask, where, or what to start."""
    required = {
        "APPROVERS": (settings.approvers, "the people to ask (stack parameter Approvers)"),
        "APPROVAL_TOPIC_ARN": (settings.approval_topic_arn, "an SNS topic (stack parameter ApprovalTopicArn)"),
        "HEAL_DOCUMENT_NAME": (settings.heal_document, "the name of the runbook that heals"),
    }
    for name, (value, allowed) in required.items():
        if not value:
            raise SettingError(name, "", allowed)


def _governed_subnets(observation: Observation) -> list[str]:
    """Return the ids of the subnets that the route table of the plan governs: their traffic moves together."""
    evaluator, verdict = observation.evaluator, observation.plan.verdict
    table = evaluator.table_of(verdict)
    return sorted(subnet.id for subnet in evaluator.tracer.governed_subnets(table)) if table else []


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
            UndoAction.REST: self._rest,
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
        records, now = self._records(request), _now()
        if records.heal.undo_run_id:
            return turn_answer(NextStep.DONE)
        if _is_working(self._aws, records.table, request.run_id, now):
            return turn_answer(NextStep.WAIT)
        void_run = records.table.run_id if records.table.is_claimed_by_other(request.run_id, now) else ""
        return turn_answer(
            NextStep.CLAIM, self._writer(request).claim_for_undo(records.heal, void_run=void_run, lost=WAITING)
        )

    def _check(self, request: UndoRequest) -> dict[str, Any]:
        """Plan again, now that this run has claimed the table; nothing is left to do if another run undid the heal.

        Raise ClaimHeldError if the run that this one waited for still has the claim.
        """
        records = self._records(request)
        if records.heal.undo_run_id:
            undone = Undo(records.heal, associated=False, is_live=False)
            return self._answer(undone, [], UNDONE)
        if _is_working(self._aws, records.table, request.run_id, _now()):
            raise ClaimHeldError(records.heal.route_table_id, records.table.run_id)
        undo = self._still_associated(self._claimed(request))
        writes = [self._writer(request).intend_disassociation()] if undo.associated else []
        return self._answer(undo, writes)

    def _rest(self, request: UndoRequest) -> dict[str, Any]:
        """Return what is left to do after the association was removed."""
        records = self._claimed(request)
        undo = read_until(lambda: self._current(records), lambda now: not now.associated)
        if undo.associated:
            raise NotDisassociatedError(undo.heal.route_table_id, undo.heal.endpoint_id)
        undo = read_settled(lambda: self._current(records))
        writer = self._writer(request)
        deletes = undo.change is UndoChange.DELETE_ENDPOINT
        return self._answer(undo, [writer.mark_deleted(undo.heal)] if deletes else writer.undone(undo.heal))

    def _confirm(self, request: UndoRequest) -> dict[str, Any]:
        """Plan once more after the ledger records the endpoint as deleted: no heal uses it from then on."""
        records = self._claimed(request)
        undo = read_settled(lambda: self._current(records))
        writer = self._writer(request)
        if undo.is_live and not undo.deletes:
            writes = [writer.unmark_deleted(undo.heal), *writer.undone(undo.heal)]
            return self._answer(undo, writes, UndoChange.KEEP_ENDPOINT)
        deletes = undo.change is UndoChange.DELETE_ENDPOINT
        return self._answer(undo, [writer.intend_deletion()] if deletes else writer.undone(undo.heal))

    def _deleted(self, request: UndoRequest) -> dict[str, Any]:
        """Return what is left to do once EC2 deleted the endpoint."""
        records = self._claimed(request)
        undo = read_until(lambda: self._current(records), lambda now: not now.is_live)
        if undo.is_live:
            raise NotDeletedError(undo.heal.endpoint_id)
        writer = self._writer(request)
        return self._answer(undo, [writer.deleted(), *writer.undone(undo.heal)])

    def _records(self, request: UndoRequest) -> Records:
        heal = check_heal(request.heal_run_id, self._ledger.run(request.heal_run_id), self._services.account_id)
        view = self._ledger.view(heal.route_table_id, heal.vpc_id)
        creators = creators_of(self._services, view.vpc, request.run_id)
        last, since = self._ledger.run(view.table.heal_run_id), self._ledger.created_at()
        return Records(heal, view.table, view.vpc, last, creators, since, is_in_history(self._aws.ssm, heal, since))

    def _claimed(self, request: UndoRequest) -> Records:
        """Return the records if this run has the claim on the table. Raise ClaimLostError."""
        records = self._records(request)
        if not records.table.is_claimed_by(request.run_id, _now()):
            raise ClaimLostError(records.heal.route_table_id, request.run_id, records.table.run_id)
        return records

    def _still_associated(self, records: Records) -> Undo:
        """Plan again while EC2 does not show the association: a late answer must not hide what is to be removed."""
        return read_until(lambda: self._current(records), lambda now: now.associated)

    def _current(self, records: Records) -> Undo:
        """Plan the undo from what EC2 shows now."""
        live = read_live_resources(self._aws, records.heal.vpc_id, records.heal.endpoint_id)
        return make_undo(records, live, self._aws.region, self._settings)

    def _writer(self, request: UndoRequest) -> Writer:
        return Writer(self._ledger.table_name, request.run_id, _now())

    def _answer(
        self, undo: Undo, writes: list[Write], action: str = "", moves: tuple[UndoFact, ...] = ()
    ) -> dict[str, Any]:
        """Return the answer with these writes. The next change is that of the undo, unless another action is given."""
        answer = undo_answer(undo, action or undo.change, self._ledger.table_name, _now(), moves)
        return {**answer, "ledger": writes}

    def _moves(self, undo: Undo) -> tuple[UndoFact, ...]:
        """Return where the traffic of each subnet will go, including subnets that the rule's parameters leave out."""
        if not undo.associated:
            return ()
        parameters = replace(self._services.parameters, scope=Scope.ALL, vpc_ids=frozenset(), exclude_tag="")
        heal = undo.heal
        snapshot = self._services.snapshots.read(self._services.account_id, heal.vpc_id, parameters)
        return moves(Evaluator(Tracer(snapshot), parameters), heal.route_table_id, heal.endpoint_id)

"""Answer the steps that ask people to approve a heal."""

from dataclasses import replace
from typing import Any

from express_path.adapters.heal_answers import approval_answer, check_not_blocked, stopped_answer
from express_path.adapters.heal_reader import has_ended, is_rejected
from express_path.adapters.heal_requests import (
    ApprovalPlanRequest,
    ApprovalRequest,
    ApprovedRequest,
    UnapprovedRequest,
)
from express_path.adapters.ledger import Write, Writer
from express_path.domain.heal.approvals import ApprovalStep, denial, next_step, open_request_run_id
from express_path.domain.heal.claims import FIRST_PLAN, Observation
from express_path.domain.heal.ledger_records import ApprovalState, StartedBy
from express_path.domain.heal.records import HealSettings, PlanAction
from express_path.errors import SettingError
from express_path.healing.planning import Planner
from express_path.healing.services import HealServices, current_time


def answer_approval(services: HealServices, planner: Planner, request: ApprovalRequest) -> dict[str, Any]:
    """Answer a step that asks people to approve a heal."""
    writer = Writer(services.ledger.table_name, request.run_id, current_time())
    match request:
        case ApprovalPlanRequest():
            return _plan_approval(services, planner, request, writer)
        case ApprovedRequest():
            return {"routeTableId": request.route_table_id, "ledger": [writer.approve(request.route_table_id)]}
        case UnapprovedRequest():
            if is_rejected(services.aws.ssm, request.run_id):
                denied = writer.deny(request.route_table_id, request.run_id)
                return {"next": ApprovalStep.DENIED.value, "ledger": [denied]}
            return {"next": ApprovalStep.DONE.value, "ledger": []}


def _plan_approval(
    services: HealServices, planner: Planner, request: ApprovalPlanRequest, writer: Writer
) -> dict[str, Any]:
    """Return whether to ask, whom, and the message.

    Unless it is a dry run, a blocked plan raises BlockedError. Raise SettingError if no approvers are configured.
    """
    if not request.dry_run:
        stop = services.ledger.current_stop()
        if stop:
            return stopped_answer(stop, request.subnet_id)
    observation = _blocked_if_approvers_denied(planner.settled_plan(request, FIRST_PLAN), request)
    if not request.dry_run:
        check_not_blocked(observation.plan)
    open_run_id = open_request_run_id(observation.ledger.table.approval, request.run_id, observation.now)
    void_run_id = ""  # the run whose request no longer counts, because it has ended
    if open_run_id and has_ended(services.aws.ssm, open_run_id):
        void_run_id = open_run_id
    step = next_step(observation.plan, dry_run=request.dry_run, is_pending=bool(open_run_id) and not void_run_id)
    writes: list[Write] = []
    if step is ApprovalStep.ASK:
        _check_approvers(planner.settings)
        table_id = observation.plan.verdict.route_table_id or ""
        if_lost = {"next": ApprovalStep.ASK_AGAIN}
        rejected_run_id = _rejected_run_id(services, observation, request)
        if rejected_run_id:
            step, writes = ApprovalStep.DENIED, [writer.deny(table_id, rejected_run_id, if_lost)]
        else:
            fingerprint = request.shown_fingerprint or observation.plan.fingerprint
            writes = [writer.request_approval(table_id, fingerprint, void_run_id=void_run_id, if_lost=if_lost)]
    answer = approval_answer(observation.plan, step, planner.settings, _governed_subnets(observation))
    return {**answer, "ledger": writes}


def _blocked_if_approvers_denied(observation: Observation, request: ApprovalPlanRequest) -> Observation:
    """Return the observation, with its plan blocked if AWS Config starts a heal that the approvers denied."""
    denied = denial(observation.ledger.table, request.started_by)
    if denied is None or observation.plan.action is PlanAction.NOTHING_TO_DO:
        return observation
    blockers = (*observation.plan.blockers, denied)
    return replace(observation, plan=replace(observation.plan, action=PlanAction.BLOCKED, blockers=blockers))


def _rejected_run_id(services: HealServices, observation: Observation, request: ApprovalPlanRequest) -> str:
    """Return the run whose request was rejected and that ended before it recorded that; empty if there is none.

    AWS says that an automation stops if a request is not approved, and has an example in which it goes on
    (https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-approve.html). Raise ApiError.
    """
    approval = observation.ledger.table.approval
    if request.started_by is not StartedBy.CONFIG or approval is None or approval.run_id == request.run_id:
        return ""
    if approval.state is ApprovalState.REQUESTED and is_rejected(services.aws.ssm, approval.run_id):
        return approval.run_id
    return ""


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

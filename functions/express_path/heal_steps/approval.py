"""Answer the steps of the runbook that asks people to approve heals. It only reads."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from express_path.adapters.heal_reader import has_ended
from express_path.adapters.heal_steps import ApprovalAction, ApprovalRequest, approval_answer, blocked_error
from express_path.adapters.ledger import Write, Writer
from express_path.domain.heal.approvals import ApprovalStep, denial, next_step, open_request
from express_path.domain.heal.claims import FIRST_PLAN, Observation
from express_path.domain.heal.records import Action, HealSettings
from express_path.errors import SettingError
from express_path.heal_steps.planning import Planner
from express_path.heal_steps.services import Services


class ApprovalSteps:
    """Answers the steps that ask people to approve heals in one account."""

    def __init__(self, services: Services, planner: Planner) -> None:
        """Prepare; nothing is read yet."""
        self._aws = services.aws
        self._ledger = services.ledger
        self._planner = planner

    def answer(self, request: ApprovalRequest) -> dict[str, Any]:
        """Answer one step.

        Unless it is a dry run, a blocked plan raises BlockedError. Raise SettingError if no approvers are configured.
        """
        if request.action is ApprovalAction.APPROVED:
            writer = Writer(self._ledger.table_name, request.run_id, datetime.now(UTC))
            return {"routeTableId": request.route_table_id, "ledger": [writer.approve(request.route_table_id)]}
        return self._plan(request)

    def _plan(self, request: ApprovalRequest) -> dict[str, Any]:
        """Return whether to ask for approval, whom to ask, and the message."""
        observation = self._blocked_if_denied(
            self._planner.settled_plan(request.subnet_id, request.started_by, FIRST_PLAN), request
        )
        if observation.plan.action is Action.BLOCKED and not request.dry_run:
            raise blocked_error(observation.plan)
        other = self._open_request(observation, request)
        void_run = other if other and has_ended(self._aws.ssm, other) else ""
        step = next_step(observation.plan, dry_run=request.dry_run, is_pending=bool(other) and not void_run)
        settings = self._planner.settings
        writes: list[Write] = []
        if step is ApprovalStep.ASK:
            _check_approvers(settings)
            writer = Writer(self._ledger.table_name, request.run_id, observation.now)
            writes = [
                writer.request_approval(
                    observation.plan.verdict.route_table_id or "",
                    request.fingerprint or observation.plan.fingerprint,
                    void_run=void_run,
                    lost={"next": ApprovalStep.ASK_AGAIN},
                )
            ]
        answer = approval_answer(observation.plan, step, settings, _governed_subnets(observation))
        return {**answer, "ledger": writes}

    @staticmethod
    def _blocked_if_denied(observation: Observation, request: ApprovalRequest) -> Observation:
        """Return the observation, with its plan blocked if AWS Config starts a heal that the approvers denied."""
        denied = denial(observation.ledger.table, request.started_by) if observation.ledger else None
        if denied is None or observation.plan.action is Action.NOTHING_TO_DO:
            return observation
        blockers = (*observation.plan.blockers, denied)
        return replace(observation, plan=replace(observation.plan, action=Action.BLOCKED, blockers=blockers))

    @staticmethod
    def _open_request(observation: Observation, request: ApprovalRequest) -> str:
        """Return the run that is already asking for approval, empty if there is none."""
        if observation.ledger is None:
            return ""
        return open_request(observation.ledger.table.approval, request.run_id, int(observation.now.timestamp()))


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
    table = evaluator.snapshot.route_tables.get(verdict.route_table_id or "")
    return sorted(subnet.id for subnet in evaluator.tracer.governed_subnets(table)) if table else []

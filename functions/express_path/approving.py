"""What the plan function does for the runbook that asks the approvers. It only reads."""

from dataclasses import replace
from typing import Any

from express_path.adapters.approval_requests import ApprovalRequest, approval_answer
from express_path.adapters.aws import Aws
from express_path.adapters.heal_answers import summary
from express_path.adapters.run_states import has_ended
from express_path.domain.heal.approvals import Ask, denial, next_step, open_request
from express_path.domain.heal.looks import CHANGE, Look
from express_path.domain.heal.records import Action, HealSettings
from express_path.domain.verdict.evaluator import Evaluator
from express_path.errors import BlockedError, SettingError
from express_path.planning import Planner


class Approving:
    """Answers the steps that ask people to approve heals in one account."""

    def __init__(self, aws: Aws, planner: Planner) -> None:
        """Prepare; nothing is read before it is asked for."""
        self._aws = aws
        self._planner = planner

    def answer(self, request: ApprovalRequest) -> dict[str, Any]:
        """Whether to ask about the heal of a subnet, whom, and what.

        Unless it is a dry run, a blocked plan raises BlockedError. Raises SettingError where there is nobody to ask.
        """
        look = self._denied(self._planner.settled(request.subnet_id, request.started_by, CHANGE), request)
        if look.plan.action is Action.BLOCKED and not request.dry_run:
            raise BlockedError(summary(look.plan), look.plan.patches)
        other = self._open_request(look, request)
        void_run = other if other and has_ended(self._aws.ssm, other) else ""
        step = next_step(look.plan, dry_run=request.dry_run, is_pending=bool(other) and not void_run)
        settings = self._planner.settings
        if step is Ask.ASK:
            _check_approvers(settings)
        return approval_answer(look.plan, step, settings, _governed(look), look.now, void_run)

    @staticmethod
    def _denied(look: Look, request: ApprovalRequest) -> Look:
        """The same look, with its plan blocked where the approvers said no and AWS Config asks again."""
        refused = denial(look.ledger.table, request.started_by) if look.ledger else None
        if refused is None or look.plan.action is Action.NOTHING_TO_DO:
            return look
        blockers = (*look.plan.blockers, refused)
        return replace(look, plan=replace(look.plan, action=Action.BLOCKED, blockers=blockers))

    @staticmethod
    def _open_request(look: Look, request: ApprovalRequest) -> str:
        if look.ledger is None:
            return ""
        return open_request(look.ledger.table.approval, request.run_id, int(look.now.timestamp()))


def _check_approvers(settings: HealSettings) -> None:
    """Raise SettingError where the stack names nobody who could approve."""
    required = {
        "APPROVERS": (settings.approvers, "the people to ask (stack parameter Approvers)"),
        "APPROVAL_TOPIC_ARN": (settings.approval_topic_arn, "an SNS topic (stack parameter ApprovalTopicArn)"),
        "HEAL_DOCUMENT_NAME": (settings.heal_document, "the name of the runbook that heals"),
    }
    for name, (value, allowed) in required.items():
        if not value:
            raise SettingError(name, "", allowed)


def _governed(look: Look) -> list[str]:
    """The subnets of the route table, whose traffic moves together."""
    evaluator: Evaluator = look.evaluator
    tables = {each: evaluator.tracer.governing_table(subnet) for each, subnet in evaluator.snapshot.subnets.items()}
    wanted = look.plan.verdict.route_table_id
    return sorted(each for each, table in tables.items() if table is not None and table.id == wanted)

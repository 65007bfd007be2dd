"""The runbooks' Lambda: it plans heals and undos, and verifies them. It reads; every change is a step of a runbook."""

import json
import os
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.approval_requests import ApprovalRequest, is_approval, parse_approval_request
from express_path.adapters.config_rule.event_checks import checked
from express_path.adapters.heal_requests import HealRequest, parse_heal_request
from express_path.adapters.undo_requests import UndoRequest, is_undo, parse_undo_request
from express_path.domain.verdict.parameters import RuleParameters, parse_parameters
from express_path.handlers.services import services
from express_path.heal_steps.approval import Approving
from express_path.heal_steps.heal import Healing
from express_path.heal_steps.planning import Planner
from express_path.heal_steps.undo import Undoing

logger = Logger(service="express-path")


@cache
def rule_parameters() -> RuleParameters:
    """The rule's parameters, so that a heal judges as the rule does."""
    return parse_parameters(json.loads(os.environ.get("RULE_PARAMETERS") or "{}"))


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer a step of a runbook. What it raises fails the step."""
    request = parse(event)
    logger.set_correlation_id(request.run_id)
    answer = _answer(request, context)
    logger.info("answered", extra={"action": request.action, "answer": answer})
    return answer


def parse(event: dict[str, Any]) -> HealRequest | UndoRequest | ApprovalRequest:
    """Read a question of any of the runbooks. Raises EventError."""
    checked(event, "event")
    if is_undo(event):
        return parse_undo_request(event)
    return parse_approval_request(event) if is_approval(event) else parse_heal_request(event)


def _answer(request: HealRequest | UndoRequest | ApprovalRequest, context: LambdaContext) -> dict[str, Any]:
    aws, snapshots = services()
    account_id = context.invoked_function_arn.split(":")[4]
    if isinstance(request, UndoRequest):
        return Undoing(aws, snapshots, account_id, rule_parameters(), os.environ).answer(request)
    planner = Planner(aws, snapshots, account_id, rule_parameters(), os.environ)
    if isinstance(request, ApprovalRequest):
        return Approving(aws, planner).answer(request)
    return Healing(aws, planner).answer(request)

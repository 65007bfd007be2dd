"""The runbook's Lambda: plans a heal or an undo, and verifies it. It reads; every change is a step of the runbook."""

import json
import os
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.heal_requests import VERIFY, HealRequest, parse_request
from express_path.domain.parameters import RuleParameters, parse_parameters
from express_path.handlers.services import services
from express_path.healing import Healing
from express_path.undoing import Undoing

logger = Logger(service="express-path")


@cache
def rule_parameters() -> RuleParameters:
    """The rule's parameters, so that a heal judges as the rule does."""
    return parse_parameters(json.loads(os.environ.get("RULE_PARAMETERS") or "{}"))


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer the runbook's question: plan or verify. What it raises fails the step."""
    request = parse_request(event)
    logger.set_correlation_id(request.subnet_id or request.undo_run_id)
    answer = _answer(request, context.invoked_function_arn.split(":")[4])
    logger.info("answered", extra={"action": request.action, "answer": answer})
    return answer


def _answer(request: HealRequest, account_id: str) -> dict[str, Any]:
    aws, snapshots = services()
    if request.undo_run_id:
        return Undoing(snapshots, account_id).plan(request)
    healing = Healing(aws, snapshots, account_id, rule_parameters(), os.environ)
    return healing.verify(request) if request.action == VERIFY else healing.plan(request)

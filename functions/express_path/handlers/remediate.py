"""The runbooks' Lambda: it plans heals and undos, and verifies them. It reads; every change is a step of a runbook."""

import json
import os
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.approval_requests import is_approval, parse_approval_request
from express_path.adapters.heal_requests import parse_heal_request
from express_path.approving import Approving
from express_path.domain.parameters import RuleParameters, parse_parameters
from express_path.handlers.services import services
from express_path.healing import Healing
from express_path.planning import Planner

logger = Logger(service="express-path")


@cache
def rule_parameters() -> RuleParameters:
    """The rule's parameters, so that a heal judges as the rule does."""
    return parse_parameters(json.loads(os.environ.get("RULE_PARAMETERS") or "{}"))


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer a step of a runbook. What it raises fails the step."""
    asks = is_approval(event)
    request = parse_approval_request(event) if asks else parse_heal_request(event)
    logger.set_correlation_id(request.run_id or request.subnet_id)
    kind = Approving if asks else Healing
    answer = kind(services().aws, planner(context)).answer(request)
    logger.info("answered", extra={"action": event["action"], "answer": answer})
    return answer


def planner(context: LambdaContext) -> Planner:
    """What plans in the function's own account, by the stack's settings."""
    aws, snapshots = services()
    account_id = context.invoked_function_arn.split(":")[4]
    return Planner(aws, snapshots, account_id, rule_parameters(), os.environ)

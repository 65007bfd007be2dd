"""The runbooks' Lambda function: parse the request of a step, answer it, and log the answer."""

import json
import os
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.aws import Aws
from express_path.adapters.heal_requests import (
    EXPLAIN_FAILURE,
    ApprovalAction,
    HealAction,
    UndoAction,
    check_contract,
    parse_approval_request,
    parse_failure_request,
    parse_heal_request,
    parse_undo_request,
)
from express_path.adapters.ledger import Ledger
from express_path.adapters.network_reader import SnapshotReader
from express_path.adapters.step_failures import RaisedError
from express_path.domain.heal.records import PlanAction, parse_ledger_table, parse_owners, parse_settings
from express_path.domain.verdict.parameters import parse_parameters
from express_path.errors import BlockedError, ExpressPathError
from express_path.fields import plain_json
from express_path.healing.services import HealServices
from express_path.healing.steps import StepRequest, answer_step

logger = Logger(service="express-path")


def compose_services(environment: Mapping[str, str], account_id: str) -> HealServices:
    """Make the services of an account with the settings of the function's environment.

    Raise ParameterError, SettingError, or ApiError if no Region is set.
    """
    parameters = parse_parameters(json.loads(environment.get("RULE_PARAMETERS") or "{}"))
    ledger_table = parse_ledger_table(environment)
    aws = Aws.connect(environment.get("AWS_REGION"))
    return HealServices(
        account_id=account_id,
        aws=aws,
        snapshots=SnapshotReader(aws, environment.get("NETWORK_ROLE_EXTERNAL_ID", "")),
        ledger=Ledger(aws.dynamodb, ledger_table),
        parameters=parameters,
        read_settings=partial(parse_settings, environment, account_id),
        read_owners=partial(parse_owners, environment),
    )


@cache
def _warm_services(account_id: str) -> HealServices:
    """Return the services of this runtime, made at its first invocation."""
    return compose_services(os.environ, account_id)


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext, services: HealServices | None = None) -> dict[str, Any]:
    """Answer a step of a runbook, or raise RaisedError, which fails it. Lambda passes no services: the runtime's are used."""
    account_id = context.invoked_function_arn.split(":")[4]
    try:
        request = parse_request(event)
        logger.set_correlation_id(request.run_id)
        answer = answer_step(services or _warm_services(account_id), request)
    except ExpressPathError as error:
        if isinstance(error, BlockedError):
            _log_plan(PlanAction.BLOCKED, error.plan)
        raise RaisedError(error) from error
    if request.action is HealAction.PLAN:
        _log_plan(answer["action"], answer["details"])
    elif request.action is ApprovalAction.PLAN:
        _log_plan(answer["next"], answer["details"])
    logger.info("answered", extra={"action": request.action, "answer": answer})
    return answer


def _log_plan(status: str, plan: Mapping[str, Any]) -> None:
    """Log the outcome of a plan with the codes of its blockers, for queries of Logs Insights."""
    blockers = [blocker["code"] for blocker in plan["blockers"]]
    fields = {
        "status": status,
        "blockers": blockers,
        "subnetId": plan["subnetId"],
        "routeTableId": plan["routeTableId"],
    }
    logger.info("planned", extra=fields)


def parse_request(event: dict[str, Any]) -> StepRequest:
    """Read the request of a step of any of the runbooks. Raise RecordError, and ContractError.

    The last step of a run that failed is answered in every version: its answer says which step failed, and why.
    """
    plain_json(event, "request")
    action = event.get("action")
    if action == EXPLAIN_FAILURE:
        return parse_failure_request(event)
    check_contract(event)
    if action in tuple(UndoAction):
        return parse_undo_request(event)
    return parse_approval_request(event) if action in tuple(ApprovalAction) else parse_heal_request(event)

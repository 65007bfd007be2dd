"""The runbook's Lambda: plans a heal and verifies it. It reads; every change is a step of the runbook."""

import json
import os
import time
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.answers import verdict_answer
from express_path.adapters.aws import calling
from express_path.adapters.heal_evidence import evidence_for
from express_path.adapters.heal_requests import (
    VERIFY,
    HealRequest,
    parse_request,
    plan_answer,
    summary,
    undo_answer,
)
from express_path.domain.evidence import Evidence
from express_path.domain.heal_settings import parse_settings
from express_path.domain.healing import RUN_TAG, Action
from express_path.domain.parameters import RuleParameters, parse_parameters
from express_path.domain.plan import Circumstances, is_healable, make_plan
from express_path.domain.reasons import Compliance
from express_path.domain.tracing import Tracer
from express_path.domain.undo import Undo, check_deleted, make_undo
from express_path.domain.verdict import Judge
from express_path.errors import BlockedError, NotCuredError, NotDisassociatedError
from express_path.handlers.services import services

logger = Logger(service="express-path")

UNDO = "to undo: express-path undo {run_id}, or start RemoveS3ExpressGatewayEndpoint with RunId={run_id}"
ATTEMPTS = 5
SECONDS_APART = 2
"""How often and how far apart one invocation looks for what a step changed: EC2 shows it within seconds
(https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html)."""


@cache
def rule_parameters() -> RuleParameters:
    """The rule's parameters, so that a heal judges as the rule does."""
    return parse_parameters(json.loads(os.environ.get("RULE_PARAMETERS") or "{}"))


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer the runbook's question: plan or verify. What it raises fails the step."""
    request = parse_request(event)
    account_id = context.invoked_function_arn.split(":")[4]
    logger.set_correlation_id(request.subnet_id or request.undo_run_id)
    if request.action == VERIFY:
        return verify(account_id, request)
    return plan_undo(account_id, request) if request.undo_run_id else plan(account_id, request)


def plan(account_id: str, request: HealRequest) -> dict[str, Any]:
    """What a heal would change. Unless it is a dry run, a blocked plan raises BlockedError."""
    settings = parse_settings(os.environ, _policy(request.policy_parameter))
    judge = _judge(account_id, request.subnet_id)
    around = Circumstances(_evidence(judge, request), settings, datetime.now(UTC))
    made = make_plan(judge, request.subnet_id, around)
    logger.info("planned", extra={"plan": summary(made)})
    if made.action is Action.BLOCKED and not request.dry_run:
        raise BlockedError(summary(made), made.patches)
    return plan_answer(made, settings.rule_name, around.now.isoformat(timespec="seconds"))


def plan_undo(account_id: str, request: HealRequest) -> dict[str, Any]:
    """What an undo of one run would change now; asked again after each change.

    Raises NotDeletedError, and NotDisassociatedError where a change is not to be seen.
    """
    check_deleted(request.refusals)
    undo = _undo(account_id, request.undo_run_id)
    if request.disassociated:
        for _ in range(ATTEMPTS - 1):
            if not undo.disassociate:
                break
            time.sleep(SECONDS_APART)
            undo = _undo(account_id, request.undo_run_id)
        if undo.disassociate:
            raise NotDisassociatedError(undo.route_table_id, undo.endpoint_id)
    logger.info("planned to undo", extra={"undo": asdict(undo)})
    return undo_answer(undo)


def verify(account_id: str, request: HealRequest) -> dict[str, Any]:
    """The verdict after a heal, asked again for some seconds while routes settle; raises NotCuredError."""
    judge = _judge(account_id, request.subnet_id)
    for _ in range(ATTEMPTS - 1):
        if judge.verdict(request.subnet_id).compliance is Compliance.COMPLIANT:
            break
        time.sleep(SECONDS_APART)
        judge = _judge(account_id, request.subnet_id)
    verdict = judge.verdict(request.subnet_id)
    if verdict.compliance is not Compliance.COMPLIANT:
        raise NotCuredError(request.subnet_id, verdict.annotation)
    # Where another run was faster, its id is on the table, and only that run can be undone.
    run_id = judge.snapshot.route_tables[str(verdict.route_table_id)].tags.get(RUN_TAG, request.run_id)
    return {**verdict_answer(verdict), "undo": UNDO.format(run_id=run_id)}


def _judge(account_id: str, subnet_id: str) -> Judge:
    reader = services().snapshots
    vpc_id = reader.vpc_of(subnet_id)
    snapshot = reader.read(account_id, vpc_id, rule_parameters()) if vpc_id else reader.empty(account_id)
    return Judge(Tracer(snapshot), rule_parameters())


def _undo(account_id: str, run_id: str) -> Undo:
    return make_undo(services().snapshots.read_tagged(account_id, RUN_TAG, run_id), run_id)


def _evidence(judge: Judge, request: HealRequest) -> Evidence:
    """What the pre-flight asks about; nothing is read where there is nothing to heal."""
    verdict = judge.verdict(request.subnet_id)
    if verdict.compliance is not Compliance.NON_COMPLIANT or not is_healable(verdict):
        return Evidence(calendar_open=request.calendar_open)
    return evidence_for(services().aws, judge, verdict, calendar_open=request.calendar_open)


def _policy(parameter: str) -> str | None:
    """The text of the SSM parameter that holds the endpoint's policy, None where none is named."""
    if not parameter:
        return None
    with calling("ssm:GetParameter"):
        return services().aws.ssm.get_parameter(Name=parameter, WithDecryption=True)["Parameter"]["Value"]

"""Security Hub's Lambda function: parse the messages of its queue, bring the findings up to date, and report."""

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.aws import Aws
from express_path.adapters.security_hub.messages import News, parse_message
from express_path.adapters.security_hub.native_findings import NativeFindings
from express_path.adapters.security_hub.own_findings import OwnFindings
from express_path.adapters.security_hub.rule_findings import Rejected, RuleFindings, RuleScope
from express_path.errors import EventError, FindingsError, RecordError, SettingError
from express_path.events.checks import checked
from express_path.security_hub import Services, apply_news

logger = Logger(service="express-path")

_KINDS: Mapping[str, Callable[..., RuleFindings]] = {"ENRICH": NativeFindings, "RICH": OwnFindings}


def compose_services(environment: Mapping[str, str], account_id: str) -> Services:
    """Make the services of an account with the settings of the function's environment.

    Raise SettingError, or ApiError if no Region is set.
    """
    mode, rule_name = environment.get("SECURITY_HUB_MODE", ""), environment.get("RULE_NAME", "")
    if mode not in _KINDS:
        raise SettingError("SECURITY_HUB_MODE", mode, "one of " + ", ".join(_KINDS))
    if not rule_name:
        raise SettingError("RULE_NAME", rule_name, "the name of the rule in AWS Config")
    aws = Aws.connect(environment.get("AWS_REGION"))
    scope = RuleScope(account_id, aws.region, rule_name)
    return Services(aws, scope, _KINDS[mode](aws.security_hub, scope))


@cache
def _warm_services(account_id: str) -> Services:
    """Return the services of this runtime, made at its first invocation."""
    return compose_services(os.environ, account_id)


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext, services: Services | None = None) -> dict[str, Any]:
    """Apply a batch of messages. The answer names those that failed, so that the queue delivers only them again.

    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting.
    Raise ApiError, RecordError, or FindingsError if the whole batch failed.
    """
    services = services or _warm_services(context.invoked_function_arn.split(":")[4])
    news, failed = _parsed(event, services.scope)
    answer = apply_news(services, list(news.values()))
    if answer.note:
        logger.warning(answer.note)
    failed += _touching(news, answer.rejected)
    logger.info("findings written", extra={"messages": len(news), "written": answer.written, "failed": len(failed)})
    if answer.rejected:
        error = FindingsError([(row.subnet_id, row.code, row.message) for row in answer.rejected])
        if len(failed) == len(event["Records"]):
            raise error
        logger.error(str(error))
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _parsed(event: dict[str, Any], scope: RuleScope) -> tuple[dict[str, News], list[str]]:
    """Return what the messages say by message ID, and the IDs of those that cannot be read. Raise EventError."""
    records = checked(event, "event").get("Records")
    if not isinstance(records, list):
        raise EventError("Records", records, "a list of messages")
    news: dict[str, News] = {}
    failed: list[str] = []
    for record in records:
        message_id = str(record["messageId"])
        try:
            news[message_id] = parse_message(record.get("body"), scope)
        except (EventError, RecordError):
            logger.exception("message not read", extra={"messageId": message_id})
            failed.append(message_id)
    return news, failed


def _touching(news: Mapping[str, News], rejected: tuple[Rejected, ...]) -> list[str]:
    """Return the IDs of the messages that concern a rejected finding; a sweep concerns all findings."""
    subnet_ids = {row.subnet_id for row in rejected}
    return [
        message_id
        for message_id, part in news.items()
        if subnet_ids & {seen.subnet_id for seen in (*part.observations, *part.triggers)}
        or (rejected and part.swept_at)
    ]

"""Security Hub's Lambda function: bring the findings in Security Hub up to date with the verdicts of the rule."""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.aws import Aws
from express_path.errors import FindingsError, RecordError, SettingError
from express_path.fields import free_text, plain_json, required_rows
from express_path_integrations.adapters.messages import News, parse_message
from express_path_integrations.adapters.security_hub import OwnFindings
from express_path_integrations.findings import Rejected, RuleScope
from express_path_integrations.updating import IntegrationServices, apply_news

logger = Logger(service="express-path")


def compose_services(environment: Mapping[str, str], account_id: str) -> IntegrationServices:
    """Make the services of an account with the settings of the function's environment.

    Raise SettingError, or ApiError if no Region is set.
    """
    rule_name = environment.get("RULE_NAME", "")
    if not rule_name:
        raise SettingError("RULE_NAME", rule_name, "the name of the rule in AWS Config")
    aws = Aws.connect(environment.get("AWS_REGION"))
    scope = RuleScope(account_id, aws.region, rule_name)
    return IntegrationServices(aws, scope, OwnFindings(aws.security_hub, scope))


@cache
def _warm_services(account_id: str) -> IntegrationServices:
    """Return the services of this runtime, made at its first invocation."""
    return compose_services(os.environ, account_id)


@logger.inject_lambda_context(clear_state=True)
def handler(
    event: dict[str, Any], context: LambdaContext, services: IntegrationServices | None = None
) -> dict[str, Any]:
    """Apply a batch of messages. The answer names those that failed, so that the queue delivers only them again.

    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting.
    Lambda passes no services, so the runtime's are used. Raise ApiError, RecordError, or FindingsError if the whole
    batch failed.
    """
    services = services or _warm_services(context.invoked_function_arn.split(":")[4])
    news, failed = _parsed(event, services)
    written = apply_news(services, list(news.values()))
    if written.note:
        logger.warning(written.note)
    failed += _touching(news, written.rejected)
    logger.info("findings written", extra={"messages": len(news), "written": written.count, "failed": len(failed)})
    if written.rejected:
        error = FindingsError([(row.subnet_id, row.code, row.message) for row in written.rejected])
        if len(failed) == len(event["Records"]):
            raise error
        logger.error(str(error))
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _parsed(event: dict[str, Any], services: IntegrationServices) -> tuple[dict[str, News], list[str]]:
    """Return what the messages say by message ID, and the IDs of those that cannot be read. Raise RecordError."""
    news: dict[str, News] = {}
    failed: list[str] = []
    for message in required_rows(plain_json(event, "event"), "Records", "event"):
        message_id = free_text(message, "messageId", "message")
        try:
            news[message_id] = parse_message(message, services.scope, services.now())
        except RecordError:
            logger.exception("message not read", extra={"messageId": message_id})
            failed.append(message_id)
    return news, failed


def _touching(news: Mapping[str, News], rejected: tuple[Rejected, ...]) -> list[str]:
    """Return the IDs of the messages that concern a rejected finding; a sweep concerns all findings."""
    subnet_ids = {row.subnet_id for row in rejected}
    return [
        message_id for message_id, part in news.items() if part.subnet_id in subnet_ids or (rejected and part.swept)
    ]

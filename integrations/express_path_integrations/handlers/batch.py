"""Handle a batch of messages of a queue: parse them, bring the findings up to date, and report what failed."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger

from express_path.errors import FindingsError, RecordError, SettingError
from express_path.fields import free_text, plain_json, required_rows
from express_path_integrations.adapters.messages import News, parse_message
from express_path_integrations.findings import Rejected
from express_path_integrations.updating import IntegrationServices, apply_news

logger = Logger(service="express-path")


def handle(event: dict[str, Any], services: IntegrationServices) -> dict[str, Any]:
    """Apply a batch of messages. The answer names those that failed, so that the queue delivers only them again.

    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting.
    Raise ApiError, RecordError, or FindingsError if the whole batch failed.
    """
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


def setting(environment: Mapping[str, str], name: str, allowed: str) -> str:
    """Return a setting that must not be empty. Raise SettingError."""
    value = environment.get(name, "")
    if not value:
        raise SettingError(name, value, allowed)
    return value


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

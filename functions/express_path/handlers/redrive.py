"""The Lambda function that puts events on the event bus which EventBridge did not take when they were published."""

import json
import os
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.aws import Aws
from express_path.adapters.event_bus import Entry, entry_of, put_entries
from express_path.adapters.verdict_event_parsing import parse_verdict_event
from express_path.errors import EventError

logger = Logger(service="express-path")


@logger.inject_lambda_context(clear_state=True)
def handler(
    event: dict[str, Any],
    context: LambdaContext,  # noqa: ARG001  # the decorator uses it
    aws: Aws | None = None,
) -> dict[str, Any]:
    """Put the event of each message of the queue; return the messages that SQS must deliver again.

    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html. Lambda passes no aws, so that of the
    environment is used.
    """
    aws = aws or Aws.connect(os.environ.get("AWS_REGION"))
    failed: list[str] = []
    entries: dict[str, Entry] = {}
    for record in event["Records"]:
        try:
            entries[record["messageId"]] = _checked_entry(record["body"])
        except EventError:
            logger.exception("the message is not an event", extra={"messageId": record["messageId"]})
            failed.append(record["messageId"])
    rejected = put_entries(aws.events, os.environ.get("EVENT_BUS_NAME", "default"), entries.values())
    for failure in rejected:
        logger.error("not published", extra={"code": failure.code, "error": failure.message})
    still_waiting = {id(failure.entry) for failure in rejected}
    failed += [message_id for message_id, entry in entries.items() if id(entry) in still_waiting]
    logger.info("published", extra={"events": len(entries) - len(rejected), "waiting": len(failed)})
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _checked_entry(message: object) -> Entry:
    """Return the event in a message. Raise EventError if it is not one that the rule publishes."""
    entry = entry_of(message)
    parse_verdict_event({"source": entry.source, "detail-type": entry.detail_type, "detail": json.loads(entry.detail)})
    return entry

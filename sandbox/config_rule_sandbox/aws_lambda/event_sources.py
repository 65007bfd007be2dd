"""SQS as an event source of a Lambda function: Lambda polls the queue and deletes what the function has processed.

https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html. moto runs functions in containers only, and at the time of
the send only, so a test polls.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.server import Sandbox

BATCH_SIZE = 10
"""Lambda's default."""


@dataclass(frozen=True, slots=True)
class Polled:
    """The messages of one invocation that were deleted, those that SQS delivers again, and the function's error."""

    deleted: tuple[str, ...]
    returned: tuple[str, ...]
    error: Exception | None = None


def poll(
    sandbox: Sandbox, queue_url: str, function: Callable[[dict[str, Any]], Any], batch_size: int = BATCH_SIZE
) -> Polled:
    """Receive a batch, invoke the function with it (ReportBatchItemFailures), and delete what it has processed.

    Lambda's requests to the queue are not in the call log, and no fault affects them. The other messages are visible
    again at once, because the visibility timeout is left out. After maxReceiveCount, SQS moves a message to the
    dead-letter queue when it is received again.
    """
    sqs: Client = direct_client(sandbox, "sqs")
    messages = sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=batch_size, AttributeNames=["All"]).get(
        "Messages", []
    )
    if not messages:
        return Polled((), ())
    arn = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    error: Exception | None = None
    failed = {message["MessageId"] for message in messages}
    try:
        answer = function({"Records": [_record(sandbox, arn, message) for message in messages]}) or {}
        failed = {row["itemIdentifier"] for row in answer.get("batchItemFailures", [])}
    except Exception as raised:  # noqa: BLE001  # whatever a function raises is a function error to Lambda
        error = raised
    _settle(sqs, queue_url, messages, failed)
    ids = [message["MessageId"] for message in messages]
    deleted = tuple(message_id for message_id in ids if message_id not in failed)
    return Polled(deleted, tuple(message_id for message_id in ids if message_id in failed), error)


def _settle(sqs: Client, queue_url: str, messages: list[dict[str, Any]], failed: set[str]) -> None:
    """Delete the messages that were processed, and make the others visible."""
    for message in messages:
        handle = {"QueueUrl": queue_url, "ReceiptHandle": message["ReceiptHandle"]}
        if message["MessageId"] in failed:
            sqs.change_message_visibility(**handle, VisibilityTimeout=0)
        else:
            sqs.delete_message(**handle)


def _record(sandbox: Sandbox, queue_arn: str, message: dict[str, Any]) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": sandbox.region,
    }

"""The queue of events that EventBridge did not take. The redrive function puts them on the bus later."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from express_path.adapters.aws import calling
from express_path.adapters.event_bus import ATTEMPTS, Entry, batches
from express_path.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import BatchResultErrorEntryTypeDef, SendMessageBatchRequestEntryTypeDef


def queue_entries(sqs: "SQSClient", queue_url: str, entries: Iterable[Entry]) -> None:
    """Send complete entries to the queue, ten at a time. Raise ApiError if SQS does not take all of them.

    A batch of PutEvents fits into a batch of SQS, whose messages have at most 256 KiB together
    (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html).
    """
    for batch in batches(entries):
        _send(sqs, queue_url, batch)


def _send(sqs: "SQSClient", queue_url: str, batch: Sequence[Entry]) -> None:
    """Send one batch, and again what SQS did not take."""
    waiting: list[SendMessageBatchRequestEntryTypeDef] = [
        {"Id": str(position), "MessageBody": entry.as_message()} for position, entry in enumerate(batch)
    ]
    failed: Sequence[BatchResultErrorEntryTypeDef] = ()
    for _ in range(ATTEMPTS):
        with calling("sqs:SendMessageBatch"):
            failed = sqs.send_message_batch(QueueUrl=queue_url, Entries=waiting).get("Failed", [])
        if not failed:
            return
        failed_ids = {row["Id"] for row in failed}
        waiting = [message for message in waiting if message["Id"] in failed_ids]
    raise ApiError("sqs:SendMessageBatch", failed[0]["Code"], failed[0].get("Message", ""))

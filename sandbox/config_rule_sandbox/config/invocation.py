"""Asynchronous invocation of a Lambda function: retries, and the record that an on-failure destination gets.

https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from config_rule_sandbox.config.items.items import timestamp

Event = dict[str, Any]
Invoke = Callable[[Event], Any]

MAXIMUM_RETRIES = 2
"""Lambda's default, and its maximum (botocore model, MaximumRetryAttempts)."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event and what became of it: the function's answer, or the error of the last attempt."""

    event: Event
    attempts: int
    answer: Any = None
    error: Exception | None = None


def invoke_asynchronously(invoke: Invoke, event: Event) -> Delivery:
    """Invoke a function, again up to twice after an error; the waits between the attempts are left out."""
    error: Exception | None = None
    attempts = MAXIMUM_RETRIES + 1
    for attempt in range(1, attempts + 1):
        try:
            return Delivery(event, attempt, answer=invoke(event))
        except Exception as raised:  # noqa: BLE001  # whatever a function raises is a function error to Lambda
            error = raised
    return Delivery(event, attempts, error=error)


def failure_record(delivery: Delivery, function_arn: str) -> dict[str, Any]:
    """Return the record that goes to the on-failure destination.

    https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html
    """
    return {
        "version": "1.0",
        "timestamp": timestamp(datetime.now(UTC)),
        "requestContext": {
            "requestId": str(uuid.uuid4()),
            "functionArn": f"{function_arn}:$LATEST",
            "condition": "RetriesExhausted",
            "approximateInvokeCount": delivery.attempts,
        },
        "requestPayload": delivery.event,
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "responsePayload": {
            "errorMessage": str(delivery.error),
            "errorType": getattr(delivery.error, "error_type", type(delivery.error).__name__),
        },
    }

"""The Lambda function that checks the installation after each sweep, and fails if something does not work.

Its metrics in AWS/Lambda are the heartbeat, because nobody but AWS can write them. The event is the end of a sweep on the
event bus of the rule, on which only the rule's function can put events.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.aws import Aws
from express_path.adapters.health import faults_of
from express_path.errors import RecordError, UnhealthyError
from express_path.events.schema import SOURCE, SWEEP_COMPLETED, Fault
from express_path.fields import identifier, nested, not_in_future, required_rows, time

logger = Logger(service="express-path")

CHECKED = "checked"
"""The message about a check. The command reads it (express_path_cli/installation/rule.py)."""
_LONGEST_DELAY = timedelta(hours=6)
"""How old a sweep may be when it is announced. Lambda keeps an event for an hour at most (template.yaml), so an older one was
sent again, such as by a replay of an archive."""


@dataclass(frozen=True, slots=True)
class HealthServices:
    """What a check needs: clients, and the ID of the stack whose parts it checks."""

    aws: Aws
    stack_id: str


def compose_services(environment: Mapping[str, str]) -> HealthServices:
    """Make the services with the settings of the function's environment."""
    return HealthServices(Aws.connect(environment.get("AWS_REGION")), environment.get("STACK_ID", ""))


@cache
def _warm_services() -> HealthServices:
    """Return the services of this runtime, made at its first invocation."""
    return compose_services(os.environ)


@logger.inject_lambda_context(clear_state=True)
def handler(
    event: dict[str, Any],
    context: LambdaContext,  # noqa: ARG001  # the decorator uses it
    services: HealthServices | None = None,
) -> None:
    """Check every part of the installation. Raise UnhealthyError if one does not work, RecordError if no sweep has ended.

    Lambda passes no services, so the runtime's are used.
    """
    found = faults_of_sweep(event, datetime.now(UTC))
    services = services or _warm_services()
    faults = [*found, *faults_of(services.aws, services.stack_id)]
    logger.info(CHECKED, extra={"faults": [asdict(fault) for fault in faults]})
    if faults:
        raise UnhealthyError([f"{fault.component}: {fault.problem}" for fault in faults])


def faults_of_sweep(event: dict[str, Any], now: datetime) -> list[Fault]:
    """Return what the sweep itself found to be broken. Raise RecordError if the event is not the end of a recent sweep."""
    if (event.get("source"), event.get("detail-type")) != (SOURCE, SWEEP_COMPLETED):
        raise RecordError("event", "detail-type", event.get("detail-type"), f"{SWEEP_COMPLETED} of {SOURCE}")
    detail = nested(event, "detail", SWEEP_COMPLETED)
    ended = time(detail, "orderingTimestamp", SWEEP_COMPLETED)
    not_in_future(ended, now, "orderingTimestamp", SWEEP_COMPLETED)
    if now - ended > _LONGEST_DELAY:
        raise RecordError(SWEEP_COMPLETED, "orderingTimestamp", ended.isoformat(), f"at most {_LONGEST_DELAY} ago")
    return [
        Fault(identifier(row, "component", SWEEP_COMPLETED), identifier(row, "problem", SWEEP_COMPLETED))
        for row in required_rows(detail, "faults", SWEEP_COMPLETED)
    ]

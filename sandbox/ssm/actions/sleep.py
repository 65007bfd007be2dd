"""aws:sleep: wait for some time, or until some time.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-sleep.html
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sandbox.ssm.actions.base import Action, Outcome, Running, check_keys, place
from sandbox.ssm.document import Step
from sandbox.ssm.faults import FaultyDocumentError, StepFailedError
from sandbox.ssm.references import only_reference
from sandbox.ssm.shapes import Types

MAXIMUM_SECONDS = 604_800
DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
"""An ISO 8601 duration of days, hours, minutes and seconds."""

SECONDS = (86_400, 3_600, 60, 1)


def _check(step: Step, types: Types) -> None:
    """Check that there is either a Duration or a Timestamp, and that a literal one can be read."""
    check_keys(step, (), ("Duration", "Timestamp"))
    if len(step.inputs) != 1:
        raise FaultyDocumentError(place(step), "either Duration or Timestamp is needed")
    ((key, value),) = step.inputs.items()
    reference = only_reference(value)
    if reference is not None:
        if types.type_of(place(step), reference) != "String":
            raise FaultyDocumentError(place(step), f"{value} is not a String")
        return
    try:
        _seconds(key, value)
    except (TypeError, ValueError) as error:
        raise FaultyDocumentError(f"{place(step)}.{key}", str(error)) from error


def _run(inputs: Mapping[str, Any], running: Running) -> Outcome:
    ((key, value),) = inputs.items()
    try:
        running.pause(_seconds(key, value))
    except ValueError as error:
        raise StepFailedError(str(error)) from error
    return Outcome()


def _seconds(key: str, value: str) -> float:
    """Return how long to sleep. ValueError if the text says nothing of the kind or is more than seven days."""
    if key == "Timestamp":
        moment = datetime.fromisoformat(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = max(0.0, (moment - datetime.now(UTC)).total_seconds())
    else:
        match = DURATION.fullmatch(value)
        if match is None or not any(match.groups()):
            raise ValueError(f"{value!r} is not an ISO 8601 duration")
        seconds = float(sum(int(number or 0) * each for number, each in zip(match.groups(), SECONDS, strict=True)))
    if seconds > MAXIMUM_SECONDS:
        raise ValueError(f"{value} is more than {MAXIMUM_SECONDS} seconds")
    return seconds


SLEEP = Action(_check, _run, waits=True)

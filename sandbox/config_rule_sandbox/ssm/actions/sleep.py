"""aws:sleep: wait for some time.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-sleep.html
"""

import re
from collections.abc import Mapping
from typing import Any

from config_rule_sandbox.ssm.actions.base import Action, Outcome, Running, check_keys, place
from config_rule_sandbox.ssm.document import Step
from config_rule_sandbox.ssm.faults import FaultyDocumentError, StepFailedError
from config_rule_sandbox.ssm.references import only_reference
from config_rule_sandbox.ssm.shapes import Types

MAXIMUM_SECONDS = 604_800
DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
"""An ISO 8601 duration of days, hours, minutes and seconds."""

SECONDS = (86_400, 3_600, 60, 1)


def _check(step: Step, types: Types) -> None:
    """Check that there is a Duration, and that a literal one can be read."""
    check_keys(step, ("Duration",))
    duration = step.inputs["Duration"]
    reference = only_reference(duration)
    if reference is not None:
        if types.type_of(place(step), reference) != "String":
            raise FaultyDocumentError(place(step), f"{duration} is not a String")
        return
    try:
        _seconds(duration)
    except (TypeError, ValueError) as error:
        raise FaultyDocumentError(f"{place(step)}.Duration", str(error)) from error


def _run(inputs: Mapping[str, Any], running: Running) -> Outcome:
    try:
        running.pause(_seconds(inputs["Duration"]))
    except ValueError as error:
        raise StepFailedError(str(error)) from error
    return Outcome()


def _seconds(duration: str) -> float:
    """Return how long to sleep. ValueError if the text is not a duration, or is more than seven days."""
    match = DURATION.fullmatch(duration)
    if match is None or not any(match.groups()):
        raise ValueError(f"{duration!r} is not an ISO 8601 duration")
    seconds = float(sum(int(number or 0) * unit for number, unit in zip(match.groups(), SECONDS, strict=True)))
    if seconds > MAXIMUM_SECONDS:
        raise ValueError(f"{duration} is more than {MAXIMUM_SECONDS} seconds")
    return seconds


SLEEP = Action(_check, _run, waits=True)

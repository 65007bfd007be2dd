"""GetCalendarState: whether change calendars are open, as the knobs say."""

from datetime import UTC, datetime
from typing import Any

from moto.ssm.exceptions import (
    InvalidDocument,
)

from config_rule_sandbox.ssm.knobs import Knobs
from config_rule_sandbox.ssm.start import UnsupportedMemberError


def calendar_state(parameters: dict[str, Any], knobs: Knobs) -> dict[str, str]:
    """Return OPEN if every named calendar is open now, CLOSED otherwise. InvalidDocument if there is no such one.

    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetCalendarState.html
    """
    if "AtTime" in parameters:
        raise UnsupportedMemberError("AtTime")
    names = {name.rpartition(":document/")[2] or name for name in parameters["CalendarNames"]}
    unknown = sorted(names - knobs.open_calendars - knobs.closed_calendars)
    if unknown:
        raise InvalidDocument(f"The calendar {unknown[0]} does not exist.")
    is_open = names.isdisjoint(knobs.closed_calendars)
    return {"State": "OPEN" if is_open else "CLOSED", "AtTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}

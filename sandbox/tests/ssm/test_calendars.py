"""GetCalendarState.

https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetCalendarState.html
"""

import pytest
from botocore.client import BaseClient

from sandbox.refusals import refused
from sandbox.ssm import Automation

ARN = "arn:aws:ssm:us-east-1:123456789012:document/Freeze"


@pytest.mark.parametrize(
    ("names", "state"),
    [(["Work"], "OPEN"), (["Freeze"], "CLOSED"), ([ARN], "CLOSED"), (["Work", "Freeze"], "CLOSED")],
)
def test_is_open_only_if_all_calendars_are(
    automation: Automation, ssm: BaseClient, names: list[str], state: str
) -> None:
    """If one or more calendars are closed, the state is CLOSED. Names and ARNs are equivalent."""
    automation.knobs.open_calendars.add("Work")
    automation.knobs.closed_calendars.add("Freeze")
    assert ssm.get_calendar_state(CalendarNames=names)["State"] == state


def test_unknown_calendar_is_an_error(ssm: BaseClient) -> None:
    """An unknown calendar is InvalidDocument. The sandbox does not support AtTime."""
    assert refused(ssm.get_calendar_state, CalendarNames=["Nothing"]) == "InvalidDocument"
    code = refused(ssm.get_calendar_state, CalendarNames=["Nothing"], AtTime="2026-01-01T00:00:00Z")
    assert code == "ValidationException"

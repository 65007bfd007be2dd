"""Numbers, rates, times, and lengths of time as people read them."""

from datetime import UTC, datetime, timedelta

import pytest

from express_path_cli.terminal.texts import (
    count_text,
    duration_text,
    rate_text,
    rough_duration_text,
    share_text,
    span_text,
    time_text,
)

START = datetime(2026, 3, 1, tzinfo=UTC)
PERIOD = timedelta(minutes=5)


@pytest.mark.parametrize(
    ("value", "text"),
    [(24.87e9, "24.9 Gbit/s"), (999.6e6, "1000 Mbit/s"), (512.0, "512 bit/s"), (0.0, "0 bit/s")],
)
def test_rates_have_three_digits(value: float, text: str) -> None:
    """A rate has three digits, in the largest unit in which it is at least one."""
    assert rate_text(value, "bit/s") == text


@pytest.mark.parametrize(
    ("minutes", "text"), [(190, "3 h 10 min"), (45, "45 min"), (60, "1 h"), (1500, "1 d 1 h"), (0, "0 min")]
)
def test_durations_have_two_units(minutes: int, text: str) -> None:
    """A duration has its two largest units."""
    assert duration_text(timedelta(minutes=minutes)) == text


def test_numbers_have_units_and_few_digits() -> None:
    """Thousands have separators, shares are percentages, and a time range within a day has its date once."""
    assert [count_text(number, "packet") for number in (1204, 1, 0)] == ["1,204 packets", "1 packet", "0 packets"]
    assert (share_text(0.000343), share_text(0.5), share_text(0)) == ("0.034 %", "50 %", "0 %")
    assert span_text(START, START + PERIOD) == "2026-03-01 00:00 to 00:05 UTC"
    assert span_text(START, START + 300 * PERIOD) == "2026-03-01 00:00 to 2026-03-02 01:00 UTC"


@pytest.mark.parametrize(
    ("span", "expected_text"),
    [
        (timedelta(hours=-1), "0 minutes"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(minutes=119), "119 minutes"),
        (timedelta(hours=2), "2 hours"),
        (timedelta(hours=47), "47 hours"),
        (timedelta(days=2), "2 days"),
    ],
)
def test_durations_have_whole_units(span: timedelta, expected_text: str) -> None:
    """The unit is the largest with at least two, so rounding is never off by half."""
    assert rough_duration_text(span) == expected_text


def test_times_are_in_utc() -> None:
    """Whatever their zone."""
    assert time_text(datetime.fromisoformat("2026-01-31T10:30:00+01:00")) == "2026-01-31 09:30 UTC"

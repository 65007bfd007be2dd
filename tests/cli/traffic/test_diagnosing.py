"""The window of a diagnosis: whole periods that CloudWatch still has, enough and not too many."""

from datetime import UTC, datetime, timedelta

import pytest

from express_path_cli.terminal.errors import OptionError
from express_path_cli.traffic.diagnosing import Timing, timing

NOW = datetime(2026, 3, 20, 12, 34, 56, tzinfo=UTC)


def at(text: str) -> datetime:
    """Return a time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def window(hours: int | None = None, since: str | None = None, until: str | None = None) -> Timing:
    """Return the window of some options."""
    return timing(NOW, hours, since, until)


def test_the_default_window_is_the_last_day() -> None:
    """The current period is left out, since it is incomplete."""
    assert window() == Timing(at("2026-03-19T12:34"), at("2026-03-20T12:34"), 60)


@pytest.mark.parametrize(
    ("hours", "period"), [(1, 60), (24, 60), (25, 300), (120, 300), (121, 900), (24 * 30, 3600), (24 * 400, 24 * 3600)]
)
def test_the_shortest_period_that_does_not_make_too_many_is_used(hours: int, period: int) -> None:
    """At most 1440 periods, of a length that CloudWatch keeps for that time."""
    found = window(hours)
    assert found.period == period
    assert (found.end - found.start) / timedelta(seconds=period) <= 1440


def test_old_windows_have_coarser_periods() -> None:
    """Minutes are kept for 15 days, five minutes for 63."""
    assert window(since="2026-03-01", until="2026-03-01T06:00").period == 300
    assert window(since="2025-12-01", until="2025-12-02").period == 3600


def test_times_may_name_their_zone() -> None:
    """The default is UTC; --hours counts back from --to."""
    zoned = window(since="2026-03-20T09:00+02:00", until="2026-03-20T09:00")
    assert (zoned.start, zoned.end) == (at("2026-03-20T07:00"), at("2026-03-20T09:00"))
    assert window(hours=2, until="2026-03-20T09:00").start == at("2026-03-20T07:00")
    assert window(hours=1, until="2026-03-21").end == at("2026-03-20T12:34")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hours": 3, "since": "2026-03-20"}, "--from and --hours cannot be used together"),
        ({"since": "yesterday"}, "--from yesterday: not a valid time"),
        ({"until": "0001-01-01T00:00+14:00"}, "not a valid time"),
        ({"since": "2024-03-20"}, "CloudWatch has no datapoints before 2024-12-20"),
        ({"until": "0001-01-01"}, "CloudWatch has no datapoints before 2024-12-20"),
        ({"hours": 455 * 24, "until": "2026-03-19"}, "CloudWatch has no datapoints before 2024-12-20"),
        ({"since": "2026-03-20T12:00", "until": "2026-03-20T11:00"}, "0 periods of 60 s are too few"),
        ({"since": "2026-03-20T12:20"}, "14 periods of 60 s are too few"),
    ],
)
def test_windows_that_cannot_show_a_plateau_are_rejected(options: dict[str, object], message: str) -> None:
    """A window that could not show a plateau is never reported as free of symptoms."""
    with pytest.raises(OptionError, match=message):
        window(**options)  # type: ignore[arg-type]

"""Which window a diagnosis looks at: whole periods that CloudWatch still has, enough and not too many."""

from datetime import UTC, datetime, timedelta

import pytest

from express_path_cli.diagnosis.timing import Timing, timing
from express_path_cli.problems import OptionError

NOW = datetime(2026, 3, 20, 12, 34, 56, tzinfo=UTC)


def at(text: str) -> datetime:
    """A time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def window(
    hours: int | None = None, since: str | None = None, until: str | None = None, period: int | None = None
) -> Timing:
    """The window that options ask for."""
    return timing(NOW, hours, since, until, period)


def test_the_last_day_is_looked_at_unless_told_otherwise() -> None:
    """The period under way is left out, as not all of it is known."""
    assert window() == (at("2026-03-19T12:30"), at("2026-03-20T12:30"), 300)


@pytest.mark.parametrize(
    ("hours", "period"), [(1, 60), (12, 60), (24, 300), (60, 300), (120, 900), (24 * 30, 3600), (24 * 400, 24 * 3600)]
)
def test_periods_are_the_finest_of_which_there_are_not_too_many(hours: int, period: int) -> None:
    """At most 720, and only such as CloudWatch has of so old a time."""
    found = window(hours)
    assert found.period == period
    assert (found.end - found.start) / timedelta(seconds=period) <= 720


def test_old_windows_have_coarser_periods() -> None:
    """Minutes are kept for 15 days, five minutes for 63."""
    assert window(since="2026-03-01", until="2026-03-01T06:00").period == 300
    assert window(since="2025-12-01", until="2025-12-02").period == 3600
    with pytest.raises(OptionError, match="--period 60: CloudWatch has only periods of 300 s since 2026-03-01 00:00"):
        window(since="2026-03-01", until="2026-03-01T06:00", period=60)


def test_times_may_name_their_zone() -> None:
    """UTC is meant where none is named; --hours counts back from --to."""
    assert window(since="2026-03-20T09:00+02:00", until="2026-03-20T09:00")[:2] == (
        at("2026-03-20T07:00"),
        at("2026-03-20T09:00"),
    )
    assert window(hours=2, until="2026-03-20T09:00").start == at("2026-03-20T07:00")
    assert window(hours=1, until="2026-03-21").end == at("2026-03-20T12:34")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hours": 3, "since": "2026-03-20"}, "--from and --hours cannot be used together"),
        ({"since": "yesterday"}, "--from yesterday: not a valid time"),
        ({"until": "0001-01-01T00:00+14:00"}, "not a valid time"),
        ({"since": "2024-03-20"}, "CloudWatch has nothing before 2024-12-20"),
        ({"until": "0001-01-01"}, "CloudWatch has nothing before 2024-12-20"),
        ({"hours": 455 * 24, "until": "2026-03-19"}, "CloudWatch has nothing before 2024-12-20"),
        ({"since": "2026-03-20T12:00", "until": "2026-03-20T11:00"}, "0 periods of 60 s are too few"),
        ({"hours": 1, "period": 600}, "6 periods of 600 s are too few to tell a plateau"),
        ({"since": "2026-03-20T12:10"}, "24 periods of 60 s are too few"),
        ({"hours": 48, "period": 60}, "2880 periods of 60 s are too many"),
    ],
)
def test_windows_that_tell_nothing_are_refused(options: dict[str, object], message: str) -> None:
    """Nobody hears that all is well of a window in which a plateau could not have been seen."""
    with pytest.raises(OptionError, match=message):
        window(**options)  # type: ignore[arg-type]

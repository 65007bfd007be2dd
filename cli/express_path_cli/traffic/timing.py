"""The time window and period of a diagnosis: whole periods of which CloudWatch still has datapoints."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from express_path_cli.nat.metrics import LONGEST_RETENTION, finest_period
from express_path_cli.terminal.errors import OptionError
from express_path_cli.traffic.symptoms_plateau import MIN_DURATION, MIN_PERIODS

HOURS = 24
_PERIODS = (60, 300, 900, 3600, 6 * 3600, 24 * 3600)
_USUAL_MAXIMUM, _MAXIMUM = 720, 1440
"""The most periods of a window without --period, and the most with it; more take too long to read and to draw."""


@dataclass(frozen=True, slots=True)
class Timing:
    """A time window from start to before end, divided into whole periods; period is in seconds."""

    start: datetime
    end: datetime
    period: int


def timing(now: datetime, hours: int | None, since: str | None, until: str | None, period: int | None) -> Timing:
    """Return the window that the options select, without the current period, which is incomplete.

    Raise OptionError for a window that is too short to show a plateau, too long, or too old for CloudWatch.
    """
    if since and hours is not None:
        raise OptionError("--from and --hours cannot be used together", "leave out one of them")
    end = min(_time("--to", until, now), now) if until else now
    start = _time("--from", since, now) if since else end - timedelta(hours=hours or HOURS)
    finest = finest_period(start, now)
    if finest is None:
        raise _too_old(now)
    chosen = period or _chosen(end - start, finest)
    if chosen % finest:
        raise OptionError(
            f"--period {chosen}: CloudWatch has only periods of {finest} s since {start:%Y-%m-%d %H:%M} UTC",
            f"use a multiple of {finest}, or a later window",
        )
    during = Timing(_floor(start, chosen), _floor(end, chosen), chosen)
    _check(during)
    return during


def _check(during: Timing) -> None:
    periods = (during.end - during.start) // timedelta(seconds=during.period)
    if periods < MIN_PERIODS or during.end - during.start < MIN_DURATION:
        raise OptionError(
            f"{max(0, periods)} periods of {during.period} s are too few to detect a plateau",
            f"use at least {MIN_PERIODS} periods and {MIN_DURATION // timedelta(minutes=1)} minutes, and --to later "
            "than --from",
        )
    if periods > _MAXIMUM:
        raise OptionError(
            f"{periods} periods of {during.period} s are too many",
            f"use at most {_MAXIMUM}: a shorter window or a longer --period",
        )


def _chosen(window: timedelta, finest: int) -> int:
    """Return the shortest period that CloudWatch has and that does not make too many of them."""
    allowed = [period for period in _PERIODS if period % finest == 0]
    return next((period for period in allowed if window <= _USUAL_MAXIMUM * timedelta(seconds=period)), allowed[-1])


def _floor(time: datetime, period: int) -> datetime:
    return datetime.fromtimestamp(time.timestamp() // period * period, UTC)


def _time(option: str, text: str, now: datetime) -> datetime:
    """Parse a time in ISO 8601; without a time zone it is UTC."""
    try:
        time = datetime.fromisoformat(text)
        time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise OptionError(
            f"{option} {text}: not a valid time", "use a time such as 2026-03-01T09:00 (UTC) or 2026-03-01T09:00+01:00"
        ) from error
    if now - time > LONGEST_RETENTION:
        raise _too_old(now)
    return time


def _too_old(now: datetime) -> OptionError:
    return OptionError(
        f"CloudWatch has no datapoints before {now - LONGEST_RETENTION:%Y-%m-%d}", "choose a later window"
    )

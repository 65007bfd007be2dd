"""Which window of time to look at, and how finely: whole periods that CloudWatch still has."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from express_path_cli.diagnosis.symptoms_plateau import FEWEST, SHORTEST
from express_path_cli.metrics.series import LONGEST_RETENTION, finest_period
from express_path_cli.problems import OptionError

HOURS = 24
_PERIODS = (60, 300, 900, 3600, 6 * 3600, 24 * 3600)
_ENOUGH, _MOST = 720, 1440
"""How many periods are enough unless somebody asks for more, and how many are too many to read and to draw."""


class Timing(NamedTuple):
    """From start to before end, in whole periods of so many seconds."""

    start: datetime
    end: datetime
    period: int


def timing(now: datetime, hours: int | None, since: str | None, until: str | None, period: int | None) -> Timing:
    """The window that options ask for; the period under way, of which not all is known, is left out.

    Raises OptionError for a window that is too short to tell, or of which CloudWatch has no datapoints (any more).
    """
    if since and hours is not None:
        raise OptionError("--from and --hours cannot be used together", "leave one of them out")
    end = min(_time("--to", until, now), now) if until else now
    start = _time("--from", since, now) if since else end - timedelta(hours=hours or HOURS)
    finest = finest_period(start, now)
    if finest is None:
        raise _too_old(now)
    chosen = period or _chosen(end - start, finest)
    if chosen % finest:
        raise OptionError(
            f"--period {chosen}: CloudWatch has only periods of {finest} s since {start:%Y-%m-%d %H:%M} UTC",
            f"a multiple of {finest}, or a later window",
        )
    found = Timing(_floor(start, chosen), _floor(end, chosen), chosen)
    _check(found)
    return found


def _check(found: Timing) -> None:
    periods = (found.end - found.start) // timedelta(seconds=found.period)
    if periods < FEWEST or found.end - found.start < SHORTEST:
        raise OptionError(
            f"{max(0, periods)} periods of {found.period} s are too few to tell a plateau",
            f"at least {FEWEST} periods and {SHORTEST // timedelta(minutes=1)} minutes, --to later than --from",
        )
    if periods > _MOST:
        raise OptionError(
            f"{periods} periods of {found.period} s are too many",
            f"at most {_MOST}: a shorter window, a longer --period",
        )


def _chosen(window: timedelta, finest: int) -> int:
    """The finest period that CloudWatch has and of which there are not too many."""
    allowed = [each for each in _PERIODS if each % finest == 0]
    return next((each for each in allowed if window <= _ENOUGH * timedelta(seconds=each)), allowed[-1])


def _floor(time: datetime, period: int) -> datetime:
    return datetime.fromtimestamp(time.timestamp() // period * period, UTC)


def _time(option: str, text: str, now: datetime) -> datetime:
    """A time in ISO 8601, of UTC where it names no zone."""
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
    return OptionError(f"CloudWatch has nothing before {now - LONGEST_RETENTION:%Y-%m-%d}", "choose a later window")

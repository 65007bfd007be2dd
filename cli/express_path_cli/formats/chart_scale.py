"""What every chart needs: round axes, ticks of time, rates and durations in words. All times are shown in UTC."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil, floor, log10
from typing import NamedTuple

_PREFIXES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
_ROUND = (1, 2, 2.5, 5, 10)
_MINUTES = (5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7 * 1440, 14 * 1440, 28 * 1440, 56 * 1440)
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


class Axis(NamedTuple):
    """A scale from 0 to top in equal steps, and the unit that its labels are in."""

    top: float
    step: float
    factor: float
    unit: str

    def labels(self) -> Iterator[tuple[float, str]]:
        """Each tick's value and label, from 0 upwards."""
        for index in range(round(self.top / self.step) + 1):
            yield index * self.step, f"{index * self.step / self.factor:g}"


def axis(highest: float, unit: str, steps: int) -> Axis:
    """An axis from 0 to highest or a little more, in at most so many round steps."""
    rough = (highest or 1.0) / steps
    power = 10.0 ** floor(log10(rough))
    step = next(each * power for each in _ROUND if each * power >= rough * (1 - 1e-9))
    prefix, factor = _prefix(highest)
    return Axis(step * ceil((highest or 1.0) / step - 1e-9), step, factor, prefix + unit)


def rate(value: float, unit: str) -> str:
    """A rate with three digits, such as 24.9 Gbit/s."""
    prefix, factor = _prefix(value)
    return f"{_three_digits(value / factor)} {prefix}{unit}"


def share(value: float) -> str:
    """A share in percent with two digits, such as 0.034 %."""
    percent = 100 * value
    decimals = max(0, 1 - floor(log10(percent))) if percent else 0
    return f"{percent:.{decimals}f} %"


def count(value: float, singular: str) -> str:
    """A number of things, such as 1,204 packets."""
    return f"{value:,.0f} {singular}{'' if value == 1 else 's'}"


def duration(length: timedelta) -> str:
    """A length of time in its two largest units, such as 3 h 10 min."""
    minutes = round(length.total_seconds() / 60)
    days, hours, rest = minutes // 1440, minutes % 1440 // 60, minutes % 60
    parts = [(days, "d"), (hours, "h"), (rest, "min")]
    told = [f"{number} {unit}" for number, unit in parts if number]
    return " ".join(told[:2]) or "0 min"


def span(start: datetime, end: datetime) -> str:
    """From when to when, such as 2026-03-01 09:00 to 12:10 UTC."""
    start, end = start.astimezone(UTC), end.astimezone(UTC)
    same_day = start.date() == end.date()
    return f"{start:%Y-%m-%d %H:%M} to {end:{'%H:%M' if same_day else '%Y-%m-%d %H:%M'}} UTC"


def ticks(start: datetime, end: datetime, most: int) -> list[tuple[datetime, str]]:
    """At most so many round times from start to end; midnight is labelled by its date."""
    window = (end - start) / timedelta(minutes=1)
    apart = next((each for each in _MINUTES if window / each < most), _MINUTES[-1])
    length = timedelta(minutes=apart)
    first = _MONDAY - (_MONDAY - start.astimezone(UTC)) // length * length
    times = [first + index * length for index in range(int((end - first) / length) + 1)]
    return [(each, f"{each:{'%H:%M' if each.hour or each.minute else '%b %d'}}") for each in times]


def averaged(
    points: Sequence[tuple[datetime, float]], period: timedelta, start: datetime, end: datetime, columns: int
) -> list[float | None]:
    """The mean of the periods that each of so many equal columns of time meets; None where it meets none."""
    width = (end - start) / columns
    sums: list[list[float]] = [[] for _ in range(columns)]
    for time, value in points:
        first = (time - start) // width
        last = max(first, ceil((time + period - start) / width - 1e-9) - 1)
        for column in range(max(first, 0), min(last, columns - 1) + 1):
            sums[column].append(value)
    return [sum(each) / len(each) if each else None for each in sums]


def _prefix(value: float) -> tuple[str, float]:
    return next((each for each in _PREFIXES if value >= each[1]), ("", 1.0))


def _three_digits(value: float) -> str:
    decimals = max(0, 2 - floor(log10(value))) if value > 0 else 0
    text = f"{value:.{min(decimals, 3)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

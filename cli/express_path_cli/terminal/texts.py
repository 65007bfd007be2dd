"""How numbers, rates, times, and lengths of time are written for people. All times are in UTC."""

from datetime import UTC, datetime, timedelta
from math import floor, log10

_PREFIXES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


def count_text(number: float, noun: str) -> str:
    """Return a number of things, such as 1 packet or 1,204 packets."""
    return f"{number:,.0f} {noun}{'' if number == 1 else 's'}"


def rate_text(value: float, unit: str) -> str:
    """Return a rate with three digits, such as 24.9 Gbit/s."""
    prefix, factor = prefix_of(value)
    return f"{_three_digits(value / factor)} {prefix}{unit}"


def prefix_of(value: float) -> tuple[str, float]:
    """Return the largest prefix of a unit in which a value is at least one, such as G, and its factor."""
    return next(((prefix, factor) for prefix, factor in _PREFIXES if value >= factor), ("", 1.0))


def _three_digits(value: float) -> str:
    decimals = max(0, 2 - floor(log10(value))) if value > 0 else 0
    text = f"{value:.{min(decimals, 3)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def share_text(value: float) -> str:
    """Return a share in percent with two digits, such as 0.034 %."""
    percent = 100 * value
    decimals = max(0, 1 - floor(log10(percent))) if percent else 0
    return f"{percent:.{decimals}f} %"


def time_text(when: datetime) -> str:
    """Return a time, such as 2026-01-31 09:30 UTC."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def span_text(start: datetime, end: datetime) -> str:
    """Return a time span, such as 2026-03-01 09:00 to 12:10 UTC."""
    start, end = start.astimezone(UTC), end.astimezone(UTC)
    end_format = "%H:%M" if start.date() == end.date() else "%Y-%m-%d %H:%M"
    return f"{start:%Y-%m-%d %H:%M} to {end.strftime(end_format)} UTC"


def duration_text(length: timedelta) -> str:
    """Return a length of time in its two largest units, such as 3 h 10 min."""
    minutes = round(length.total_seconds() / 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min")]
    shown = [f"{number} {unit}" for number, unit in parts if number]
    return " ".join(shown[:2]) or "0 min"


def rough_duration_text(length: timedelta) -> str:
    """Return a length of time in its largest whole unit, for a sentence: 3 days, 5 hours, 12 minutes."""
    minutes = max(0, int(length.total_seconds() // 60))
    for unit, size in (("day", 24 * 60), ("hour", 60)):
        if minutes >= 2 * size:
            return count_text(minutes // size, unit)
    return count_text(minutes, "minute")

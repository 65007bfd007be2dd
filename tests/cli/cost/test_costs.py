"""Bytes into money: which bytes are charged, over which hours, at which price."""

from datetime import UTC, datetime, timedelta

import pytest

from express_path_cli.cost.charges import (
    TRAFFIC,
    Basis,
    Price,
    Window,
    amount,
    by_metric,
    by_zone,
    charged_bytes,
    measured,
    window,
)
from express_path_cli.metrics.series import Meter, Series

NOW = datetime(2026, 3, 31, 12, 20, tzinfo=UTC)
NOON = NOW.replace(minute=0)
HOUR = timedelta(hours=1)
PRICE = Price(0.05, Basis.GIVEN)


def series(metric: str, *values: float, zone: str | None = None) -> Series:
    """Return hourly points up to noon, the last value the latest."""
    points = tuple((NOON - HOUR * (len(values) - place), value) for place, value in enumerate(values))
    return Series(Meter("nat-1", zone), metric, 3600, points)


def every_metric(value: float, zone: str | None = None) -> list[Series]:
    """Return one point of each metric."""
    return [series(metric, value, zone=zone) for metric in TRAFFIC]


def test_a_window_ends_with_the_last_hour_that_is_complete() -> None:
    """What happened in the last quarter of an hour may not have arrived yet."""
    assert window(NOW, 30) == Window(NOON - timedelta(days=30), NOON)
    assert window(NOW - timedelta(minutes=6), 1) == Window(NOON - HOUR - timedelta(days=1), NOON - HOUR)
    assert window(NOW, 30).days == 30


@pytest.mark.parametrize(
    ("earliest", "start"),
    [
        (NOON - timedelta(days=60), NOON - timedelta(days=30)),
        (NOON - 5 * HOUR, NOON - 5 * HOUR),
        (NOON - 5 * HOUR + timedelta(seconds=1), NOON - 4 * HOUR),
        (NOW, NOON),
    ],
)
def test_what_is_left_of_a_window_begins_on_a_whole_hour(earliest: datetime, start: datetime) -> None:
    """An hour that records cover only in part is left out, and nothing may be left at all."""
    assert window(NOW, 30).since(earliest) == Window(start, NOON)


def test_what_came_in_from_either_side_is_charged_once() -> None:
    """What went out again is the same bytes."""
    found = [series("BytesInFromSource", 1, 2), series("BytesInFromDestination", 10)]
    found += [series("BytesOutToSource", 100), series("BytesOutToDestination", 1000)]
    assert charged_bytes(found) == 13
    assert charged_bytes(found, Window(NOON - HOUR, NOON)) == 12
    assert charged_bytes(found, Window(NOON - 2 * HOUR, NOON - HOUR)) == 1


def test_bytes_are_told_by_metric_and_by_zone() -> None:
    """Zones add up in each metric, and metrics that are charged in each zone."""
    found = [*every_metric(3, "a"), *every_metric(4, "b")]
    assert by_metric(found) == dict.fromkeys(TRAFFIC, 7)
    assert by_zone(found) == {"a": 6, "b": 8}
    assert by_zone(every_metric(3)) == {}
    assert by_metric([]) == dict.fromkeys(TRAFFIC, 0)


def test_an_amount_is_projected_on_a_month_of_730_hours() -> None:
    """Ten decimal GB in 73 hours are a hundred a month."""
    told = amount(10e9, PRICE, Window(NOON - 73 * HOUR, NOON))
    assert told.bytes == 10e9
    assert told.usd == pytest.approx(0.5)
    assert told.usd_a_month == pytest.approx(5)


def test_a_share_is_of_the_bytes_of_the_same_window() -> None:
    """Of nothing there is no share."""
    day = window(NOW, 1)
    told = measured(25e9, 100e9, PRICE, day, whole=False)
    assert (told.share, told.amount.usd, told.window, told.whole) == (0.25, 1.25, day, False)
    assert measured(0, 0, PRICE, day, whole=True).share is None

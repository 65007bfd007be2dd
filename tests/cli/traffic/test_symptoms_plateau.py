"""Plateaus: throughput at a limit is found, and other flat traffic is not mistaken for it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import pi, sin
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from express_path_cli.traffic.symptoms import MAX_JITTER, MAX_JITTER_RATIO, MIN_PERIODS, Plateau, plateaus

DAY = 288
START = datetime(2026, 3, 1, tzinfo=UTC)
PERIOD = timedelta(minutes=5)
LEAST = 4.5e9
CEILING = 25e9


def at(values: list[float], period: timedelta = PERIOD) -> list[tuple[datetime, float]]:
    """Return a point for each value, one per period."""
    return [(START + index * period, value) for index, value in enumerate(values)]


def found(values: list[float], period: timedelta = PERIOD) -> list[Plateau]:
    """Return the plateaus of these values."""
    return plateaus(at(values, period), period, LEAST)


def free_traffic(random: Random, periods: int = DAY) -> list[float]:
    """Return a day's traffic that rises and falls around 20 Gbit/s, up to 36, with 6 % jitter."""
    return [
        20e9 * (1 + 0.8 * sin(2 * pi * index / periods - 1.3)) * max(0, random.gauss(1, 0.06))
        for index in range(periods)
    ]


def limited(random: Random, ceiling: float = CEILING) -> list[float]:
    """Return the same traffic with a limit."""
    return [min(value, ceiling * random.gauss(1, 0.003)) for value in free_traffic(random)]


def test_traffic_under_a_ceiling_runs_flat() -> None:
    """The plateau covers the time in which traffic would be higher, at the limit, with less jitter than the rest."""
    (plateau,) = found(limited(Random(1)))
    assert plateau.level == pytest.approx(CEILING, rel=0.01)
    assert timedelta(hours=8) < plateau.end - plateau.start < timedelta(hours=11)
    assert plateau.jitter < 0.01
    assert plateau.usual_jitter == pytest.approx(0.08, abs=0.03)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), factor=st.integers(-2, 2))
def test_order_and_scale_do_not_matter(seed: int, factor: int) -> None:
    """The order of points does not matter. With twice the bytes, plateaus have the same times and twice the level."""
    random = Random(seed)
    points = at(limited(random))
    expected = plateaus(points, PERIOD, 1.0)
    scaled = [(time, value * 2.0**factor) for time, value in random.sample(points, len(points))]
    assert [(plateau.start, plateau.end) for plateau in plateaus(scaled, PERIOD, 1.0)] == [
        (plateau.start, plateau.end) for plateau in expected
    ]
    assert plateaus(scaled, PERIOD, 1.0) == [
        replace(
            plateau,
            level=pytest.approx(plateau.level * 2.0**factor),
            jitter=pytest.approx(plateau.jitter),
            usual_jitter=pytest.approx(plateau.usual_jitter),
        )
        for plateau in expected
    ]


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), share=st.floats(0, 0.1))
def test_lone_gaps_do_not_hide_a_plateau(seed: int, share: float) -> None:
    """Single missing datapoints are skipped: the plateau keeps its level and most of its time."""
    random = Random(seed)
    points = at(limited(random))
    kept = [points[0]]
    for here in points[1:]:
        if kept[-1][0] < here[0] - PERIOD or random.random() >= share:
            kept.append(here)
    (whole,) = plateaus(points, PERIOD, LEAST)
    parts = plateaus(kept, PERIOD, LEAST)
    assert parts
    assert all(part.level == pytest.approx(whole.level, rel=0.02) for part in parts)
    assert sum((part.end - part.start for part in parts), timedelta()) > 0.7 * (whole.end - whole.start)


def test_a_long_gap_ends_a_plateau() -> None:
    """Throughput without datapoints is unknown, so a long gap gives two plateaus."""
    points = at([0.2e9] * 20 + [CEILING] * 60 + [0.2e9] * 20)
    without = [point for index, point in enumerate(points) if not 45 <= index < 48]
    assert [(plateau.start, plateau.end) for plateau in plateaus(without, PERIOD, LEAST)] == [
        (points[20][0], points[45][0]),
        (points[48][0], points[80][0]),
    ]


def test_lone_spikes_and_dips_belong_to_the_plateau() -> None:
    """A single burst or pause changes neither the length nor the level of a plateau."""
    values = [1e9] * 30 + [CEILING] * 60 + [1e9] * 30
    values[50], values[70] = 1.3 * CEILING, 0.2 * CEILING
    (plateau,) = found(values)
    assert (plateau.start, plateau.end, plateau.level) == (START + 30 * PERIOD, START + 90 * PERIOD, CEILING)


def test_each_height_that_a_gateway_scales_to_is_a_plateau() -> None:
    """Higher traffic afterwards does not remove an earlier plateau."""
    values = [1e9] * 30 + [10e9] * 24 + [25e9] * 24 + [1e9] * 30
    assert [plateau.level for plateau in found(values)] == [10e9, 25e9]


def test_traffic_that_went_higher_before_is_not_at_a_ceiling() -> None:
    """Flat traffic below an earlier maximum of the gateway is not at a limit."""
    random = Random(3)
    before = [40e9 * random.gauss(1, 0.08) for _ in range(60)]
    assert found(before + [CEILING] * 60) == []


def test_a_window_that_is_flat_throughout_is_a_plateau() -> None:
    """If a whole window is flat, there is no other traffic to compare with, so it must have very little jitter."""
    random = Random(4)
    (plateau,) = found([CEILING * random.gauss(1, 0.004) for _ in range(DAY)])
    assert plateau.usual_jitter is None
    assert plateau.end - plateau.start == timedelta(days=1)
    assert found([CEILING * random.gauss(1, 0.02) for _ in range(DAY)]) == []


@pytest.mark.parametrize("level", [0.0, 3e6, 1e9, 4.4e9])
def test_a_trickle_is_no_ceiling(level: float) -> None:
    """Flat traffic below the lowest limit of a NAT gateway is not a plateau."""
    assert found([level] * DAY) == []


@pytest.mark.parametrize(
    ("period", "periods"), [(timedelta(minutes=1), 30), (PERIOD, MIN_PERIODS), (timedelta(hours=1), MIN_PERIODS)]
)
def test_a_plateau_lasts_half_an_hour_and_twelve_periods(period: timedelta, periods: int) -> None:
    """A plateau with one period less is not found."""
    around = [1e9, 2e9] * 20
    (plateau,) = found([*around, *[CEILING] * periods, *around], period)
    assert plateau.end - plateau.start == periods * period
    assert found([*around, *[CEILING] * (periods - 1), *around], period) == []


@pytest.mark.parametrize(
    "shape",
    [
        lambda share: sin(pi * share),
        lambda share: 1 - (2 * share - 1) ** 2,
        lambda share: 1 - abs(2 * share - 1),
        lambda share: 0.8 + 0.2 * share,
        lambda share: 1 - 0.5 * share,
        lambda share: share**0.5,
    ],
    ids=["sine", "parabola", "triangle", "rise", "fall", "root"],
)
@pytest.mark.parametrize("periods", [50, DAY, 1440])
def test_smooth_traffic_is_not_flat(shape: Callable[[float], float], periods: int) -> None:
    """A rounded peak or a slow drift stays within the band for a long time, and is not a plateau."""
    assert found([30e9 * shape(index / periods) for index in range(periods)]) == []


# Noise can look like anything once in several thousand days, so these days are the same in every run.
@settings(max_examples=100, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_a_day_of_free_traffic_has_no_plateau(seed: int) -> None:
    """A rounded peak with jitter is not at a limit."""
    assert found(free_traffic(Random(seed))) == []


@settings(max_examples=100, derandomize=True)
@given(seed=st.integers(0, 10**6), spread=st.floats(0.15, 0.5))
def test_noise_invents_no_plateau(seed: int, spread: float) -> None:
    """Random traffic, with or without a dependence on earlier values, has no plateau."""
    random = Random(seed)
    memory = random.choice([0.0, 0.5])
    value, values = 0.0, []
    for _ in range(DAY):
        value = memory * value + random.gauss(0, spread)
        values.append(max(0.0, 20e9 * (1 + value)))
    assert found(values) == []


@settings(max_examples=200)
@given(
    values=st.lists(st.one_of(st.floats(0, 120e9), st.sampled_from([24.5e9, 25e9, 25.1e9, 25.3e9] * 5)), max_size=60),
    period=st.sampled_from([60, 300, 3600]),
)
def test_what_is_found_is_what_was_defined(values: list[float], period: int) -> None:
    """For any points, plateaus do not overlap and are in order, long, high, and within the window."""
    length = timedelta(seconds=period)
    all_found = found(values, length)
    assert all(here.end <= there.start for here, there in pairwise(all_found))
    for plateau in all_found:
        assert START <= plateau.start < plateau.end <= START + len(values) * length
        assert plateau.end - plateau.start >= max(MIN_PERIODS * length, timedelta(minutes=30))
        assert LEAST <= plateau.level <= 120e9
        assert 0 <= plateau.jitter <= max(MAX_JITTER, MAX_JITTER_RATIO * (plateau.usual_jitter or 0))


def test_of_overlapping_runs_the_longest_counts() -> None:
    """Two steps closer together than the band give two overlapping runs, and one plateau."""
    values = [1e9, 2e9] * 20 + [24.1e9] * 3 + [24.6e9] * 40 + [25.38e9] * 4 + [1e9] * 20
    (plateau,) = found(values)
    assert (plateau.start, plateau.end) == (START + 43 * PERIOD, START + 87 * PERIOD)

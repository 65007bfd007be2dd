"""Plateaus: a ceiling's mark is found, and nothing else is taken for one."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import pi, sin
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from express_path_cli.diagnosis.symptoms_plateau import MAX_JITTER, MAX_JITTER_RATIO, MIN_PERIODS, Plateau, plateaus

DAY = 288
START = datetime(2026, 3, 1, tzinfo=UTC)
PERIOD = timedelta(minutes=5)
LEAST = 4.5e9
CEILING = 25e9


def at(values: list[float], period: timedelta = PERIOD) -> list[tuple[datetime, float]]:
    """Return a point for each value, one per period."""
    return [(START + index * period, value) for index, value in enumerate(values)]


def found(values: list[float], period: timedelta = PERIOD) -> list[Plateau]:
    """The plateaus of such values."""
    return plateaus(at(values, period), period, LEAST)


def free_traffic(random: Random, periods: int = DAY) -> list[float]:
    """A day's round rise and fall around 20 Gbit/s, up to 36, that jitters by 6 %."""
    return [
        20e9 * (1 + 0.8 * sin(2 * pi * index / periods - 1.3)) * max(0, random.gauss(1, 0.06))
        for index in range(periods)
    ]


def limited(random: Random, ceiling: float = CEILING) -> list[float]:
    """Return the same traffic under a ceiling."""
    return [min(value, ceiling * random.gauss(1, 0.003)) for value in free_traffic(random)]


def test_traffic_under_a_ceiling_runs_flat() -> None:
    """The plateau lies where traffic would have gone higher, at the ceiling's height, calmer than the rest."""
    (plateau,) = found(limited(Random(1)))
    assert plateau.level == pytest.approx(CEILING, rel=0.01)
    assert timedelta(hours=8) < plateau.end - plateau.start < timedelta(hours=11)
    assert plateau.jitter < 0.01
    assert plateau.usual_jitter == pytest.approx(0.08, abs=0.03)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), factor=st.integers(-2, 2))
def test_order_and_scale_do_not_matter(seed: int, factor: int) -> None:
    """Shuffled points give the same plateaus; twice the bytes give them twice as high, at the same time."""
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
    """Datapoints that CloudWatch has not are passed over, singly: the plateau keeps its height and most of its time."""
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
    """What happened without datapoints is unknown, so there are two plateaus."""
    points = at([0.2e9] * 20 + [CEILING] * 60 + [0.2e9] * 20)
    without = [point for index, point in enumerate(points) if not 45 <= index < 48]
    assert [(plateau.start, plateau.end) for plateau in plateaus(without, PERIOD, LEAST)] == [
        (points[20][0], points[45][0]),
        (points[48][0], points[80][0]),
    ]


def test_lone_spikes_and_dips_belong_to_the_plateau() -> None:
    """A burst that the ceiling lets pass and a moment's pause change neither its length nor its level."""
    values = [1e9] * 30 + [CEILING] * 60 + [1e9] * 30
    values[50], values[70] = 1.3 * CEILING, 0.2 * CEILING
    (plateau,) = found(values)
    assert (plateau.start, plateau.end, plateau.level) == (START + 30 * PERIOD, START + 90 * PERIOD, CEILING)


def test_each_height_that_a_gateway_scales_to_is_a_plateau() -> None:
    """Traffic that goes higher afterwards does not unsay that it was held up before."""
    values = [1e9] * 30 + [10e9] * 24 + [25e9] * 24 + [1e9] * 30
    assert [plateau.level for plateau in found(values)] == [10e9, 25e9]


def test_traffic_that_went_higher_before_is_not_at_a_ceiling() -> None:
    """A flat stretch below what the gateway has carried already is somebody's steady work."""
    random = Random(3)
    before = [40e9 * random.gauss(1, 0.08) for _ in range(60)]
    assert found(before + [CEILING] * 60) == []


def test_a_window_that_is_flat_throughout_is_a_plateau() -> None:
    """There is nothing to compare with then, and the least jitter of all is asked for."""
    random = Random(4)
    (plateau,) = found([CEILING * random.gauss(1, 0.004) for _ in range(DAY)])
    assert plateau.usual_jitter is None
    assert plateau.end - plateau.start == timedelta(days=1)
    assert found([CEILING * random.gauss(1, 0.02) for _ in range(DAY)]) == []


@pytest.mark.parametrize("level", [0.0, 3e6, 1e9, 4.4e9])
def test_a_trickle_is_no_ceiling(level: float) -> None:
    """However flat, what is below the lowest ceiling that a gateway has is not held up by it."""
    assert found([level] * DAY) == []


@pytest.mark.parametrize(
    ("period", "periods"), [(timedelta(minutes=1), 30), (PERIOD, MIN_PERIODS), (timedelta(hours=1), MIN_PERIODS)]
)
def test_a_plateau_lasts_half_an_hour_and_twelve_periods(period: timedelta, periods: int) -> None:
    """One period less is none."""
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
    """A round peak stays within the band for long, and yet is no plateau; nor is a slow drift."""
    assert found([30e9 * shape(index / periods) for index in range(periods)]) == []


# Noise can look like anything once in several thousand days, so these days are the same in every run.
@settings(max_examples=100, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_a_day_of_free_traffic_has_no_plateau(seed: int) -> None:
    """A round peak that jitters is not cut off by anything."""
    assert found(free_traffic(Random(seed))) == []


@settings(max_examples=100, derandomize=True)
@given(seed=st.integers(0, 10**6), spread=st.floats(0.15, 0.5))
def test_noise_invents_no_plateau(seed: int, spread: float) -> None:
    """Traffic that jumps about, with or without memory of where it was, is not flat anywhere."""
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
    """Whatever the points: plateaus are apart, in order, long, high and within the window."""
    length = timedelta(seconds=period)
    all_found = found(values, length)
    assert all(here.end <= there.start for here, there in pairwise(all_found))
    for plateau in all_found:
        assert START <= plateau.start < plateau.end <= START + len(values) * length
        assert plateau.end - plateau.start >= max(MIN_PERIODS * length, timedelta(minutes=30))
        assert LEAST <= plateau.level <= 120e9
        assert 0 <= plateau.jitter <= max(MAX_JITTER, MAX_JITTER_RATIO * (plateau.usual_jitter or 0))


def test_of_overlapping_runs_the_longest_counts() -> None:
    """Two steps closer together than the band make two runs that share periods, and one plateau."""
    values = [1e9, 2e9] * 20 + [24.1e9] * 3 + [24.6e9] * 40 + [25.38e9] * 4 + [1e9] * 20
    (plateau,) = found(values)
    assert (plateau.start, plateau.end) == (START + 43 * PERIOD, START + 87 * PERIOD)

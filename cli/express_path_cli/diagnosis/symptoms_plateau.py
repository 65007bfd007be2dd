"""Finding where throughput ran flat at its top: the mark that a ceiling leaves in a NAT gateway's bytes or packets."""

from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from math import sqrt
from statistics import fmean, median, quantiles
from typing import NamedTuple

Points = Sequence[tuple[datetime, float]]
"""(Start of period, value) points: aware times, one for each period that has a datapoint."""

BAND = 0.05
"""A flat run's lowest period is at most this share below its highest."""
EVEN = BAND / 4
"""The most by which a run's middle may differ from its flanks, or its halves from each other, as a share."""
ABOVE = 0.02
"""The share of periods, from the first one to the run's end, that may be higher: bursts that a ceiling let pass."""
SHORTEST = timedelta(minutes=30)
FEWEST = 12
"""A run has at least so many periods, and lasts at least SHORTEST."""
CALM = 0.4
"""A run's jitter is at most this share of what the window's other traffic would have at the run's level."""
STILL = 0.02
"""The most jitter, as a share of the level, where there is no other traffic to compare with."""


class Plateau(NamedTuple):
    """From start to end, throughput ran flat at level (the mean), in the unit of the points.

    jitter is the step from period to period that three quarters of the steps there do not exceed, as a share of the
    level; usual_jitter what the window's other traffic would have at that level, None where there is too little of it.
    """

    start: datetime
    end: datetime
    level: float
    jitter: float
    usual_jitter: float | None


class _Run(NamedTuple):
    points: Points
    smooth: Sequence[float]


def plateaus(points: Points, period: timedelta, least: float) -> list[Plateau]:
    """The plateaus whose level is at least least (> 0), in the order of time; the order of points does not matter.

    Unconstrained traffic moves: it drifts, has round peaks, and jitters from period to period. A ceiling cuts all
    that off. So a plateau is a longest run of periods, a lone period that is missing or out of line aside (the
    median of each three neighbours), that is

    1. in a band: min >= (1 - BAND) * max, for at least FEWEST periods and SHORTEST;
    2. at the top: hardly a period before or in it was higher. Later ones may be: a NAT gateway scales;
    3. level: the means of its middle half and of its flanks are equal within EVEN, and those of its two halves. A
       parabola, as any smooth peak is near its top, leaves the band with a difference of BAND / 2, and a steady rise
       of BAND / 2 between the halves: twice as much as EVEN lets pass;
    4. calm: it jitters (upper quartile of the steps) at most CALM times as much as other traffic. Independent flows
       that add up jitter with the square root of their sum, the least that free traffic does, so steps are compared
       after division by that root.
    """
    ordered = sorted(points)
    flat = [run for run in _flat_runs(ordered, period) if fmean(run.smooth) >= least]
    inside = {time for run in flat for time, _ in run.points}
    usual = [step for time, step in _steps(ordered, period, rooted=True) if time not in inside]
    judged = (_judged(run, period, usual) for run in sorted(flat, key=lambda run: -len(run.points)))
    kept: list[Plateau] = []
    for plateau in judged:
        if plateau and all(plateau.end <= each.start or each.end <= plateau.start for each in kept):
            kept.append(plateau)
    return sorted(kept)


def _judged(run: _Run, period: timedelta, usual: Sequence[float]) -> Plateau | None:
    """The plateau that a run is, if it is calm."""
    level = fmean(run.smooth)
    jitter = _upper_quartile([step for _, step in _steps(run.points, period)]) / level
    expected = _upper_quartile(usual) / sqrt(level) if len(usual) >= FEWEST else 0.0
    if jitter > (CALM * expected or STILL):
        return None
    return Plateau(run.points[0][0], run.points[-1][0] + period, level, jitter, expected or None)


def _steps(points: Points, period: timedelta, *, rooted: bool = False) -> Iterator[tuple[datetime, float]]:
    """The step from each point to the next; rooted: divided by the root of their mean. Two zeros make no step."""
    for (time, here), (later, there) in pairwise(points):
        mean = (here + there) / 2
        if later - time <= 2 * period and mean > 0:
            yield time, abs(there - here) / (sqrt(mean) if rooted else 1)


def _upper_quartile(steps: Sequence[float]) -> float:
    return quantiles(steps, n=4)[2]


def _flat_runs(points: Points, period: timedelta) -> Iterator[_Run]:
    """The longest runs that are in a band, long enough, level and at the top."""
    fewest = max(FEWEST, -(-SHORTEST // period))
    seen: list[float] = []
    for stretch in _stretches(points, period):
        smooth = _smoothed([value for _, value in stretch])
        for first, last in _in_band(smooth):
            run = _Run(stretch[first:last], smooth[first:last])
            if last - first >= fewest and _is_level(run.smooth) and _is_top(run.smooth, [*seen, *smooth[:last]]):
                yield run
        seen += smooth


def _stretches(points: Points, period: timedelta) -> Iterator[Points]:
    """The points, cut where more than one period is missing."""
    first = 0
    for index, (here, there) in enumerate(pairwise(points), 1):
        if there[0] - here[0] > 2 * period:
            yield points[first:index]
            first = index
    yield points[first:]


def _smoothed(values: Sequence[float]) -> list[float]:
    """Each value's median with its neighbours', which takes lone spikes and dips away and leaves edges as they are."""
    inner = [median(values[index - 1 : index + 2]) for index in range(1, len(values) - 1)]
    return [*values[:1], *inner, *values[1:][-1:]]


def _in_band(values: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Every run (first, last + 1) in a band that cannot be made longer; in linear time, by two monotone queues."""
    first = 0
    highest: deque[int] = deque()
    lowest: deque[int] = deque()
    for index, value in enumerate(values):
        while highest and values[highest[-1]] <= value:
            highest.pop()
        while lowest and values[lowest[-1]] >= value:
            lowest.pop()
        highest.append(index)
        lowest.append(index)
        begin = first
        while values[lowest[0]] < (1 - BAND) * values[highest[0]]:
            begin = min(lowest[0], highest[0]) + 1
            for queue in (highest, lowest):
                if queue[0] < begin:
                    queue.popleft()
        if begin > first:
            yield first, index
            first = begin
    yield first, len(values)


def _is_level(values: Sequence[float]) -> bool:
    quarter, half = len(values) // 4, len(values) // 2
    middle, flanks = values[quarter:-quarter], [*values[:quarter], *values[-quarter:]]
    allowed = EVEN * fmean(values)
    bow = abs(fmean(middle) - fmean(flanks))
    return bow <= allowed and abs(fmean(values[:half]) - fmean(values[half:])) <= allowed


def _is_top(values: Sequence[float], so_far: Sequence[float]) -> bool:
    top = max(values)
    return sum(each > top for each in so_far) <= ABOVE * len(so_far)

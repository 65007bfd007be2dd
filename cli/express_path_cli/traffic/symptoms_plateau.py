"""Find plateaus: times when throughput runs flat at its top, as it does at a ceiling of a NAT gateway."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import sqrt
from statistics import fmean, median, quantiles

Points = Sequence[tuple[datetime, float]]
"""Pairs of (start of period, value): aware times, one pair for each period with a datapoint."""

BAND = 0.05
"""The lowest period of a flat run is at most this share below its highest one."""
LEVEL_TOLERANCE = BAND / 4
"""The largest difference between a run's middle and flanks, or between its halves, as a share of its level."""
MAX_SHARE_ABOVE = 0.02
"""The share of periods up to the run's end that may be higher: bursts that the ceiling did not stop."""
MIN_DURATION = timedelta(minutes=30)
MIN_PERIODS = 12
"""A run has at least this number of periods, and lasts at least MIN_DURATION."""
MAX_JITTER_RATIO = 0.4
"""A run's jitter is at most this share of the jitter that the window's other traffic has at the run's level."""
MAX_JITTER = 0.02
"""The highest jitter, as a share of the level, if there is no other traffic to compare with."""


@dataclass(frozen=True, slots=True)
class Plateau:
    """From start to end, throughput ran flat at level (the mean), in the unit of the points.

    jitter: the upper quartile of the steps between periods, as a share of the level. usual_jitter: what the window's
    other traffic would have at that level, None if there is too little of it.
    """

    start: datetime
    end: datetime
    level: float
    jitter: float
    usual_jitter: float | None

    def overlaps(self, other: "Plateau") -> bool:
        """Return whether both have some time in common."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class _Run:
    """Consecutive points, and their smoothed values."""

    points: Points
    smooth: Sequence[float]


def plateaus(points: Points, period: timedelta, min_level: float) -> list[Plateau]:
    """Return the plateaus with a level of at least min_level (> 0), in chronological order; points may be in any order.

    Traffic that nothing limits varies: it drifts, has round peaks, and jitters from period to period. A ceiling cuts
    all that off. So a plateau is a longest run of periods, apart from single periods that are missing or out of line
    (the median of three neighbors), that is

    1. in a band: min >= (1 - BAND) * max, for at least MIN_PERIODS periods and MIN_DURATION;
    2. at the top: almost no period before or in it was higher. Later ones may be: a NAT gateway scales;
    3. level: the means of its middle half and of its flanks are equal within LEVEL_TOLERANCE, and so are those of its
       two halves. A parabola, the shape of any smooth peak near its top, leaves the band with a difference of BAND / 2,
       and a steady rise with BAND / 2 between the halves: both are twice LEVEL_TOLERANCE;
    4. calm: it jitters (upper quartile of the steps) at most MAX_JITTER_RATIO times as much as other traffic. The
       jitter of independent flows grows with the square root of their sum, which is the least that unlimited traffic
       has, so steps are divided by that root before they are compared.
    """
    ordered = sorted(points)
    flat = [run for run in _flat_runs(ordered, period) if fmean(run.smooth) >= min_level]
    inside = {time for run in flat for time, _ in run.points}
    usual = [step for time, step in _steps(ordered, period, rooted=True) if time not in inside]
    kept: list[Plateau] = []
    for run in sorted(flat, key=lambda run: -len(run.points)):
        plateau = _plateau_of(run, period, usual)
        if plateau and not any(plateau.overlaps(other) for other in kept):
            kept.append(plateau)
    return sorted(kept, key=lambda plateau: plateau.start)


def _plateau_of(run: _Run, period: timedelta, usual: Sequence[float]) -> Plateau | None:
    """Return the plateau of a run if it is calm."""
    level = fmean(run.smooth)
    jitter = _upper_quartile([step for _, step in _steps(run.points, period)]) / level
    expected = _upper_quartile(usual) / sqrt(level) if len(usual) >= MIN_PERIODS else 0.0
    if jitter > (MAX_JITTER_RATIO * expected or MAX_JITTER):
        return None
    return Plateau(run.points[0][0], run.points[-1][0] + period, level, jitter, expected or None)


def _steps(points: Points, period: timedelta, *, rooted: bool = False) -> Iterator[tuple[datetime, float]]:
    """Yield the step from each point to the next, if rooted divided by the root of their mean; none between zeros."""
    for (time, here), (later, there) in pairwise(points):
        mean = (here + there) / 2
        if later - time <= 2 * period and mean > 0:
            yield time, abs(there - here) / (sqrt(mean) if rooted else 1)


def _upper_quartile(steps: Sequence[float]) -> float:
    return quantiles(steps, n=4)[2]


def _flat_runs(points: Points, period: timedelta) -> Iterator[_Run]:
    """Yield the longest runs that are in a band, long enough, level and at the top."""
    fewest = max(MIN_PERIODS, -(-MIN_DURATION // period))
    earlier: list[float] = []
    for stretch in _stretches(points, period):
        smooth = _smoothed([value for _, value in stretch])
        for first, last in _in_band(smooth):
            run = _Run(stretch[first:last], smooth[first:last])
            if last - first >= fewest and _is_level(run.smooth) and _is_top(run.smooth, [*earlier, *smooth[:last]]):
                yield run
        earlier += smooth


def _stretches(points: Points, period: timedelta) -> Iterator[Points]:
    """Yield the points in stretches; a stretch ends where more than one period is missing."""
    first = 0
    for index, (here, there) in enumerate(pairwise(points), 1):
        if there[0] - here[0] > 2 * period:
            yield points[first:index]
            first = index
    yield points[first:]


def _smoothed(values: Sequence[float]) -> list[float]:
    """Return each value's median with its neighbors, which removes single spikes and dips and keeps edges."""
    inner = [median(values[index - 1 : index + 2]) for index in range(1, len(values) - 1)]
    return [*values[:1], *inner, *values[1:][-1:]]


def _in_band(values: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Yield the longest runs in a band as (first, last + 1); two monotone queues keep it linear."""
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
    allowed = LEVEL_TOLERANCE * fmean(values)
    bow = abs(fmean(middle) - fmean(flanks))
    return bow <= allowed and abs(fmean(values[:half]) - fmean(values[half:])) <= allowed


def _is_top(values: Sequence[float], so_far: Sequence[float]) -> bool:
    top = max(values)
    return sum(value > top for value in so_far) <= MAX_SHARE_ABOVE * len(so_far)

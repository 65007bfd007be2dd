"""The steps of several repeats, summarized: the median and the TP80."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median, quantiles

from express_path_instrument.bench.results import BenchResult, Step


@dataclass(frozen=True, slots=True)
class Summary:
    """What the repeats of one step have in common. The steps are never empty."""

    steps: tuple[Step, ...]

    @property
    def seconds(self) -> float:
        """The median length in seconds."""
        return median(step.seconds for step in self.steps)

    @property
    def gbps(self) -> float:
        """The median throughput in Gbit/s."""
        return median(step.gbps for step in self.steps)

    @property
    def gbps_tp80(self) -> float:
        """The TP80 of the throughput in Gbit/s."""
        return tp80([step.gbps for step in self.steps])

    @property
    def requests_per_second(self) -> float:
        """The median number of requests that succeeded in a second."""
        return median(step.requests_per_second for step in self.steps)

    @property
    def cpu_percent(self) -> float | None:
        """The median use of the client's processors."""
        known = [step.cpu_percent for step in self.steps if step.cpu_percent is not None]
        return median(known) if known else None

    @property
    def errors(self) -> Counter[str]:
        """Failed requests of all repeats by status."""
        return sum((Counter(step.errors) for step in self.steps), Counter())

    def latency(self, percentile: str) -> float | None:
        """Return the median of a percentile of the latency, such as p99, in ms."""
        found = [getattr(step.latency, percentile) for step in self.steps]
        return median(value for value in found if value is not None) if any(found) else None


def summaries(result: BenchResult) -> list[Summary]:
    """Return one summary for each number of connections, rate, or stage, in the order of the first repeat."""
    order = {key: position for position, key in reversed(list(enumerate(map(_key, result.steps))))}
    ordered = sorted(result.steps, key=lambda step: order[_key(step)])
    return [Summary(tuple(steps)) for _, steps in groupby(ordered, key=_key)]


def tp80(values: Sequence[float]) -> float:
    """Return the TP80 of values: what 80 % of them reach, interpolated between the two nearest. It is below the median."""
    return values[0] if len(values) == 1 else quantiles(values, n=5, method="inclusive")[0]


def _key(step: Step) -> tuple[int | None, float | None, str | None]:
    return step.connections, step.rate_per_second, step.stage

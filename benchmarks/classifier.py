"""What the classification of `bench` says about simulated measurements whose cause is known: two confusion matrices.

Each kind is simulated RUNS times, from 1 to 64 connections, with three repeats unless the kind says otherwise. Throughput
follows from the kind, and latency from throughput (Little's law). Both are noisy: repeats differ by 0.5 to 3 %. Seeds make
runs the same each time. The second matrix is about pairs of paths, which are measured in turns while something may change.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random

from msgspec import structs

from express_path_cli.nat.saturation import ThroughputLimit
from express_path_instrument.bench.classify import cause_of, load_points
from express_path_instrument.bench.compare import compare
from express_path_instrument.bench.processor import ProcessorTimes, use_between
from express_path_instrument.bench.results import BenchResult, Client, Kind, Latency, MeasuredPath, Step, Target

CONNECTIONS, SECONDS, CPUS = (1, 8, 16, 32, 48, 64), 10.0, 16
OBJECT_BYTES = 1 << 20
RUNS = 40
Shape = Callable[[int], float]
"""Throughput as a multiple of what one connection gets, by the number of connections."""


def _knee(at: float) -> Shape:
    """Return a hard limit, such as a token bucket."""
    return lambda connections: min(connections, at)


def _queue(at: float) -> Shape:
    """Return a limit behind a queue with random service times, by mean value analysis: its knee is round."""

    def shape(connections: int) -> float:
        waiting = throughput = 0.0
        for number in range(1, connections + 1):
            service = (1 + waiting) / at
            throughput = number / (1 - 1 / at + service)
            waiting = throughput * service
        return throughput

    return shape


class _Run:
    """One simulated sweep: how fast the path is, how noisy it is, and what the client uses."""

    def __init__(self, random: Random, shape: Shape) -> None:
        """Choose a latency of one connection, a noise, and an idle client."""
        self.random, self.shape = random, shape
        self.latency, self.noise = random.uniform(0.02, 0.3), random.uniform(0.005, 0.03)
        self.cpu_of_request, self.workers, self.usable = random.uniform(0.01, 0.2) * CPUS / 64, CPUS, float(CPUS)
        self.throttled_share, self.hang_share, self.other = 0.0, 0.0, random.uniform(0, 0.05)
        self.repeats, self.stalls = 3, False

    def with_client(self, workers: int, usable: float, at: float) -> "_Run":
        """Let the client itself be the limit: it needs all that it may use for `at` connections."""
        self.shape = _knee(at)
        self.workers, self.usable = workers, usable
        self.cpu_of_request = self.random.uniform(0.93, 1) * min(workers, usable) / at
        return self

    def step(self, connections: int, repeat: int) -> Step:
        """Return what a step of this run measures."""
        relative = self.shape(connections)
        speed = max(0.5, self.random.gauss(1, self.noise)) * relative / self.latency
        if self.stalls and (connections, repeat) == (CONNECTIONS[-1], self.repeats):
            speed /= 10
        usual = connections / speed * 1e3
        own, requests = self.cpu_of_request * relative * SECONDS, round(speed * SECONDS)
        machine = own + self.other * SECONDS * (os.cpu_count() or 1)
        before, after = ProcessorTimes(0, 0, 0), ProcessorTimes(SECONDS, 0, machine)
        use = use_between(before, after, own, own / self.workers / SECONDS, self.usable)
        is_throttled = self.throttled_share and relative < connections
        hangs = self.random.random() < self.hang_share
        return Step(
            repeat=repeat,
            seconds=SECONDS,
            requests=requests,
            bytes=requests * OBJECT_BYTES,
            gbps=speed * OBJECT_BYTES * 8 / 1e9,
            requests_per_second=speed,
            latency=Latency(p50=usual, p99=usual * self.random.uniform(1.1, 2)),
            connections=connections,
            cpu_percent=use.client_percent,
            other_cpu_percent=use.other_percent,
            errors={"503": round(requests * self.throttled_share)} if is_throttled else {},
            unfinished=int(hangs),
            oldest_unfinished_ms=SECONDS * 500 if hangs else None,
            hangs=hangs,
        )

    def result(self) -> BenchResult:
        """Return the measurement."""
        steps = tuple(self.step(number, repeat) for repeat in range(1, self.repeats + 1) for number in CONNECTIONS)
        client, target = Client("", CPUS, "http", ""), Target("simulated", "http://10.0.0.1")
        return BenchResult(Kind.GET, datetime.now(UTC), None, client, target, OBJECT_BYTES, self.repeats, steps)


def _throttled(random: Random) -> _Run:
    run = _Run(random, _knee(random.uniform(8, 40)))
    run.throttled_share = random.uniform(0.02, 1)
    return run


def _hanging(random: Random) -> _Run:
    run = _Run(random, _knee(random.choice([20, 1000])))
    run.hang_share = 0.3
    return run


def _sublinear(random: Random) -> _Run:
    power = random.uniform(0.7, 0.9)
    return _Run(random, lambda connections: connections**power)


def _noisy_and_once(random: Random) -> _Run:
    run = _Run(random, _knee(random.uniform(20, 60)))
    run.noise, run.repeats = random.uniform(0.05, 0.2), 1
    return run


def _stalled_once(random: Random) -> _Run:
    run = _Run(random, float)
    run.repeats, run.stalls = 2, True
    return run


def _linear_with_noise(noise: float) -> Callable[[Random], _Run]:
    def make(random: Random) -> _Run:
        run = _Run(random, float)
        run.noise = noise
        return run

    return make


CEILING, FLATTENING, LINEAR = ThroughputLimit.CEILING, ThroughputLimit.FLATTENING, ThroughputLimit.NOT_SATURATED
UNKNOWN = ThroughputLimit.UNDETERMINED
KINDS: Mapping[str, tuple[Callable[[Random], _Run], frozenset[ThroughputLimit]]] = {
    "knee at 4 to 16": (lambda random: _Run(random, _knee(random.uniform(4, 16))), frozenset({CEILING})),
    "knee at 17 to 32": (lambda random: _Run(random, _knee(random.uniform(17, 32))), frozenset({CEILING})),
    "knee at 33 to 55": (
        lambda random: _Run(random, _knee(random.uniform(33, 55))),
        frozenset({CEILING, FLATTENING, UNKNOWN}),
    ),
    "knee at 55 to 60": (
        lambda random: _Run(random, _knee(random.uniform(55, 60))),
        frozenset({FLATTENING, UNKNOWN, LINEAR}),
    ),
    "linear": (lambda random: _Run(random, float), frozenset({LINEAR})),
    "linear, 5 % noise": (_linear_with_noise(0.05), frozenset({LINEAR, UNKNOWN})),
    "linear, 20 % noise": (_linear_with_noise(0.2), frozenset({LINEAR, UNKNOWN})),
    "sublinear": (_sublinear, frozenset({FLATTENING})),
    "client, all CPUs": (
        lambda random: _Run(random, float).with_client(CPUS, CPUS, random.uniform(6, 40)),
        frozenset({ThroughputLimit.CLIENT_BOUND}),
    ),
    "client, one CPU": (
        lambda random: _Run(random, float).with_client(1, CPUS, random.uniform(6, 40)),
        frozenset({ThroughputLimit.CLIENT_BOUND}),
    ),
    "client, quota": (
        lambda random: _Run(random, float).with_client(CPUS, 2, random.uniform(6, 40)),
        frozenset({ThroughputLimit.CLIENT_BOUND}),
    ),
    "instance network": (lambda random: _Run(random, _knee(random.uniform(6, 30))), frozenset({CEILING})),
    "slow server": (lambda random: _Run(random, _queue(random.uniform(4, 40))), frozenset({CEILING, FLATTENING})),
    "noisy, one repeat": (_noisy_and_once, frozenset({CEILING, FLATTENING, UNKNOWN})),
    "one stall": (_stalled_once, frozenset({UNKNOWN})),
    "throttled": (_throttled, frozenset({ThroughputLimit.THROTTLED})),
    "hanging": (_hanging, frozenset({ThroughputLimit.HANGING})),
}
"""Each kind: how a run is simulated, and what may be said about it. One run never shows a PATH_CEILING."""


def confusion() -> dict[str, Counter[ThroughputLimit]]:
    """Return how many runs of each kind were classified as what."""
    return {
        kind: Counter(cause_of(load_points(make(Random(f"{kind} {number}")).result())) for number in range(RUNS))
        for kind, (make, _) in KINDS.items()
    }


Limit = Callable[[str, float], float]
"""How many connections a path, A or B, carries at a time: 0 at the start of a pair, and 1 at its end."""


def _nat(random: Random) -> Limit:
    at = random.uniform(6, 30)
    return lambda path, _: at if path == "A" else 1000


def _same(random: Random) -> Limit:
    at = random.uniform(6, 30)
    return lambda *_: at


def _between(random: Random, *times: float) -> Limit:
    """Return a limit of both paths that is low between two times, and high at others."""
    low, high = random.uniform(6, 20), random.choice([random.uniform(30, 60), 1000])
    return lambda _, time: low if times[0] <= time < times[1] else high


def _busy(random: Random) -> Limit:
    return _between(random, *sorted((random.random(), random.random())))


PAIRS: Mapping[str, tuple[Callable[[Random], Limit], str, bool]] = {
    "NAT, in turns": (_nat, "ABAB", True),
    "NAT, once": (_nat, "AB", False),
    "NAT, A B A": (_nat, "ABA", False),
    "NAT, not in turns": (_nat, "AABB", False),
    "one path, busy": (_busy, "AAAA", False),
    "one limit of both": (_same, "ABAB", False),
    "credits are spent": (lambda random: _between(random, random.random(), 2), "ABAB", False),
    "service scales": (lambda random: _between(random, 0, random.random()), "ABAB", False),
    "server is busy": (_busy, "ABAB", False),
    "busy, B first": (_busy, "BABA", False),
}
"""Each kind of pair: its limits, the order of the measurements, and whether path A is the limit."""
PAIRS_OF_EACH = 60


def _limited(limit: Limit, path: str, times: Iterator[float], connections: int) -> float:
    return min(connections, limit(path, next(times)))


def _measured(random: Random, limit: Limit, order: str) -> dict[str, BenchResult]:
    """Return the measurements of two paths in an order. The client, the noise, and the server are the same."""
    run, found = _Run(random, float), {}
    number = len(order) * 3 * len(CONNECTIONS)
    times = iter(position / number for position in range(number))
    for turn, path in enumerate(order):
        run.shape = partial(_limited, limit, path, times)
        made_at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=turn)
        found[f"{path}{turn}"] = structs.replace(run.result(), path=MeasuredPath(path, "", (path,)), made_at=made_at)
    return found


def pairs() -> dict[str, Counter[bool]]:
    """Return in how many pairs of each kind a measurement was called limited by its path."""
    found = {}
    for kind, (make, order, _) in PAIRS.items():
        seeds = (Random(f"{kind} {number}") for number in range(PAIRS_OF_EACH))
        comparisons = [compare(_measured(random, make(random), order)) for random in seeds]
        causes = [{run.cause for run in comparison.runs} for comparison in comparisons]
        found[kind] = Counter(ThroughputLimit.PATH_CEILING in cause for cause in causes)
    return found


def main() -> None:
    """Print the matrices."""
    print(f"What bench says about {RUNS} simulated sweeps of each kind")
    print(f"{'':18}{''.join(f'{limit:>15}' for limit in ThroughputLimit)}")
    for kind, found in confusion().items():
        print(f"{kind:18}{''.join(f'{found[limit] or chr(46):>15}' for limit in ThroughputLimit)}")
    print(f"\nIn how many of {PAIRS_OF_EACH} simulated pairs of each kind bench compare says PATH_CEILING")
    for kind, said in pairs().items():
        print(f"{kind:18}{said[True]:>15}  (order {PAIRS[kind][1]})")

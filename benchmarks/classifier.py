"""What the classification of `bench` says about simulated sweeps whose cause is known: a confusion matrix.

Each kind is simulated RUNS times, from 1 to 64 connections, with three repeats unless the kind says otherwise. Throughput
follows from the kind, and latency from throughput (Little's law). Both are noisy: repeats differ by 0.5 to 3 %. Seeds make
runs the same each time.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from random import Random

from express_path_cli.nat.saturation import ThroughputLimit
from express_path_instrument.bench.classify import cause_of, load_points
from express_path_instrument.bench.processor import ProcessorTimes, use_between
from express_path_instrument.bench.results import BenchResult, Client, Kind, Latency, Step, Target

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


CEILING, FLATTENING, LINEAR = ThroughputLimit.CEILING, ThroughputLimit.FLATTENING, ThroughputLimit.NOT_SATURATED
KINDS: Mapping[str, tuple[Callable[[Random], _Run], frozenset[ThroughputLimit]]] = {
    "knee at 4 to 16": (lambda random: _Run(random, _knee(random.uniform(4, 16))), frozenset({CEILING})),
    "knee at 17 to 32": (lambda random: _Run(random, _knee(random.uniform(17, 32))), frozenset({CEILING})),
    "knee at 33 to 60": (
        lambda random: _Run(random, _knee(random.uniform(random.choice([33, 55]), 60))),
        frozenset({CEILING, FLATTENING}),
    ),
    "linear": (lambda random: _Run(random, float), frozenset({LINEAR, FLATTENING})),
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
    "noisy, one repeat": (_noisy_and_once, frozenset({CEILING, FLATTENING})),
    "one stall": (_stalled_once, frozenset({FLATTENING})),
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


def main() -> None:
    """Print the matrix."""
    print(f"What bench says about {RUNS} simulated sweeps of each kind")
    print(f"{'':18}{''.join(f'{limit:>15}' for limit in ThroughputLimit)}")
    for kind, found in confusion().items():
        print(f"{kind:18}{''.join(f'{found[limit] or chr(46):>15}' for limit in ThroughputLimit)}")

"""The steps of `bench get`, `put`, and `open`: which requests they send, and what they measured."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from hashlib import sha256
from math import ceil

from express_path_instrument.bench.http_engine import Sign
from express_path_instrument.bench.load import Load, Tally, Target, p99_ms
from express_path_instrument.bench.results import BenchResult, Kind, SecondStatuses, Step
from express_path_instrument.bench.session import FOLDER, Session


@dataclass(slots=True)
class Steps:
    """The steps so far, and why they are invalid, if they are."""

    session: Session
    done: list[Step] = field(default_factory=list)
    invalid_reason: str = ""

    def run(self, load: Load, sign: Sign, repeat: int, name: str) -> bool:
        """Run one step. Return False if the measurement must end, because the step is invalid."""
        return self.add(load, self.session.engine.run(load, sign), repeat, name)

    def add(self, load: Load, tally: Tally, repeat: int, name: str, stage: str | None = None) -> bool:
        """Add a step that was run. Return False if the measurement must end, because the step is invalid.

        It is if a request failed or hangs, if none succeeded, or if fewer than the load's count ended in time.
        """
        step = step_of(load, tally, repeat, stage)
        self.done.append(step)
        self.session.tell(_summary(step, name))
        ended = step.requests + step.failed
        if step.errors and not self.session.how.allow_errors:
            number = f"{step.failed:,} request{'s' if step.failed > 1 else ''}"
            self.invalid_reason = f"{name}: {number} failed, the first with {tally.failure}"
        elif step.hangs:
            self.invalid_reason = f"{name}: {_open_text(step)}"
        elif not step.requests:
            self.invalid_reason = f"{name}: no request ended in {step.seconds:g} seconds"
        elif load.count and ended < load.count:
            self.invalid_reason = f"{name}: only {ended:,} of {load.count:,} requests ended in {load.limit:g} seconds"
        return not self.invalid_reason


def sweep(
    session: Session, values: Sequence[int], load_of: Callable[[int], Load], name_of: Callable[[int], str]
) -> Steps:
    """Measure one step for each value, in each repeat, until one is invalid. `load_of` signs the requests of a step."""
    steps = Steps(session)
    for repeat in range(1, session.how.repeats + 1):
        for value in values:
            name = name_of(value) + (f", repeat {repeat}" if session.how.repeats > 1 else "")
            if not steps.run(load_of(value), partial(_signed, load_of, value), repeat, name):
                return steps
    return steps


def _signed(load_of: Callable[[int], Load], value: int) -> Sequence[Target]:
    return load_of(value).targets


def step_of(load: Load, tally: Tally, repeat: int, stage: str | None = None) -> Step:
    """Return the step that a load and what was measured make.

    A load with a duration counts the requests that ended in it. With a rate, those that ended later count, too.
    """
    elapsed = max(0.0, tally.ended - tally.started)
    seconds = elapsed if load.seconds is None else max(load.seconds, elapsed if load.rate else 0)
    per_second = 1 / seconds if seconds else 0
    return Step(
        repeat=repeat,
        seconds=seconds,
        requests=tally.requests,
        bytes=tally.transferred,
        gbps=tally.transferred * 8 / 1e9 * per_second,
        requests_per_second=tally.requests * per_second,
        latency=tally.latency(),
        connections=None if load.rate else load.connections,
        rate_per_second=load.rate,
        stage=stage,
        cpu_percent=tally.use.client_percent,
        other_cpu_percent=tally.use.other_percent,
        errors=dict(tally.errors),
        statuses=_statuses(tally),
        unfinished=tally.unfinished,
        oldest_unfinished_ms=tally.oldest * 1e3 if tally.unfinished else None,
        hangs=tally.hangs,
        lag_p99_ms=p99_ms(tally.lags),
        server_p99_ms=p99_ms(tally.served),
    )


def _statuses(tally: Tally) -> tuple[SecondStatuses, ...]:
    seconds: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for (second, status), count in sorted(tally.statuses.items()):
        seconds[second][status] = count
    return tuple(SecondStatuses(second, counts) for second, counts in seconds.items())


def _open_text(step: Step) -> str:
    number = "1 request was" if step.unfinished == 1 else f"{step.unfinished:,} requests were"
    return f"{number} still open at the end, the oldest for {(step.oldest_unfinished_ms or 0) / 1e3:,.1f} s"


def _summary(step: Step, name: str) -> str:
    p99 = "" if step.latency.p99 is None else f", p99 {step.latency.p99:,.1f} ms"
    errors = ", ".join(f"{count:,} x {status}" for status, count in step.errors.items())
    speed = f"{step.gbps:,.3g} Gbit/s, {step.requests_per_second:,.0f} requests/s"
    failed = f", failed: {errors}" if errors else ""
    # At the end of a closed loop, each connection has an open request.
    is_notable = step.hangs or (step.rate_per_second and step.unfinished)
    return f"{name}: {speed}{p99}{failed}{f', {_open_text(step)}' if is_notable else ''}"


def measure_closed_loop(session: Session, kind: Kind, connections: Sequence[int]) -> BenchResult:
    """Read or write objects with each of these numbers of connections. Raise OptionError and ApiError."""
    how, store = session.how, session.store
    # Each connection writes an object of its own: writes to one object at the same time can be throttled.
    number = max(how.objects, *connections) if kind is Kind.PUT else how.objects
    keys = [f"{FOLDER}/{session.run_id}/{position}" for position in range(number)]
    if kind is Kind.GET:
        session.upload(keys)
    else:
        session.will_write(store, keys)

    def load_of(value: int) -> Load:
        """Return the load of a step with this many connections."""
        body_bytes = how.object_bytes if kind is Kind.PUT else 0
        return Load(
            store.server,
            store.targets(kind.upper(), keys, body_bytes),
            how.object_bytes,
            value,
            how.warm_up,
            how.seconds,
            how.count,
            timeout=how.timeout,
        )

    steps = sweep(session, connections, load_of, lambda value: f"{value} connection{'s' if value > 1 else ''}")
    return session.result(kind, steps.done, steps.invalid_reason)


_TENANTS = 16
MOST_KEYS = 1_000_000
"""How many keys an open loop writes at most, because each is signed before. Then they are written again."""


class Prefixes(StrEnum):
    """How keys start. General purpose buckets divide their request rate by prefix, directory buckets do not.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html and
    https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-optimizing-performance.html
    """

    NONE = "none"
    COMMON = "common"
    TENANTS = "tenants"
    RANDOM = "random"


class Operation(StrEnum):
    """What each request does."""

    GET = "get"
    PUT = "put"


def measure_open_loop(
    session: Session, operation: Operation, rates: Sequence[int], connections: int, prefixes: Prefixes
) -> BenchResult:
    """Read or write objects at each of these rates. Raise OptionError and ApiError.

    Each write of a step has a key of its own, as those of users have, up to MOST_KEYS.
    """
    how, store = session.how, session.store
    number = how.objects
    if operation is Operation.PUT:
        number = max(number, min(MOST_KEYS, ceil(max(rates) * (how.warm_up + (how.seconds or 0)))))
    keys = [key_of(prefixes, session.run_id, position) for position in range(number)]
    if operation is Operation.GET:
        session.upload(keys)
    else:
        session.will_write(store, keys)

    def load_of(rate: int) -> Load:
        """Return the load of a step with this many requests per second."""
        body_bytes = how.object_bytes if operation is Operation.PUT else 0
        return Load(
            store.server,
            store.targets(operation.upper(), keys, body_bytes),
            how.object_bytes,
            connections,
            how.warm_up,
            how.seconds,
            rate=rate,
            timeout=how.timeout,
        )

    steps = sweep(session, rates, load_of, lambda rate: f"{rate} requests/s")
    return session.result(Kind.OPEN, steps.done, steps.invalid_reason)


def key_of(prefixes: Prefixes, run_id: str, position: int) -> str:
    """Return the key of an object: without a prefix, or under one for all, one for each tenant, or a random one."""
    name = f"{FOLDER}-{run_id}-{position}"
    if prefixes is Prefixes.COMMON:
        return f"{FOLDER}/{name}"
    if prefixes is Prefixes.TENANTS:
        return f"tenant-{position % _TENANTS:02}/{name}"
    if prefixes is Prefixes.RANDOM:
        return f"{sha256(name.encode()).hexdigest()[:8]}/{name}"
    return name

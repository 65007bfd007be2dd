"""The steps of `bench get`, `put`, and `open`: which requests they send, and what they measured."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import product

from express_path_cli.terminal.texts import count_text
from express_path_instrument.bench.load import Load, Tally, p99_ms
from express_path_instrument.bench.results import BenchResult, Kind, Step, latency_of
from express_path_instrument.bench.session import FOLDER, Session


def sweep(
    session: Session,
    kind: Kind,
    values: Sequence[int],
    load_of: Callable[[int, int], Load],
    name_of: Callable[[int], str],
) -> Iterator[BenchResult]:
    """Measure one step for each value, in each repeat, until one is invalid. Yield the result after each step.

    load_of signs the requests of a value in a repeat. Until the last step, the result is invalid, because it is a part.
    """
    done: list[Step] = []
    number = session.how.repeats * len(values)
    for repeat, value in product(range(1, session.how.repeats + 1), values):
        name = name_of(value) + (f", repeat {repeat}" if session.how.repeats > 1 else "")
        load = load_of(value, repeat)
        tally = session.engine.run(load)
        step = step_of(load, tally, repeat)
        done.append(step)
        session.tell(_summary(step, name))
        reason = _why_invalid(load, step, tally, allow_errors=session.how.allow_errors)
        part = f"it ended after {len(done)} of {number} steps" if len(done) < number else ""
        yield session.result(kind, done, f"{name}: {reason}" if reason else part)
        if reason:
            return


def _why_invalid(load: Load, step: Step, tally: Tally, *, allow_errors: bool) -> str:
    """Return why a step is invalid, or an empty text.

    It is if a request failed or hangs, if none succeeded, or if fewer than the load's count ended in time.
    """
    ended = step.requests + step.failed
    if step.errors and not allow_errors:
        return f"{count_text(step.failed, 'request')} failed, the first with {tally.failure}"
    if step.hangs:
        return _open_text(step)
    if not step.requests:
        return f"no request ended in {step.seconds:g} seconds"
    if load.count and ended < load.count:
        return f"only {ended:,} of {load.count:,} requests ended in {load.length:g} seconds"
    return ""


def step_of(load: Load, tally: Tally, repeat: int) -> Step:
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
        latency=latency_of(tally.histogram()),
        latency_histogram=tally.histogram().encode().decode("ascii"),
        started_at=datetime.now(UTC) - timedelta(seconds=time.monotonic() - tally.started),
        connections=None if load.rate else load.connections,
        rate_per_second=load.rate,
        cpu_percent=tally.use.client_percent,
        other_cpu_percent=tally.use.other_percent,
        peak_cpu_percent=tally.peak or None,
        errors=dict(tally.errors),
        statuses=rows_of(tally.statuses),
        unfinished=tally.unfinished,
        oldest_unfinished_ms=tally.oldest * 1e3 if tally.unfinished else None,
        unsent=tally.unsent,
        hangs=tally.hanging > 0,
        lag_p99_ms=p99_ms(tally.lags),
        server_p99_ms=p99_ms(tally.served),
    )


def rows_of(statuses: Counter[tuple[int, str]]) -> tuple[dict[str, int], ...]:
    """Return answers by second and status as a step has them."""
    seconds: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for (second, status), count in sorted(statuses.items()):
        seconds[second][status] = count
    return tuple({"second": second, **counts} for second, counts in seconds.items())


def _open_text(step: Step) -> str:
    number = "1 request was" if step.unfinished == 1 else f"{step.unfinished:,} requests were"
    return f"{number} still open at the end, the oldest for {(step.oldest_unfinished_ms or 0) / 1e3:,.1f} s"


def _summary(step: Step, name: str) -> str:
    p99 = "" if step.latency.p99 is None else f", p99 {step.latency.p99:,.1f} ms"
    errors = ", ".join(f"{count:,} x {status}" for status, count in step.errors.items())
    speed = f"{step.gbps:,.3g} Gbit/s, {step.requests_per_second:,.1f} requests/s"
    failed = f", failed: {errors}" if errors else ""
    left = f", {_open_text(step)}" if step.unfinished else ""
    return f"{name}: {speed}{p99}{failed}{left}{f', {step.unsent:,} were never sent' if step.unsent else ''}"


def measure_closed_loop(session: Session, kind: Kind, connections: Sequence[int]) -> Iterator[BenchResult]:
    """Read or write objects with each of these numbers of connections. Raise OptionError and ApiError."""
    how, store = session.how, session.store
    # Each connection writes an object of its own: writes to one object at the same time can be throttled.
    number = max(how.objects, *connections) if kind is Kind.PUT else how.objects
    keys = session.keys(number)
    if kind is Kind.GET:
        session.upload(keys)

    def load_of(value: int, _repeat: int) -> Load:
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
            count_limit=store.longest_load,
        )

    return sweep(session, kind, connections, load_of, lambda value: count_text(value, "connection"))


_MOST_KEYS = 10**12
"""More keys than an open loop writes, so that each write has a new one."""


class Prefixes(StrEnum):
    """How the keys of two tenants start: with a common prefix, or each with another first character.

    General purpose buckets divide their request rate by prefix, directory buckets do not.
    https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html and
    https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-express-optimizing-performance.html
    """

    COMMON = "common"
    TENANTS = "tenants"

    @property
    def folders(self) -> tuple[str, str]:
        """The folder of each tenant, which is the same in each run, so that a bucket that is hot stays hot."""
        if self is Prefixes.COMMON:
            return f"{FOLDER}/tenant-a/", f"{FOLDER}/tenant-b/"
        return f"a-{FOLDER}/", f"b-{FOLDER}/"


class Operation(StrEnum):
    """What each request does."""

    GET = "get"
    PUT = "put"


def measure_open_loop(
    session: Session, operation: Operation, rates: Sequence[int], connections: int, prefixes: Prefixes
) -> Iterator[BenchResult]:
    """Read or write objects at each of these rates. Raise OptionError and ApiError.

    Each write has a new key, as those of users have.
    """
    how, store = session.how, session.store
    if operation is Operation.GET:
        session.upload(session.keys(how.objects, prefixes.folders))

    def load_of(rate: int, repeat: int) -> Load:
        """Return the load of a step with this many requests per second."""
        if operation is Operation.GET:
            targets = store.targets("GET", session.keys(how.objects, prefixes.folders))
        else:
            keys = session.keys(_MOST_KEYS, prefixes.folders, f"{rate} {repeat}")
            targets = store.targets("PUT", keys, how.object_bytes)
        return Load(
            store.server,
            targets,
            how.object_bytes,
            connections,
            how.warm_up,
            how.seconds,
            rate=rate,
            timeout=how.timeout,
        )

    return sweep(session, Kind.OPEN, rates, load_of, lambda rate: f"{rate} requests/s")

"""Run the steps of a measurement, and turn what an engine measured into steps of the result."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from express_path_instrument.bench.http_engine import Sign
from express_path_instrument.bench.load import Load, Tally, Target, p99_ms
from express_path_instrument.bench.results import SecondStatuses, Step
from express_path_instrument.bench.session import Session


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
    return f"{name}: {speed}{p99}{failed}{f', {_open_text(step)}' if step.unfinished else ''}"

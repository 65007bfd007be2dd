"""Reads that miss the last change once, as eventually consistent APIs may.

https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html,
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.ReadConsistency.html
"""

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from moto.dynamodb.models import dynamodb_backends
from moto.ec2.models import ec2_backends

from config_rule_sandbox.calls import Call
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.dynamodb import operations as dynamodb
from config_rule_sandbox.ec2 import protocol as ec2
from config_rule_sandbox.http.wire import Request

REQUEST_ID = re.compile(rb"<requestId>[^<]*</requestId>", re.IGNORECASE)

Answer = tuple[str, list[tuple[str, str]], bytes]
Serve = Callable[[], Answer]
Snapshot = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Service:
    """The state of a service that reads can miss: attributes of its backend, changed under its lock."""

    backends: Moto
    lock: AbstractContextManager[Any]
    attributes: tuple[str, ...]


SERVICES = {
    "ec2": _Service(ec2_backends, ec2.ONE_AT_A_TIME, ("vpc_end_points", "route_tables", "tags")),
    "dynamodb": _Service(dynamodb_backends, dynamodb.ONE_AT_A_TIME, ("tables",)),
}


@dataclass(frozen=True, slots=True)
class Read:
    """One read: the operation as `service:Operation`, which call of it this was (from 1), and its parameters.

    `differs` says whether the answer that misses the last change is another one, and `stale` whether it was given. If
    one read is to be made stale, `differs` is worked out for that one alone.
    """

    operation: str
    nth: int
    parameters: dict[str, Any]
    differs: bool
    stale: bool = False


@dataclass
class Observation:
    """The reads within one context, in order; `operation` and `nth` name the one to be made stale, if any."""

    operation: str | None = None
    nth: int | None = None
    reads: list[Read] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)
    _done: bool = False

    @property
    def differing(self) -> list[tuple[str, int]]:
        """The reads whose answer would differ without the last change, as arguments for `Sandbox.stale_reads`."""
        return [(read.operation, read.nth) for read in self.reads if read.differs]

    @property
    def given(self) -> list[Read]:
        """The reads that were answered without the last change; none if the change made no difference."""
        return [read for read in self.reads if read.stale]

    @property
    def done(self) -> bool:
        """Whether the read to be made stale is over, so that the state before later changes is not needed."""
        return self._done

    def may_miss(self, service: str) -> bool:
        """Return whether the state before a change of a service may be needed."""
        return self.operation is None or self.operation.startswith(f"{service}:")

    def concerns(self, request: Request) -> bool:
        """Return whether it matters if the next read differs: that of every read, or of the one to be made stale."""
        operation = f"{request.service}:{request.operation}"
        wanted = operation == self.operation and self.nth in (None, self._counts[operation] + 1)
        return self.operation is None or (wanted and not self._done)

    def note(self, request: Request, *, differs: bool) -> bool:
        """Note a read and return whether it is the one to be made stale."""
        operation = f"{request.service}:{request.operation}"
        wanted = self.operation is not None and self.concerns(request) and (differs or self.nth is not None)
        self._counts[operation] += 1
        self._done = self._done or wanted
        parameters = dict(request.parameters)
        self.reads.append(Read(operation, self._counts[operation], parameters, differs, stale=wanted and differs))
        return wanted


class StaleReads:
    """Answers chosen reads as they would have been before the last change. It does nothing outside its contexts."""

    def __init__(self) -> None:
        """Begin without a context."""
        self._observation: Observation | None = None
        self._before: dict[tuple[str, str, str], Snapshot] = {}
        self._lock = RLock()

    @contextmanager
    def observe(self, operation: str | None = None, nth: int | None = None) -> Iterator[Observation]:
        """Note every read of EC2 and DynamoDB, and let one of an operation such as `ec2:DescribeRouteTables` be stale.

        `nth` counts the calls of the operation from 1 within this context; without it, the first one is stale whose
        answer is another one for it. Changes before this context are never missed.
        """
        self._observation = observation = Observation(operation, nth)
        self._before.clear()
        try:
            yield observation
        finally:
            self._observation = None
            self._before.clear()

    def serve(self, request: Request, serve: Serve) -> Answer:
        """Serve a request, as it is or without the last change."""
        observation, service = self._observation, SERVICES.get(request.service)
        if observation is None or service is None:
            return serve()
        with service.lock:
            backend = service.backends[request.account_id][request.region]
            place = (request.service, request.account_id, request.region)
            if Call(request.service, request.operation, request.parameters).mutating:
                if observation.done or not observation.may_miss(request.service):
                    return serve()
                before = _snapshot(backend, service.attributes)
                answer = serve()
                if answer[0].startswith("2"):
                    self._before[place] = before
                return answer
            return self._read(observation, request, serve, (backend, self._before.get(place)))

    def _read(
        self, observation: Observation, request: Request, serve: Serve, seen: tuple[Moto, Snapshot | None]
    ) -> Answer:
        backend, before = seen
        fresh = serve()
        consistent = request.parameters.get("ConsistentRead") is True or not observation.concerns(request)
        stale = fresh if before is None or consistent else _served_from(backend, before, serve)
        differs = REQUEST_ID.sub(b"", stale[2]) != REQUEST_ID.sub(b"", fresh[2])
        return stale if observation.note(request, differs=differs) else fresh


def _snapshot(backend: Moto, attributes: tuple[str, ...]) -> Snapshot:
    """Return copies of attributes of a backend, which refer to each other and not to the originals."""
    found = {name: getattr(backend, name) for name in attributes}
    copied: Snapshot = copy.deepcopy(found, {id(backend): backend})
    return copied


def _served_from(backend: Moto, before: Snapshot, serve: Serve) -> Answer:
    """Serve a request while a backend has the state of a snapshot; the snapshot stays as it is."""
    now = {name: getattr(backend, name) for name in before}
    for name, earlier in copy.deepcopy(before, {id(backend): backend}).items():
        setattr(backend, name, earlier)
    try:
        return serve()
    finally:
        for name, current in now.items():
            setattr(backend, name, current)

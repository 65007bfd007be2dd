"""A measurement from its first check to its cleanup: which bucket, from which machine, and over which path."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from types import FrameType
from uuid import uuid4

from express_path.adapters.aws import Aws
from express_path.errors import ExpressPathError
from express_path_cli.aws.sessions import DOCTOR_CONFIG, connect, connect_anywhere
from express_path_cli.terminal.errors import OptionError, one_line, say
from express_path_instrument.bench.bucket import check_zone_id, check_zones, parse_bucket
from express_path_instrument.bench.engines import Engine, engine_for, require_extra
from express_path_instrument.bench.guard import check_settings, guard_session
from express_path_instrument.bench.http_engine import HttpEngine
from express_path_instrument.bench.instance import Instance, read_instance, read_path
from express_path_instrument.bench.load import Load, Tally
from express_path_instrument.bench.plan import How, Where
from express_path_instrument.bench.processor import cpus
from express_path_instrument.bench.results import BenchResult, Client, Kind, MeasuredPath, Step, Target
from express_path_instrument.bench.store import Store, open_store, own_ca_file

FOLDER = "express-path-bench"
"""What the keys of all objects of measurements start with, unless a prefix scheme says otherwise."""
_CONNECTIONS = 32
"""How many connections upload and delete objects that are not measured."""
_FEW = 200
"""How many objects one process uploads or deletes faster than several, which take longer to start."""
_BATCH = 5000
"""How many objects are uploaded or deleted before they are signed again."""


@dataclass(slots=True)
class Session:
    """A measurement that has passed all checks. Its objects are deleted at the end.

    run_id: a part of every key, so that objects of other runs are never touched.
    """

    store: Store
    how: How
    instance: Instance
    path: MeasuredPath | None
    quiet: bool
    run_id: str = field(default_factory=lambda: uuid4().hex[:12])
    _keys: dict[Store, list[str]] = field(default_factory=dict)

    @property
    def engine(self) -> Engine:
        """The engine for the objects of this measurement."""
        return engine_for(self.how.engine, self.store.server, self.how.object_bytes, self.how.processes)

    def tell(self, message: str) -> None:
        """Say on standard error what happens, unless --quiet."""
        if not self.quiet:
            say(message)

    def will_write(self, store: Store, keys: Sequence[str]) -> None:
        """Remember keys that are about to be written, to delete them at the end."""
        self._keys.setdefault(store, []).extend(keys)

    def upload(self, keys: Sequence[str]) -> None:
        """Upload the objects that a measurement reads. Raise OptionError if one cannot be uploaded, ApiError."""
        self.tell(f"uploading {len(keys)} objects of {self.how.object_bytes:,} bytes to {self.store.bucket.name}")
        self.will_write(self.store, keys)
        tally = self._send("PUT", self.store, keys, self.how.object_bytes)
        if left := len(keys) - tally.requests:
            raise OptionError(
                f"{left} of {len(keys)} objects could not be uploaded to {self.store.bucket.name}: "
                f"{tally.failure or 'it took too long'}",
                "check that the bucket exists, and that you may write to it",
            )

    def delete_objects(self) -> None:
        """Delete everything that was written, and say what could not be deleted."""
        for store, keys in self._keys.items():
            try:
                tally = self._send("DELETE", store, keys)
                left = len(keys) - tally.requests - tally.errors["404"]
                failure = f"{left} of {len(keys)} objects: {tally.failure or 'it took too long'}" if left else ""
            except ExpressPathError as error:
                failure = f"{len(keys)} objects: {one_line(error)}"
            if failure:
                say(f"could not delete {failure}; delete the keys that contain {self.run_id} in {store.bucket.name}")
        self._keys.clear()

    def result(self, kind: Kind, steps: Sequence[Step], invalid_reason: str) -> BenchResult:
        """Return the result of this measurement."""
        engine, store = self.engine, self.store
        return BenchResult(
            kind=kind,
            made_at=datetime.now(UTC),
            label=self.how.label or (self.path.reason if self.path else store.bucket.name),
            path=self.path,
            client=Client(self.instance.instance_type, cpus(), engine.name, engine.version),
            target=Target(store.bucket.name, store.url, store.bucket.zone_id),
            object_bytes=self.how.object_bytes,
            repeats=self.how.repeats,
            steps=tuple(steps),
            invalid_reason=invalid_reason,
        )

    def _send(self, method: str, store: Store, keys: Sequence[str], body_bytes: int = 0) -> Tally:
        """Send one request for each key, without measuring."""
        total = Tally()
        for start in range(0, len(keys), _BATCH):
            sign = partial(store.targets, method, keys[start : start + _BATCH], body_bytes)
            targets = sign()
            connections = min(_CONNECTIONS, len(targets))
            load = Load(store.server, targets, body_bytes, connections, count=len(targets), timeout=self.how.timeout)
            total.add(HttpEngine(1 if len(targets) <= _FEW else cpus()).run(load, sign))
        return total


@contextmanager
def bench_session(where: Where, how: How, *, quiet: bool) -> Iterator[Session]:
    """Check everything, then yield the session. At the end, its objects are deleted, also after Ctrl-C and SIGTERM.

    Raise OptionError if a check fails, and ApiError. Before the guard's check, nothing is sent to the bucket.
    """
    require_extra()
    bucket = parse_bucket(where.bucket)
    if where.zone_id:
        check_zone_id(where.zone_id)
    instance = Instance() if where.endpoint_url else read_instance()
    if where.zone_id or not where.endpoint_url:
        check_zones(bucket, where.zone_id or instance.zone_id, allow_other=where.allow_other_zone)
    aws = _connect(where)
    guard_session(aws.session, where.endpoint_url, own_ca_file())
    store = open_store(bucket, aws, where.endpoint_url)
    engine_for(how.engine, store.server, how.object_bytes, how.processes)  # refuses before anything is sent
    if where.endpoint_url:
        check_settings(aws.session, where.endpoint_url)
    session = Session(store, how, instance, _path(where, instance, aws), quiet)
    session.tell(f"path: {_path_text(session.path)}")
    with _terminable():
        if where.create_bucket:
            store.create()
        try:
            yield session
        finally:
            session.delete_objects()
            if where.delete_bucket:
                store.delete()


def _connect(where: Where) -> Aws:
    """Return the connection for signing and for reading the network. A lab needs no Region. Raise ApiError.

    Without a path to EC2, as in many private subnets, its reads end after half a minute.
    """
    if where.endpoint_url and not where.region:
        return connect_anywhere(where.profile)
    return connect(where.region, where.profile, DOCTOR_CONFIG)


def _path(where: Where, instance: Instance, aws: Aws) -> MeasuredPath | None:
    subnet_id = where.subnet_id or instance.subnet_id
    return read_path(aws, subnet_id) if subnet_id else None


def _path_text(path: MeasuredPath | None) -> str:
    if path is None:
        return "unknown (set --subnet to the subnet of this machine, with permission to read its network)"
    return f"{path.verdict} {path.reason}: {' -> '.join(path.hops) or 'no hops'}"


@contextmanager
def _terminable() -> Iterator[None]:
    """Treat SIGTERM, which Run Command and container runtimes send, like Ctrl-C, so that the cleanup runs."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt for the first signal."""
        signal.signal(number, signal.SIG_IGN)  # another one must not end the cleanup
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

"""A measurement from its first check to its cleanup: which bucket, from which machine, and over which path."""

import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from types import FrameType
from uuid import uuid4

from express_path.adapters.aws import Aws
from express_path.errors import ExpressPathError
from express_path_cli.aws.sessions import DOCTOR_CONFIG, connect, connect_anywhere
from express_path_cli.terminal.errors import OptionError, one_line, say
from express_path_instrument.bench.bucket import check_zone_id, check_zones, parse_bucket
from express_path_instrument.bench.guard import check_credentials, check_settings, guard_session, without_proxies
from express_path_instrument.bench.http_engine import HttpEngine
from express_path_instrument.bench.instance import Instance, read_instance, read_path
from express_path_instrument.bench.load import Keys, Load, Tally
from express_path_instrument.bench.plan import How, Where, check_length
from express_path_instrument.bench.processor import cpus
from express_path_instrument.bench.results import BenchResult, Client, Kind, MeasuredPath, Step, Target
from express_path_instrument.bench.store import Store, open_store, own_ca_file

FOLDER = "express-path-bench"
"""The folder of all objects of measurements, unless a prefix scheme says otherwise."""
_CONNECTIONS = 32
"""How many connections upload and delete objects that are not measured."""
_FEW = 200
"""How many objects one process uploads or deletes faster than several, which take longer to start."""
_BATCH = 5000
"""How many objects are deleted at a time."""


@dataclass(slots=True)
class Session:
    """A measurement that has passed all checks. Its objects are deleted at the end.

    run_id: the end of every key, so that objects of other runs are never touched.
    """

    store: Store
    how: How
    instance: Instance
    path: MeasuredPath | None
    quiet: bool
    run_id: str = field(default_factory=lambda: uuid4().hex[:12])
    _folders: dict[Store, set[str]] = field(default_factory=dict)

    @property
    def engine(self) -> HttpEngine:
        """What sends the requests of this measurement."""
        return HttpEngine(self.how.processes or cpus())

    def tell(self, message: str) -> None:
        """Say on standard error what happens, unless --quiet."""
        if not self.quiet:
            say(message)

    def keys(
        self, number: int, folders: Sequence[str] = (f"{FOLDER}/",), series: str = "", store: Store | None = None
    ) -> Keys:
        """Return keys for objects of this run. What is written under them is deleted at the end."""
        written = store or self.store
        if written not in self._folders:
            self.tell(f"if this run is killed, delete its objects with: {self._removal(written)}")
        self._folders.setdefault(written, set()).update(folders)
        return Keys(tuple(folders), self.run_id, number, series)

    def upload(self, keys: Keys, store: Store | None = None) -> None:
        """Upload the objects that a measurement reads. Raise OptionError if one cannot be uploaded, ApiError."""
        target = store or self.store
        self.tell(f"uploading {len(keys)} objects of {self.how.object_bytes:,} bytes to {target.bucket.name}")
        tally = self._send("PUT", target, keys, self.how.object_bytes)
        if left := len(keys) - tally.requests:
            raise OptionError(
                f"{left} of {len(keys)} objects could not be uploaded to {target.bucket.name}: "
                f"{tally.failure or f'it took more than {target.longest_load:g} seconds'}",
                "check that the bucket exists, and that you may write to it, or use fewer or smaller objects",
            )

    def delete_objects(self) -> None:
        """Delete all objects of this run, and say what could not be deleted, and how to delete it."""
        with ExitStack() as stack:  # if one bucket's cleanup is interrupted, the others have theirs
            for store, folders in self._folders.items():
                stack.callback(self._delete_in, store, folders)

    def _delete_in(self, store: Store, folders: Iterable[str]) -> None:
        failure = "interrupted"
        try:
            failure = self._delete(store, folders)
        except ExpressPathError as error:
            failure = one_line(error)
        finally:
            if failure:
                say(f"could not delete all objects ({failure}); delete the rest with: {self._removal(store)}")

    def _delete(self, store: Store, folders: Iterable[str]) -> str:
        """Delete what a listing shows, as `aws s3 rm` does. Return why that failed, or an empty text."""
        keys = (row["Key"] for folder in folders for row in store.listed(folder))
        own = (key for key in keys if key.endswith(f"-{self.run_id}"))
        while batch := list(islice(own, _BATCH)):
            tally = self._send("DELETE", store, batch)
            if tally.requests + tally.errors["404"] < len(batch):
                return tally.failure or "it took too long"
        return ""

    def _removal(self, store: Store) -> str:
        """Return the command that deletes all objects of this run."""
        place = f" --endpoint-url {store.endpoint_url}" if store.endpoint_url else f" --region {store.aws.region}"
        return f"aws s3 rm s3://{store.bucket.name}{place} --recursive --exclude '*' --include '*-{self.run_id}'"

    def result(self, kind: Kind, steps: Sequence[Step], invalid_reason: str) -> BenchResult:
        """Return the result of this measurement."""
        engine, store = self.engine, self.store
        return BenchResult(
            kind=kind,
            made_at=datetime.now(UTC),
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
        load = Load(
            store.server,
            store.targets(method, keys, body_bytes),
            body_bytes,
            min(_CONNECTIONS, len(keys)),
            count=len(keys),
            timeout=self.how.timeout,
            count_limit=store.longest_load,
        )
        return HttpEngine(1 if len(keys) <= _FEW else cpus()).run(load)


@contextmanager
def bench_session(where: Where, how: How, *, quiet: bool) -> Iterator[Session]:
    """Check everything, then yield the session. At the end, its objects are deleted, also after Ctrl-C and SIGTERM.

    Raise OptionError if a check fails, and ApiError. Before the guard's check, nothing is sent to the bucket.
    """
    bucket = parse_bucket(where.bucket)
    if where.zone_id:
        check_zone_id(where.zone_id)
    check_length(how, has_session=bucket.is_directory and not where.endpoint_url)
    with without_proxies(), _terminable():
        aws = _connect(where)
        guard_session(aws.session, where.endpoint_url, own_ca_file())
        check_credentials(aws.session)
        instance = Instance() if where.endpoint_url else read_instance()
        if where.zone_id or not where.endpoint_url:
            check_zones(bucket, where.zone_id or instance.zone_id, allow_other=where.allow_other_zone)
        store = open_store(bucket, aws, where.endpoint_url)
        check_settings(aws.session, where.endpoint_url)
        session = Session(store, how, instance, _path(where, instance, aws), quiet)
        session.tell(f"path: {_path_text(session.path)}")
        try:
            yield session
        finally:
            session.delete_objects()


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

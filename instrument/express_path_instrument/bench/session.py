"""A measurement from its first check to its cleanup: which bucket, from which machine, and over which path."""

import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
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
from express_path_instrument.bench.load import Keys, Load
from express_path_instrument.bench.plan import How, Where, check_length
from express_path_instrument.bench.processor import cpus
from express_path_instrument.bench.results import BenchResult, Client, Kind, MeasuredPath, Step, Target
from express_path_instrument.bench.store import Store, open_store, own_ca_file

FOLDER = "express-path-bench"
"""The folder of all objects of measurements, unless a prefix scheme says otherwise."""
_CONNECTIONS = 32
"""How many connections upload and delete objects that are not measured."""
_BATCH, _BATCH_BYTES = 5000, 8 << 30
"""How many objects, and how many bytes, are uploaded or deleted at a time: at 1 Gbit/s, they take about a minute."""


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
    _folders: set[str] = field(default_factory=set)

    @property
    def engine(self) -> HttpEngine:
        """What sends the requests of this measurement."""
        return HttpEngine(self.how.processes)

    def tell(self, message: str) -> None:
        """Say on standard error what happens, unless --quiet."""
        if not self.quiet:
            say(message)

    def keys(self, number: int, folders: Sequence[str] = (f"{FOLDER}/",), series: str = "") -> Keys:
        """Return keys for objects of this run. What is written under them is deleted at the end."""
        if not self._folders:
            self.tell(f"if this run is killed, delete its objects with: {self._removal}")
        self._folders.update(folders)
        return Keys(tuple(folders), self.run_id, number, series)

    def upload(self, keys: Keys) -> None:
        """Upload the objects that a measurement reads. Raise OptionError if one cannot be uploaded, ApiError."""
        bucket = self.store.bucket.name
        self.tell(f"uploading {len(keys)} objects of {self.how.object_bytes:,} bytes to {bucket}")
        if failure := self._send_all("PUT", keys, self.how.object_bytes):
            raise OptionError(
                f"not all of {len(keys)} objects could be uploaded to {bucket}: {failure}",
                "check that the bucket exists, and that you may write to it, or use fewer or smaller objects",
            )

    def delete_objects(self) -> None:
        """Delete all objects of this run that a listing shows, and say what could not be deleted, and how to delete it."""
        failure = "interrupted"
        try:
            keys = (row["Key"] for folder in self._folders for row in self.store.listed(folder))
            failure = self._send_all("DELETE", (key for key in keys if key.endswith(f"-{self.run_id}")))
        except ExpressPathError as error:
            failure = one_line(error)
        finally:
            if failure:
                say(f"could not delete all objects ({failure}); delete the rest with: {self._removal}")

    @property
    def _removal(self) -> str:
        """The command that deletes all objects of this run."""
        url, bucket, region = self.store.endpoint_url, self.store.bucket.name, self.store.aws.region
        place = f"--endpoint-url {url}" if url else f"--region {region}"
        return f"aws s3 rm s3://{bucket} {place} --recursive --exclude '*' --include '*-{self.run_id}'"

    def result(self, kind: Kind, steps: Sequence[Step], invalid_reason: str) -> BenchResult:
        """Return the result of this measurement."""
        store = self.store
        return BenchResult(
            kind=kind,
            made_at=datetime.now(UTC),
            path=self.path,
            client=Client(self.instance.instance_type, cpus(), "libcurl", self.engine.version),
            target=Target(store.bucket.name, store.url, store.bucket.zone_id),
            object_bytes=self.how.object_bytes,
            repeats=self.how.repeats,
            steps=tuple(steps),
            invalid_reason=invalid_reason,
        )

    def _send_all(self, method: str, keys: Iterable[str], body_bytes: int = 0) -> str:
        """Send one request for each key, without measuring. Return why that failed, or an empty text.

        They are sent in batches, each of which ends before the session of a directory bucket does.
        """
        waiting, size = iter(keys), max(1, min(_BATCH, _BATCH_BYTES // max(1, body_bytes)))
        while batch := list(islice(waiting, size)):
            targets, limit = self.store.targets(method, batch, body_bytes), self.store.longest_load
            connections = min(_CONNECTIONS, len(batch))
            load = Load(
                self.store.server,
                targets,
                body_bytes,
                connections,
                count=len(batch),
                timeout=self.how.timeout,
                count_limit=limit,
            )
            tally = HttpEngine(1).run(load)
            missing = tally.errors["404"] if method == "DELETE" else 0
            if tally.requests + missing < len(batch):
                return tally.failure or f"it took more than {limit:g} seconds"
        return ""


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
        subnet_id = where.subnet_id or instance.subnet_id
        session = Session(store, how, instance, read_path(aws, subnet_id) if subnet_id else None, quiet)
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

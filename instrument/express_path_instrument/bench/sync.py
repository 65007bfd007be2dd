"""`bench sync`: many small or few large objects, in a general purpose bucket and in a directory bucket."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from express_path_instrument.bench.load import Load, Tally, Target
from express_path_instrument.bench.results import BenchResult, Kind
from express_path_instrument.bench.session import FOLDER, Session
from express_path_instrument.bench.steps import Steps
from express_path_instrument.bench.store import Store

_BATCH = 5000
"""How many requests are signed at a time, so that they are sent before their credentials expire."""


class Stage(StrEnum):
    """The stages, in their order. `standard` is the general purpose bucket, `express` the directory bucket."""

    UPLOAD_STANDARD = "upload to standard"
    UPLOAD_EXPRESS = "upload to express"
    SYNC = "sync standard to express"
    DOWNLOAD_STANDARD = "download from standard"
    DOWNLOAD_EXPRESS = "download from express"


def measure_sync(session: Session, standard: Store, connections: int) -> BenchResult:
    """Time each stage in each repeat. Signing requests is not part of the time. Raise OptionError and ApiError."""
    steps = Steps(session)
    for repeat in range(1, session.how.repeats + 1):
        sync = _Sync(session, standard, connections, f"{FOLDER}/{session.run_id}/{repeat}")
        for stage in Stage:
            load, tally = sync.run(stage)
            if not steps.add(load, tally, repeat, stage, stage):
                return session.result(Kind.SYNC, steps.done, steps.invalid_reason)
    return session.result(Kind.SYNC, steps.done, steps.invalid_reason)


@dataclass(frozen=True, slots=True)
class _Sync:
    """The objects of one repeat, all below one folder in both buckets."""

    session: Session
    standard: Store
    connections: int
    folder: str

    def run(self, stage: Stage) -> tuple[Load, Tally]:
        """Run one stage, and return what was sent last and what was measured."""
        express = self.session.store
        if stage in {Stage.UPLOAD_STANDARD, Stage.UPLOAD_EXPRESS}:
            return self._upload(self.standard if stage is Stage.UPLOAD_STANDARD else express)
        if stage is Stage.SYNC:
            return self._sync(express)
        store = self.standard if stage is Stage.DOWNLOAD_STANDARD else express
        return self._send(store, self._keys("source"), lambda keys: store.targets("GET", keys))

    def _upload(self, store: Store) -> tuple[Load, Tally]:
        keys, size = self._keys("source"), self.session.how.object_bytes
        self.session.will_write(store, keys)
        return self._send(store, keys, lambda batch: store.targets("PUT", batch, size))

    def _sync(self, express: Store) -> tuple[Load, Tally]:
        """List both buckets, and copy what is missing or has another size, as `aws s3 sync` does."""
        started = time.monotonic()
        there = express.sizes(f"{self.folder}/synced/")
        here = self.standard.sizes(f"{self.folder}/source/")
        listing = time.monotonic() - started
        synced = {key: key.replace("/source/", "/synced/") for key in here}
        missing = [key for key, size in here.items() if there.get(synced[key]) != size]
        self.session.will_write(express, [synced[key] for key in missing])
        load, tally = self._send(
            express, missing, lambda keys: express.copies(self.standard.bucket, [(key, synced[key]) for key in keys])
        )
        tally.ended += listing
        return load, tally

    def _keys(self, folder: str) -> list[str]:
        return [f"{self.folder}/{folder}/{position}" for position in range(self.session.how.objects)]

    def _send(
        self, store: Store, keys: Sequence[str], sign: Callable[[Sequence[str]], list[Target]]
    ) -> tuple[Load, Tally]:
        """Send one request for each key. The tally starts at 0 and ends after the seconds of all batches."""
        total, seconds, how = Tally(), 0.0, self.session.how
        load = Load(store.server, (), how.object_bytes, self.connections, count=0, timeout=how.timeout)
        for start in range(0, len(keys), _BATCH):
            sign_batch = partial(sign, keys[start : start + _BATCH])
            targets = sign_batch()
            load = Load(
                store.server, targets, how.object_bytes, self.connections, count=len(targets), timeout=how.timeout
            )
            tally = self.session.engine.run(load, sign_batch)
            seconds += tally.ended - tally.started
            total.add(tally)
        total.started, total.ended = 0.0, seconds
        return replace(load, count=len(keys)), total

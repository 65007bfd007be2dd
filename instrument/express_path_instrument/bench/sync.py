"""`bench sync`: what `aws s3 sync` does from a bucket into an empty folder, for both kinds of buckets."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from s3transfer.exceptions import RetriesExceededError, S3ValidationError
from s3transfer.futures import TransferFuture
from s3transfer.manager import TransferManager
from s3transfer.subscribers import BaseSubscriber

from express_path.adapters.aws import calling
from express_path.errors import ExpressPathError
from express_path_instrument.bench.processor import ProcessorTimes, usable_cpus, use_between
from express_path_instrument.bench.results import BenchResult, Kind, Step
from express_path_instrument.bench.session import FOLDER, Session
from express_path_instrument.bench.store import Store

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import ObjectTypeDef

STANDARD, EXPRESS = "standard", "express"
"""The stages: the general purpose bucket, and the directory bucket."""


def measure_sync(session: Session, standard: Store, folder: Path) -> BenchResult:
    """Upload the same objects to both buckets, then time a sync of each in each repeat. Raise OptionError and ApiError.

    folder: where on the disk. Each sync begins with an empty folder in it, which is deleted at the end.
    """
    how, stores = session.how, {STANDARD: standard, EXPRESS: session.store}
    prefix, local = f"{FOLDER}/{session.run_id}/", folder / f"{FOLDER}-{session.run_id}"
    for store in stores.values():
        session.upload(session.keys(how.objects, (prefix,), store=store), store)
    session.tell(f"each sync is into {local}, which is deleted after it")
    steps: list[Step] = []
    for repeat in range(1, how.repeats + 1):
        for stage, store in stores.items():
            before = ProcessorTimes.now()
            try:
                local.mkdir(parents=True)
                received = download(store, prefix, local)
            except (ExpressPathError, OSError, RetriesExceededError, S3ValidationError) as error:
                return _result(session, steps, f"{stage}, loop {repeat}: {error}")
            finally:
                after = ProcessorTimes.now()
                shutil.rmtree(local, ignore_errors=True)
            steps.append(_step(repeat, stage, received, before, after))
            session.tell(f"{stage}, loop {repeat}: {steps[-1].seconds:.3g} s")
            if len(received) < how.objects:
                reason = f"{stage}, loop {repeat}: only {len(received):,} of {how.objects:,} objects were found"
                return _result(session, steps, reason)
    return _result(session, steps, "")


def _result(session: Session, steps: Sequence[Step], invalid_reason: str) -> BenchResult:
    result = session.result(Kind.SYNC, steps, invalid_reason)
    client = replace(result.client, engine="s3transfer", engine_version=version("s3transfer"))
    return replace(result, client=client)


def download(store: Store, prefix: str, folder: Path) -> list[int]:
    """List a bucket, and download each object under a prefix, with its time. Return their sizes in bytes.

    The transfer manager of boto3 is also that of the AWS CLI, with the same settings: ten requests at a time, and parts
    of 8 MiB (https://docs.aws.amazon.com/cli/latest/topic/s3-config.html). Raise ApiError, OSError,
    RetriesExceededError, and S3ValidationError.
    """
    with calling("s3:GetObject"), TransferManager(store.client()) as manager:
        rows = []
        for row in store.listed(prefix):
            file = folder / row["Key"].removeprefix(prefix)
            rows.append(
                (row, file, manager.download(store.bucket.name, row["Key"], str(file), subscribers=[_Listed(row)]))
            )
        for row, file, transfer in rows:
            transfer.result()
            os.utime(file, (row["LastModified"].timestamp(),) * 2)
    return [row["Size"] for row, *_ in rows]


class _Listed(BaseSubscriber):
    """Tells the transfer manager what the listing says about an object, so that it sends no HeadObject."""

    def __init__(self, row: "ObjectTypeDef") -> None:
        self.row = row

    def on_queued(self, future: TransferFuture, **_: object) -> None:
        """Provide the size and the ETag."""
        future.meta.provide_transfer_size(self.row["Size"])
        future.meta.provide_object_etag(self.row["ETag"])


def _step(repeat: int, stage: str, sizes: Sequence[int], before: ProcessorTimes, after: ProcessorTimes) -> Step:
    seconds = after.at - before.at
    busiest = (after.own - before.own) / seconds  # Python code runs on one processor at a time
    use = use_between(before, after, 0, busiest, usable_cpus())
    return Step(
        repeat=repeat,
        seconds=seconds,
        requests=len(sizes),
        bytes=sum(sizes),
        gbps=sum(sizes) * 8 / 1e9 / seconds,
        requests_per_second=len(sizes) / seconds,
        stage=stage,
        cpu_percent=use.client_percent,
        other_cpu_percent=use.other_percent,
    )

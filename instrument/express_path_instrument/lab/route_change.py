"""Add the endpoint's route during a transfer, as a heal does, and record what happens to open connections."""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.config import Config
from botocore.session import Session

from express_path_instrument.lab import network
from express_path_instrument.lab.server import BUCKET, ENDPOINT, ENVIRONMENT, HOST, PORT

DOWNLOADS = 8
_KEY = "route-change"
_OBJECT_BYTES = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RouteChange:
    """What a new route does to open connections.

    resets: whether the server answers packets of a connection that it does not know with a reset, or ignores them.
    open_connections: downloads that were running. broken: how many of them ended with which error; express_path_instrument.lab.transfer.HANG
    means that nothing arrived any more. recovered_after: seconds from the change to the first whole download on a new
    connection, None if there was none. changed_at: seconds from the start to the change. bits_per_second: what all
    downloads received in each second.
    """

    resets: bool
    open_connections: int
    broken: Mapping[str, int]
    recovered_after: float | None
    changed_at: float
    bits_per_second: Sequence[float]


def store_object(folder: Path) -> None:
    """Store the object that the downloads read in the server's file system."""
    (folder / BUCKET / _KEY).write_bytes(bytes(_OBJECT_BYTES))


def change_route(seconds: float, *, resets: bool) -> RouteChange:
    """Download through the NAT, add the endpoint's route after a third of the time, and return what happened.

    The server knows the open connections by the NAT's address. After the change, their packets come from the client's
    own address, so they belong to no connection. resets: see RouteChange; once switched off, they stay off.
    """
    network.use_nat()
    if not resets:
        network.drop_resets()
    arguments = (HOST, str(PORT), _target(), str(DOWNLOADS), str(seconds))
    command = network.command_in(
        network.CLIENT, sys.executable, "-m", "express_path_instrument.lab.transfer", *arguments
    )
    client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    changes: list[float] = []
    change = threading.Timer(seconds / 3, lambda: _use_endpoint(changes))
    change.start()
    output, _ = client.communicate()
    change.join()
    network.use_nat()
    return _outcome(json.loads(output), changes[0], resets=resets)


def _use_endpoint(changes: list[float]) -> None:
    """Note the time, and add the endpoint's route."""
    changes.append(time.monotonic())
    network.use_endpoint()


def _outcome(report: Mapping[str, Any], changed: float, *, resets: bool) -> RouteChange:
    """Return what the output of express_path_instrument.lab.transfer shows; changed: the time of the change on the monotonic clock."""
    changed_at = changed - report["startedAt"]
    running = [row for row in report["downloads"] if row["began"] < changed_at < row["ended"]]
    whole = [row for row in report["downloads"] if row["bytes"] == _OBJECT_BYTES and row["began"] >= changed_at]
    return RouteChange(
        resets,
        len(running),
        dict(Counter(row["error"] for row in running if row["error"])),
        min((row["ended"] - changed_at for row in whole), default=None),
        changed_at,
        [8.0 * count for count in report["bytesPerSecond"]],
    )


def _target() -> str:
    """Return the request target of a signed URL, which any HTTP client can use. Signing sends nothing."""
    session = Session()
    session.set_credentials(ENVIRONMENT["AWS_ACCESS_KEY_ID"], ENVIRONMENT["AWS_SECRET_ACCESS_KEY"])
    config = Config(signature_version="s3v4", s3={"addressing_style": "path"})
    client: Any = session.create_client("s3", ENVIRONMENT["AWS_REGION"], endpoint_url=ENDPOINT, config=config)
    url = client.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": _KEY}, ExpiresIn=3600)
    return str(url).removeprefix(ENDPOINT)

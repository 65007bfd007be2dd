"""Add the endpoint's route while `express-path bench get` downloads, as a heal does."""

import threading
import time
from pathlib import Path

from express_path_instrument.lab import network
from express_path_instrument.lab.sweeps import download

DOWNLOADS = 8
_OBJECT_BYTES = 2 * 1024 * 1024
_TIMEOUT = 4.0
"""After how many seconds without data the client gives up a download."""


def change_route(seconds: float, output: Path, *, resets: bool) -> Path:
    """Download through the NAT, add the endpoint's route after a third of the time, and return the result.

    The server knows the open connections by the NAT's address. After the change, their packets come from the client's
    own address, so they belong to no connection. resets: whether the server answers such packets with a reset, or ignores
    them; once switched off, resets stay off.
    """
    network.use_nat()
    if not resets:
        network.drop_resets()
    options = {
        "--size": _OBJECT_BYTES,
        "--objects": 1,
        "--connections": DOWNLOADS,
        "--duration": seconds,
        "--warm-up": 0,
        "--repeats": 1,
        "--timeout": _TIMEOUT,
    }
    arguments = (network.received_bytes() + _OBJECT_BYTES, seconds / 3)
    change = threading.Thread(target=_use_endpoint, args=arguments, daemon=True)
    change.start()
    download(output, options, "--allow-errors")
    change.join()
    network.use_nat()
    return output


def _use_endpoint(least_bytes: int, seconds: float) -> None:
    """Add the endpoint's route some seconds after the first download: the client has then received this many bytes."""
    while network.received_bytes() < least_bytes:
        time.sleep(0.05)
    time.sleep(seconds)
    network.use_endpoint()

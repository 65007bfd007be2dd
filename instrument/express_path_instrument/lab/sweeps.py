"""Measure one path with `express-path bench get`, as a user would on an instance."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from express_path_instrument.lab import network
from express_path_instrument.lab.server import BUCKET, ENDPOINT, ENVIRONMENT
from express_path_instrument.lab.settings import Settings

_COMMAND = "from express_path_cli.main import app; app()"


def sweep(settings: Settings, output: Path) -> Path:
    """Run a sweep of downloads over the path of the client's routes, and return the result."""
    options = {
        "--size": settings.object_bytes,
        "--connections": ",".join(map(str, settings.connections)),
        "--duration": settings.seconds,
        "--warm-up": settings.warm_up,
        "--repeats": settings.repeats,
    }
    return download(output, options)


def download(output: Path, options: Mapping[str, object], *flags: str) -> Path:
    """Run `bench get` with these options in the client's namespace, and return the result."""
    arguments = [str(word) for option in options.items() for word in option]
    where = ["--endpoint-url", ENDPOINT, "--output", str(output)]
    command = [sys.executable, "-c", _COMMAND, "bench", "get", BUCKET, *where, *arguments, *flags]
    environment = {**os.environ, **ENVIRONMENT}
    inside = network.command_in(network.CLIENT, *command)
    done = subprocess.run(inside, check=False, env=environment, stdout=subprocess.DEVNULL)
    if not output.exists():  # an invalid measurement, such as one without ports, has a result, too
        raise subprocess.CalledProcessError(done.returncode, inside)
    return output

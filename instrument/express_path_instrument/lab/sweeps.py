"""Measure one path with `express-path bench get`, as a user would on an instance."""

import os
import subprocess
import sys
from pathlib import Path

from express_path_instrument.bench.classify import load_points
from express_path_instrument.bench.results_reader import read_bench
from express_path_instrument.lab import network
from express_path_instrument.lab.server import BUCKET, ENDPOINT, ENVIRONMENT
from express_path_instrument.lab.settings import Settings

_COMMAND = "from express_path_cli.main import app; app()"


def sweep(settings: Settings, output: Path) -> Path:
    """Run a sweep of downloads in the client's namespace, over the path of its routes, and return the result."""
    options = {
        "--endpoint-url": ENDPOINT,
        "--size": str(settings.object_bytes),
        "--connections": ",".join(map(str, settings.connections)),
        "--duration": str(settings.seconds),
        "--warm-up": str(settings.warm_up),
        "--repeats": str(settings.repeats),
        "--output": str(output),
    }
    arguments = [word for option in options.items() for word in option]
    command = [sys.executable, "-c", _COMMAND, "bench", "get", BUCKET, *arguments]
    environment = {**os.environ, **ENVIRONMENT}
    inside = network.command_in(network.CLIENT, *command)
    done = subprocess.run(inside, check=False, env=environment, stdout=subprocess.DEVNULL)
    if not output.exists():  # an invalid measurement, such as one without ports, has a result, too
        raise subprocess.CalledProcessError(done.returncode, inside)
    return output


def best_bits_per_second(result: Path) -> float:
    """Return the highest median throughput of a measurement, in bit/s."""
    return max(point.gbps for point in load_points(read_bench(result))) * 1e9

"""Cold start and memory in the real Lambda runtime: the packaged function beside handlers that import less.

Each function is initialised five times, in turn; what is compared is the median of its initialisations (interpreter,
imports, and making the clients of EC2 and AWS Config) and the most memory its process had resident.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.measuring import Figure, Measured
from demo.function import FUNCTIONS, build
from sandbox.lambda_runtime import LambdaRuntime

TIMES = 5
ENVIRONMENT = {
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
}
EMPTY = "def handler(event, context):\n    return {}\n"
CLIENTS = f"import boto3\n\nsession = boto3.Session()\nsession.client('ec2')\nsession.client('config')\n\n\n{EMPTY}"
OURS = f"""\
import os

from express_path.handlers import evaluate

evaluate.compose_services(os.environ).aws.config


{EMPTY}"""


class Start(NamedTuple):
    """One initialisation: how long it took and what it needed."""

    milliseconds: float
    mebibytes: float


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="express-path-") as folder:
        functions = dict(_functions(Path(folder)))
        starts: dict[str, list[Start]] = {name: [] for name in functions}
        for _ in range(TIMES):
            for name, artifact in functions.items():
                starts[name].append(_start(artifact))
    for title, unit, place in (("Cold start", "ms", 0), ("Memory, at most", "MiB", 1)):
        figures = [Figure(name, median(start[place] for start in runs)) for name, runs in starts.items()]
        floor = next(figure.value for figure in figures if figure.what == FLOOR)
        Measured(title, unit, "of the floor", floor, figures).show()


FLOOR = "boto3 with two clients, as installed and compiled"


def _functions(folder: Path) -> Iterator[tuple[str, Path]]:
    """Each function's name and its artifact, built for the interpreter at hand."""
    ours = folder / "ours"
    build(ours)
    (ours / "cold_start.py").write_text(OURS, encoding="utf-8")
    floor = folder / "floor"
    _install(floor)
    (floor / "cold_start.py").write_text(CLIENTS, encoding="utf-8")
    empty = folder / "empty"
    empty.mkdir()
    (empty / "cold_start.py").write_text(EMPTY, encoding="utf-8")
    for artifact in (ours, floor, empty):
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(artifact)], check=True)
    yield "an empty handler", empty
    yield FLOOR, floor
    yield "the packaged function, with the same two clients", ours


def _install(folder: Path) -> None:
    """The function's locked packages as they are, without the build's trimming."""
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    requirements = str(FUNCTIONS / "requirements.txt")
    target = ["--target", str(folder), "--python", sys.executable, "--require-hashes", "--requirement", requirements]
    subprocess.run([uv, "pip", "install", "--quiet", *target], check=True)


def _start(artifact: Path) -> Start:
    with LambdaRuntime(artifact, "cold_start.handler", ENVIRONMENT) as runtime:
        runtime.invoke({})
        return Start(runtime.init_duration_ms(), runtime.peak_memory_mib())

"""The rule's function for the demonstration: its artifact, built here, in the real Lambda runtime."""

import io
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sandbox.lambda_runtime import LambdaRuntime, in_process

Invoke = Callable[[Any], Any]

FUNCTIONS = Path(__file__).parent.parent / "functions"
HANDLER = "express_path.handlers.evaluate.handler"
BUILD_SECONDS = 300


class BuildError(Exception):
    """The artifact could not be built; `output` is what the build printed."""

    def __init__(self, output: str) -> None:
        super().__init__(f"the function's artifact could not be built:\n{output}")
        self.output = output


def runs_on_lambda_runtime() -> bool:
    """Return whether this machine can run the Runtime Interface Emulator, which is a program for Linux."""
    return sys.platform == "linux"


def build(folder: Path) -> None:
    """Build the artifact for this interpreter and processor into an empty folder. BuildError if that fails."""
    machine = {"arm64": "aarch64"}.get(platform.machine(), platform.machine())
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    # A make above this one would pass its flags on; uv lies beside this interpreter.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    command = ["make", "-C", str(FUNCTIONS), "build-EvaluateFunction", f"ARTIFACTS_DIR={folder}"]
    command += [f"PYTHON={sys.executable}", f"PYTHON_VERSION={version}", f"PLATFORM={machine}-manylinux_2_28"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False)
    if done.returncode:
        raise BuildError(done.stdout + done.stderr)


@contextmanager
def in_lambda_runtime(environment: Mapping[str, str]) -> Iterator[Invoke]:
    """Build the artifact, start it in the Lambda runtime, and give a way to invoke it."""
    with tempfile.TemporaryDirectory(prefix="express-path-") as folder:
        build(Path(folder))
        with LambdaRuntime(Path(folder), HANDLER, environment) as runtime:
            yield runtime.invoke


@contextmanager
def in_this_process(environment: Mapping[str, str]) -> Iterator[Invoke]:
    """Import the handler into this process, and give a way to invoke it; its log is not shown."""
    module, _, name = HANDLER.rpartition(".")
    log = io.StringIO()
    with patch.dict(os.environ, environment), redirect_stdout(log):
        handler = getattr(import_module(module), name)
        import_module("express_path.handlers.services").services.cache_clear()

    def invoke(event: object) -> Any:  # noqa: ANN401 - any JSON value, as in Lambda
        with patch.dict(os.environ, environment), redirect_stdout(log):
            return in_process(handler)(event)

    yield invoke

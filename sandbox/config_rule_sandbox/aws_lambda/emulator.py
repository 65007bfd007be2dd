"""The operating system's side of the Lambda runtime: one emulator process, its ports, its log, what it can import."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path
from socket import create_connection, socket

HOST = "127.0.0.1"
EMULATOR = Path(".lambda-rie/aws-lambda-rie")
"""Where the emulator is in the working folder, unless the variable AWS_LAMBDA_RIE names its path."""

RUNTIME_DISTRIBUTIONS = ("awslambdaric", "simplejson", "snapshot-restore-py")
"""The packages in Lambda's own runtime: the runtime client and what it imports."""

START_SECONDS = 60.0
STOP_SECONDS = 5.0


class RuntimeStartError(Exception):
    """The runtime did not start; `log` is its output."""

    def __init__(self, reason: str, log: str = "") -> None:
        super().__init__(f"{reason}\n{log}".strip())
        self.log = log


def find_emulator() -> Path:
    """Return the path of the emulator. RuntimeStartError if it is not there."""
    emulator = Path(os.environ.get("AWS_LAMBDA_RIE", EMULATOR)).absolute()
    if not emulator.is_file():
        raise RuntimeStartError(f"no Runtime Interface Emulator at {emulator}: set AWS_LAMBDA_RIE to its path")
    return emulator


class EmulatorProcess:
    """A running emulator: it listens on `port` of 127.0.0.1 and keeps what it and the function print.

    The interpreter is this one, without its site-packages: the function sees its artifact first, then Lambda's
    runtime client and the standard library, like in Lambda. Only the given variables reach it.
    """

    def __init__(self, artifact: Path, handler: str, environment: Mapping[str, str]) -> None:
        """Start it. RuntimeStartError if the emulator is not there or does not come up."""
        emulator = find_emulator()
        self._folder = Path(tempfile.mkdtemp(prefix="lambda-runtime-"))
        runtime = _link_runtime(self._folder / "runtime")
        self.port, api_port = _free_ports()
        addresses = ["--runtime-interface-emulator-address", f"{HOST}:{self.port}"]
        addresses += ["--runtime-api-address", f"{HOST}:{api_port}", "--log-level", "info"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [str(emulator), *addresses, sys.executable, "-S", "-m", "awslambdaric", handler],
                cwd=artifact,
                env={**environment, "PYTHONPATH": str(runtime)},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._await_start()

    def log(self) -> str:
        """Return what emulator and function have printed so far."""
        return self._log.read_text(errors="replace")

    def stop(self) -> None:
        """End the emulator and the function's process, and forget the log."""
        self._process.terminate()
        try:
            self._process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        shutil.rmtree(self._folder)

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _await_start(self) -> None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._process.poll() is None:
            try:
                create_connection((HOST, self.port), timeout=1).close()
            except OSError:
                time.sleep(0.01)
            else:
                return
        log = self.log()
        self.stop()
        raise RuntimeStartError("the Lambda runtime did not start", log)


def _link_runtime(folder: Path) -> Path:
    """Fill a folder with links to Lambda's runtime client and what it imports, and to nothing else."""
    folder.mkdir()
    for name in RUNTIME_DISTRIBUTIONS:
        found = distribution(name)
        for top in {file.parts[0] for file in found.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            (folder / top).symlink_to(Path(str(found.locate_file(top))))
    return folder


def _free_ports() -> tuple[int, int]:
    """Return two free loopback ports."""
    with socket() as one, socket() as other:
        one.bind((HOST, 0))
        other.bind((HOST, 0))
        return int(one.getsockname()[1]), int(other.getsockname()[1])

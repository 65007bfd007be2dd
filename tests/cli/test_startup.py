"""How much the command imports before it shows something."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.command_runs import environment

RECORDING = Path(__file__).parents[1] / "recordings" / "china-partition"
RUN = """
import os, sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in {"boto3", "express_path_cli.commands.doctor"}:
            os.write(2, f"<imports {name}>".encode())

sys.meta_path.insert(0, Watch())
from express_path_cli.main import app
app()
"""
"""Run the command, and write a mark to standard error when it starts to import boto3 or another subcommand."""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in a new process."""
    line = [sys.executable, "-c", RUN, *arguments]
    return subprocess.run(line, env=environment(), capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "line",
    [
        ["--help"],
        ["scan", "--help"],
        ["scan", "--from-dump", str(RECORDING), "--format", "html"],
        ["report", "--from-dump", str(RECORDING), "--output", "-"],
    ],
    ids=" ".join,
)
def test_without_aws_boto3_is_not_imported(line: list[str]) -> None:
    """Help and scans of a dump start without boto3, which takes longer to import than the rest of a scan."""
    result = run(*line)
    assert result.returncode in {0, 1}
    assert result.stdout
    assert "<imports" not in result.stderr


def test_imports_are_seen() -> None:
    """The check above can fail: it sees the imports of a subcommand that calls AWS."""
    stderr = run("doctor", "--help").stderr
    assert "<imports boto3>" in stderr
    assert "<imports express_path_cli.commands.doctor>" in stderr


def test_a_terminal_shows_progress_before_boto3_is_imported(tmp_path: Path) -> None:
    """A live scan shows at once that it reads."""
    ours, theirs = pty.openpty()
    nowhere = {"AWS_CONFIG_FILE": str(tmp_path / "none"), "TERM": "xterm"}
    variables = {name: value for name, value in environment().items() if not name.startswith("AWS_")} | nowhere
    line = [sys.executable, "-c", RUN, "scan"]
    with subprocess.Popen(line, env=variables, stdout=subprocess.PIPE, stderr=theirs) as process:
        status = process.wait()
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    os.close(theirs)
    assert status == 2
    assert "no AWS Region is set" in shown
    assert "reading" in shown.partition("<imports boto3>")[0]
    assert "<imports boto3>" in shown

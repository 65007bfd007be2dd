"""How much the command imports before it shows something."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from benchmarks.command_runs import environment

RECORDING = Path(__file__).parents[1] / "recordings" / "china-partition"
WATCH = """
import os, sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in {"boto3", "express_path_cli.doctor.command"}:
            os.write(2, f"<imports {name}>".encode())

sys.meta_path.insert(0, Watch())
from express_path_cli.main import app
"""
"""Write a mark to standard error when boto3 or another subcommand is about to be imported."""
RUN = f"{WATCH}\napp()"
RUN_EACH = f"""{WATCH}
import json
for line in json.loads(sys.argv[1]):
    if not os.fork():
        app(line)
    status = os.waitstatus_to_exitcode(os.wait()[1])
    os.write(1, b"<end>")
    os.write(2, b"<status %d><end>" % status)
"""
"""Run several command lines, each in a fork of one process, because the imports before them take most of the time."""
OFFLINE = (
    ["--help"],
    ["scan", "--help"],
    ["scan", "--from-dump", str(RECORDING), "--format", "html"],
    ["report", "--from-dump", str(RECORDING), "--output", "-"],
)


def run_each(*lines: list[str]) -> list[tuple[str, str]]:
    """Run command lines in new processes, and return the standard output and standard error of each."""
    command = [sys.executable, "-c", RUN_EACH, json.dumps(lines)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    *outputs, rest = done.stdout.split("<end>")
    *errors, left = done.stderr.split("<end>")
    assert (rest, left, len(outputs), len(errors)) == ("", "", len(lines), len(lines)), done.stderr
    return list(zip(outputs, errors, strict=True))


def test_without_aws_boto3_is_not_imported() -> None:
    """Help and scans of a dump start without boto3, which takes longer to import than the rest of a scan.

    The check can fail: it sees the imports of a subcommand that calls AWS.
    """
    *offline, (_, errors_of_doctor) = run_each(*OFFLINE, ["doctor", "--help"])
    for output, errors in offline:
        assert output
        assert errors in {"<status 0>", "<status 1>"}
    assert "<imports boto3>" in errors_of_doctor
    assert "<imports express_path_cli.doctor.command>" in errors_of_doctor


def written_to(terminal: int) -> Iterator[str]:
    """Yield what is written to a terminal. A read returns a part of it, and fails once nobody has the other end open."""
    with suppress(OSError):
        while part := os.read(terminal, 1 << 16):
            yield part.decode(errors="replace")


def test_a_terminal_shows_progress_before_boto3_is_imported(tmp_path: Path) -> None:
    """A live scan shows at once that it reads."""
    ours, theirs = pty.openpty()
    nowhere = {"AWS_CONFIG_FILE": str(tmp_path / "none"), "TERM": "xterm"}
    variables = {name: value for name, value in environment().items() if not name.startswith("AWS_")} | nowhere
    line = [sys.executable, "-c", RUN, "scan"]
    with subprocess.Popen(line, env=variables, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = "".join(written_to(ours))
        status = process.wait()
    os.close(ours)
    assert status == 2
    assert "no AWS Region is set" in shown
    assert "reading" in shown.partition("<imports boto3>")[0]
    assert "<imports boto3>" in shown

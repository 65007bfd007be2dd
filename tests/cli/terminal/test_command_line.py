"""The command line: its usage, what it imports, how it ends, and its output streams."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event

import pytest

from benchmarks.command_runs import environment as of_benchmarks
from config_rule_sandbox.server import Sandbox
from tests.support import processes
from tests.support.command import invoke
from tests.support.many_subnets import write_dump
from tests.support.scenarios import dump_of

pytestmark = pytest.mark.slow

NAT = str(dump_of("nat-gateway-zonal"))
FULL = Path("/dev/full")
UNBUFFERED = {"PYTHONUNBUFFERED": "1"}
TABLE = ("--show", "NON_COMPLIANT", "--show", "COMPLIANT")
"""A table as long as JSON. Every format but the table is written in the same way."""


def test_without_arguments_it_helps() -> None:
    """Without arguments, the command prints its help and fails."""
    result = invoke([])
    assert result.exit_code == 2
    assert "Usage" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["scan", "--from-dump"],
        ["scan", "--from-dump", NAT, "--format", "xml"],
        ["scan", "--dump", NAT],
        ["collect"],
        ["cure"],
        ["--verbose"],
    ],
)
def test_wrong_usage_is_refused(arguments: list[str]) -> None:
    """A missing or unknown value, format, or command gives status 2 and one line that refers to the help."""
    result = invoke(arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith("express-path: ")
    assert line.endswith("--help shows the options)")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["scan", "--format", "jsn"], "json"),
        (["scan", "--show", "natgateway"], "NAT_GATEWAY"),
        (["scan", "--fail-on", "nwe"], "new"),
        (["scan", "--parameter", "publicSubnet=COMPLIANT"], "publicSubnets"),
    ],
)
def test_a_word_like_an_allowed_one_is_guessed(arguments: list[str], word: str) -> None:
    """A value of an option that is misspelled ends with a question."""
    assert f"(did you mean {word}?" in invoke(arguments).stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["scan", "--vpc", "vpc-1", "--vpc", ""], "--vpc"), (["cost", "--flow-logs", ""], "--flow-logs")],
)
def test_an_empty_value_is_refused(arguments: list[str], named: str) -> None:
    """An unset shell variable must not select everything or nothing, unless it is empty by default."""
    result = invoke(arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"express-path: {named} is empty (it accepts ")
    assert invoke(["explain", ""]).stderr.startswith("express-path: NAME is empty (leave it out")
    assert invoke(["scan", "--from-dump", NAT, "--external-id", ""]).exit_code == 1


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
    ["scan", "--from-dump", NAT, "--format", "html"],
)


def test_without_aws_boto3_is_not_imported() -> None:
    """Help and scans of a dump start without boto3, which takes longer to import than the rest of a scan.

    The check can fail: it sees the imports of a subcommand that calls AWS.
    """
    command = [sys.executable, "-c", RUN_EACH, json.dumps([*OFFLINE, ["doctor", "--help"]])]
    done = subprocess.run(command, env=of_benchmarks(), capture_output=True, text=True, check=True)
    *outputs, _ = done.stdout.split("<end>")
    *errors, of_doctor, _ = done.stderr.split("<end>")
    assert len(outputs) == len(OFFLINE) + 1
    assert all(outputs)
    assert errors == ["<status 0>", "<status 0>", "<status 1>"]
    assert "<imports boto3>" in of_doctor
    assert "<imports express_path_cli.doctor.command>" in of_doctor


LIST_MODULES = """
import sys
from express_path_cli.main import app
try:
    app()
finally:
    print(*sys.modules, file=sys.stderr)
"""
"""Run a command line, and write the names of all imported modules to standard error."""
SLOW = {"boto3", "rich", "pydantic", "importlib.metadata", "express_path.domain.verdict.evaluator"}
"""Modules that take a large part of the time that a scan needs to start. Typer converts values with Pydantic."""


def test_help_of_scan_imports_only_its_options() -> None:
    """The help of a scan does not wait for what a scan imports, so that it starts as fast as boto3 is imported."""
    lines = (["scan", "--help"], ["scan", "--from-dump", NAT])
    runs = [
        subprocess.run(
            [sys.executable, "-c", LIST_MODULES, *line],
            env=of_benchmarks(),
            capture_output=True,
            text=True,
            check=False,
        )
        for line in lines
    ]
    of_help, of_scan = (SLOW.intersection(run.stderr.split()) for run in runs)
    assert of_help == set()
    assert of_scan >= {"rich", "pydantic", "express_path.domain.verdict.evaluator"}


def written_to(terminal: int) -> Iterator[str]:
    """Yield what is written to a terminal. A read returns a part of it, and fails once nobody has the other end open."""
    with suppress(OSError):
        while part := os.read(terminal, 1 << 16):
            yield part.decode(errors="replace")


def test_a_terminal_shows_progress_before_boto3_is_imported(tmp_path: Path) -> None:
    """A live scan shows at once that it reads."""
    ours, theirs = pty.openpty()
    nowhere = {"AWS_CONFIG_FILE": str(tmp_path / "none"), "TERM": "xterm"}
    variables = {name: value for name, value in of_benchmarks().items() if not name.startswith("AWS_")} | nowhere
    line = [sys.executable, "-c", f"{WATCH}\napp()", "scan"]
    with subprocess.Popen(line, env=variables, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = "".join(written_to(ours))
        status = process.wait()
    os.close(ours)
    assert status == 2
    assert "no AWS Region is set" in shown
    assert "reading" in shown.partition("<imports boto3>")[0]
    assert "<imports boto3>" in shown


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a dump of 800 subnets, for which a scan writes more than the 64 KiB buffer of a pipe."""
    dump = tmp_path_factory.mktemp("many") / "dump"
    write_dump(dump, 4)
    return str(dump)


def start(*arguments: str, stdout: int, **environment: str) -> subprocess.Popen[bytes]:
    """Start the command in its own process."""
    env = {"PATH": os.environ["PATH"], **environment}
    return subprocess.Popen([*processes.command(env), *arguments], stdout=stdout, stderr=subprocess.PIPE, env=env)


def ended(process: subprocess.Popen[bytes], seconds: int = 60) -> tuple[int, list[str]]:
    """Wait for a process; return its status and its lines on standard error."""
    _, stderr = process.communicate(timeout=seconds)
    return process.returncode, stderr.decode().splitlines()


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("environment", [{}, UNBUFFERED], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("arguments", [("scan", "--format", "json"), ("scan", *TABLE), ("--version",)], ids=" ".join)
def test_a_full_disk_is_one_line(many: str, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    """A full disk gives one line and is not reported as a bug, also with PYTHONUNBUFFERED, which containers set."""
    dump = ("--from-dump", many) if arguments[0] == "scan" else ()
    with FULL.open("wb") as full:
        status, [line] = ended(start(*arguments, *dump, stdout=full.fileno(), **environment))
    assert status == 2
    assert line.startswith("express-path: standard output: No space left on device (")


def test_a_disk_that_fills_up_is_reported_without_buffers(many: str, tmp_path: Path) -> None:
    """A truncated result is an error; here the limit on the file's size stands for a full disk.

    The page is one write, which an unbuffered stream may do in part.
    """
    program = Path(sys.executable).with_name("express-path")
    output = tmp_path / "out.html"
    command = f"ulimit -f 100; trap '' XFSZ; exec {program} scan --from-dump {many} --format html >{output}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, env=os.environ | UNBUFFERED
    )
    assert done.returncode == 2
    assert done.stderr.startswith("express-path: standard output: File too large (")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("environment", [{}, UNBUFFERED], ids=["buffered", "unbuffered"])
def test_errors_that_cannot_be_written_keep_their_status(environment: dict[str, str]) -> None:
    """The status is 2 even if the error cannot be written or flushed."""
    env = {"PATH": os.environ["PATH"], **environment}
    command = [*processes.command(env), "scan", "--from-dump", "/nowhere"]
    with FULL.open("wb") as full:
        assert subprocess.run(command, stderr=full, check=False, env=env).returncode == 2


@pytest.mark.parametrize("options", [("--format", "json"), TABLE], ids=" ".join)
@pytest.mark.parametrize("environment", [{}, UNBUFFERED], ids=["buffered", "unbuffered"])
def test_a_pipe_that_is_closed_ends_quietly(many: str, options: tuple[str, ...], environment: dict[str, str]) -> None:
    """If the reader stops before or after the first line (| head -1), the status is that of SIGPIPE, not a verdict."""
    command = ("scan", "--from-dump", many, *options)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert ended(start(*command, stdout=writing, **environment)) == (141, [])
    finally:
        os.close(writing)
    with start(*command, stdout=subprocess.PIPE, **environment) as process:
        assert process.stdout
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr
        stderr = process.stderr.read()
    assert (process.returncode, stderr) == (141, b"")


BROKEN = """
import os, typer
from express_path_cli.terminal.command_line import Listed, RootCommand, Subcommands

EXAMPLES = ""

def write():
    reading, writing = os.pipe()
    os.close(reading)
    os.write(writing, b"x")

class Root(RootCommand):
    subcommands = Subcommands({"write": Listed("broken", "")}, {})

app = typer.Typer(cls=Root)
app.callback()(lambda: None)
if __name__ == "__main__":
    app()
"""


def test_another_pipe_that_is_closed_is_an_error(tmp_path: Path) -> None:
    """The status of SIGPIPE is for standard output. Any other closed pipe, such as a process that has ended, is an error."""
    (tmp_path / "broken.py").write_text(BROKEN)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, str(tmp_path / "broken.py"), "write"]
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert done.returncode == 2
    assert b"unexpected BrokenPipeError" in done.stderr


@pytest.mark.parametrize("form", ["table", "csv"])
def test_a_terminal_without_unicode_gets_ascii(form: str, tmp_path: Path) -> None:
    """Documents are always UTF-8; the table uses only characters that the terminal supports."""
    for file in Path(NAT).glob("*.json"):
        text = file.read_text(encoding="utf-8").replace('"Value": "', '"Value": "\N{LATIN SMALL LETTER E WITH ACUTE}')
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    poor = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "COLUMNS": "120"}
    command = ("scan", "--from-dump", str(tmp_path), "--format", form)
    with start(*command, stdout=subprocess.PIPE, **poor) as process:
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (1, b"")
    letter = r"\xe9" if form == "table" else "\N{LATIN SMALL LETTER E WITH ACUTE}"
    assert letter in stdout.decode("ascii" if form == "table" else "utf-8")


def test_ctrl_c_ends_at_once(sandbox: Sandbox) -> None:
    """Ctrl-C gives one line and status 130, without waiting for AWS's responses."""
    asked, answer = Event(), Event()

    def wait_for_interrupt() -> None:
        """Let the command wait for a response."""
        asked.set()
        answer.wait(timeout=60)

    sandbox.faults.before("ec2", "DescribeSubnets", wait_for_interrupt)
    try:
        process = start("scan", stdout=subprocess.PIPE, **sandbox.environment())
        assert asked.wait(timeout=30)
        process.send_signal(signal.SIGINT)
        assert ended(process, seconds=20) == (130, ["express-path: interrupted"])
    finally:
        answer.set()

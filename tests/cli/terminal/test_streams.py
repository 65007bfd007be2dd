"""Output streams: full disks, closed pipes, links, and terminals without Unicode."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest

from express_path_cli.terminal.progress import watching
from sandbox.server import Sandbox
from tests.support import processes
from tests.support.command import invoke
from tests.support.many_subnets import write_dump
from tests.support.scenarios import dump_of

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).with_name("express-path")
NAT = str(dump_of("nat-gateway-zonal"))
DETAILS = ("--details", "--show", "NON_COMPLIANT", "--show", "COMPLIANT")
"""What makes a table as long as the other formats."""
FORMATS = ("table", "json", "csv", "markdown", "html")
FULL = Path("/dev/full")
UNBUFFERED = {"PYTHONUNBUFFERED": "1"}


def start(*arguments: str, stdout: int, **environment: str) -> subprocess.Popen[bytes]:
    """Start the command in its own process."""
    env = {"PATH": os.environ["PATH"], **environment}
    return subprocess.Popen([*processes.command(env), *arguments], stdout=stdout, stderr=subprocess.PIPE, env=env)


def ended(process: subprocess.Popen[bytes]) -> tuple[int, list[str]]:
    """Wait for a process; return its status and its lines on standard error."""
    _, stderr = process.communicate(timeout=60)
    return process.returncode, stderr.decode().splitlines()


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize(
    "arguments", [*(("scan", "--from-dump", NAT, "--format", form) for form in FORMATS), ("--version",)], ids=" ".join
)
def test_a_full_disk_is_one_line(arguments: tuple[str, ...]) -> None:
    """A full disk gives one line and is not reported as a bug."""
    with FULL.open("wb") as full:
        status, [line] = ended(start(*arguments, stdout=full.fileno()))
    assert status == 2
    assert line.startswith("express-path: standard output: No space left on device (")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("environment", [{}, UNBUFFERED], ids=["buffered", "unbuffered"])
def test_errors_that_cannot_be_written_keep_their_status(environment: dict[str, str]) -> None:
    """The status is 2 even if the error cannot be written or flushed."""
    env = {"PATH": os.environ["PATH"], **environment}
    command = [*processes.command(env), "scan", "--from-dump", "/nowhere"]
    with FULL.open("wb") as full:
        assert subprocess.run(command, stderr=full, check=False, env=env).returncode == 2


@pytest.mark.parametrize("form", FORMATS)
def test_a_closed_pipe_ends_quietly(form: str) -> None:
    """If the reader closes the pipe (| head), nothing is printed, and the status is that of SIGPIPE."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert ended(start("scan", "--from-dump", NAT, "--format", form, stdout=writing)) == (141, [])
    finally:
        os.close(writing)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a dump of 800 subnets, for which most formats write more than the 64 KiB buffer of a pipe."""
    dump = tmp_path_factory.mktemp("many") / "dump"
    write_dump(dump, 4)
    return str(dump)


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "markdown"])
@pytest.mark.parametrize("environment", [{}, UNBUFFERED], ids=["buffered", "unbuffered"])
def test_a_pipe_that_is_closed_midway_ends_quietly(many: str, form: str, environment: dict[str, str]) -> None:
    """If the reader stops after the first line (| head -1), the status is not a verdict."""
    long = DETAILS if form == "table" else ()
    command = ("scan", "--from-dump", many, "--format", form, *long)
    with start(*command, stdout=subprocess.PIPE, **environment) as process:
        assert process.stdout
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr
        stderr = process.stderr.read()
    assert (process.returncode, stderr) == (141, b"")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("arguments", [("scan", "--format", form) for form in FORMATS], ids=" ".join)
def test_a_full_disk_is_reported_without_buffers(many: str, arguments: tuple[str, ...]) -> None:
    """PYTHONUNBUFFERED, which containers set, does not change the error."""
    with FULL.open("wb") as full:
        status, [line] = ended(start(*arguments, "--from-dump", many, stdout=full.fileno(), **UNBUFFERED))
    assert status == 2
    assert line.startswith("express-path: standard output: No space left on device (")


def test_a_disk_that_fills_up_is_reported_without_buffers(many: str, tmp_path: Path) -> None:
    """A truncated result is an error; here the limit on the file's size stands for a full disk."""
    file = tmp_path / "out.json"
    command = f"ulimit -f 100; trap '' XFSZ; exec {COMMAND} scan --from-dump {many} --format json >{file}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, env=os.environ | UNBUFFERED
    )
    assert done.returncode == 2
    assert done.stderr.startswith("express-path: standard output: File too large (")


@pytest.mark.parametrize("form", FORMATS)
def test_a_terminal_without_unicode_gets_ascii(form: str) -> None:
    """Documents are always UTF-8; the table uses only characters that the terminal supports."""
    poor = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "COLUMNS": "120"}
    with start("scan", "--from-dump", NAT, "--format", form, stdout=subprocess.PIPE, **poor) as process:
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (1, b"")
    assert "nat-" in stdout.decode("ascii" if form == "table" else "utf-8")


@pytest.mark.parametrize("name", ["", ".", "/", "folder"])
def test_a_folder_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A folder as the output file gives one line, and nothing is written next to it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    result = invoke(["scan", "--from-dump", NAT, "--output", name])
    assert result.exit_code == 2
    assert "cannot be written: Is a directory (" in result.stderr
    assert list(tmp_path.rglob("*")) == [tmp_path / "folder"]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the write fails, the existing file stays unchanged."""

    def full(*_: object) -> None:
        """Fail like a disk without free space."""
        raise OSError(28, os.strerror(28))

    file = tmp_path / "paths.json"
    file.write_text("yesterday", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", full)
    result = invoke(["scan", "--from-dump", NAT, "--output", str(file)])
    assert result.exit_code == 2
    assert "paths.json cannot be written: No space left on device (" in result.stderr
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["yesterday"]


def test_links_are_followed(tmp_path: Path) -> None:
    """A symbolic link is kept and its target is written, even if the target does not exist yet."""
    link, file = tmp_path / "latest.csv", tmp_path / "today.csv"
    link.symlink_to(file.name)
    for _ in range(2):
        assert invoke(["scan", "--from-dump", NAT, "--format", "csv", "--output", str(link)]).exit_code == 1
        assert link.is_symlink()
        assert file.read_bytes().startswith(b"accountId,")


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o664])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    """An existing file keeps its mode; a new file gets the default mode."""
    file, other, fresh = tmp_path / "paths.csv", tmp_path / "other", tmp_path / "fresh.csv"
    file.touch()
    file.chmod(mode)
    other.touch()
    for output in (file, fresh):
        assert invoke(["scan", "--from-dump", NAT, "--format", "csv", "--output", str(output)]).exit_code == 1
        assert output.read_bytes().startswith(b"accountId,")
    assert file.stat().st_mode & 0o777 == mode
    assert fresh.stat().st_mode == other.stat().st_mode


@pytest.mark.parametrize("command", [*(("scan", "--format", form) for form in FORMATS[:-1]), ("report",)], ids=" ".join)
def test_a_dash_is_standard_output(command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --output -, the result goes to standard output and no file is reported as written."""
    monkeypatch.chdir(tmp_path)
    result = invoke([*command, "--from-dump", NAT, "--output", "-"])
    assert (result.exit_code, result.stderr) == (1, "")
    assert "nat-" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """With --output >(gzip >file), the pipe is written to and not replaced by a file."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append(fifo.read_bytes()), daemon=True)
    reader.start()
    assert invoke(["scan", "--from-dump", NAT, "--format", "csv", "--output", str(fifo)]).exit_code == 1
    reader.join(timeout=30)
    assert read[0].startswith(b"accountId,")
    assert fifo.is_fifo()


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
        assert ended(process) == (130, ["express-path: interrupted"])
    finally:
        answer.set()


def test_the_progress_bar_escapes_names(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """An account's name can contain markup characters."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with watching(quiet=False) as watch:
        watch.expect(1)
        watch.done("account 1 ([/red] oops)")
    assert "account 1 ([/red] oops)" in capsys.readouterr().err


@pytest.mark.parametrize("command", [("scan", "--format", "csv"), ("report",)], ids=" ".join)
def test_quiet_prints_nothing_on_success(command: tuple[str, ...], tmp_path: Path) -> None:
    """With --quiet, success prints nothing; otherwise, the file and a summary of its contents are printed."""
    arguments = [*command, "--from-dump", NAT, "--output", str(tmp_path / "file")]
    quiet = invoke([*arguments, "--quiet"])
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (1, "", "")
    assert "1 NON_COMPLIANT" in invoke(arguments).stderr

"""bench get, put, open, and sync measure a bucket from end to end, and leave nothing in it."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from express_path_cli.aws.sessions import connect
from express_path_instrument.bench.bucket import parse_bucket
from express_path_instrument.bench.results_reader import read_bench
from express_path_instrument.bench.store import open_store
from express_path_instrument.bench.sync import download
from instrument.tests.bench.raw_server import RawServer, response, serving
from sandbox.server import Sandbox
from tests.support.command import invoke

AWS_CLI = Path(__file__).parents[3] / ".venv-awscli" / "bin" / "aws"
SHORT = ("--size", "1KiB", "--objects", "3", "--warm-up", "0", "--processes", "1", "--quiet")


@pytest.fixture
def lab(sandbox: Sandbox) -> str:
    """The URL of a server with the buckets lab and standard."""
    for name in ("lab", "standard"):
        sandbox.client("s3").create_bucket(Bucket=name)
    return sandbox.endpoint_url


def keys(sandbox: Sandbox, bucket: str = "lab") -> list[str]:
    """Return the keys of all objects in a bucket."""
    return [row["Key"] for row in sandbox.client("s3").list_objects_v2(Bucket=bucket).get("Contents", ())]


def rows_below(header: str, shown: str) -> list[tuple[str, int]]:
    """Return the first cell and the number of cells of the two rows below a header."""
    lines = [line.split() for line in shown.splitlines()]
    [position] = [index for index, cells in enumerate(lines) if " ".join(cells).startswith(header)]
    return [(cells[0], len(cells)) for cells in lines[position + 1 : position + 3]]


def test_a_sweep_is_measured_and_its_objects_are_deleted(lab: str, sandbox: Sandbox, tmp_path: Path) -> None:
    """Each number of connections is measured in each repeat. The table and the file have the result, others their objects."""
    file, other = tmp_path / "run.json", "express-path-bench/1-other-run"
    sandbox.client("s3").put_object(Bucket="lab", Key=other, Body=b"")
    line = ["bench", "get", "lab", "--endpoint-url", lab, *SHORT, "--connections", "2,1", "--count", "6"]
    result = invoke([*line, "--repeats", "2", "--output", str(file)])
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    measured = read_bench(file)
    assert [(step.connections, step.repeat) for step in measured.steps] == [(2, 1), (1, 1), (2, 2), (1, 2)]
    assert {(step.requests, step.bytes, step.failed) for step in measured.steps} == {(6, 6 << 10, 0)}
    assert all(step.gbps > 0 and step.latency.p999 for step in measured.steps)
    assert (measured.kind, measured.target.bucket, measured.valid) == ("get", "lab", True)
    assert rows_below("Connections Gbit/s TP80 req/s", result.stdout) == [("2", 9), ("1", 9)]
    assert "Median of 2 repeats" in result.stdout
    assert keys(sandbox) == [other]


def sync_line(url: str, folder: Path, *options: str) -> list[str]:
    line = ["bench", "sync", "lab", "standard", "--endpoint-url", url, "--folder", str(folder), "--region", "us-east-1"]
    return [*line, "--size", "1KiB", "--objects", "3", "--repeats", "2", "--quiet", *options]


def test_a_sync_is_measured(lab: str, sandbox: Sandbox, tmp_path: Path) -> None:
    """Each loop downloads every object from each bucket, and nothing is left in the buckets and on the disk."""
    file, folder = tmp_path / "run.json", tmp_path / "disk"
    result = invoke(sync_line(lab, folder, "--output", str(file)))
    assert result.exit_code == 0, result.stderr
    steps = read_bench(file).steps
    assert [(step.repeat, step.stage, step.requests, step.bytes) for step in steps] == [
        (repeat, stage, 3, 3 << 10) for repeat in (1, 2) for stage in ("standard", "express")
    ]
    times = {stage: sum(step.seconds for step in steps if step.stage == stage) for stage in ("standard", "express")}
    row = next(line.split() for line in result.stdout.splitlines() if line.startswith("express "))
    assert row[2:5] == ["s", "2", "3"]
    assert float(row[1]) == pytest.approx(times["express"], rel=0.01)
    assert float(row[-1].removesuffix("x")) == pytest.approx(times["standard"] / times["express"], abs=0.06)
    assert sandbox.calls.of("s3", "HeadObject") == []
    assert keys(sandbox) == keys(sandbox, "standard") == list(folder.iterdir()) == []


def test_a_sync_that_fails_is_invalid(lab: str, sandbox: Sandbox, tmp_path: Path) -> None:
    """An object that cannot be read ends the measurement with status 2, and everything is deleted."""
    sandbox.faults.deny("s3", "GetObject")
    result = invoke(sync_line(lab, tmp_path / "disk"))
    assert result.exit_code == 2
    assert "the measurement is invalid: standard, loop 1: s3:GetObject failed with AccessDenied" in result.stderr
    assert keys(sandbox) == keys(sandbox, "standard") == list((tmp_path / "disk").iterdir()) == []


def test_a_sync_downloads_what_is_in_the_bucket(lab: str, sandbox: Sandbox, tmp_path: Path) -> None:
    """A large object is read in parts, each file has the time of its object, and other folders are left alone."""
    contents = {"small": b"abc", "large": os.urandom(9 << 20)}
    for name, content in contents.items():
        sandbox.client("s3").put_object(Bucket="lab", Key=f"folder/{name}", Body=content)
    sandbox.client("s3").put_object(Bucket="lab", Key="other/name", Body=b"")
    store = open_store(parse_bucket("lab"), connect("us-east-1"), lab)
    assert sorted(download(store, "folder/", tmp_path)) == [3, 9 << 20]
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == contents
    row = sandbox.client("s3").head_object(Bucket="lab", Key="folder/small")
    assert (tmp_path / "small").stat().st_mtime == row["LastModified"].timestamp()
    ranges = {call.parameters.get("Range") for call in sandbox.calls.of("s3", "GetObject")}
    assert ranges == {None, "bytes=0-8388607", "bytes=8388608-"}


def test_progress_names_the_path_and_each_step(lab: str) -> None:
    """Without --quiet, standard error says that the path is unknown, and shows each step when it is done."""
    line = ["bench", "get", "lab", "--endpoint-url", lab, *SHORT[:-1], "--connections", "1", "--count", "2"]
    result = invoke([*line, "--repeats", "1"])
    path, removal, upload, step = result.stderr.splitlines()
    assert "path: unknown" in path
    assert "if this run is killed, delete its objects with: aws s3 rm s3://lab " in removal
    assert "uploading 3 objects of 1,024 bytes to lab" in upload
    assert "1 connection: " in step
    assert "p99" in step


@pytest.mark.usefixtures("sandbox")
def test_a_sync_needs_a_bucket_of_each_kind() -> None:
    """The directory bucket comes first; both orders of two buckets of one kind are refused."""
    for buckets in (["plain", "fast--use1-az4--x-s3"], ["plain", "other"], ["fast--use1-az4--x-s3"] * 2):
        result = invoke(["bench", "sync", *buckets])
        assert result.exit_code == 2
        assert "name the directory bucket first" in result.stderr


def test_a_missing_bucket_is_an_error(sandbox: Sandbox) -> None:
    """The message has the server's words. No bucket is created."""
    missing = invoke(["bench", "get", "fresh", "--endpoint-url", sandbox.endpoint_url, *SHORT])
    assert missing.exit_code == 2
    assert "3 of 3 objects could not be uploaded to fresh: 404 NoSuchBucket" in missing.stderr
    assert sandbox.client("s3").list_buckets()["Buckets"] == []


@pytest.mark.parametrize("command", ["get", "put", "open"])
def test_a_step_ends_before_the_session_of_a_directory_bucket(command: str) -> None:
    """A longer step is refused, and the error names the limit."""
    result = invoke(["bench", command, "fast--use1-az4--x-s3", "--warm-up", "2", "--duration", "239"])
    assert result.exit_code == 2
    assert "241 seconds" in result.stderr
    assert "use at most 240 seconds: a session of a directory bucket ends after 300" in result.stderr


READ = response("200 OK", b"x" * 1024)


def assert_all_deleted(raw: RawServer, number: int = 3) -> None:
    """Check that every object that was written was deleted."""
    assert len({line for line in raw.lines() if line.startswith("PUT")}) == number
    assert raw.left() == []


def throttling(request: bytes) -> bytes:
    """Answer writes, and every read with 503."""
    if request.startswith(b"GET"):
        return response("503 Slow Down", b"<Error><Code>SlowDown</Code></Error>")
    return response("200 OK")


def line_for(raw: RawServer, *options: str) -> list[str]:
    line = ["bench", "get", "lab", "--endpoint-url", raw.url, *SHORT, "--region", "us-east-1"]
    return [*line, "--connections", "1,2", "--count", "4", "--repeats", "1", *options]


@pytest.fixture
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


@pytest.mark.usefixtures("_credentials")
def test_writes_are_measured_and_their_objects_deleted() -> None:
    """Each connection has an object of its own to write, so that writes to one object do not collide."""
    with serving(lambda _: response("200 OK")) as raw:
        line = ["bench", "put", "lab", "--endpoint-url", raw.url, *SHORT, "--connections", "4", "--count", "8"]
        result = invoke([*line, "--repeats", "1", "--output", "-"])
    assert result.exit_code == 0, result.stderr
    [step] = json.loads(result.stdout)["steps"]
    assert (step["connections"], step["requests"], step["bytes"]) == (4, 8, 8 << 10)
    assert raw.body_lengths.count(1 << 10) == 8
    assert_all_deleted(raw, 4)


@pytest.mark.parametrize(
    ("prefixes", "folders"),
    [
        ("common", {"express-path-bench/tenant-a", "express-path-bench/tenant-b"}),
        ("tenants", {"a-express-path-bench", "b-express-path-bench"}),
    ],
)
@pytest.mark.usefixtures("_credentials")
def test_an_open_loop_is_measured_and_each_write_has_a_key_of_its_own(prefixes: str, folders: set[str]) -> None:
    """Each second has its statuses. No object is written twice, also in another repeat, and all are deleted."""
    with serving(lambda _: response("200 OK")) as raw:
        line = ["bench", "open", "lab", "--endpoint-url", raw.url, *SHORT, "--region", "us-east-1", "--rate", "40"]
        line += ["--operation", "put", "--prefixes", prefixes, "--duration", "0.5", "--repeats", "2", "--output", "-"]
        result = invoke(line)
    assert result.exit_code == 0, result.stderr
    steps = json.loads(result.stdout)["steps"]
    assert [(step["ratePerSecond"], step["requests"]) for step in steps] == [(40, 20), (40, 20)]
    assert sum(second["200"] for second in steps[1]["statusOverTime"]) == 20
    assert_all_deleted(raw, 40)
    written = [line.removeprefix("PUT /lab/") for line in raw.lines() if line.startswith("PUT")]
    assert {key.rpartition("/")[0] for key in written} == folders


@pytest.mark.usefixtures("_credentials")
def test_a_failed_request_makes_the_result_invalid(tmp_path: Path) -> None:
    """The measurement ends after the step, with status 2, and the file says why. Objects are deleted all the same."""
    file = tmp_path / "run.json"
    with serving(throttling) as raw:
        result = invoke(line_for(raw, "--output", str(file)))
    assert result.exit_code == 2
    measured = read_bench(file)
    assert measured.invalid_reason == "1 connection: 4 requests failed, the first with 503 SlowDown"
    assert [dict(step.errors) for step in measured.steps] == [{"503": 4}]
    assert "INVALID" in result.stdout
    assert "--allow-errors" in result.stderr
    assert_all_deleted(raw)


@pytest.mark.usefixtures("_credentials")
def test_errors_can_be_allowed() -> None:
    """With --allow-errors, every step is measured; a step without any success is invalid all the same."""
    reads = iter([throttling(b"GET")])
    with serving(lambda request: next(reads, READ) if request.startswith(b"GET") else response("200 OK")) as raw:
        result = invoke(line_for(raw, "--allow-errors", "--output", "-"))
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["valid"] is True
    assert [step["errors"] for step in document["steps"]] == [{"503": 1}, {}]
    with serving(throttling) as raw:
        useless = invoke(line_for(raw, "--allow-errors"))
    assert useless.exit_code == 2
    assert "no request ended" in useless.stderr


@pytest.mark.usefixtures("_credentials")
def test_a_hanging_request_makes_the_result_invalid(tmp_path: Path) -> None:
    """A request without an answer for more than a second is no healthy step, also with --allow-errors."""
    file = tmp_path / "run.json"
    reads = iter([READ, READ])
    with serving(lambda request: next(reads, b"") if request.startswith(b"GET") else response("200 OK")) as raw:
        line = ["bench", "get", "lab", "--endpoint-url", raw.url, *SHORT, "--region", "us-east-1", "--repeats", "1"]
        line += ["--connections", "1,2", "--duration", "3", "--allow-errors", "--output", str(file)]
        result = invoke(line)
    assert result.exit_code == 2
    measured = read_bench(file)
    [step] = measured.steps
    assert (step.unfinished, step.hangs) == (1, True)
    assert (step.oldest_unfinished_ms or 0) > 1000
    assert (step.latency.max or 0) > 1000
    assert measured.invalid_reason.startswith("1 connection: 1 request was still open at the end, the oldest for ")


@pytest.mark.usefixtures("_credentials")
def test_a_redirect_is_not_followed() -> None:
    """A server that redirects is reported, and the server that it names gets no request."""
    with serving() as other:
        redirect = response("307 Temporary Redirect", b"", f"Location: {other.url}/lab/key")
        with serving(lambda _: redirect) as raw:
            result = invoke(line_for(raw))
    assert result.exit_code == 2
    assert "307" in result.stderr
    assert other.connections == 0


def endless(raw: RawServer) -> list[str]:
    """Return a command line that measures for longer than a test lasts."""
    line = line_for(raw)
    position = line.index("--count")
    return [*line[:position], "--duration", "200", *line[position + 2 :]]


@pytest.mark.usefixtures("_credentials")
def test_ctrl_c_deletes_all_objects() -> None:
    """After Ctrl-C, which reaches all processes, the objects are deleted, and no process is left."""
    reading = threading.Event()

    def answer(request: bytes) -> bytes:
        if request.startswith(b"GET"):
            reading.set()
            return READ
        return response("200 OK")

    with serving(answer) as raw:
        program = "from express_path_cli.main import app; app()"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        line = [sys.executable, "-c", program, *endless(raw)]
        with subprocess.Popen(line, env=environment, stderr=subprocess.PIPE, start_new_session=True) as process:
            assert reading.wait(60)
            os.killpg(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
        assert_all_deleted(raw)
    assert process.returncode == 130
    assert b"interrupted" in errors


@pytest.mark.parametrize("command", ["get", "sync"])
@pytest.mark.usefixtures("_credentials")
def test_sigterm_deletes_all_objects(command: str, tmp_path: Path) -> None:
    """SIGTERM, which Run Command sends when it is cancelled, ends the measurement like Ctrl-C."""

    def terminating(request: bytes) -> bytes:
        if request.startswith(b"GET"):
            os.kill(os.getpid(), signal.SIGTERM)
            return READ
        return response("200 OK")

    with serving(terminating) as raw:
        result = invoke(endless(raw) if command == "get" else sync_line(raw.url, tmp_path))
        assert_all_deleted(raw, 3 if command == "get" else 6)
    assert result.exit_code == 130
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.usefixtures("_credentials")
def test_a_cleanup_that_is_interrupted_loses_no_result(tmp_path: Path) -> None:
    """The result is written before the cleanup. What is left is said for each bucket, or deleted."""
    file, deleted = tmp_path / "run.json", threading.Event()

    def interrupting(request: bytes) -> bytes:
        if request.startswith(b"DELETE") and not deleted.is_set():
            deleted.set()
            os.kill(os.getpid(), signal.SIGTERM)
            return b""
        return READ if request.startswith(b"GET") else response("200 OK")

    with serving(interrupting) as raw:
        result = invoke(sync_line(raw.url, tmp_path, "--output", str(file)))
        left = raw.left()
    assert result.exit_code == 130
    assert len(read_bench(file).steps) == 4
    assert "could not delete all objects (interrupted); delete the rest with: aws s3 rm s3://lab " in result.stderr
    assert {path.split("/")[1] for path in left} <= {"lab"}


@pytest.mark.skipif(not AWS_CLI.exists(), reason="no AWS CLI: make .venv-awscli/.ready installs it")
def test_a_killed_run_has_said_how_to_delete_its_objects(lab: str, sandbox: Sandbox) -> None:
    """The AWS CLI deletes all objects of the run with the command that was printed, and no others."""
    others = ["express-path-bench/other-run", "mine"]
    for key in others:
        sandbox.client("s3").put_object(Bucket="lab", Key=key, Body=b"")
    program = "from express_path_cli.main import app; app()"
    line = ["bench", "open", "lab", "--endpoint-url", lab, *SHORT[:-1], "--operation", "put", "--prefixes", "tenants"]
    line += ["--rate", "20", "--duration", "200", "--region", "us-east-1"]
    environment = {**os.environ, **sandbox.environment(), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", program, *line], env=environment, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while len(keys(sandbox)) < 5 and time.monotonic() < deadline:
            time.sleep(0.1)
        process.kill()
        _, errors = process.communicate(timeout=60)  # its processes have the pipe, too, and end with it
    assert len(keys(sandbox)) > len(others)
    [printed] = [row for row in errors.decode().splitlines() if "delete its objects with: " in row]
    command = shlex.split(printed.partition("with: ")[2])
    subprocess.run([str(AWS_CLI), *command[1:]], env=environment, check=True, capture_output=True)
    assert keys(sandbox) == others


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--size", "big"], "--size big"),
        (["--size", "6GiB"], "--size 6GiB"),
        (["--connections", "1,x"], "--connections 1,x"),
        (["--connections", "0"], "--connections 0"),
        (["--duration", "1", "--count", "1"], "--duration and --count"),
        (["--duration", "7200"], "7202 seconds"),
        (["--zone-id", "us-east-1a"], "not a zone ID"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_option_that_is_not_valid_is_named(options: list[str], named: str) -> None:
    """The error is one line that names the option and what is allowed."""
    with serving() as raw:
        result = invoke(["bench", "get", "lab", "--endpoint-url", raw.url, *options])
    assert result.exit_code == 2
    [message] = result.stderr.splitlines()
    assert named in message
    assert raw.connections == 0

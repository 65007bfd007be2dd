"""bench get, put, and open measure a bucket from end to end, and leave nothing in it."""

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from config_rule_sandbox.server import Sandbox
from express_path_instrument.bench.results_reader import read_bench
from instrument.tests.bench.raw_server import RawServer, response, serving
from tests.support.command import invoke

AWS_CLI = Path(__file__).parents[3] / ".venv-tools" / "bin" / "aws"
SHORT = ("--size", "1KiB", "--objects", "3", "--warm-up", "0", "--processes", "1", "--quiet")


@pytest.fixture
def lab(sandbox: Sandbox) -> str:
    """The URL of a server with the bucket lab."""
    sandbox.client("s3").create_bucket(Bucket="lab")
    return sandbox.endpoint_url


def keys(sandbox: Sandbox) -> list[str]:
    """Return the keys of all objects in the bucket."""
    return [row["Key"] for row in sandbox.client("s3").list_objects_v2(Bucket="lab").get("Contents", ())]


def loads_below(header: str, shown: str) -> list[str]:
    """Return the first cells of the two rows below a header."""
    lines = [line.split() for line in shown.splitlines()]
    [position] = [index for index, cells in enumerate(lines) if " ".join(cells).startswith(header)]
    return [cells[0] for cells in lines[position + 1 : position + 3]]


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
    assert loads_below("Connections Gbit/s TP80 req/s", result.stdout) == ["1", "2"]
    assert "Median of 2 repeats" in result.stdout
    assert keys(sandbox) == [other]


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


def test_a_missing_bucket_is_an_error(sandbox: Sandbox) -> None:
    """The message has the server's words. No bucket is created."""
    missing = invoke(["bench", "get", "fresh", "--endpoint-url", sandbox.endpoint_url, *SHORT])
    assert missing.exit_code == 2
    assert "not all of 3 objects could be uploaded to fresh: 404 NoSuchBucket" in missing.stderr
    assert sandbox.client("s3").list_buckets()["Buckets"] == []


@pytest.mark.parametrize("command", ["get", "put", "open"])
def test_a_step_ends_before_the_session_of_a_directory_bucket(command: str) -> None:
    """A longer step is refused, and the error names the limit."""
    result = invoke(["bench", command, "fast--use1-az4--x-s3", "--warm-up", "2", "--duration", "239"])
    assert result.exit_code == 2
    assert "241 seconds" in result.stderr
    assert "use at most 240 seconds: a session of a directory bucket ends after 300" in result.stderr


READ = response("200 OK", b"x" * 1024)
PROGRAM = "from express_path_cli.main import app; app()"


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


@pytest.mark.long
@pytest.mark.usefixtures("_credentials")
def test_a_hanging_request_makes_the_result_invalid(tmp_path: Path) -> None:
    """A step with a request that is never answered is invalid, also with --allow-errors."""
    file = tmp_path / "run.json"
    reads = iter([READ, READ])
    with serving(lambda request: next(reads, b"") if request.startswith(b"GET") else response("200 OK")) as raw:
        line = ["bench", "get", "lab", "--endpoint-url", raw.url, *SHORT, "--region", "us-east-1", "--repeats", "1"]
        line += ["--connections", "1,2", "--duration", "3", "--allow-errors", "--timeout", "4", "--output", str(file)]
        result = invoke(line)
    assert result.exit_code == 2
    measured = read_bench(file)
    [step] = measured.steps
    assert (step.unfinished, step.hangs) == (1, True)
    assert (step.oldest_unfinished_ms or 0) > 1000
    assert (step.latency.max or 0) > 1000
    assert measured.invalid_reason.startswith("1 connection: 1 request was still open at the end, the oldest for ")


@contextmanager
def measuring(answer: Callable[[bytes], bytes], *options: str) -> Iterator[tuple[RawServer, subprocess.Popen[bytes]]]:
    """Measure three steps in a process of its own, with a session of its own."""
    with serving(lambda request: answer(request) if request.startswith(b"GET") else response("200 OK")) as raw:
        line = ["bench", "get", "lab", "--endpoint-url", raw.url, *SHORT[:-1], "--region", "us-east-1"]
        line += ["--connections", "1,2,3", "--count", "20", "--repeats", "1", *options]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        program = [sys.executable, "-c", PROGRAM, *line]
        pipe = subprocess.PIPE
        with subprocess.Popen(program, env=environment, stdout=pipe, stderr=pipe, start_new_session=True) as process:
            yield raw, process
            assert_all_deleted(raw)


def kill_workers(process: subprocess.Popen[bytes]) -> None:
    """Kill the processes that a command has started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGKILL)


ENDS = {
    "SIGTERM": (lambda process: process.send_signal(signal.SIGTERM), 130),
    "SIGINT": (lambda process: os.killpg(process.pid, signal.SIGINT), 130),
    "worker": (kill_workers, 2),
}
"""How a measurement is ended, and its exit status. Ctrl-C reaches all of its processes."""


@pytest.mark.parametrize(("how", "step"), [(how, step) for how in ENDS for step in (1, 2, 3)])
@pytest.mark.long
@pytest.mark.usefixtures("_credentials")
def test_what_was_measured_is_in_the_file(how: str, step: int, tmp_path: Path) -> None:
    """If a measurement is ended in a step, the file and the table have the steps before it, and nothing else is left."""
    file, reached = tmp_path / "run.json", threading.Event()
    end, status = ENDS[how]

    def answer(_request: bytes) -> bytes:
        done = len(read_bench(file).steps) if file.exists() else 0
        if done < step - 1:
            return READ
        reached.set()
        return b""

    with measuring(answer, "--output", str(file)) as (raw, process):
        assert reached.wait(60)
        end(process)
        shown, errors = process.communicate(timeout=60)
    assert process.returncode == status, errors
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert raw.left() == []
    assert file.exists() is (step > 1)
    if step > 1:
        measured = read_bench(file)
        assert [measured_step.connections for measured_step in measured.steps] == [1, 2, 3][: step - 1]
        assert measured.invalid_reason == f"it ended after {step - 1} of 3 steps"
        assert f"INVALID: it ended after {step - 1} of 3 steps" in shown.decode()


@pytest.mark.long
@pytest.mark.usefixtures("_credentials")
def test_a_full_disk_costs_the_steps_that_it_cannot_hold(tmp_path: Path) -> None:
    """The file keeps the steps that were written before the disk was full; the table has the others, too."""
    file = tmp_path / "run.json"

    started: list[int] = []

    def answer(_request: bytes) -> bytes:
        if file.exists():
            most = file.stat().st_size
            resource.prlimit(started[0], resource.RLIMIT_FSIZE, (most, most))
        return READ

    with measuring(answer, "--output", str(file)) as (_, process):
        started.append(process.pid)
        shown, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"{file} cannot be written: File too large" in errors.decode()
    assert [step.connections for step in read_bench(file).steps] == [1]
    assert loads_below("Connections Gbit/s req/s", shown.decode()) == ["1", "2"]


@pytest.mark.long
@pytest.mark.skipif(not AWS_CLI.exists(), reason="no AWS CLI: make .venv-tools/.ready installs it")
def test_a_killed_run_has_said_how_to_delete_its_objects(lab: str, sandbox: Sandbox) -> None:
    """The AWS CLI deletes all objects of the run with the command that was printed, and no others."""
    others = ["express-path-bench/other-run", "mine"]
    for key in others:
        sandbox.client("s3").put_object(Bucket="lab", Key=key, Body=b"")
    line = ["bench", "open", "lab", "--endpoint-url", lab, *SHORT[:-1], "--operation", "put", "--prefixes", "tenants"]
    line += ["--rate", "20", "--duration", "200", "--region", "us-east-1"]
    environment = {**os.environ, **sandbox.environment(), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *line], env=environment, stderr=subprocess.PIPE) as process:
        while len(keys(sandbox)) < 5:
            time.sleep(0.1)
        process.kill()
        _, errors = process.communicate()  # its processes have the pipe, too, and end with it
    assert len(keys(sandbox)) > len(others)
    [printed] = [row for row in errors.decode().splitlines() if "delete its objects with: " in row]
    command = shlex.split(printed.partition("with: ")[2])
    while len(keys(sandbox)) > len(others):  # the server may still write what it was sent
        subprocess.run([str(AWS_CLI), *command[1:]], env=environment, check=True)
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

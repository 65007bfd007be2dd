"""bench get, put, open, and sync measure a bucket from end to end, and leave nothing in it."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from express_path_instrument.bench.results_reader import read_bench
from instrument.tests.bench.raw_server import RawServer, response, serving
from sandbox.server import Sandbox
from tests.support.command import invoke

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


def test_a_sweep_is_measured_and_its_objects_are_deleted(lab: str, sandbox: Sandbox, tmp_path: Path) -> None:
    """Each number of connections is measured in each repeat, and the table and the file have the result."""
    file = tmp_path / "run.json"
    line = ["bench", "get", "lab", "--endpoint-url", lab, *SHORT, "--connections", "2,1", "--count", "6"]
    result = invoke([*line, "--repeats", "2", "--label", "NAT", "--output", str(file)])
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    measured = read_bench(file)
    assert [(step.connections, step.repeat) for step in measured.steps] == [(2, 1), (1, 1), (2, 2), (1, 2)]
    assert {(step.requests, step.bytes, step.failed) for step in measured.steps} == {(6, 6 << 10, 0)}
    assert all(step.gbps > 0 and step.latency.p999 for step in measured.steps)
    assert (measured.kind, measured.label, measured.target.bucket, measured.valid) == ("get", "NAT", "lab", True)
    rows = [row.split() for row in result.stdout.splitlines()]
    assert [row[0] for row in rows if row and row[0].isdigit()] == ["2", "1"]
    assert "Median of 2 repeats" in result.stdout
    assert keys(sandbox) == []


def test_an_open_loop_is_measured(lab: str, sandbox: Sandbox) -> None:
    """Each rate is measured, and the document, on standard output, has the statuses of each second."""
    line = ["bench", "open", "lab", "--endpoint-url", lab, *SHORT, "--rate", "20,40", "--duration", "0.5"]
    result = invoke([*line, "--operation", "put", "--prefixes", "tenants", "--output", "-"])
    assert result.exit_code == 0, result.stderr
    steps = json.loads(result.stdout)["steps"]
    assert [(step["ratePerSecond"], step["requests"]) for step in steps] == [(20, 10), (40, 20)]
    assert sum(second["200"] for second in steps[1]["statusOverTime"]) == 20
    assert keys(sandbox) == []


def test_a_sync_is_measured(lab: str, sandbox: Sandbox, tmp_path: Path) -> None:
    """Every stage transfers every object, the sync by copying inside S3, and both buckets are empty at the end."""
    file = tmp_path / "run.json"
    line = ["bench", "sync", "lab", "standard", "--endpoint-url", lab, "--size", "2kB", "--objects", "5"]
    result = invoke([*line, "--connections", "2", "--processes", "1", "--output", str(file)])
    assert result.exit_code == 0, result.stderr
    assert [(step.stage, step.requests, step.bytes) for step in read_bench(file).steps] == [
        (stage, 5, 10_000)
        for stage in (
            "upload to standard",
            "upload to express",
            "sync standard to express",
            "download from standard",
            "download from express",
        )
    ]
    assert "sync" in result.stdout
    assert keys(sandbox) == keys(sandbox, "standard") == []


def test_progress_names_the_path_and_each_step(lab: str) -> None:
    """Without --quiet, standard error says that the path is unknown, and shows each step when it is done."""
    line = ["bench", "get", "lab", "--endpoint-url", lab, *SHORT[:-1], "--connections", "1", "--count", "2"]
    result = invoke([*line, "--repeats", "1"])
    path, upload, step = result.stderr.splitlines()
    assert "path: unknown" in path
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


def test_buckets_are_created_and_deleted_only_on_request(sandbox: Sandbox) -> None:
    """Without --create-bucket, a missing bucket is an error. With it and --delete-bucket, none is left."""
    line = ["bench", "get", "fresh", "--endpoint-url", sandbox.endpoint_url, *SHORT, "--connections", "1"]
    line += ["--count", "1", "--repeats", "1"]
    missing = invoke(line)
    assert missing.exit_code == 2
    assert "3 of 3 objects could not be uploaded to fresh: 404 NoSuchBucket" in missing.stderr
    assert invoke([*line, "--create-bucket"]).exit_code == 0
    assert [row["Name"] for row in sandbox.client("s3").list_buckets()["Buckets"]] == ["fresh"]
    assert invoke([*line, "--delete-bucket"]).exit_code == 0
    assert sandbox.client("s3").list_buckets()["Buckets"] == []


READ = response("200 OK", b"x" * 1024)


def assert_all_deleted(raw: RawServer, number: int = 3) -> None:
    """Check that every object that was written was deleted."""
    written = {line.removeprefix("PUT ") for line in raw.lines() if line.startswith("PUT")}
    assert len(written) == number
    assert {line.removeprefix("DELETE ") for line in raw.lines() if line.startswith("DELETE")} == written


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


@pytest.mark.usefixtures("_credentials")
def test_each_write_of_an_open_loop_has_a_key_of_its_own() -> None:
    """Writes do not hit the same few objects, and all that were written are deleted."""
    with serving(lambda _: response("200 OK")) as raw:
        line = ["bench", "open", "lab", "--endpoint-url", raw.url, *SHORT, "--region", "us-east-1", "--rate", "40"]
        result = invoke([*line, "--operation", "put", "--prefixes", "random", "--duration", "0.5", "--output", "-"])
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["steps"][0]["requests"] == 20
    assert_all_deleted(raw, 20)


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
        line += ["--connections", "1,2", "--duration", "1.2", "--allow-errors", "--output", str(file)]
        result = invoke(line)
    assert result.exit_code == 2
    measured = read_bench(file)
    [step] = measured.steps
    assert (step.unfinished, step.hangs) == (1, True)
    assert (step.oldest_unfinished_ms or 0) > 1000
    assert (step.latency.max or 0) > 1000
    assert measured.invalid_reason == "1 connection: 1 request was still open at the end, the oldest for 1.2 s"


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


@pytest.mark.usefixtures("_credentials")
def test_sigterm_deletes_all_objects() -> None:
    """SIGTERM, which Run Command sends when it is cancelled, ends the measurement like Ctrl-C."""

    def terminating(request: bytes) -> bytes:
        if request.startswith(b"GET"):
            os.kill(os.getpid(), signal.SIGTERM)
            return READ
        return response("200 OK")

    with serving(terminating) as raw:
        result = invoke(endless(raw))
        assert_all_deleted(raw)
    assert result.exit_code == 130
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


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

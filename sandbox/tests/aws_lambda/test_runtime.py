"""The Lambda runtime: a small artifact with the real Runtime Interface Emulator and runtime client."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from config_rule_sandbox.aws_lambda.runtime import FunctionError, FunctionTimeoutError, LambdaRuntime

HANDLER = '''
import os, sys, time
import boto3

print("module level of the handler")


def handler(event, context):
    """Do what the event says."""
    if "fail" in event:
        raise LookupError(event["fail"])
    if "sleep" in event:
        time.sleep(event["sleep"])
    if "exit" in event:
        os._exit(event["exit"])
    return {
        "boto3": boto3.__file__,
        "path": sys.path,
        "pid": os.getpid(),
        "environment": dict(os.environ),
        "memory": context.memory_limit_in_mb,
        "remaining": context.get_remaining_time_in_millis(),
        "event": event,
    }
'''

pytestmark = pytest.mark.runtime


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An artifact with a handler and an empty module named boto3."""
    folder = tmp_path_factory.mktemp("artifact")
    (folder / "app.py").write_text(HANDLER)
    (folder / "boto3.py").write_text("")
    return folder


@pytest.fixture(scope="module")
def function(artifact: Path) -> Iterator[LambdaRuntime]:
    """The running artifact."""
    with LambdaRuntime(artifact, "app.handler", {"GREETING": "hello"}, memory_mb=512, timeout_s=60) as running:
        yield running


def test_answers(function: LambdaRuntime) -> None:
    """The function gets the event, the configured memory, and the time that is left; the caller gets its response."""
    event = {"text": "ü", "number": 1.5, "list": [None, True]}
    answer = function.invoke(event)
    assert (answer["event"], int(answer["memory"])) == (event, 512)
    assert 0 < answer["remaining"] <= 60_000


def test_artifact_comes_first_and_this_environment_is_out_of_sight(
    function: LambdaRuntime, artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imports use the artifact, then the runtime and the standard library; variables are the given ones and Lambda's."""
    monkeypatch.setenv("AWS_PROFILE", "somebody")
    answer = function.invoke({})
    assert answer["boto3"] == str(artifact / "boto3.py")
    first, runtime, *standard_library = map(Path, answer["path"])
    assert (first, runtime.name) == (artifact, "runtime")
    assert all(entry.is_relative_to(sys.base_prefix) for entry in standard_library)
    assert "site-packages" not in str(standard_library)
    environment = answer["environment"]
    assert (environment["GREETING"], environment["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]) == ("hello", "512")
    assert environment["_HANDLER"] == "app.handler"
    assert not {"AWS_PROFILE", "HOME", "VIRTUAL_ENV"} & set(environment)


def test_error_is_raised(function: LambdaRuntime) -> None:
    """A handler's exception has its type, message, and stack trace."""
    with pytest.raises(FunctionError, match="LookupError: no such subnet") as raised:
        function.invoke({"fail": "no such subnet"})
    assert (raised.value.error_type, raised.value.error_message) == ("LookupError", "no such subnet")
    assert "app.py" in raised.value.stack_trace[0]


def test_time_out_is_raised(artifact: Path) -> None:
    """A function that does not finish is stopped."""
    short = LambdaRuntime(artifact, "app.handler", {}, timeout_s=1)
    with short as function, pytest.raises(FunctionTimeoutError, match=r"timed out after 1\.00 seconds"):
        function.invoke({"sleep": 60})


def test_crash_is_raised(function: LambdaRuntime) -> None:
    """If the function's process ends, that is a function error, and the next invocation has a new process."""
    with pytest.raises(FunctionError, match="exit status 3") as raised:
        function.invoke({"exit": 3})
    assert raised.value.error_type == "Runtime.ExitError"
    assert function.invoke({"again": True})["event"] == {"again": True}


def test_invocations_from_threads_take_turns(function: LambdaRuntime) -> None:
    """Concurrent invocations run one after the other."""
    with ThreadPoolExecutor(8) as callers:
        answers = list(callers.map(function.invoke, [{"number": number} for number in range(24)]))
    assert [answer["event"]["number"] for answer in answers] == list(range(24))


def test_leaves_nothing_behind(artifact: Path) -> None:
    """When the runtime stops, the function's process ends too."""
    with LambdaRuntime(artifact, "app.handler", {}) as runtime:
        process = Path("/proc", str(runtime.invoke({})["pid"]))
        assert process.exists()
    assert not process.exists()
    with pytest.raises(LookupError, match="does not run"):
        runtime.logs()

"""Functions in processes of their own: what they answer, raise, and print."""

import io
import zipfile
from collections.abc import Iterator

import pytest

from config_rule_sandbox.aws_lambda.process import FunctionProcess
from config_rule_sandbox.aws_lambda.runtime import FunctionError, FunctionTimeoutError

CODE = b"""
import os, time

count = 0

def handler(event, context):
    global count
    count += 1
    print("invocation", count)
    if "sleep" in event:
        time.sleep(event["sleep"])
    if "exit" in event:
        os._exit(event["exit"])
    if "fail" in event:
        raise LookupError(event["fail"])
    return {
        "count": count,
        "setting": os.environ["SETTING"],
        "arn": context.invoked_function_arn,
        "left": context.get_remaining_time_in_millis(),
        "folder": os.environ["LAMBDA_TASK_ROOT"],
        "of_the_tests": "HOME" in os.environ,
    }
"""
ARN = "arn:aws:lambda:us-east-1:123456789012:function:my-function"


def function_of(code: bytes, handler: str = "index.handler", timeout_s: int = 30) -> FunctionProcess:
    """Return a function with a setting."""
    return FunctionProcess(code, handler, {"SETTING": "value"}, arn=ARN, memory_mb=128, timeout_s=timeout_s)


@pytest.fixture
def function() -> Iterator[FunctionProcess]:
    """A function whose code is in the template."""
    made = function_of(CODE)
    yield made
    made.stop()


def test_answers_and_prints(function: FunctionProcess) -> None:
    """One process serves several invocations, and sees only the variables of the function."""
    first, second = function.invoke({}), function.invoke({})
    assert (first["count"], second["count"]) == (1, 2)
    assert (first["setting"], first["arn"], first["of_the_tests"]) == ("value", ARN, False)
    assert 0 < first["left"] <= 30_000
    assert function.printed() == ["invocation 1", "invocation 2"]
    assert function.printed() == []


def test_error_is_raised(function: FunctionProcess) -> None:
    """The type and message are those of the function's error, and the process goes on."""
    with pytest.raises(FunctionError) as raised:
        function.invoke({"fail": "no subnet"})
    assert (raised.value.error_type, raised.value.error_message) == ("LookupError", "no subnet")
    assert any("index.py" in line for line in raised.value.stack_trace)
    assert function.invoke({})["count"] == 2


def test_process_that_ends_is_started_again(function: FunctionProcess) -> None:
    """An invocation during which the process exits fails, and the next one has a new process."""
    with pytest.raises(FunctionError, match="ExitError"):
        function.invoke({"exit": 3})
    assert function.invoke({})["count"] == 1


def test_time_out_is_raised() -> None:
    """An invocation that takes longer than the function may is ended."""
    function = function_of(CODE, timeout_s=1)
    with pytest.raises(FunctionTimeoutError, match="Task timed out after 1"):
        function.invoke({"sleep": 60})
    function.stop()


def test_archive_with_packages() -> None:
    """A handler in a package of a zip archive imports its neighbors."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("rules/__init__.py", "")
        written.writestr("rules/limits.py", "LIMIT = 3")
        written.writestr(
            "rules/main.py", "from rules.limits import LIMIT\n\ndef run(event, context):\n    return LIMIT\n"
        )
    function = function_of(archive.getvalue(), "rules/main.run")
    assert function.invoke({}) == 3
    function.stop()


def test_handler_that_cannot_be_imported() -> None:
    """Each invocation fails with the error of the import."""
    function = function_of(b"import nowhere")
    for _ in range(2):
        with pytest.raises(FunctionError, match="ModuleNotFoundError: No module named 'nowhere'"):
            function.invoke({})
    function.stop()

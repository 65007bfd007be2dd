"""The real Lambda runtime on this machine: AWS's Runtime Interface Emulator and runtime client, without containers.

https://github.com/aws/aws-lambda-runtime-interface-emulator,
https://github.com/aws/aws-lambda-python-runtime-interface-client. `in_process` invokes a handler without them, which is
faster.
"""

import json
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from threading import Lock
from typing import Any, Self

from config_rule_sandbox.aws_lambda.emulator import HOST, EmulatorProcess

INVOCATIONS = "/2015-03-31/functions/function/invocations"
"""The one path of the emulator, which is Lambda's Invoke."""

INIT_SECONDS = 30
"""How long an initialization may take, in addition to the time-out."""


class FunctionError(Exception):
    """The function failed: `error_type`, `error_message` and `stack_trace` as Lambda's answer has them.

    https://docs.aws.amazon.com/lambda/latest/dg/python-exceptions.html
    """

    def __init__(self, error_type: str, error_message: str, stack_trace: list[str] | None = None) -> None:
        super().__init__(f"{error_type}: {error_message}")
        self.error_type = error_type
        self.error_message = error_message
        self.stack_trace = stack_trace or []


class FunctionTimeoutError(FunctionError):
    """The function ran longer than its time-out."""


class LambdaRuntime:
    """A built artifact in the Lambda runtime, as a context manager.

    `environment` are the function's own variables; nothing of this process's environment reaches it. Invocations run
    one after the other, also from several threads: two at once crash the emulator.
    """

    def __init__(
        self,
        artifact: Path,
        handler: str,
        environment: Mapping[str, str],
        *,
        function_name: str = "function",
        memory_mb: int = 256,
        timeout_s: int = 60,
    ) -> None:
        """Prepare a function: the artifact's folder, its handler (`package.module.function`) and its settings."""
        self._artifact = artifact.resolve()
        self._handler = handler
        self._variables = lambda_variables(self._artifact, function_name, memory_mb, timeout_s) | dict(environment)
        self._timeout_s = timeout_s
        self._lock = Lock()
        self._running: EmulatorProcess | None = None

    def __enter__(self) -> Self:
        """Start the emulator. RuntimeStartError if it is not there or does not come up."""
        self._running = EmulatorProcess(self._artifact, self._handler, self._variables)
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop the emulator and the function's process; their log is gone then."""
        self._process.stop()
        self._running = None

    def invoke(self, event: object) -> Any:  # noqa: ANN401  # any JSON value, as in Lambda
        """Invoke the function and return its answer. FunctionError if it failed, FunctionTimeoutError if it hung."""
        with self._lock:
            connection = HTTPConnection(HOST, self._process.port, timeout=self._timeout_s + INIT_SECONDS)
            try:
                connection.request("POST", INVOCATIONS, json.dumps(event))
                response = connection.getresponse()
                body = response.read().decode()
            finally:
                connection.close()
        return _answer(body, failed=response.status != HTTPStatus.OK)

    def logs(self) -> str:
        """Return what function and emulator have printed since the start."""
        return self._process.log()

    @property
    def _process(self) -> EmulatorProcess:
        if self._running is None:
            raise LookupError("the Lambda runtime does not run: use it as a context manager")
        return self._running


@dataclass(frozen=True, slots=True)
class LambdaContext:
    """The context object of one invocation, as far as handlers of Powertools read it.

    https://docs.aws.amazon.com/lambda/latest/dg/python-context.html
    """

    function_name: str = "function"
    memory_limit_in_mb: int = 256
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    account_and_region: tuple[str, str] = ("123456789012", "us-east-1")

    @property
    def invoked_function_arn(self) -> str:
        """The ARN of the function."""
        account_id, region = self.account_and_region
        return f"arn:aws:lambda:{region}:{account_id}:function:{self.function_name}"


def in_process(
    handler: Callable[..., Any],
    function_name: str = "function",
    account_and_region: tuple[str, str] = ("123456789012", "us-east-1"),
) -> Callable[[Any], Any]:
    """Return a function that invokes a handler in this process, for tests that need speed.

    Events and answers pass through JSON, as in Lambda. Exceptions are passed on, and nothing times out.
    """

    def invoke(event: object) -> Any:  # noqa: ANN401  # any JSON value, as in Lambda
        context = LambdaContext(function_name=function_name, account_and_region=account_and_region)
        return json.loads(json.dumps(handler(json.loads(json.dumps(event)), context)))

    return invoke


def lambda_variables(artifact: Path, function_name: str, memory_mb: int, timeout_s: int) -> dict[str, str]:
    """Return the variables that Lambda gives every function.

    https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html. Nothing writes byte code, as Lambda's
    file system is read-only.
    """
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LAMBDA_TASK_ROOT": str(artifact),
        "AWS_EXECUTION_ENV": f"AWS_Lambda_python{sys.version_info.major}.{sys.version_info.minor}",
        "AWS_LAMBDA_FUNCTION_NAME": function_name,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(memory_mb),
        "AWS_LAMBDA_FUNCTION_TIMEOUT": str(timeout_s),
    }


def _answer(body: str, *, failed: bool) -> Any:  # noqa: ANN401  # any JSON value
    """Return the function's answer. A handler's error comes with status 200, a time-out as plain text."""
    if body.startswith("Task timed out"):
        raise FunctionTimeoutError("Sandbox.Timedout", body)
    answer = json.loads(body)
    if failed or (isinstance(answer, dict) and {"errorType", "errorMessage", "requestId"} <= set(answer)):
        raise FunctionError(answer["errorType"], answer["errorMessage"], answer.get("stackTrace"))
    return answer

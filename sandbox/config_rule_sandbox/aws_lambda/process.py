"""A Python function in a process of its own, with the interpreter and the libraries of this environment.

It needs no emulator and no containers. `runtime.LambdaRuntime` is closer to Lambda: only its own runtime and what the
artifact contains can be imported there.
"""

import io
import json
import subprocess
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event, Timer
from typing import Any

from config_rule_sandbox.aws_lambda import host
from config_rule_sandbox.aws_lambda.runtime import INIT_SECONDS, FunctionError, FunctionTimeoutError, lambda_variables

INLINE = "index.py"
"""The file in which CloudFormation puts code that is in a template.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-lambda-function-code.html
"""


class FunctionProcess:
    """A function that is started at its first invocation, and again after a crash or a time-out.

    `code` is the content of a zip archive, or the text of a module named index. `environment` are the variables of the
    function, and those with which AWS's SDKs reach the sandbox.
    """

    def __init__(
        self, code: bytes, handler: str, environment: Mapping[str, str], *, arn: str, memory_mb: int, timeout_s: int
    ) -> None:
        """Extract the code; nothing runs yet."""
        self._handler = handler
        self._timeout_s = timeout_s
        name = arn.rpartition(":")[2]
        self._context = {"function_name": name, "invoked_function_arn": arn, "memory_limit_in_mb": memory_mb}
        self._temporary = tempfile.TemporaryDirectory(prefix="function-", ignore_cleanup_errors=True)
        self._folder = Path(self._temporary.name, "code")
        _extract(code, self._folder)
        self._log = Path(self._temporary.name, "log")
        self._log.touch()
        self._log_bytes_read = 0
        self._variables = lambda_variables(self._folder, name, memory_mb, timeout_s)
        self._variables |= {**environment, "PYTHONPATH": str(self._folder), "PYTHONUNBUFFERED": "1"}
        self._process: subprocess.Popen[str] | None = None

    def invoke(self, event: object) -> Any:  # noqa: ANN401  # any JSON value, as in Lambda
        """Return the function's answer. FunctionError if it failed, FunctionTimeoutError if it ran for too long."""
        if self._process is None:
            self._process = self._start()
            try:
                self._next_answer(self._process, INIT_SECONDS)
            except FunctionError:
                self._end()
                raise
        assert self._process.stdin is not None
        context = {"attributes": {**self._context, "aws_request_id": str(uuid.uuid4())}, "seconds": self._timeout_s}
        with suppress(BrokenPipeError):  # it has ended, and the next line shows that
            self._process.stdin.write(json.dumps({"event": event, "context": context}) + "\n")
            self._process.stdin.flush()
        return self._next_answer(self._process, self._timeout_s)

    def _next_answer(self, process: subprocess.Popen[str], seconds: int) -> Any:  # noqa: ANN401  # JSON
        """Return what the process answers in so many seconds."""
        timed_out = Event()

        def end() -> None:
            timed_out.set()
            process.kill()

        timer = Timer(seconds, end)
        timer.start()
        assert process.stdout is not None
        line = process.stdout.readline()
        timer.cancel()
        if not line:
            self._end()
            if timed_out.is_set():
                raise FunctionTimeoutError("Sandbox.Timedout", f"Task timed out after {seconds}.00 seconds")
            raise FunctionError("Runtime.ExitError", f"the function exited with status {process.returncode}")
        answer = json.loads(line)
        if "errorType" in answer:
            raise FunctionError(answer["errorType"], answer["errorMessage"], answer["stackTrace"])
        return answer["answer"]

    def printed(self) -> list[str]:
        """Return the lines that the function has printed since the last call."""
        text = self._log.read_bytes()[self._log_bytes_read :]
        self._log_bytes_read += len(text)
        return [line for line in text.decode(errors="replace").splitlines() if line.strip()]

    def stop(self) -> None:
        """End the process, and delete the code."""
        self._end()
        self._temporary.cleanup()

    def _start(self) -> subprocess.Popen[str]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-P", host.__file__, self._handler],
                cwd=self._folder,
                env=self._variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def _end(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.communicate()
        self._process = None


def _extract(code: bytes, folder: Path) -> None:
    folder.mkdir()
    if zipfile.is_zipfile(io.BytesIO(code)):
        with zipfile.ZipFile(io.BytesIO(code)) as archive:
            archive.extractall(folder)
    else:
        (folder / INLINE).write_bytes(code)

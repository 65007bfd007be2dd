"""Runs the functions of an account with their own code, and keeps what they print in their log groups."""

import io
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout, suppress
from typing import Any
from unittest.mock import patch

from moto.awslambda.models import lambda_backends

from config_rule_sandbox.aws_lambda.process import FunctionProcess
from config_rule_sandbox.aws_lambda.runtime import in_process
from config_rule_sandbox.dynamic import Client, Moto
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.server import Sandbox

Json = Any
Handler = Callable[..., Json]
MakeHandler = Callable[[Mapping[str, str]], Handler]
"""Makes a handler of event and context from the environment variables of a function, as a cold start does."""
_PRINTED = io.StringIO()
"""What the handlers of this process print. A logger keeps the stream that is there when its module is imported, which happens once
in a process: the handlers of every later sandbox print to the same one."""


class Executions:
    """The functions of the sandbox's account and Region, one at a time.

    A function runs in a process of its own. Only those whose handler is in `handlers` run in this one.
    """

    def __init__(self, sandbox: Sandbox, handlers: Mapping[str, MakeHandler] | None = None) -> None:
        """Run nothing yet. `handlers` are by the name of the handler in the function's configuration."""
        self._sandbox = sandbox
        self._makers = dict(handlers or {})
        self._logs: Client = direct_client(sandbox, "logs")
        self._lock = threading.Lock()
        self._handlers: dict[tuple[object, ...], Handler] = {}
        self._processes: dict[tuple[object, ...], FunctionProcess] = {}

    def invoke(self, name: str, event: Json) -> Json:
        """Invoke a function by its name or ARN, and return its answer. It raises what the function raises.

        A function of its own process raises FunctionError.
        """
        function: Moto = lambda_backends[self._sandbox.account_id][self._sandbox.region].get_function(name)
        key = (function.function_arn, function.handler, function.code_sha_256, *function.environment_vars.items())
        with self._lock:
            run = self._in_this_process if function.handler in self._makers else self._in_its_process
            return run(function, key, event)

    def stop(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.stop()
        self._processes.clear()

    def _in_this_process(self, function: Moto, key: tuple[object, ...], event: Json) -> Json:
        with redirect_stdout(_PRINTED):
            if key not in self._handlers:  # its clients take a second to make, as in a cold start
                with patch.dict(os.environ, self._credentials(function)):
                    variables = {**function.environment_vars, "AWS_LAMBDA_FUNCTION_NAME": function.function_name}
                    self._handlers[key] = self._makers[function.handler](variables)
            try:
                return in_process(self._handlers[key], function.function_name)(event)
            finally:
                self._keep(function, _PRINTED.getvalue().splitlines())
                _PRINTED.seek(0)
                _PRINTED.truncate()

    def _in_its_process(self, function: Moto, key: tuple[object, ...], event: Json) -> Json:
        if key not in self._processes:
            self._processes[key] = FunctionProcess(
                function.code_bytes,
                function.handler,
                {**self._sandbox.environment(), **self._credentials(function), **function.environment_vars},
                arn=function.function_arn,
                memory_mb=function.memory_size,
                timeout_s=function.timeout,
            )
        process = self._processes[key]
        try:
            return process.invoke(event)
        finally:
            self._keep(function, process.printed())

    def _credentials(self, function: Moto) -> dict[str, str]:
        """Return the environment variables with the credentials of a session of the function's role."""
        sts: Client = direct_client(self._sandbox, "sts")
        session = sts.assume_role(RoleArn=function.role, RoleSessionName=function.function_name)["Credentials"]
        return {
            "AWS_ACCESS_KEY_ID": session["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": session["SecretAccessKey"],
            "AWS_SESSION_TOKEN": session["SessionToken"],
        }

    def _keep(self, function: Moto, printed: list[str]) -> None:
        """Put what a function printed into its log group.

        Lambda makes a group that does not exist if the function's role may make it. Here, it makes the one that is named
        after the function. Without a group, what was printed is lost:
        https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-loggroups.html
        """
        group, errors = function.sandbox_logging["LogGroup"], self._logs.exceptions
        with suppress(errors.ResourceNotFoundException):
            if group == f"/aws/lambda/{function.function_name}":
                with suppress(errors.ResourceAlreadyExistsException):
                    self._logs.create_log_group(logGroupName=group)
            with suppress(errors.ResourceAlreadyExistsException):
                self._logs.create_log_stream(logGroupName=group, logStreamName="local")
            now = int(time.time() * 1000)
            events = [{"timestamp": now, "message": line} for line in printed if line.strip()]
            if events:
                self._logs.put_log_events(logGroupName=group, logStreamName="local", logEvents=events)

"""Runs the functions of an account with their own code, and keeps what they print in their log groups."""

import io
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any
from unittest.mock import patch

from moto.awslambda.models import lambda_backends
from moto.utilities.arns import parse_arn

from config_rule_sandbox.aws_lambda.process import FunctionProcess
from config_rule_sandbox.aws_lambda.runtime import in_process
from config_rule_sandbox.dynamic import Client, Moto
from config_rule_sandbox.http.direct import acting_in, direct_client
from config_rule_sandbox.server import Sandbox

Json = Any
Handler = Callable[..., Json]
MakeHandler = Callable[[Mapping[str, str]], Handler]
"""Makes a handler of event and context from the environment variables of a function, as a cold start does."""


class Executions:
    """The functions of all accounts and Regions, one at a time.

    A function runs in a process of its own. Only those whose handler is in `handlers` run in this one.
    """

    def __init__(self, sandbox: Sandbox, handlers: Mapping[str, MakeHandler] | None = None) -> None:
        """Run nothing yet. `handlers` are by the name of the handler in the function's configuration."""
        self._sandbox = sandbox
        self._makers = dict(handlers or {})
        self._printed = io.StringIO()
        self._lock = threading.Lock()
        self._handlers: dict[tuple[object, ...], Handler] = {}
        self._processes: dict[tuple[object, ...], FunctionProcess] = {}

    def invoke(self, arn: str, event: Json) -> Json:
        """Invoke a function by its ARN, and return its answer. It raises what the function raises.

        A function of its own process raises FunctionError.
        """
        parsed = parse_arn(arn)
        function: Moto = lambda_backends[parsed.account][parsed.region].get_function(arn)
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
        with redirect_stdout(self._printed), _logging_to(self._printed):
            if key not in self._handlers:  # its clients take a second to make, as in a cold start
                with patch.dict(os.environ, self._variables(function)):
                    variables = {**function.environment_vars, "AWS_LAMBDA_FUNCTION_NAME": function.function_name}
                    self._handlers[key] = self._makers[function.handler](variables)
            try:
                parsed = parse_arn(function.function_arn)
                place = str(parsed.account), str(parsed.region)
                return in_process(self._handlers[key], function.function_name, place)(event)
            finally:
                self._keep(function, self._printed.getvalue().splitlines())
                self._printed.seek(0)
                self._printed.truncate()

    def _in_its_process(self, function: Moto, key: tuple[object, ...], event: Json) -> Json:
        if key not in self._processes:
            self._processes[key] = FunctionProcess(
                function.code_bytes,
                function.handler,
                {**self._sandbox.environment(), **self._variables(function), **function.environment_vars},
                arn=function.function_arn,
                memory_mb=function.memory_size,
                timeout_s=function.timeout,
            )
        process = self._processes[key]
        try:
            return process.invoke(event)
        finally:
            self._keep(function, process.printed())

    def _variables(self, function: Moto) -> dict[str, str]:
        """Return the environment variables with the function's Region, and the credentials of a session of its role."""
        region = str(parse_arn(function.function_arn).region)
        sts: Client = direct_client(self._sandbox, "sts")
        session = sts.assume_role(RoleArn=function.role, RoleSessionName=function.function_name)["Credentials"]
        return {
            "AWS_REGION": region,
            "AWS_DEFAULT_REGION": region,
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
        parsed = parse_arn(function.function_arn)
        logs: Client = direct_client(self._sandbox, "logs", parsed.region)
        group, errors = function.sandbox_logging["LogGroup"], logs.exceptions
        with suppress(errors.ResourceNotFoundException), acting_in(str(parsed.account)):
            if group == f"/aws/lambda/{function.function_name}":
                with suppress(errors.ResourceAlreadyExistsException):
                    logs.create_log_group(logGroupName=group)
            with suppress(errors.ResourceAlreadyExistsException):
                logs.create_log_stream(logGroupName=group, logStreamName="local")
            now = int(time.time() * 1000)
            events = [{"timestamp": now, "message": line} for line in printed if line.strip()]
            if events:
                logs.put_log_events(logGroupName=group, logStreamName="local", logEvents=events)


@contextmanager
def _logging_to(stream: io.StringIO) -> Iterator[None]:
    """Let loggers that write to standard output write to a stream.

    They keep the output that is there when they are made: before this sandbox, if their modules were imported before.
    """
    loggers = [logger for logger in logging.root.manager.loggerDict.values() if isinstance(logger, logging.Logger)]
    outputs = [
        (handler, handler.stream)
        for logger in loggers
        for handler in logger.handlers
        if type(handler) is logging.StreamHandler and handler.stream not in (sys.stderr, sys.__stderr__)
    ]
    for handler, _ in outputs:
        handler.setStream(stream)
    try:
        yield
    finally:
        for handler, output in outputs:
            handler.setStream(output)

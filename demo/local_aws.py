"""A local AWS on which everything happens by itself, as in an account: for `make sandbox`, and for the acceptance run.

CloudFormation deploys packaged SAM templates, Lambda runs the functions of express-path and writes their logs, and AWS
Config records, invokes the functions of rules, and remediates. `python -m demo.local_aws` prints the environment that
leads to it, and runs until it is ended.
"""

import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from functools import partial
from subprocess import PIPE, Popen
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

from moto.awslambda.models import lambda_backends
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.responses import CloudFormationResponse
from moto.config.models import config_backends
from moto.core.responses import ActionResult, EmptyResult

from config_rule_sandbox.aws_lambda.runtime import in_process
from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.described_stacks import created_stacks
from config_rule_sandbox.cloudformation.kinds.all import KINDS
from config_rule_sandbox.cloudformation.stacks import FAILURES, create_stack, update_stack
from config_rule_sandbox.cloudformation.text import read
from config_rule_sandbox.cloudformation.values import TemplateError
from config_rule_sandbox.config.deployment import RuleDefinition, prepare
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.config.remediation.memory import RemediationError, remediations_of
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm import Automation
from config_rule_sandbox.ssm.automation import StillRunningError
from demo.function import EVALUATE, PLAN, handler_of
from org.expansion import transform

SECONDS_APART = 0.5
"""The time between two looks of AWS Config at the network."""
Moto = Any
"""An object of moto, which has no types."""
Json = Any


class Lambda:
    """Lambda: runs the code of functions in this process, one at a time, and keeps what they print in their log groups."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Run nothing yet."""
        self._sandbox = sandbox
        self._logs: Any = direct_client(sandbox, "logs")
        self._printed = io.StringIO()  # the handlers' loggers keep the stream that is there when they are imported
        self._lock = threading.Lock()
        self._handlers: dict[str, Callable[..., Json]] = {}

    def invoke(self, name: str, event: Json) -> Json:
        """Invoke a function by its name or ARN."""
        function: Moto = lambda_backends[self._sandbox.account_id][self._sandbox.region].get_function(name)
        key = f"{function.function_arn} {function.environment_vars}"
        with self._lock, redirect_stdout(self._printed):
            if key not in self._handlers:  # its clients take a second to make, as in a cold start
                self._handlers[key] = self._handler(function)
            try:
                return in_process(self._handlers[key], function.function_name)(event)
            finally:
                self._log(function.sandbox_logging["LogGroup"])

    def _handler(self, function: Moto) -> Callable[..., Json]:
        """Return the handler: one of express-path from this repository, or else the code in the template."""
        if function.handler in (EVALUATE, PLAN):
            return handler_of(function.handler, os.environ | function.environment_vars, self._sandbox.account_id)
        namespace: dict[str, Json] = {}
        exec(function.code_bytes, namespace)  # code of this repository
        handler: Callable[..., Json] = namespace["handler"]
        return handler

    def _log(self, group: str) -> None:
        lines = [line for line in self._printed.getvalue().splitlines() if line.strip()]
        self._printed.seek(0)
        self._printed.truncate()
        with suppress(self._logs.exceptions.ResourceAlreadyExistsException):
            self._logs.create_log_stream(logGroupName=group, logStreamName="local")
        events = [{"timestamp": int(time.time() * 1000), "message": line} for line in lines]
        if events:
            self._logs.put_log_events(logGroupName=group, logStreamName="local", logEvents=events)


class CloudFormation:
    """CloudFormation: deploys templates, also packaged ones of SAM, and leaves those with other types to moto."""

    def __init__(self, sandbox: Sandbox, patches: Patches) -> None:
        """Serve the calls that create, update, and delete stacks."""
        self._account = Account(sandbox, sandbox.account_id, sandbox.region)
        self._s3: Any = direct_client(sandbox, "s3")
        for name in ("create_stack", "update_stack", "delete_stack"):
            patches.wrap(CloudFormationResponse, name, self._serving)

    def _serving(self, original: Callable[[Moto], object]) -> Callable[[Moto], object]:
        def answer(response: Moto) -> object:
            stacks = created_stacks(self._account.account_id, self._account.region)
            name, url, body = map(response._get_param, ("StackName", "TemplateURL", "TemplateBody"))  # noqa: SLF001  # moto offers no other way
            found = next((stack for stack in stacks if name in (stack.name, stack.stack_id)), None)
            if found and not (url or body):
                found.delete()
                stacks.remove(found)
                return EmptyResult()
            template = read(self._read(url).decode() if url else body) if url or body else {}
            if "Transform" in template:
                template = transform(template, self._read)
            if not template or any(one["Type"] not in KINDS for one in template["Resources"].values()):
                return original(response)
            given = {one["ParameterKey"]: one["ParameterValue"] for one in response._get_param("Parameters", [])}  # noqa: SLF001
            try:
                if found:
                    failure = update_stack(found, template, given)
                else:
                    found = create_stack(self._account, name, template, given)
                    failure = found.failure
            except (TemplateError, *FAILURES) as error:
                raise ValidationError(message=str(error)) from error
            if failure:
                raise ValidationError(message=str(failure))
            return ActionResult({"StackId": found.stack_id})

        return answer

    def _read(self, url: str) -> bytes:
        where = urlsplit(url)
        return bytes(self._s3.get_object(Bucket=where.netloc.split(".")[0], Key=where.path[1:])["Body"].read())


class AwsConfig:
    """AWS Config: records changes, invokes the functions of rules, and remediates what they find."""

    def __init__(self, sandbox: Sandbox, invoke: Callable[[str, Json], Json], remediation: Remediation) -> None:
        """Start nothing yet."""
        self._sandbox = sandbox
        self._invoke = invoke
        self._remediation = remediation
        self._loops: dict[str, tuple[object, ConfigLoop]] = {}
        self._healing = threading.Thread()

    def run(self) -> None:
        """Look at the network again and again."""
        while True:
            self.look()
            time.sleep(SECONDS_APART)

    def look(self) -> None:
        """Look for changes once, tell every rule, and remediate what they found."""
        place = self._sandbox.account_id, self._sandbox.region
        for name, rule in list(config_backends[place[0]][place[1]].config_rules.items()):
            state = (rule.config_rule_id, rule.input_parameters)
            if name not in self._loops or self._loops[name][0] != state:
                self._loops[name] = (state, self._new_loop(name, rule))
            self._loops[name][1].notice()
            self._loops[name][1].deliver()
            known = remediations_of(*place).configurations.get(name, {})
            if known.get("Automatic") and not self._healing.is_alive():
                self._healing = threading.Thread(target=self._heal, args=(name,), daemon=True)
                self._healing.start()

    def _new_loop(self, name: str, rule: Moto) -> ConfigLoop:
        """Return the loop of a new or changed rule, which evaluates everything, and has its first scheduled run."""
        function, types = rule.source.source_identifier, tuple(rule.scope.compliance_resource_types)
        definition = RuleDefinition(name, function.rpartition(":")[2], types)
        parameters = json.loads(rule.input_parameters or "{}")
        loop = ConfigLoop(self._sandbox, partial(self._invoke, function), rule=definition, parameters=parameters)
        loop.baseline()
        loop.take()
        loop.evaluate_again()
        loop.scheduled()
        return loop

    def _heal(self, name: str) -> None:
        with suppress(StillRunningError, RemediationError):  # a request waits, or the remediation was deleted meanwhile
            self._remediation.remediate(name)


@contextmanager
def in_this_process() -> Iterator[tuple[Sandbox, AwsConfig]]:
    """Start it with a recorder, and give what AWS Config needs to run."""
    patches = Patches()
    with ExitStack() as opened:
        sandbox = opened.enter_context(Sandbox())
        automation = opened.enter_context(Automation(sandbox))
        remediation = opened.enter_context(Remediation(sandbox, automation))
        opened.enter_context(patch.dict(os.environ, sandbox.environment()))
        opened.callback(patches.undo)
        CloudFormation(sandbox, patches)
        automation.functions.run_others = Lambda(sandbox).invoke
        prepare(sandbox)
        yield sandbox, AwsConfig(sandbox, automation.functions.run_others, remediation)


@contextmanager
def in_a_process() -> Iterator[dict[str, str]]:
    """Run it in a process of its own, which Ctrl-C does not reach, and give the environment that leads to it."""
    command = [sys.executable, "-m", "demo.local_aws"]
    with Popen(command, stdout=PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def main() -> None:
    """Run until the process is ended."""
    with in_this_process() as (sandbox, config):
        sys.stdout.write(json.dumps(sandbox.environment()) + "\n")
        sys.stdout.flush()
        config.run()


if __name__ == "__main__":
    main()

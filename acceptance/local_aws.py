"""The AWS of this machine that stands in for an account: the sandbox with everything that happens by itself at AWS.

`python -m acceptance.local_aws` prints the environment that leads to it, and runs until it is ended. It has a recorder, as
the account of a run must. CloudFormation deploys stacks from packaged SAM templates, AWS Config invokes the functions of
rules, and functions write logs.
"""

import io
import json
import os
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from subprocess import PIPE, Popen
from typing import Any
from urllib.parse import urlsplit

import sandbox.ec2_models  # noqa: F401  # before other modules import moto's

# isort: split
import yaml
from moto.awslambda.models import LambdaBackend, lambda_backends
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.responses import CloudFormationResponse
from moto.config.models import config_backends
from moto.config.responses import ConfigResponse
from moto.core.responses import ActionResult, EmptyResult
from moto.core.utils import utcnow
from samtranslator.parser.parser import Parser  # type: ignore[import-untyped]
from samtranslator.translator.translator import Translator  # type: ignore[import-untyped]
from samtranslator.yaml_helper import intrinsics_multi_constructor  # type: ignore[import-untyped]

from sandbox.cloudformation.account import Account
from sandbox.cloudformation.stacks import FAILURES, Stack, create_stack, update_stack
from sandbox.cloudformation.values import TemplateError
from sandbox.config_items.direct import direct_client
from sandbox.config_loop import ConfigLoop
from sandbox.config_service.deployment import RuleDefinition, prepare
from sandbox.described_stacks import created_stacks
from sandbox.lambda_runtime import in_process
from sandbox.patches import Patches
from sandbox.remediation import Remediation, remediations_of
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from sandbox.ssm.automation import StillRunningError

EVALUATE, PLAN = "express_path.handlers.evaluate", "express_path.handlers.plan_heal"
SECONDS_APART = 0.5
"""The time between two looks of AWS Config at the network."""
Event = dict[str, Any]


class _Loader(yaml.CSafeLoader):
    """Reads YAML with the short forms of intrinsic functions, such as !Ref."""


_Loader.add_multi_constructor("!", intrinsics_multi_constructor)


class Functions:
    """Lambda: runs the code of functions in this process, one at a time, and keeps what they print in their log groups."""

    def __init__(self, sandbox: Sandbox, automation: Automation, patches: Patches) -> None:
        """Let Invoke find every function that is created."""
        self._sandbox = sandbox
        self._printed = io.StringIO()
        self._lock = threading.Lock()
        self._handlers: dict[str, Callable[..., Any]] = {}
        sys.stdout = self._printed  # the handlers' loggers keep the stream that is there when they are imported
        self._evaluate, self._plan = map(import_module, (EVALUATE, PLAN))

        def registering(original: Callable[..., Any]) -> Callable[..., Any]:
            def create(backend: LambdaBackend, specification: dict[str, Any]) -> Any:  # moto's
                name = specification["FunctionName"]
                automation.functions.register(name, partial(self.invoke, name))
                return original(backend, specification)

            return create

        patches.wrap(LambdaBackend, "create_function", registering)

    def invoke(self, name: str, event: Event) -> Any:  # any JSON value
        """Invoke a function by its name or ARN."""
        function = lambda_backends[self._sandbox.account_id][self._sandbox.region].get_function(name)
        with self._lock:
            try:
                return in_process(self._handler(function), function.function_name)(event)
            finally:
                self._log(function)

    def _handler(self, function: Any) -> Callable[..., Any]:  # moto's
        """Return the handler: one of express-path from this repository, or else the code that was uploaded."""
        settings = {**self._sandbox.environment(), **function.environment_vars}
        key = json.dumps([function.function_arn, settings])
        if key not in self._handlers:  # its clients take a second to make, as in a cold start
            self._handlers[key] = self._composed(function, settings)
        return self._handlers[key]

    def _composed(self, function: Any, settings: dict[str, str]) -> Callable[..., Any]:  # moto's
        module, _, name = function.handler.rpartition(".")
        if module == EVALUATE:
            return partial(self._evaluate.handler, services=self._evaluate.compose_services(settings))
        if module == PLAN:
            services = self._plan.compose_services(settings, self._sandbox.account_id)
            return partial(self._plan.handler, services=services)
        with zipfile.ZipFile(io.BytesIO(function.code_bytes)) as archive:
            namespace: dict[str, Any] = {}
            exec(archive.read(f"{module}.py"), namespace)  # code of this run
        handler: Callable[..., Any] = namespace[name]
        return handler

    def _log(self, function: Any) -> None:  # moto's
        lines = [line for line in self._printed.getvalue().splitlines() if line.strip()]
        self._printed.seek(0)
        self._printed.truncate()
        logs: Any = direct_client(self._sandbox, "logs")
        group, stream = function.sandbox_logging["LogGroup"], "local"
        with suppress(logs.exceptions.ResourceAlreadyExistsException):
            logs.create_log_group(logGroupName=group)
        with suppress(logs.exceptions.ResourceAlreadyExistsException):
            logs.create_log_stream(logGroupName=group, logStreamName=stream)
        events = [{"timestamp": int(time.time() * 1000), "message": line} for line in lines]
        if events:
            logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)


class CloudFormation:
    """CloudFormation: deploys packaged SAM templates, and leaves other templates to moto."""

    def __init__(self, sandbox: Sandbox, patches: Patches) -> None:
        """Serve the calls that create, update, and delete stacks."""
        self._account = Account(sandbox, sandbox.account_id, sandbox.region)
        self._s3: Any = direct_client(sandbox, "s3")
        self._lock = threading.Lock()
        for name in ("create_stack", "update_stack", "delete_stack", "describe_stack_events"):
            patches.wrap(CloudFormationResponse, name, partial(self._serving, getattr(self, f"_{name}")))

    def _serving(self, serve: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
        def answer(response: Any) -> object:  # moto's
            with self._lock:
                name = response._get_param("StackName")  # noqa: SLF001  # moto offers no other way
                found = [stack for stack in self._stacks() if name in (stack.name, stack.stack_id)]
                url = response._get_param("TemplateURL")  # noqa: SLF001
                if not (url or found):
                    return original(response)
                given = {one["ParameterKey"]: one["ParameterValue"] for one in response._get_param("Parameters", [])}  # noqa: SLF001
                try:
                    return serve(name, found[0] if found else None, url, given)
                except (TemplateError, *FAILURES) as error:
                    raise ValidationError(message=str(error)) from error

        return answer

    def _stacks(self) -> list[Stack]:
        return created_stacks(self._account.account_id, self._account.region)

    def _create_stack(self, name: str, _found: Stack | None, url: str, given: dict[str, str]) -> ActionResult:
        made = create_stack(self._account, name, self._template(url), given)
        if made.failure:
            raise ValidationError(message=str(made.failure))
        return ActionResult({"StackId": made.stack_id})

    def _update_stack(self, _name: str, found: Stack, url: str, given: dict[str, str]) -> ActionResult:
        failure = update_stack(found, self._template(url), given)
        if failure:
            raise ValidationError(message=str(failure))
        return ActionResult({"StackId": found.stack_id})

    def _delete_stack(self, _name: str, found: Stack, *_given: object) -> EmptyResult:
        found.delete()
        self._stacks().remove(found)
        return EmptyResult()

    def _describe_stack_events(self, _name: str, found: Stack, *_given: object) -> ActionResult:
        rows = [
            {
                "StackId": found.stack_id,
                "EventId": f"{logical_id}-CREATE_COMPLETE",
                "StackName": found.name,
                "LogicalResourceId": logical_id,
                "ResourceType": found.template["Resources"][logical_id]["Type"],
                "ResourceStatus": "CREATE_COMPLETE",
                "Timestamp": utcnow(),
            }
            for logical_id in found.resources
        ]
        return ActionResult({"StackEvents": rows[::-1]})

    def _template(self, url: str) -> dict[str, Any]:
        """Return a packaged template after its transforms: AWS's own for SAM, and the text of includes."""
        source = urlsplit(url)
        template = yaml.load(self._read(source.netloc.split(".")[0], source.path[1:]), Loader=_Loader)
        translator = Translator(None, Parser(), boto_session=None)
        expanded: dict[str, Any] = translator.translate(self._included(template), parameter_values={})
        return expanded

    def _included(self, node: Any) -> Any:  # JSON
        if isinstance(node, list):
            return [self._included(item) for item in node]
        if not isinstance(node, dict):
            return node
        if set(node) == {"Fn::Transform"}:
            location = urlsplit(node["Fn::Transform"]["Parameters"]["Location"])
            return yaml.load(self._read(location.netloc, location.path[1:]), Loader=yaml.CSafeLoader)
        return {key: self._included(value) for key, value in node.items()}

    def _read(self, bucket: str, key: str) -> bytes:
        return bytes(self._s3.get_object(Bucket=bucket, Key=key)["Body"].read())


class AwsConfig:
    """AWS Config: records changes, invokes the functions of rules, and remediates what they find."""

    def __init__(self, sandbox: Sandbox, functions: Functions, remediation: Remediation, patches: Patches) -> None:
        """Start nothing yet."""
        self._sandbox = sandbox
        self._functions = functions
        self._remediation = remediation
        self._loops: dict[str, tuple[object, ConfigLoop]] = {}
        self._healing: dict[str, threading.Thread] = {}
        self._again: set[str] = set()

        def start(response: Any) -> str:  # moto's
            self._again.update(json.loads(response.body).get("ConfigRuleNames", []))
            return "{}"

        patches.set(ConfigResponse, "start_config_rules_evaluation", start)

    def look(self) -> None:
        """Look for changes once, and tell every rule."""
        rules = config_backends[self._sandbox.account_id][self._sandbox.region].config_rules
        for name in self._loops.keys() - rules.keys():
            del self._loops[name]
        for name, rule in list(rules.items()):
            loop = self._loop_of(name, rule)
            if name in self._again:
                self._again.discard(name)
                loop.evaluate_again()
            loop.notice()
            for event in loop.take():
                loop.send(event)
            self._remediate(name)

    def _loop_of(self, name: str, rule: Any) -> ConfigLoop:  # moto's
        """Return the loop of a rule. A new or changed rule evaluates everything, and has its first scheduled run."""
        state = (rule.config_rule_id, rule.input_parameters)
        known = self._loops.get(name)
        if known and known[0] == state:
            return known[1]
        function, types = rule.source.source_identifier, tuple(rule.scope.compliance_resource_types)
        loop = ConfigLoop(
            self._sandbox,
            partial(self._functions.invoke, function),
            rule=RuleDefinition(name, function.rpartition(":")[2], types),
            parameters=json.loads(rule.input_parameters or "{}"),
        )
        loop.baseline()
        loop.take()
        loop.evaluate_again()
        loop.scheduled()
        self._loops[name] = (state, loop)
        return loop

    def _remediate(self, name: str) -> None:
        known = remediations_of(self._sandbox.account_id, self._sandbox.region).configurations.get(name)
        running = self._healing.get(name)
        if known and known.get("Automatic") and not (running and running.is_alive()):
            self._healing[name] = threading.Thread(target=self._heal, args=(name,), daemon=True)
            self._healing[name].start()

    def _heal(self, name: str) -> None:
        with suppress(StillRunningError, KeyError):  # a request for approval waits, or the rule was deleted meanwhile
            self._remediation.remediate(name)


def main() -> None:
    """Run until the process is ended."""
    patches, address = Patches(), sys.stdout
    with ExitStack() as opened:
        sandbox = opened.enter_context(Sandbox())
        automation = opened.enter_context(Automation(sandbox))
        remediation = opened.enter_context(Remediation(sandbox, automation))
        opened.callback(patches.undo)
        os.environ.update(sandbox.environment())
        functions = Functions(sandbox, automation, patches)
        CloudFormation(sandbox, patches)
        config = AwsConfig(sandbox, functions, remediation, patches)
        prepare(sandbox)
        address.write(json.dumps(sandbox.environment()) + "\n")
        address.flush()
        while True:
            config.look()
            time.sleep(SECONDS_APART)


@contextmanager
def running() -> Iterator[dict[str, str]]:
    """Run it in a process of its own, which Ctrl-C does not reach, and return the environment that leads to it."""
    command = [sys.executable, "-m", "acceptance.local_aws"]
    with Popen(command, stdout=PIPE, text=True, start_new_session=True) as process:  # our own command
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


if __name__ == "__main__":
    main()

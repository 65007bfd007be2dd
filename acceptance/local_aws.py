"""The AWS of this machine that stands in for an account: the sandbox with everything that happens by itself at AWS.

`python -m acceptance.local_aws` prints the environment that leads to it, and runs until it is ended. It has a recorder, as
the account of a run must. CloudFormation deploys packaged SAM templates, AWS Config invokes the functions of rules and
remediates, and functions write logs.
"""

import io
import json
import os
import sys
import threading
import time
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
from botocore import xform_name
from moto.awslambda.models import LambdaBackend, lambda_backends
from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.responses import CloudFormationResponse
from moto.config.models import config_backends
from moto.core.responses import ActionResult, EmptyResult
from samtranslator.parser.parser import Parser  # type: ignore[import-untyped]
from samtranslator.translator.translator import Translator  # type: ignore[import-untyped]
from samtranslator.yaml_helper import intrinsics_multi_constructor  # type: ignore[import-untyped]

from sandbox.cloudformation.account import Account
from sandbox.cloudformation.kinds import KINDS, Kind
from sandbox.cloudformation.stacks import FAILURES, create_stack, update_stack
from sandbox.cloudformation.values import Created, TemplateError
from sandbox.config_items.direct import direct_client
from sandbox.config_loop import ConfigLoop
from sandbox.config_service.deployment import RuleDefinition, prepare
from sandbox.described_stacks import created_stacks
from sandbox.lambda_runtime import in_process
from sandbox.patches import Patches
from sandbox.remediation import Remediation, RemediationError, remediations_of
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from sandbox.ssm.automation import StillRunningError

EVALUATE, PLAN = "express_path.handlers.evaluate", "express_path.handlers.plan_heal"
SECONDS_APART = 0.5
"""The time between two looks of AWS Config at the network."""
Json = Any
Moto = Any
"""An object of moto, which has no types."""


class _Loader(yaml.CSafeLoader):
    """Reads YAML with the short forms of intrinsic functions, such as !Ref."""


_Loader.add_multi_constructor("!", intrinsics_multi_constructor)


class Functions:
    """Lambda: runs the code of functions in this process, one at a time, and keeps what they print in their log groups."""

    def __init__(self, sandbox: Sandbox, automation: Automation, patches: Patches) -> None:
        """Let Automation invoke every function that is created."""
        self._sandbox = sandbox
        self._printed = io.StringIO()
        self._lock = threading.Lock()
        self._handlers: dict[str, Callable[..., Json]] = {}
        sys.stdout = self._printed  # the handlers' loggers keep the stream that is there when they are imported
        self._evaluate, self._plan = map(import_module, (EVALUATE, PLAN))

        def registering(original: Moto) -> Moto:
            def create(backend: Moto, specification: Json) -> Moto:
                name = specification["FunctionName"]
                automation.functions.register(name, partial(self.invoke, name))
                return original(backend, specification)

            return create

        patches.wrap(LambdaBackend, "create_function", registering)

    def invoke(self, name: str, event: Json) -> Json:
        """Invoke a function by its name or ARN."""
        function: Moto = lambda_backends[self._sandbox.account_id][self._sandbox.region].get_function(name)
        settings = {**self._sandbox.environment(), **function.environment_vars}
        key = json.dumps([function.function_arn, settings])
        with self._lock:
            if key not in self._handlers:  # its clients take a second to make, as in a cold start
                self._handlers[key] = self._composed(function, settings)
            try:
                return in_process(self._handlers[key], function.function_name)(event)
            finally:
                self._log(function.sandbox_logging["LogGroup"])

    def _composed(self, function: Moto, settings: dict[str, str]) -> Callable[..., Json]:
        """Return the handler: one of express-path from this repository, or else the code in the template."""
        module, _, name = function.handler.rpartition(".")
        if module == EVALUATE:
            return partial(self._evaluate.handler, services=self._evaluate.compose_services(settings))
        if module == PLAN:
            services = self._plan.compose_services(settings, self._sandbox.account_id)
            return partial(self._plan.handler, services=services)
        namespace: dict[str, Json] = {}
        exec(function.code_bytes, namespace)  # code of this run
        handler: Callable[..., Json] = namespace[name]
        return handler

    def _log(self, group: str) -> None:
        lines = [line for line in self._printed.getvalue().splitlines() if line.strip()]
        self._printed.seek(0)
        self._printed.truncate()
        logs: Any = direct_client(self._sandbox, "logs")
        with suppress(logs.exceptions.ResourceAlreadyExistsException):
            logs.create_log_stream(logGroupName=group, logStreamName="local")
        events = [{"timestamp": int(time.time() * 1000), "message": line} for line in lines]
        if events:
            logs.put_log_events(logGroupName=group, logStreamName="local", logEvents=events)


PLAIN = ("InternetGateway", "NatGateway", "RouteTable", "Subnet", "Vpc")
"""Resources of EC2 whose calls and IDs are named after them."""
OTHERS = {
    "EIP": ("AllocateAddress", "AllocationId", "ReleaseAddress"),
    "Route": ("CreateRoute", "", ""),
    "SubnetRouteTableAssociation": ("AssociateRouteTable", "AssociationId", "DisassociateRouteTable"),
    "VPCGatewayAttachment": ("AttachInternetGateway", "", "DetachInternetGateway"),
}
"""How EC2 creates the others, the ID in its answer, and how EC2 deletes them, if they do not go with their table."""


def _network_kind(create: str, key: str, delete: str) -> Kind:
    """Return a resource type of EC2, whose properties are the parameters of a call."""

    def make(account: Account, name: str, properties: Json) -> Created:
        tags = properties.pop("Tags", [])
        properties.pop("EnableDnsHostnames", None)
        made = account.call("ec2", xform_name(create), **properties)
        made = made.get(create.removeprefix("Create"), made)
        physical_id = made.get(key, name)
        if tags:
            account.call("ec2", "create_tags", Resources=[physical_id], Tags=tags)
        return Created(physical_id, {key: physical_id})

    def remove(account: Account, physical_id: str, properties: Json) -> None:
        if delete:
            account.call("ec2", xform_name(delete), **({key: physical_id} if key else properties))

    return Kind(make, remove)


def _create_topic(account: Account, _name: str, properties: Json) -> Created:
    return Created(account.call("sns", "create_topic", Name=properties["TopicName"])["TopicArn"])


def _delete_topic(account: Account, physical_id: str, _properties: Json) -> None:
    account.call("sns", "delete_topic", TopicArn=physical_id)


KINDS.update({f"AWS::EC2::{name}": _network_kind(*calls) for name, calls in OTHERS.items()})
KINDS.update({f"AWS::EC2::{name}": _network_kind(f"Create{name}", f"{name}Id", f"Delete{name}") for name in PLAIN})
KINDS["AWS::EC2::VPC"] = KINDS.pop("AWS::EC2::Vpc")
KINDS["AWS::SNS::Topic"] = Kind(_create_topic, _delete_topic)


class CloudFormation:
    """CloudFormation: deploys templates, also packaged ones of SAM, and leaves those with other types to moto."""

    def __init__(self, sandbox: Sandbox, patches: Patches) -> None:
        """Serve the calls that create, update, and delete stacks."""
        self._account = Account(sandbox, sandbox.account_id, sandbox.region)
        self._s3: Any = direct_client(sandbox, "s3")
        for name in ("create_stack", "update_stack", "delete_stack"):
            patches.wrap(CloudFormationResponse, name, partial(self._serving, name))

    def _serving(self, operation: str, original: Moto) -> Moto:
        def answer(response: Moto) -> object:
            stacks = created_stacks(self._account.account_id, self._account.region)
            name, url, body = map(response._get_param, ("StackName", "TemplateURL", "TemplateBody"))  # noqa: SLF001  # moto offers no other way
            found = next((stack for stack in stacks if name in (stack.name, stack.stack_id)), None)
            if operation == "delete_stack" and found:
                found.delete()
                stacks.remove(found)
                return EmptyResult()
            template = self._expanded(self._read(url) if url else body) if url or body else None
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

    def _expanded(self, source: str | bytes) -> Json:
        """Return a template after its transforms: AWS's own for SAM, and the text of includes."""
        template = self._included(yaml.load(source, Loader=_Loader))
        if "Transform" not in template:
            return template
        return Translator(None, Parser(), boto_session=None).translate(template, parameter_values={})

    def _included(self, node: Json) -> Json:
        if isinstance(node, list):
            return [self._included(item) for item in node]
        if not isinstance(node, dict):
            return node
        if set(node) == {"Fn::Transform"}:
            return yaml.load(self._read(node["Fn::Transform"]["Parameters"]["Location"]), Loader=yaml.CSafeLoader)
        return {key: self._included(value) for key, value in node.items()}

    def _read(self, url: str) -> bytes:
        where = urlsplit(url)
        return bytes(self._s3.get_object(Bucket=where.netloc.split(".")[0], Key=where.path[1:])["Body"].read())


class AwsConfig:
    """AWS Config: records changes, invokes the functions of rules, and remediates what they find."""

    def __init__(self, sandbox: Sandbox, functions: Functions, remediation: Remediation) -> None:
        """Start nothing yet."""
        self._sandbox = sandbox
        self._functions = functions
        self._remediation = remediation
        self._loops: dict[str, tuple[object, ConfigLoop]] = {}
        self._healing = threading.Thread()

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
        loop = ConfigLoop(
            self._sandbox, partial(self._functions.invoke, function), rule=definition, parameters=parameters
        )
        loop.baseline()
        loop.take()
        loop.evaluate_again()
        loop.scheduled()
        return loop

    def _heal(self, name: str) -> None:
        with suppress(StillRunningError, RemediationError):  # a request waits, or the remediation was deleted meanwhile
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
        config = AwsConfig(sandbox, Functions(sandbox, automation, patches), remediation)
        CloudFormation(sandbox, patches)
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

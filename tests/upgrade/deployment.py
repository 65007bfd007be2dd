"""A stack in the sandbox with its functions in Lambda's runtime: one of an earlier version, then updated to this one.

`earlier.tar.xz` has what was deployed at commit 0864cc0: the template as plain CloudFormation with the runbooks in it, and the
functions' code. It was made in a checkout of that commit:

    .venv/bin/python -c "import json, pathlib, org.expansion as o
    print(json.dumps(o.expand(pathlib.Path('template.yaml'), 'code.zip')), end='')" > functions/template.json
    tar -C functions --sort=name --mtime=@0 --owner=0 --group=0 --exclude=__pycache__ -c express_path template.json | xz -9e > earlier.tar.xz
"""

import json
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import boto3

from org.expansion import expand
from sandbox.cloudformation.account import Account
from sandbox.cloudformation.stacks import Stack
from sandbox.config_items.direct import direct_client
from sandbox.config_loop import ConfigLoop
from sandbox.config_service.deployment import RuleDefinition, prepare
from sandbox.event_sources import poll
from sandbox.lambda_runtime import LambdaRuntime
from sandbox.server import Sandbox
from sandbox.ssm import Automation
from tests.support.rule import RULE
from tests.support.template import MAIN, ROOT

EARLIER = Path(__file__).parent / "earlier.tar.xz"
CODE = {"ArtifactBucketPrefix": "artifacts", "CodeKey": "code.zip"}
ENTRY = """
import sys
sys.path.append({site!r})  # boto3 and Powertools
from {module} import handler as function

def handler(event, context):
    context.invoked_function_arn = {arn!r}  # the emulator gives all functions the same account
    return function(event, context)
"""


def earlier_template() -> dict[str, Any]:
    """Return the template of the earlier version."""
    with tarfile.open(EARLIER) as archive:
        member = archive.extractfile("template.json")
        assert member
        parsed: dict[str, Any] = json.load(member)
    return parsed


def present_template(name: str = MAIN) -> dict[str, Any]:
    """Return a template of this version as plain CloudFormation."""
    return expand(ROOT / name, CODE["CodeKey"])


class Region:
    """An account and Region where AWS Config records, with a bucket for code, the rule, and runbooks.

    `functions` are those of the deployed stacks, by the logical ID.
    """

    def __init__(self, sandbox: Sandbox, automation: Automation, folder: Path) -> None:
        """Deploy nothing yet; `folder` is for the code of functions."""
        self.sandbox = sandbox
        self.automation = automation
        self.account = Account(sandbox, sandbox.account_id, sandbox.region)
        self.functions: dict[str, LambdaRuntime] = {}
        self._folder = folder
        prepare(sandbox)
        s3 = direct_client(sandbox, "s3")
        bucket = f"{CODE['ArtifactBucketPrefix']}-{sandbox.region}"
        s3.create_bucket(Bucket=bucket)
        s3.put_object(Bucket=bucket, Key=CODE["CodeKey"], Body=b"PK\5\6" + bytes(18))  # an empty archive

    @contextmanager
    def earlier(self, stack: Stack) -> Iterator[None]:
        """Run a stack's functions with the code of the earlier version."""
        code = self._folder / "earlier"
        with tarfile.open(EARLIER) as archive:
            archive.extractall(code, filter="data")
        with self._running(stack, code / "express_path"):
            yield

    @contextmanager
    def present(self, stack: Stack) -> Iterator[None]:
        """Run a stack's functions with the code of this version."""
        packages = (ROOT / "functions" / "express_path", ROOT / "integrations" / "express_path_integrations")
        with self._running(stack, *packages):
            yield

    @contextmanager
    def _running(self, stack: Stack, *packages: Path) -> Iterator[None]:
        with ExitStack() as running:
            for logical_id, definition in stack.template["Resources"].items():
                if definition["Type"] == "AWS::Lambda::Function" and logical_id in stack.resources:
                    name, runtime = stack.resources[logical_id].physical_id, self._runtime(stack, logical_id, *packages)
                    self.functions[logical_id] = running.enter_context(runtime)
                    self.automation.functions.register(name, runtime.invoke)
                    self.sandbox.eventbridge.register(name, runtime.invoke)
            yield

    def _runtime(self, stack: Stack, logical_id: str, *packages: Path) -> LambdaRuntime:
        properties, function = stack.properties[logical_id], stack.resources[logical_id]
        folder = self._folder / f"{function.physical_id}-{stack.updates}"
        folder.mkdir()
        for package in packages:
            (folder / package.name).symlink_to(package)
        module, site = properties["Handler"].rpartition(".")[0], str(Path(boto3.__file__).parents[1])
        (folder / "entry.py").write_text(
            ENTRY.format(site=site, module=module, arn=function.attributes["Arn"]), encoding="utf-8"
        )
        variables = self.sandbox.environment() | properties["Environment"]["Variables"]
        return LambdaRuntime(folder, "entry.handler", variables, function_name=function.physical_id)

    def rule_of(self, stack: Stack) -> ConfigLoop:
        """Return AWS Config's loop for the rule of a stack, which invokes the function that runs at the time."""
        name, function = (stack.resources[key].physical_id for key in ("ConfigRule", "EvaluateFunction"))
        definition = RuleDefinition(name, function, RULE.resource_types)

        def invoke(event: dict[str, Any]) -> Any:
            return self.functions["EvaluateFunction"].invoke(event)

        return ConfigLoop(self.sandbox, invoke, rule=definition)

    def deliver(self, stack: Stack, queue: str, function: str) -> None:
        """Invoke a function with the messages of its queue, until there are none."""
        url = stack.resources[queue].physical_id
        while (polled := poll(self.sandbox, url, self.functions[function].invoke)).deleted:
            assert polled.error is None
            assert polled.returned == ()

    def run(self, stack: Stack, document: str, **given: str) -> dict[str, Any]:
        """Run a runbook of a stack until it ends, with the stack's role and function."""
        own = {
            "AutomationAssumeRole": stack.outputs["AutomationRoleArn"],
            "PlanFunctionName": stack.outputs["PlanFunctionArn"],
        }
        return self.automation.execute(stack.resources[document].physical_id, own | given)

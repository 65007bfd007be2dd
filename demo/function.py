"""The two functions for the demonstration: their artifact, built here, in the real Lambda runtime."""

import io
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from config_rule_sandbox.aws_lambda.emulator import find_emulator
from config_rule_sandbox.aws_lambda.runtime import LambdaRuntime, in_process
from config_rule_sandbox.server import Sandbox
from demo.deployment import FUNCTIONS, Deployed

Invoke = Callable[[Any], Any]

EVALUATE = "express_path.handlers.evaluate.handler"
PLAN = "express_path.handlers.plan_heal.handler"
HEALTH = "express_path.handlers.check_health.handler"
BUILD_SECONDS = 300
ENTRY = "of_this_account"
ENTRY_SOURCE = """\
from express_path.handlers import plan_heal


def handler(event, context):
    context.invoked_function_arn = "arn:aws:lambda:{region}:{account_id}:function:{name}"
    return plan_heal.handler(event, context)
"""
"""The emulator says that every function is of account 012345678912, and the plan function asks whose it is
(https://github.com/aws/aws-lambda-runtime-interface-emulator, cmd/aws-lambda-rie/handlers.go)."""


@dataclass(frozen=True, slots=True)
class Functions:
    """Ways to invoke the rule's function, and the one that plans and verifies heals."""

    evaluate: Invoke
    plan: Invoke


class BuildError(Exception):
    """The artifact could not be built; `output` is what the build printed."""

    def __init__(self, output: str) -> None:
        super().__init__(f"the function's artifact could not be built:\n{output}")
        self.output = output


def runs_on_lambda_runtime() -> bool:
    """Return whether this machine can run the Runtime Interface Emulator, which is a program for Linux."""
    return sys.platform == "linux"


def build(folder: Path) -> None:
    """Build the artifact for this interpreter and processor into an empty folder. BuildError if that fails."""
    machine = {"arm64": "aarch64"}.get(platform.machine(), platform.machine())
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    # Do not pass on the flags of a make that runs this one; uv is in the same folder as this interpreter.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    command = ["make", "-C", str(FUNCTIONS), "build-EvaluateFunction", f"ARTIFACTS_DIR={folder}"]
    command += [f"PYTHON={sys.executable}", f"PYTHON_VERSION={version}", f"PLATFORM={machine}-manylinux_2_28"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False)
    if done.returncode:
        raise BuildError(done.stdout + done.stderr)


@contextmanager
def in_lambda_runtime(sandbox: Sandbox, stack: Deployed) -> Iterator[Functions]:
    """Build the artifact, start both functions of the stack from it in Lambda runtimes, and give ways to invoke them."""
    find_emulator()  # before the build, which takes longer
    with tempfile.TemporaryDirectory(prefix="express-path-") as name:
        folder = Path(name)
        build(folder)
        entry = ENTRY_SOURCE.format(region=sandbox.region, account_id=sandbox.account_id, name=stack.plan.name)
        (folder / f"{ENTRY}.py").write_text(entry)
        deployed = stack.evaluate, stack.plan
        with (
            LambdaRuntime(folder, EVALUATE, deployed[0].variables, function_name=deployed[0].name) as evaluate,
            LambdaRuntime(folder, f"{ENTRY}.handler", deployed[1].variables, function_name=deployed[1].name) as plan,
        ):
            yield Functions(evaluate.invoke, plan.invoke)


def handler_of(name: str, settings: Mapping[str, str], account_id: str) -> Callable[..., Any]:
    """Import a handler, and return it with services of its own: it would keep the clients of an earlier sandbox."""
    module = import_module(name.rpartition(".")[0])
    services = module.compose_services(settings, *([account_id] if name == PLAN else []))
    services.aws.session.get_credentials()  # of the environment of now, before the first client is made
    return partial(module.handler, services=services)


@contextmanager
def in_this_process(sandbox: Sandbox, stack: Deployed) -> Iterator[Functions]:
    """Import the handlers into this process, and give ways to invoke them; their logs are not shown.

    The environment of the plan function is the whole process's meanwhile, since runbooks invoke it from threads of their own.
    """
    log = io.StringIO()
    with redirect_stdout(log), patch.dict(os.environ, stack.evaluate.variables):
        evaluate = handler_of(EVALUATE, os.environ, sandbox.account_id)
    with patch.dict(os.environ, stack.plan.variables):
        with redirect_stdout(log):
            plan = handler_of(PLAN, os.environ, sandbox.account_id)
        invoke = in_process(evaluate, stack.evaluate.name)

        def quietly(event: object) -> Any:  # noqa: ANN401  # any JSON value, as in Lambda
            with redirect_stdout(log):
                return invoke(event)

        yield Functions(quietly, in_process(plan, stack.plan.name))

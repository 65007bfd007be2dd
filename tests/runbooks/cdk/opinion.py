"""A runbook run by another implementation of Systems Manager Automation: @cdklabs/cdk-ssm-documents, on Node."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from sandbox.server import Sandbox
from sandbox.ssm.values import plain

HERE = Path(__file__).parent
PACKAGES = HERE.parents[2] / "build" / "cdk" / "node_modules"
"""Where `npm ci` puts the packages of package-lock.json: outside of the tests, in a folder that git ignores."""


@dataclass(frozen=True)
class Opinion:
    """What the other implementation made of a runbook.

    `steps` are the steps that it ran, in order; `outputs` its outputs by `step.Output`; `failure` why it failed.
    """

    succeeded: bool
    steps: list[str]
    outputs: Mapping[str, Any]
    failure: str


def need_node() -> None:
    """Skip a test where Node or the packages are not installed."""
    if shutil.which("node") is None:
        pytest.skip("no Node: the second opinion on the runbooks needs version 20 or newer")
    if not PACKAGES.is_dir():
        pytest.skip("no packages: copy tests/runbooks/cdk/package*.json to build/cdk and run 'npm ci' there")


def second_opinion(runbook: Path, parameters: Mapping[str, str], sandbox: Sandbox) -> Opinion:
    """Run a runbook by the other implementation; its API calls go to the sandbox, with the sandbox's credentials."""
    environment = {"PATH": os.environ["PATH"], "NODE_PATH": str(PACKAGES), "NODE_NO_WARNINGS": "1"}
    command = [str(shutil.which("node")), str(HERE / "simulate.cjs")]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            return _converse(process, {"runbook": str(runbook), "parameters": dict(parameters)}, sandbox)
        finally:
            process.kill()


def _converse(process: subprocess.Popen[str], request: dict[str, Any], sandbox: Sandbox) -> Opinion:
    """Send a request, make the calls that are asked for, and return the result. AssertionError if there is none."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    print(json.dumps(request), file=process.stdin, flush=True)
    for line in process.stdout:
        said = json.loads(line)
        if "result" in said:
            return Opinion(**said["result"])
        print(json.dumps(_call(sandbox, **said["call"])), file=process.stdin, flush=True)
    raise AssertionError(process.stderr.read())


def _call(sandbox: Sandbox, service: str, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Make one API call and return its answer or its error, as a line for the other side."""
    if service == "lambda":
        parameters = {**parameters, "Payload": json.dumps(parameters["Payload"])}
    try:
        answer = getattr(sandbox.client(service), xform_name(operation))(**parameters)
    except ClientError as error:
        return {"error": str(error)}
    if service == "lambda":
        answer["Payload"] = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            return {"error": json.dumps(answer["Payload"])}
    return {"answer": plain({key: value for key, value in answer.items() if key != "ResponseMetadata"})}

"""A runbook run by another implementation of Systems Manager Automation: @cdklabs/cdk-ssm-documents, on Node."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from sandbox.server import Sandbox
from sandbox.ssm.values import plain

HERE = Path(__file__).parent
PACKAGES = HERE.parents[2] / "build" / "cdk" / "node_modules"
"""The folder into which `npm ci` installs package-lock.json. Git ignores it."""


@dataclass(frozen=True)
class Opinion:
    """The result of a runbook in the other implementation.

    `steps` are the steps that it ran, in order; `outputs` its outputs by `step.Output`; `failure` why it failed.
    """

    succeeded: bool
    steps: list[str]
    outputs: Mapping[str, Any]
    failure: str


def need_node() -> None:
    """Skip the test if Node or the packages are not installed."""
    if shutil.which("node") is None:
        pytest.skip("no Node: the second opinion on the runbooks needs version 20 or newer")
    if not PACKAGES.is_dir():
        pytest.skip("no packages: copy tests/runbooks/cdk/package*.json to build/cdk and run 'npm ci' there")


class OtherImplementation:
    """A process of the other implementation, which runs one runbook after another; a context manager."""

    def __enter__(self) -> Self:
        """Start the process, which takes seconds, mostly to load the packages."""
        self._folder = TemporaryDirectory()
        self._log = (Path(self._folder.name) / "log").open("w+")
        self._process = subprocess.Popen(
            [str(shutil.which("node")), str(HERE / "simulate.cjs")],
            env=_environment(self._folder.name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop the process and delete its files."""
        self._process.communicate()
        self._log.close()
        self._folder.cleanup()

    def run(self, runbook: Path, parameters: Mapping[str, str], sandbox: Sandbox) -> Opinion:
        """Run a runbook; its API calls go to the sandbox. AssertionError if the package cannot run it."""
        given = {"runbook": str(runbook), "parameters": dict(parameters), "environment": sandbox.environment()}
        self._send(given)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if "result" in message:
                return Opinion(**message["result"])
            assert "crash" not in message, message["crash"]
            self._send(_call(sandbox, **message["call"]))
        self._log.seek(0)
        raise AssertionError(self._log.read())

    def _send(self, line: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        print(json.dumps(line), file=self._process.stdin, flush=True)


def _environment(folder: str) -> dict[str, str]:
    """Return the environment of the process: scripts run with this Python and write to the given folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {"PATH": path, "NODE_PATH": str(PACKAGES), "NODE_NO_WARNINGS": "1", "TMPDIR": folder}


def _call(sandbox: Sandbox, service: str, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Make one API call and return its response or error as the line to send back."""
    if service == "lambda":
        parameters = {**parameters, "Payload": json.dumps(parameters["Payload"])}
    try:
        answer = getattr(sandbox.client(service), xform_name(operation))(**parameters)
    except ClientError as error:
        return {"error": str(error)}
    if service == "lambda":
        answer["PayloadText"] = answer["Payload"].read().decode()
        answer["Payload"] = json.loads(answer["PayloadText"])
        if "FunctionError" in answer:
            return {"error": json.dumps(answer["Payload"])}
    return {"answer": plain({key: value for key, value in answer.items() if key != "ResponseMetadata"})}

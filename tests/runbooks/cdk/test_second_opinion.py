"""Another implementation of Automation runs the same runbooks and takes the same steps as the sandbox's.

@cdklabs/cdk-ssm-documents is AWS's own (https://github.com/cdklabs/cdk-ssm-documents); simulate.cjs says what it lacks.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from config_rule_sandbox.server import Sandbox
from config_rule_sandbox.ssm.values import plain
from org.expansion import runbook
from tests.support.heals import HEAL, UNDO, Deployment, Run, Vpc, status, steps
from tests.support.network import Builder

pytestmark = pytest.mark.long
HERE = Path(__file__).parent
PACKAGES = HERE.parents[2] / "build" / "node" / "node_modules"
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
        pytest.skip("no packages: make build/node/.ready installs them")


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

    def run(self, name: str, parameters: Mapping[str, str], sandbox: Sandbox) -> Opinion:
        """Run a runbook by its name; its API calls go to the sandbox. AssertionError if the package cannot run it."""
        given = {
            "runbook": runbook(name),
            "parameters": dict(parameters),
            "environment": sandbox.environment(),
        }
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


@pytest.fixture(scope="module")
def other() -> Iterator[OtherImplementation]:
    """Yield the other implementation, or skip the test if Node or the packages are not installed."""
    need_node()
    with OtherImplementation() as running:
        yield running


def check_same(run: Run, opinion: Opinion) -> None:
    """Check that both implementations took the same steps to the same end.

    The step explain reads the run from Systems Manager, which does not know a run of the other implementation, so such a
    run ends there.
    """
    taken = steps(run)
    if "explain" in taken:
        taken = taken[: taken.index("explain") + 1]
    assert opinion.steps == taken, opinion.failure
    assert opinion.succeeded is (status(run) == "Success")


@pytest.mark.parametrize("situation", ["heals", "dry run", "closed calendar", "denied change"])
def test_both_heal_in_the_same_way(
    deployment: Deployment,
    builder: Builder,
    other: OtherImplementation,
    monkeypatch: pytest.MonkeyPatch,
    situation: str,
) -> None:
    """On two equal networks, both run the same steps and make the same changes, also in a second run.

    The plan after a failed heal reads that heal's run from Systems Manager, which does not know a run of the other
    implementation. So there is no second run then.
    """
    deployment.automation.knobs.closed_calendars.add("Freeze")
    monkeypatch.setenv("CHANGE_CALENDAR_NAME", "Freeze" if situation == "closed calendar" else "")
    if situation == "denied change":
        deployment.sandbox.faults.deny("ec2", "ModifyVpcEndpoint")
    given = {"DryRun": str(situation == "dry run").lower()}
    ours, theirs = Vpc(builder), Vpc(builder)
    for _ in range(1 if situation == "denied change" else 2):
        run = deployment.heal(ours.subnet, **given)
        parameters = {"SubnetId": theirs.subnet, **deployment.given, **given}
        check_same(run, other.run(HEAL, parameters, deployment.sandbox))
        assert len(deployment.endpoints(ours.id)) == len(deployment.endpoints(theirs.id))
        healed = [list(deployment.associations(vpc.id).values()) == [[vpc.table]] for vpc in (ours, theirs)]
        assert healed == [situation == "heals"] * 2


def test_both_undo_in_the_same_way(deployment: Deployment, builder: Builder, other: OtherImplementation) -> None:
    """Both remove the association and delete the endpoint; a second undo fails in the same way."""
    ours, theirs = Vpc(builder), Vpc(builder)
    heals = [deployment.ledger.heal(builder, vpc.id, vpc.table, number) for number, vpc in enumerate((ours, theirs))]
    for _ in range(2):
        run = deployment.undo(heals[0])
        check_same(run, other.run(UNDO, {"RunId": heals[1], **deployment.given}, deployment.sandbox))
        assert deployment.endpoints(ours.id) == deployment.endpoints(theirs.id) == []

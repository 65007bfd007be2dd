"""A run that is interrupted goes on where it was, or leaves nothing behind. Each is a real one in a sandbox that goes on."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance import plan
from acceptance.facts import OUTPUT
from acceptance.run import Run
from config_rule_sandbox.local_aws import in_a_process

pytestmark = pytest.mark.long

EVERYTHING = {
    "cloudformation": ["describe_stacks"],
    "config": ["describe_config_rules", "describe_configuration_aggregators"],
    "dynamodb": ["list_tables"],
    "ec2": [
        "describe_addresses",
        "describe_internet_gateways",
        "describe_managed_prefix_lists",
        "describe_nat_gateways",
        "describe_route_tables",
        "describe_subnets",
        "describe_transit_gateways",
        "describe_transit_gateway_attachments",
        "describe_vpc_endpoints",
        "describe_vpcs",
    ],
    "events": ["list_event_buses"],
    "iam": ["list_roles"],
    "lambda": ["list_functions"],
    "logs": ["describe_log_groups"],
    "s3": ["list_buckets"],
    "sns": ["list_topics"],
    "sqs": ["list_queues"],
    "ssm": ["list_documents"],
}
"""The calls that list what a run may make."""
LEFT = "Nothing of the run is left in"
COMMAND = [sys.executable, "-m", "acceptance"]
LOOK = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": ["*:Describe*", "*:List*"], "Resource": "*"}],
}
"""What the test needs besides the policies of a run."""


@pytest.fixture(scope="module")
def local_aws() -> Iterator[None]:
    """Start a sandbox that enforces the policies of a run, and let the environment lead to it."""
    policies = json.dumps([*plan.policies(), LOOK])
    with in_a_process("demo.local_aws", policies) as variables, pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_PROFILE", raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


@pytest.fixture
def run_id(local_aws: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Let all processes of a test begin or continue the same run, and return its id."""
    del local_aws  # the environment leads there
    run_id = secrets.token_hex(4)
    monkeypatch.setenv("RUN", run_id)
    yield run_id
    file_of(run_id).unlink(missing_ok=True)


def file_of(run_id: str) -> Path:
    """Return the file of a run."""
    return OUTPUT / "runs" / f"{run_id}.json"


def interrupt(stage: str, folder: Path, number: signal.Signals) -> str:
    """Start or continue the run, interrupt it a moment after it prints a text, and return what it printed."""
    output = folder / "output"
    with output.open("w") as file, subprocess.Popen(COMMAND, stdout=file, stderr=file) as process:
        while stage not in output.read_text() and process.poll() is None:
            time.sleep(0.1)
        time.sleep(1)  # into the stage
        process.send_signal(number)
    printed = output.read_text()
    assert stage in printed, printed[-3000:]
    assert process.returncode != 0
    return printed


def go_on(**variables: str) -> str:
    """Let the run go on to its end, and return what it printed."""
    ended = subprocess.run(COMMAND, env=os.environ | variables, capture_output=True, text=True, check=False)
    printed = ended.stdout + ended.stderr
    assert ended.returncode == 0, printed[-3000:]
    assert LEFT in printed
    return printed


def test_run_is_continued(run_id: str, tmp_path: Path) -> None:
    """After three interruptions, a run ends with the facts and the calls of one without any, and asks nothing twice.

    They come in a probe, in a deployment, and while a heal waits for an approval: by Ctrl-C, by a kill, and by a request to end.
    """
    before, done = inventory(), list[str]()
    for stage, number in (
        ("test_runbook ", signal.SIGINT),
        ("test_first_deployment ", signal.SIGKILL),
        ("test_approvals ", signal.SIGTERM),
    ):
        printed = interrupt(stage, tmp_path, number)
        if number is not signal.SIGKILL:
            assert f"make acceptance RUN={run_id}" in printed
        assert not [test for test in done if f"{test} " in printed]
        done = json.loads(file_of(run_id).read_text())["done"]
        assert done
    printed = go_on()
    assert f"Run {run_id} in 123456789012, us-east-1 (sandbox) continues." in printed
    assert not [test for test in done if f"{test} " in printed]
    assert inventory() == before
    assert not file_of(run_id).exists()


@pytest.mark.parametrize("stage", ["collecting", "test_heal_and_undo "])
def test_run_is_deleted(stage: str, run_id: str, tmp_path: Path) -> None:
    """Whatever a run had made when its process was killed can be deleted without its file, as from another machine."""
    before = inventory()
    interrupt(stage, tmp_path, signal.SIGKILL)
    file_of(run_id).unlink(missing_ok=True)
    go_on(CLEAN="1")
    assert inventory() == before


def inventory() -> dict[str, int]:
    """Return how many things of each kind the account has. Some stay listed for a while after they are deleted."""
    run, query = Run(), "values(@)[?type(@)=='array'][] | [?!contains(to_string(State), 'delete')]"
    return {
        operation: len(run.ask(service, operation, query))
        for service, operations in EVERYTHING.items()
        for operation in operations
    }

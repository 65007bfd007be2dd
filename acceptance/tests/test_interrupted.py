"""Ctrl-C at any stage leaves nothing behind. Each run is a real one against a sandbox that goes on."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

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
STAGES = ("collecting", "test_endpoint", "test_runbook", "test_first_deployment", "test_heal_and_undo")
"""What a run prints when it begins a stage: before it makes anything, in two probes, and before and after a deployment."""


@pytest.fixture(scope="module", autouse=True)
def _sandbox() -> Iterator[None]:
    """Start a sandbox that outlives each run, and let the environment lead to it."""
    with in_a_process("demo.local_aws") as variables, pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_PROFILE", raising=False)
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_is_left(stage: str, tmp_path: Path) -> None:
    """After Ctrl-C, the account has as much of everything as before, and the run says so."""
    before, output = inventory(), tmp_path / "output"
    command = [sys.executable, "-m", "acceptance"]
    with output.open("w") as file, subprocess.Popen(command, stdout=file, stderr=file) as process:
        while stage not in output.read_text() and process.poll() is None:
            time.sleep(0.2)
        time.sleep(1)  # into the stage
        process.send_signal(signal.SIGINT)
    printed = output.read_text()
    assert stage in printed
    assert "Nothing of the run is left." in printed, printed[-3000:]
    assert process.returncode != 0
    assert inventory() == before


def inventory() -> dict[str, int]:
    """Return how many things of each kind the account has. Some stay listed for a while after they are deleted."""
    run, query = Run(), "values(@)[?type(@)=='array'][] | [?!contains(to_string(State), 'delete')]"
    return {
        operation: len(run.ask(service, operation, query))
        for service, operations in EVERYTHING.items()
        for operation in operations
    }

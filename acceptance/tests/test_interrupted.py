"""Ctrl-C at any stage leaves nothing behind. Each run is a real one against a sandbox that goes on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.place import Place
from demo.local_aws import in_a_process

pytestmark = pytest.mark.long

SECONDS = 600
EVERYTHING = (
    ("cloudformation", "describe_stacks", "Stacks"),
    ("config", "describe_config_rules", "ConfigRules"),
    ("config", "describe_configuration_aggregators", "ConfigurationAggregators"),
    ("dynamodb", "list_tables", "TableNames"),
    ("ec2", "describe_addresses", "Addresses"),
    ("ec2", "describe_internet_gateways", "InternetGateways"),
    ("ec2", "describe_managed_prefix_lists", "PrefixLists"),
    ("ec2", "describe_route_tables", "RouteTables"),
    ("ec2", "describe_subnets", "Subnets"),
    ("ec2", "describe_vpc_endpoints", "VpcEndpoints"),
    ("ec2", "describe_vpcs", "Vpcs"),
    ("events", "list_event_buses", "EventBuses"),
    ("iam", "list_roles", "Roles"),
    ("lambda", "list_functions", "Functions"),
    ("logs", "describe_log_groups", "logGroups"),
    ("s3", "list_buckets", "Buckets"),
    ("sns", "list_topics", "Topics"),
    ("sqs", "list_queues", "QueueUrls"),
)
STAGES = ("collecting", "test_endpoint", "test_runbook", "test_first_deployment", "test_heal_and_undo")
"""What a run prints when it begins a stage: before it makes anything, in two probes, and before and after a deployment."""


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    """Start a sandbox that outlives each run."""
    with in_a_process() as variables:
        yield {name: value for name, value in os.environ.items() if name not in ("AWS_PROFILE", "RUN")} | variables


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_is_left(
    stage: str, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Ctrl-C, the account has as much of everything as before, and the run says so."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    before, output = inventory(), tmp_path / "output"
    command = [sys.executable, "-m", "acceptance"]
    with output.open("w") as file, subprocess.Popen(command, stdout=file, stderr=file, env=os.environ) as process:
        until = time.monotonic() + SECONDS
        while stage not in output.read_text() and time.monotonic() < until and process.poll() is None:
            time.sleep(0.2)
        time.sleep(1)  # into the stage
        process.send_signal(signal.SIGINT)
        process.wait(SECONDS)
    printed = output.read_text()
    assert stage in printed
    assert "Nothing of the run is left." in printed, printed[-3000:]
    assert process.returncode != 0
    assert inventory() == before


def inventory() -> dict[str, int]:
    """Return how many things of each kind the account has. Deleted NAT gateways stay listed, so those are not counted."""
    place = Place()
    return {
        f"{service} {key}": len(getattr(place.client(service), operation)().get(key, []))
        for service, operation, key in EVERYTHING
    }

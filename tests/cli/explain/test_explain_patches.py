"""The AWS CLI patches that explain prints, run with the real AWS CLI against the sandbox."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from express_path.domain.heal.patches import create_patches
from express_path.domain.network.resources import VpcEndpoint
from sandbox.server import Sandbox
from tests.support.command import invoke
from tests.support.network import Builder, Private

ENVIRONMENT = Path(__file__).parents[3] / ".venv-awscli"
POLICY = """{
  "Version": "2012-10-17",
\t"Statement": [{"Sid": "Its", "Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*",
    "Condition": {"StringEquals": {"aws:PrincipalTag/k": "it's ${aws:ResourceTag/k} \\\\ $HOME \\"q\\""}}}]
}"""

pytestmark = pytest.mark.skipif(
    not (ENVIRONMENT / "bin" / "aws").exists(), reason="no AWS CLI: make .venv-awscli/.ready installs it"
)


def run(patch: str, sandbox: Sandbox, home: Path) -> None:
    """Run a patch in a shell, like a person who pastes it."""
    path = f"{ENVIRONMENT / 'bin'}:/usr/bin:/bin"
    environment = {"PATH": path, "HOME": str(home), "AWS_PAGER": "", **sandbox.environment()}
    done = subprocess.run(["/bin/sh", "-c", patch], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def explained(subnet_id: str) -> dict[str, Any]:
    """Return the command's explanation of a subnet."""
    found: dict[str, Any] = json.loads(invoke(["explain", subnet_id, "--format", "json"]).stdout)
    return found


def test_cli_patches_fix_the_verdict(sandbox: Sandbox, builder: Builder, tmp_path: Path) -> None:
    """The first table's patch creates the endpoint, the second's associates it, and both verdicts are ENDPOINT."""
    network = Private(builder)
    second = builder.subnet(network.vpc, builder.table(network.vpc, NatGatewayId=network.nat))
    for subnet_id, operation in ((network.subnet, "create-vpc-endpoint"), (second, "modify-vpc-endpoint")):
        before = explained(subnet_id)
        patch = before["plan"]["patches"]["cli"]
        assert (before["reason"], patch.split()[2]) == ("NAT_GATEWAY", operation)
        run(patch, sandbox, tmp_path)
        after = explained(subnet_id)
        assert (after["reason"], after["plan"]["patches"]) == ("ENDPOINT", {})


def test_the_command_of_a_scan_fixes_all_tables_of_a_vpc(sandbox: Sandbox, builder: Builder, tmp_path: Path) -> None:
    """A scan prints one command for two route tables, and it creates one endpoint that serves both."""
    network = Private(builder)
    second = builder.table(network.vpc, NatGatewayId=network.nat)
    builder.subnet(network.vpc, second)
    scanned = invoke(["scan", "--vpc", network.vpc])
    [command] = [line for line in scanned.stdout.splitlines() if line.startswith("aws ec2 ")]
    run(command, sandbox, tmp_path)
    [made] = builder.ec2.describe_vpc_endpoints(Filters=[{"Name": "vpc-id", "Values": [network.vpc]}])["VpcEndpoints"]
    assert sorted(made["RouteTableIds"]) == sorted([network.table, second])
    assert (scanned.exit_code, invoke(["scan", "--vpc", network.vpc]).exit_code) == (1, 0)


def test_cli_patch_creates_with_any_policy(sandbox: Sandbox, builder: Builder, tmp_path: Path) -> None:
    """A dual-stack endpoint is created with exactly the configured policy, whatever characters it has."""
    network = Private(builder)
    builder.dual_stack(network.vpc, network.subnet)
    service = f"com.amazonaws.{sandbox.region}.s3express"
    wanted = VpcEndpoint("", network.vpc, "gateway", service, "available", "dualstack")
    run(create_patches(wanted, [network.table], POLICY)["cli"], sandbox, tmp_path)
    [made] = builder.ec2.describe_vpc_endpoints()["VpcEndpoints"]
    assert (made["IpAddressType"], made["RouteTableIds"]) == ("dualstack", [network.table])
    assert json.loads(made["PolicyDocument"]) == json.loads(POLICY)

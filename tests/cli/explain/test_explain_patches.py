"""The commands that scan and explain print, run with the real AWS CLI against the sandbox."""

import json
import subprocess
from pathlib import Path

import pytest

from config_rule_sandbox.server import Sandbox
from express_path.domain.heal.patches import create_patches
from express_path.domain.network.resources import VpcEndpoint
from tests.support.command import invoke
from tests.support.network import Builder, Private

ENVIRONMENT = Path(__file__).parents[3] / ".venv-tools"
POLICY = """{
  "Version": "2012-10-17",
\t"Statement": [{"Sid": "Its", "Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*",
    "Condition": {"StringEquals": {"aws:PrincipalTag/k": "it's ${aws:ResourceTag/k} \\\\ $HOME \\"q\\""}}}]
}"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not (ENVIRONMENT / "bin" / "aws").exists(), reason="no AWS CLI: make .venv-tools/.ready installs it"
    ),
]


def run(patch: str, sandbox: Sandbox, home: Path) -> None:
    """Run a patch in a shell, like a person who pastes it."""
    path = f"{ENVIRONMENT / 'bin'}:/usr/bin:/bin"
    environment = {"PATH": path, "HOME": str(home), "AWS_PAGER": "", **sandbox.environment()}
    done = subprocess.run(["/bin/sh", "-c", patch], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_commands_of_a_scan_fix_its_findings(sandbox: Sandbox, builder: Builder, tmp_path: Path) -> None:
    """The first command creates one endpoint that serves two route tables; the next one adds another table to it."""
    network = Private(builder)
    tables = [network.table, builder.table(network.vpc, NatGatewayId=network.nat)]
    builder.subnet(network.vpc, tables[1])
    for operation in ("create-vpc-endpoint", "modify-vpc-endpoint"):
        scanned = invoke(["scan", "--vpc", network.vpc])
        [command] = [line for line in scanned.stdout.splitlines() if line.startswith("aws ec2 ")]
        assert (scanned.exit_code, command.split()[2]) == (1, operation)
        run(command, sandbox, tmp_path)
        assert invoke(["scan", "--vpc", network.vpc]).exit_code == 0
        [made] = builder.ec2.describe_vpc_endpoints(Filters=[{"Name": "vpc-id", "Values": [network.vpc]}])[
            "VpcEndpoints"
        ]
        assert sorted(made["RouteTableIds"]) == sorted(tables)
        tables.append(builder.table(network.vpc, NatGatewayId=network.nat))
        builder.subnet(network.vpc, tables[-1])


def test_the_commands_of_all_owners_fix_their_findings(sandbox: Sandbox, builder: Builder, tmp_path: Path) -> None:
    """One owner creates the endpoint of the VPC with its own route table, and the other one adds its own afterwards."""
    network = Private(builder)
    tables = {"data": network.table, "web": builder.table(network.vpc, NatGatewayId=network.nat)}
    builder.subnet(network.vpc, tables["web"])
    for owner, table_id in tables.items():
        builder.ec2.create_tags(Resources=[table_id], Tags=[{"Key": "owner", "Value": owner}])
    folder = tmp_path / "owners"
    invoke(["scan", "--vpc", network.vpc, "--split-by", "tag:owner", "--output", str(folder)])
    scripts = sorted(folder.glob("*/*/commands.sh"), key=lambda script: script.parent.name)
    assert [script.parent.parent.name for script in scripts] == ["data", "web"]
    for script, owner in zip(scripts, tables, strict=True):
        run(script.read_text(encoding="utf-8"), sandbox, tmp_path)
        [made] = builder.ec2.describe_vpc_endpoints(Filters=[{"Name": "vpc-id", "Values": [network.vpc]}])[
            "VpcEndpoints"
        ]
        assert made["RouteTableIds"][-1] == tables[owner]
    assert invoke(["scan", "--vpc", network.vpc]).exit_code == 0


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

"""The report of live accounts: names of their resources, and what could not be read."""

from pathlib import Path

import pytest

from sandbox.networks import Account, BehindNatGateway
from sandbox.server import Sandbox
from tests.cli.report.test_document import Parsed
from tests.cli.traffic.costs import carry, cost
from tests.support.command import invoke
from tests.support.network import Builder, Private

pytestmark = pytest.mark.slow

OFF = "no-where-1"


@pytest.fixture
def network(builder: Builder) -> Private:
    """A VPC with a public subnet, and a private one behind a NAT gateway, which has a name."""
    made = Private(builder)
    builder.ec2.create_tags(Resources=[made.subnet], Tags=[{"Key": "Name", "Value": "web </td>"}])
    return made


def test_a_region_that_fails_is_named_in_the_page_and_the_rest_reported(
    sandbox: Sandbox, network: Private, tmp_path: Path
) -> None:
    """One Region fails: it is named in the file and on standard error, the other is reported, the status is 2."""
    file = tmp_path / "report.html"
    result = invoke(["report", "--region", sandbox.region, "--region", OFF, "--output", str(file)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"account {sandbox.account_id} {OFF}" in result.stderr
    assert "wrote " in result.stderr
    text = file.read_text(encoding="utf-8")
    assert f"<strong>account {sandbox.account_id} {OFF}</strong>" in text
    named = {row[0]: row[1] for row in Parsed(text).data()["subnets"]}
    assert named[network.subnet] == "web </td>"


def test_a_note_is_in_the_page(sandbox: Sandbox, builder: Builder, network: Private, tmp_path: Path) -> None:
    """The result of a denied optional read counts as unknown; the file says so, also with --quiet."""
    launched = builder.ec2.run_instances(ImageId="ami-12345678", MinCount=1, MaxCount=1, SubnetId=network.public_subnet)
    interface = launched["Instances"][0]["NetworkInterfaces"][0]["NetworkInterfaceId"]
    builder.subnet(network.vpc, builder.table(network.vpc, NetworkInterfaceId=interface))
    sandbox.faults.deny("ec2", "DescribeNetworkInterfaces")
    file = tmp_path / "report.html"
    result = invoke(["report", "--quiet", "--output", str(file)])
    assert result.exit_code == 1
    assert "note: " not in result.stderr
    assert "ec2:DescribeNetworkInterfaces was denied" in file.read_text(encoding="utf-8")


def test_the_costs_of_the_cost_command_are_in_the_page(sandbox: Sandbox, tmp_path: Path) -> None:
    """The file that `cost --format json` writes is the one that `report --cost` reads."""
    behind = BehindNatGateway(Account(sandbox))
    carry(behind.account, behind.nat, 100, 900)
    costs, file = tmp_path / "cost.json", tmp_path / "report.html"
    made = cost("--format", "json", "--days", "1", "--price-per-gb", "0.05", "--output", str(costs))
    assert made.exit_code == 0, made.stderr
    result = invoke(["report", "--cost", str(costs), "--output", str(file)])
    assert result.exit_code == 1, result.stderr
    data = Parsed(file.read_text(encoding="utf-8")).data()
    assert data["costs"]["nats"] == [[sandbox.region, behind.nat, pytest.approx(50 * 365 / 12), None, 0]]
    assert [row[4] for row in data["worklist"]] == [[behind.nat]]


@pytest.mark.usefixtures("network")
def test_where_nothing_can_be_read_there_is_no_file(sandbox: Sandbox, tmp_path: Path) -> None:
    """A report of nothing would look like good news: the failure is named, nothing is written, the status is 2."""
    sandbox.faults.deny("ec2", "DescribeSubnets")
    file = tmp_path / "report.html"
    result = invoke(["report", "--output", str(file)])
    assert result.exit_code == 2
    assert "ec2:DescribeSubnets" in result.stderr
    assert not file.exists()

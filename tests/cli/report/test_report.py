"""The report command: its file, its options, its exit status, and what could not be read of live accounts."""

import json
import re
from pathlib import Path

import pytest

from sandbox.networks import Account, BehindNatGateway
from sandbox.server import Sandbox
from tests.cli.findings.formats.html.test_page import Parsed
from tests.cli.traffic.costs import carry, cost
from tests.support.command import invoke
from tests.support.network import Builder, Private
from tests.support.scenarios import dump_of

pytestmark = pytest.mark.slow

OFF = "no-where-1"


@pytest.mark.parametrize(
    ("scenario", "status"), [("gateway-endpoint", 0), ("nat-gateway-zonal", 1), ("vpc-without-subnets", 0)]
)
def test_report_writes_its_file_and_ends_as_a_scan_does(
    scenario: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without options the file is express-path.html here; the status is a scan's, and the file is named."""
    monkeypatch.chdir(tmp_path)
    result = invoke(["report", "--from-dump", str(dump_of(scenario))])
    assert (result.exit_code, result.stdout) == (status, "")
    assert "wrote express-path.html: " in result.stderr
    assert result.exit_code == invoke(["scan", "--from-dump", str(dump_of(scenario))]).exit_code
    assert (tmp_path / "express-path.html").read_text(encoding="utf-8").endswith("</html>\n")


def test_scan_writes_the_same_document(tmp_path: Path) -> None:
    """Scan --format html is the report, with the rule parameters of that scan."""
    dump, set_one = str(dump_of("nat-gateway-zonal")), ["--parameter", "publicSubnets=NON_COMPLIANT"]
    reported, scanned = tmp_path / "reported.html", tmp_path / "scanned.html"
    invoke(["report", "--from-dump", dump, *set_one, "--output", str(reported)])
    invoke(["scan", "--from-dump", dump, *set_one, "--format", "html", "--output", str(scanned)])
    made_at = re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d[^ \"<]*")
    both = [made_at.sub("", file.read_text(encoding="utf-8")) for file in (reported, scanned)]
    assert both[0] == both[1]
    assert '["publicSubnets","NON_COMPLIANT",1]' in both[0]


def test_its_options_reach_the_page(tmp_path: Path) -> None:
    """A key that no resource has is noted in the page and on standard error."""
    costs, file = tmp_path / "cost.json", tmp_path / "report.html"
    document = {"schemaVersion": 1, "start": "2026-01-14T05", "end": "2026-02-13T05", "natGateways": []}
    costs.write_text(json.dumps(document), encoding="utf-8")
    dump = str(dump_of("two-accounts"))
    options = ["--tags", "Name,owner", "--cost", str(costs), "--console-links", "--output", str(file)]
    result = invoke(["report", "--from-dump", dump, *options])
    assert result.exit_code == 1
    assert "has the tag owner" in result.stderr
    text = file.read_text(encoding="utf-8")
    assert "has the tag owner, nor its route table or VPC (keys are case-sensitive)</li>" in text
    data = Parsed(text).data()
    assert (data["tagKeys"], data["explainOptions"]) == (["Name", "owner"], f"--from-dump {dump}")
    assert ["payments-private-a", ""] in data["tags"]
    assert data["costs"] == {"start": "2026-01-14", "end": "2026-02-13", "nats": []}
    assert data["consoles"]


def test_what_could_not_be_read_is_named_in_the_page(sandbox: Sandbox, builder: Builder, tmp_path: Path) -> None:
    """A Region that fails is named and the rest reported; the page has notes, too, also with --quiet."""
    network = Private(builder)
    builder.ec2.create_tags(Resources=[network.subnet], Tags=[{"Key": "Name", "Value": "web </td>"}])
    launched = builder.ec2.run_instances(ImageId="ami-12345678", MinCount=1, MaxCount=1, SubnetId=network.public_subnet)
    interface = launched["Instances"][0]["NetworkInterfaces"][0]["NetworkInterfaceId"]
    builder.subnet(network.vpc, builder.table(network.vpc, NetworkInterfaceId=interface))
    sandbox.faults.deny("ec2", "DescribeNetworkInterfaces")
    file = tmp_path / "report.html"
    result = invoke(["report", "--quiet", "--region", sandbox.region, "--region", OFF, "--output", str(file)])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert f"account {sandbox.account_id} {OFF}: " in line
    text = file.read_text(encoding="utf-8")
    assert f"<strong>account {sandbox.account_id} {OFF}</strong>" in text
    assert "ec2:DescribeNetworkInterfaces was denied" in text
    named = {row[0]: row[1] for row in Parsed(text).data()["subnets"]}
    assert named[network.subnet] == "web </td>"


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


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "ec2:DescribeSubnets"),
        (["--from-dump", "nothing"], "nothing: this folder does not exist"),
        (["--cost", "none.json"], "none.json cannot be read"),
    ],
)
def test_without_anything_to_report_there_is_no_file(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], says: str
) -> None:
    """A report of nothing would look like good news: one line names the failure, and the status is 2."""
    monkeypatch.chdir(tmp_path)
    sandbox.faults.deny("ec2", "DescribeSubnets")
    result = invoke(["report", *options])
    assert (result.exit_code, result.stdout, list(tmp_path.iterdir())) == (2, "", [])
    [line] = result.stderr.splitlines()
    assert says in line

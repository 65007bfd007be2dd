"""`express-path collect` writes a dump with live credentials, and its verdicts are those of the rule."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from sandbox.server import Sandbox
from tests.cli.collect.collecting import OPTIONAL, REQUIRED, collect, everything
from tests.support.command import scan
from tests.support.network import Builder, Private
from tests.support.rule import Rule

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that does not exist yet, two levels below one that does."""
    return tmp_path / "dumps" / "here"


def read(path: Path) -> dict[str, Any]:
    """Return the contents of a file in a dump."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def rows(result: Result) -> dict[str, dict[str, Any]]:
    """Return the rows that a scan printed, by subnet."""
    return {row["subnetId"]: row for row in json.loads(result.stdout)["subnets"]}


def test_dump_and_rule_give_the_same_verdicts(sandbox: Sandbox, builder: Builder, folder: Path) -> None:
    """A scan of the dump, a change event, and the sweep give each subnet the same verdict and text."""
    vpc = everything(builder)
    rule = Rule(sandbox)
    assert collect(folder).exit_code == 0
    scanned = rows(scan(folder))
    item = {
        "awsAccountId": sandbox.account_id,
        "configurationItemCaptureTime": "2026-02-13T05:48:51.341Z",
        "configurationItemStatus": "OK",
        "resourceType": "AWS::EC2::VPCEndpoint",
        "resourceId": "vpce-0",
        "configuration": {"vpcId": vpc.vpc, "vpcEndpointType": "Gateway"},
    }
    evaluated = {evaluation["subnetId"]: evaluation for evaluation in rule.invoke(rule.event(item))["evaluations"]}
    of_vpc = {subnet: row for subnet, row in scanned.items() if row["vpcId"] == vpc.vpc}
    assert {row["reason"] for row in of_vpc.values()} >= {
        "PARTLY_NAT",
        "NAT_GATEWAY",
        "NAT_INSTANCE",
        "NAT_BEHIND_APPLIANCE",
        "INTERNET_GATEWAY",
        "NO_ROUTE",
        "EXCLUDED",
    }
    compared = ("routeTableId", "compliance", "reason", "annotation", "path")
    assert evaluated.keys() == of_vpc.keys()
    for subnet, row in of_vpc.items():
        assert {name: evaluated[subnet][name] for name in compared} == {name: row[name] for name in compared}
    rule.loop.results.forget_rule(rule.loop.rule.name)
    rule.sweep()
    assert {subnet: (result.compliance, result.annotation) for subnet, result in rule.held().items()} == {
        subnet: (row["compliance"], row["annotation"])
        for subnet, row in scanned.items()
        if row["compliance"] != "NOT_APPLICABLE"
    }


def test_dump_has_a_file_for_each_call(sandbox: Sandbox, builder: Builder, folder: Path) -> None:
    """Files have the documented names, each is listed in the output, and the next command is suggested."""
    list_id = builder.prefix_list("198.18.0.0/15")
    gateway = builder.ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"]
    result = collect(folder)
    assert (result.exit_code, result.stderr) == (0, "")
    written = {str(path.relative_to(folder)) for path in folder.rglob("*.json")}
    assert {name for name in REQUIRED | OPTIONAL if name.endswith(".json")} <= written
    assert f"managed-prefix-list-entries/{list_id}.json" in written
    assert len([name for name in written if name.startswith("transit-gateway-routes/tgw-rtb-")]) == 1
    assert gateway
    lines = result.stdout.splitlines()
    assert {line.rpartition(":")[0] for line in lines[:-1]} == {str(folder / name) for name in written}
    assert lines[-1] == f"next: express-path scan --from-dump {folder}"
    assert {call.account_id for call in sandbox.calls if call.service == "ec2"} == {sandbox.account_id}


@pytest.mark.usefixtures("sandbox")
def test_the_next_command_can_be_copied(tmp_path: Path) -> None:
    """A folder name with a space is quoted for the shell."""
    folder = tmp_path / "my dump"
    [*_, line] = collect(folder).stdout.splitlines()
    command = line.removeprefix("next: express-path ")
    assert shlex.split(command) == ["scan", "--from-dump", str(folder)]


def test_files_have_the_format_of_the_aws_cli(sandbox: Sandbox, builder: Builder, folder: Path) -> None:
    """A file is the API's response with ISO 8601 times, without boto3's metadata; identity.json has the Region."""
    vpc = Private(builder)
    collect(folder)
    assert read(folder / "subnets.json").keys() == {"Subnets"}
    [gateway] = read(folder / "nat-gateways.json")["NatGateways"]
    assert gateway["NatGatewayId"] == vpc.nat
    assert gateway["CreateTime"].endswith("+00:00")
    assert read(folder / "identity.json").keys() == {"UserId", "Account", "Arn", "Region"}
    assert read(folder / "identity.json")["Account"] == sandbox.account_id
    assert read(folder / "identity.json")["Region"] == sandbox.region


def test_lists_are_read_to_their_last_page(sandbox: Sandbox, folder: Path) -> None:
    """The files have all items and no NextToken, whatever AWS's page size."""
    sandbox.ec2.knobs.page_size = 2
    collect(folder)
    assert len(read(folder / "subnets.json")["Subnets"]) == 6
    assert "NextToken" not in (folder / "subnets.json").read_text(encoding="utf-8")


def test_region_option_overrides_the_environment(sandbox: Sandbox, folder: Path) -> None:
    """--region takes precedence over the Region in the environment."""
    assert collect(folder, "--region", "eu-west-1").exit_code == 0
    assert read(folder / "identity.json")["Region"] == "eu-west-1"
    assert {call.region for call in sandbox.calls.of("ec2")} == {"eu-west-1"}


def test_empty_folder_is_used(sandbox: Sandbox, tmp_path: Path) -> None:
    """An existing empty folder is used."""
    assert sandbox.endpoint_url
    assert collect(tmp_path).exit_code == 0


def test_folder_that_is_not_empty_is_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    """A dump never overwrites files: the folder is refused before the first call."""
    (tmp_path / "notes.txt").write_text("mine")
    result = collect(tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"express-path: {tmp_path}: is not empty; use a new or empty folder" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert list(sandbox.calls) == []


def test_file_is_no_folder(sandbox: Sandbox, tmp_path: Path) -> None:
    """A file at the folder's path is refused before the first call."""
    file = tmp_path / "dump"
    file.write_text("mine")
    assert collect(file).exit_code == 2
    assert (file.read_text(), list(sandbox.calls)) == ("mine", [])


def test_missing_region_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a Region, the command prints one line and writes nothing."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    result = collect(folder)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no AWS Region is set" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not folder.exists()


def test_missing_credentials_are_one_line(sandbox: Sandbox, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without credentials, the command prints one line and writes nothing."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    result = collect(folder)
    assert result.exit_code == 2
    assert "Unable to locate credentials" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert list(sandbox.calls) == []


def test_unknown_profile_is_one_line(folder: Path) -> None:
    """If the profile does not exist, the command prints one line and writes nothing."""
    result = collect(folder, "--profile", "nowhere", "--region", "us-east-1")
    assert result.exit_code == 2
    assert "nowhere" in result.stderr
    assert len(result.stderr.splitlines()) == 1

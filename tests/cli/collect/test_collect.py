"""`express-path collect`: the files of a dump, and where AWS or the disk refuses.

tests/test_same_verdicts.py shows that a dump gives the verdicts of the rule.
"""

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from config_rule_sandbox.networks.account import Account
from config_rule_sandbox.networks.central_egress import Hub, Spoke, attach_to_core_network, connect_over
from config_rule_sandbox.networks.public_sides import BehindFirewall
from config_rule_sandbox.pytest_plugin import emptied
from config_rule_sandbox.server import Sandbox
from tests.support.command import invoke, scan

pytestmark = pytest.mark.slow

REQUIRED = {
    "vpcs.json": ("ec2", "DescribeVpcs"),
    "subnets.json": ("ec2", "DescribeSubnets"),
    "route-tables.json": ("ec2", "DescribeRouteTables"),
    "vpc-endpoints.json": ("ec2", "DescribeVpcEndpoints"),
    "nat-gateways.json": ("ec2", "DescribeNatGateways"),
    "prefix-lists.json": ("ec2", "DescribePrefixLists"),
    "identity.json": ("sts", "GetCallerIdentity"),
}
OPTIONAL = {
    "network-interfaces.json": ("ec2", "DescribeNetworkInterfaces"),
    "managed-prefix-lists.json": ("ec2", "DescribeManagedPrefixLists"),
    "managed-prefix-list-entries/": ("ec2", "GetManagedPrefixListEntries"),
    "transit-gateway-attachments.json": ("ec2", "DescribeTransitGatewayAttachments"),
    "transit-gateway-vpc-attachments.json": ("ec2", "DescribeTransitGatewayVpcAttachments"),
    "transit-gateway-connects.json": ("ec2", "DescribeTransitGatewayConnects"),
    "transit-gateway-route-tables.json": ("ec2", "DescribeTransitGatewayRouteTables"),
    "transit-gateway-routes/": ("ec2", "SearchTransitGatewayRoutes"),
    "transit-gateway-policy-table-entries/": ("ec2", "GetTransitGatewayPolicyTableEntries"),
    "core-network-attachments/": ("networkmanager", "GetVpcAttachment"),
    "firewalls/": ("network-firewall", "DescribeFirewall"),
    "firewall-endpoint-associations/": ("network-firewall", "DescribeVpcEndpointAssociation"),
    "directory-buckets.json": ("s3", "ListDirectoryBuckets"),
    "shared-subnets.json": ("ram", "ListResources"),
}


@pytest.fixture(scope="module")
def with_network(running_sandbox: Sandbox) -> Iterator[Sandbox]:
    """Yield the sandbox with a network for which each call is made. No test here changes it."""
    with pytest.MonkeyPatch.context() as changed, emptied(running_sandbox, changed) as sandbox:
        account = Account(sandbox)
        firewall = BehindFirewall(account)
        BehindFirewall(account, firewall_of=firewall)
        hub = Hub(account)
        hub.join(account)
        connect_over(account, hub.attachment)
        by_policy = Spoke(account, hub.gateway, ("a",))
        hub.decide_by_policy(by_policy.attachment, {"Protocol": "6"})
        network_arn, _ = attach_to_core_network(account, hub.vpc, hub.public)
        account.route(hub.public_table, "172.16.0.0/12", CoreNetworkArn=network_arn)
        account.ec2.create_managed_prefix_list(
            PrefixListName="customer", MaxEntries=5, AddressFamily="IPv4", Entries=[{"Cidr": "198.18.0.0/15"}]
        )
        yield sandbox


@pytest.fixture
def sandbox(with_network: Sandbox) -> Sandbox:
    """Return the sandbox with the network, where no call fails yet."""
    with_network.faults.clear()
    with_network.calls.clear()
    return with_network


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that does not exist yet, two levels below one that does. Its name has a space."""
    return tmp_path / "my dumps" / "here"


def collect(folder: Path, *options: str) -> Result:
    """Run the command in this process."""
    return invoke(["collect", str(folder), *options])


def read(path: Path) -> dict[str, Any]:
    """Return the contents of a file in a dump."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_a_dump_has_a_file_for_each_call(sandbox: Sandbox, folder: Path) -> None:
    """Each file is listed, nothing is changed, and the next command can be copied, whatever the folder's name."""
    result = collect(folder)
    assert (result.exit_code, result.stderr) == (0, "")
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*.json")}
    names = REQUIRED | OPTIONAL
    assert {name for name in names if name.endswith(".json")} <= written
    assert {name.partition("/")[0] for name in written if "/" in name} == {
        name.rstrip("/") for name in names if name.endswith("/")
    }
    *lines, last = result.stdout.splitlines()
    assert {line.rpartition(":")[0] for line in lines} == {str(folder / name) for name in written}
    command = shlex.split(last.removeprefix("next: express-path "))
    assert command == ["scan", "--from-dump", str(folder)]
    assert invoke(command).exit_code == 1
    assert sandbox.calls.mutating() == []


def test_files_have_the_format_of_the_aws_cli(sandbox: Sandbox, folder: Path) -> None:
    """A file is the API's response with ISO 8601 times, without boto3's metadata; identity.json has the Region."""
    collect(folder)
    assert read(folder / "subnets.json").keys() == {"Subnets"}
    gateway = read(folder / "nat-gateways.json")["NatGateways"][0]
    assert gateway["CreateTime"].endswith("+00:00")
    [firewall] = (folder / "firewalls").iterdir()
    assert "ResponseMetadata" not in read(firewall)
    identity = read(folder / "identity.json")
    assert identity.keys() == {"UserId", "Account", "Arn", "Region"}
    assert (identity["Account"], identity["Region"]) == (sandbox.account_id, sandbox.region)


def test_lists_are_read_to_their_last_page(
    sandbox: Sandbox, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files have all items and no NextToken, whatever AWS's page size."""
    collect(folder)
    monkeypatch.setattr(sandbox.ec2.knobs, "page_size", 2)
    collect(tmp_path / "in pages")
    for name in ("subnets.json", "route-tables.json"):
        assert read(tmp_path / "in pages" / name) == read(folder / name)


def test_a_region_without_the_service_can_be_collected(
    sandbox: Sandbox, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without S3 Express in the Region its host does not exist, so directory buckets are not listed.

    https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-az-networking.html has the hosts.
    """
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    result = collect(folder, "--region", "eu-south-1")
    assert (result.exit_code, result.stderr) == (0, "")
    assert read(folder / "identity.json")["Region"] == "eu-south-1"
    assert {call.region for call in sandbox.calls.of("ec2")} == {"eu-south-1"}


@pytest.mark.parametrize(
    ("name", "says"),
    [(".", "is not empty; use a new or empty folder"), ("file", "is not empty"), ("file/dump", "Not a directory")],
)
def test_a_folder_that_cannot_be_used_is_refused(sandbox: Sandbox, tmp_path: Path, name: str, says: str) -> None:
    """A dump never overwrites files: the folder is refused before the first call. An empty one is used."""
    (tmp_path / "file").write_text("mine")
    result = collect(tmp_path / name)
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert line.startswith(f"express-path: {tmp_path / name}: {says}")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
    assert list(sandbox.calls) == []
    (tmp_path / "empty").mkdir()
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
        closed = collect(tmp_path / "empty")
    assert (closed.exit_code, "Permission denied" in closed.stderr, list(sandbox.calls)) == (2, True, [])
    assert collect(tmp_path / "empty").exit_code == 0


@pytest.mark.usefixtures("sandbox")
def test_a_file_that_cannot_be_written_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk is full, the error names the file and not standard output."""
    usual = os.open

    def full(path: Any, *more: Any) -> int:
        """Fail like a disk without free space."""
        if str(path).startswith(str(folder)):
            raise OSError(28, "No space left on device")
        return usual(path, *more)

    monkeypatch.setattr(os, "open", full)
    result = collect(folder)
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert "vpcs.json: No space left on device; free some space" in line


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_denied_optional_read_is_named_and_left_out(sandbox: Sandbox, folder: Path, name: str) -> None:
    """It writes no file and is named on standard error, and the dump can be scanned."""
    sandbox.faults.deny(*OPTIONAL[name])
    result = collect(folder)
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert lines
    assert all(line.startswith(str(folder / name)) and "denied" in line for line in lines)
    if name.endswith(".json"):
        assert not (folder / name).exists()
    assert scan(folder).exit_code == 1


@pytest.mark.parametrize("name", REQUIRED)
def test_a_denied_required_read_makes_no_dump(sandbox: Sandbox, folder: Path, name: str) -> None:
    """The status is 2, and the folder cannot be scanned: the file that makes it a dump is written last."""
    service, operation = REQUIRED[name]
    sandbox.faults.deny(service, operation)
    result = collect(folder)
    assert result.exit_code == 2
    assert f"express-path: {sandbox.region}: {service}:{operation} failed with " in result.stderr
    assert "next:" not in result.stdout
    assert not (folder / "identity.json").exists()
    assert scan(folder).exit_code == 2


def test_a_failing_optional_read_makes_no_dump(sandbox: Sandbox, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Throttling is not a denial: a dump without the file would wrongly say that the data is not readable."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    sandbox.faults.throttle("ec2", "DescribeNetworkInterfaces")
    result = collect(folder)
    assert result.exit_code == 2
    assert "ec2:DescribeNetworkInterfaces failed with RequestLimitExceeded" in result.stderr
    assert scan(folder).exit_code == 2

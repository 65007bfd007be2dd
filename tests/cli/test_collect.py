"""`express-path collect` writes a dump with live credentials, and its verdicts are those of the rule."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from sandbox.server import Sandbox
from tests.support.command import invoke, scan
from tests.support.network import ANYWHERE_IPV6, Builder, Private
from tests.support.rule import Rule

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
    "transit-gateway-route-tables.json": ("ec2", "DescribeTransitGatewayRouteTables"),
    "transit-gateway-routes/": ("ec2", "SearchTransitGatewayRoutes"),
    "directory-buckets.json": ("s3", "ListDirectoryBuckets"),
    "shared-subnets.json": ("ram", "ListResources"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that does not exist yet, two levels below one that does."""
    return tmp_path / "dumps" / "here"


def collect(folder: Path, *options: str) -> Result:
    """Run the command in this process."""
    return invoke(["collect", str(folder), *options])


def read(path: Path) -> dict[str, Any]:
    """Return the contents of a file in a dump."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def rows(result: Result) -> dict[str, dict[str, Any]]:
    """Return the rows that a scan printed, by subnet."""
    return {row["subnetId"]: row for row in json.loads(result.stdout)["subnets"]}


def everything(builder: Builder) -> Private:
    """Build a VPC with a subnet for every kind of egress path that the sandbox supports."""
    vpc = Private(builder)
    builder.endpoint(vpc.vpc, vpc.public)
    hijacked = builder.table(vpc.vpc, NatGatewayId=vpc.nat)
    listed = builder.table(vpc.vpc, NatGatewayId=vpc.nat)
    builder.ec2.modify_vpc_endpoint(VpcEndpointId=builder.endpoint(vpc.vpc, hijacked), AddRouteTableIds=[listed])
    builder.route(hijacked, "192.0.2.1/32", NatGatewayId=vpc.nat)
    builder.route(listed, builder.prefix_list("198.51.100.0/30"), NatGatewayId=vpc.nat)
    instance = builder.ec2.run_instances(ImageId="ami-12345678", MinCount=1, MaxCount=1, SubnetId=vpc.public_subnet)
    interface = instance["Instances"][0]["NetworkInterfaces"][0]["NetworkInterfaceId"]
    builder.ec2.modify_network_interface_attribute(NetworkInterfaceId=interface, SourceDestCheck={"Value": False})
    gateway = builder.ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"]
    builder.ec2.create_transit_gateway_vpc_attachment(TransitGatewayId=gateway, VpcId=vpc.vpc, SubnetIds=[vpc.subnet])
    gone = builder.nat_gateway(vpc.public_subnet)
    tables = [
        hijacked,
        listed,
        builder.table(vpc.vpc, NetworkInterfaceId=interface),
        builder.table(vpc.vpc, TransitGatewayId=gateway),
        builder.table(vpc.vpc, VpcEndpointId=builder.appliance_endpoint(vpc.vpc, vpc.subnet)),
        builder.table(vpc.vpc, NatGatewayId=builder.nat_gateway(vpc.subnet, ConnectivityType="private")),
        builder.table(vpc.vpc, NatGatewayId=gone),
    ]
    for table in tables:
        builder.subnet(vpc.vpc, table)
    builder.ec2.delete_nat_gateway(NatGatewayId=gone)
    builder.tag(builder.subnet(vpc.vpc, vpc.table), "express-path:exclude")
    builder.dual_stack(vpc.vpc, builder.subnet(vpc.vpc, (dual := builder.table(vpc.vpc))))
    egress = builder.ec2.create_egress_only_internet_gateway(VpcId=vpc.vpc)["EgressOnlyInternetGateway"]
    builder.route(dual, ANYWHERE_IPV6, EgressOnlyInternetGatewayId=egress["EgressOnlyInternetGatewayId"])
    builder.subnet(vpc.vpc)
    return vpc


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


def test_nothing_is_changed(sandbox: Sandbox, builder: Builder, folder: Path) -> None:
    """Collecting makes no call that changes anything."""
    everything(builder)
    sandbox.calls.clear()
    collect(folder)
    assert len(sandbox.calls) > len(REQUIRED)
    assert sandbox.calls.mutating() == []


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


@pytest.mark.parametrize("name", OPTIONAL)
def test_denied_optional_reads_are_named_and_left_out(
    sandbox: Sandbox, builder: Builder, folder: Path, name: str
) -> None:
    """A denied optional read writes no file and is named on stderr, and the dump can be scanned."""
    everything(builder)
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
def test_denied_required_reads_make_no_dump(sandbox: Sandbox, folder: Path, name: str) -> None:
    """A denied required read ends the command with status 2, and the folder cannot be scanned as a dump."""
    service, operation = REQUIRED[name]
    sandbox.faults.deny(service, operation)
    result = collect(folder)
    assert result.exit_code == 2
    assert f"express-path: {sandbox.region}: {service}:{operation} failed with " in result.stderr
    assert "next:" not in result.stdout
    assert scan(folder).exit_code == 2


def test_failing_optional_reads_make_no_dump(sandbox: Sandbox, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Throttling is not a denial: a dump without the file would wrongly say that the data is not readable."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    sandbox.faults.throttle("ec2", "DescribeNetworkInterfaces")
    result = collect(folder)
    assert result.exit_code == 2
    assert "ec2:DescribeNetworkInterfaces failed with RequestLimitExceeded" in result.stderr
    assert scan(folder).exit_code == 2


def test_an_interrupted_collect_leaves_no_valid_dump(sandbox: Sandbox, builder: Builder, folder: Path) -> None:
    """The file that makes a folder a dump is written last, so an interrupted dump is not valid."""
    everything(builder)
    sandbox.faults.deny("sts", "GetCallerIdentity")
    collect(folder)
    assert (folder / "subnets.json").exists()
    assert not (folder / "identity.json").exists()
    assert "identity.json" in scan(folder).stderr


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

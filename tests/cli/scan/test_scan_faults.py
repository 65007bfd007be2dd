"""Invalid input: stderr names the file and the error, stdout is empty, and the exit status is 2."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.support import command
from tests.support.scenarios import EXPECTED, dump_of

# Each required file and the list that the call's output holds.
REQUIRED = {
    "vpcs.json": "Vpcs",
    "subnets.json": "Subnets",
    "route-tables.json": "RouteTables",
    "vpc-endpoints.json": "VpcEndpoints",
    "nat-gateways.json": "NatGateways",
    "prefix-lists.json": "PrefixLists",
}
OPTIONAL = [
    "network-interfaces.json",
    "managed-prefix-lists.json",
    "managed-prefix-list-entries/pl-0d41c6a87be29f530.json",
    "transit-gateway-attachments.json",
    "transit-gateway-vpc-attachments.json",
    "transit-gateway-route-tables.json",
    "transit-gateway-routes/tgw-rtb-05d2c1e7b3fa94860.json",
    "directory-buckets.json",
    "shared-subnets.json",
]
ARN = "arn:aws:iam::111122223333:role/NetworkReader"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A valid dump: a public subnet, and a private one that uses the endpoint."""
    return _copy("gateway-endpoint", tmp_path / "dump")


def _copy(name: str, folder: Path) -> Path:
    shutil.copytree(dump_of(name), folder)
    (folder / EXPECTED).unlink(missing_ok=True)
    return folder


def _refused(result: Result, *named: str) -> str:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.exception is None or isinstance(result.exception, SystemExit)
    for text in named:
        assert text.casefold() in result.stderr.casefold()
    return result.stderr


def _change(file: Path, change: Callable[[Any], object]) -> None:
    """Change a file's document in place."""
    document = json.loads(file.read_text(encoding="utf-8"))
    change(document)
    file.write_text(json.dumps(document, indent=4), encoding="utf-8")


def test_the_dump_without_a_fault_is_taken(dump: Path) -> None:
    """The dump that the tests below change can be scanned, so each error is caused by the change."""
    assert command.scan(dump).exit_code == 0


@pytest.mark.parametrize("file", [*REQUIRED, "identity.json"])
def test_a_required_file_is_missing(dump: Path, file: str) -> None:
    """If a required file is missing, the scan fails and names the file."""
    (dump / file).unlink()
    _refused(command.scan(dump), file, "missing")


@pytest.mark.parametrize("content", ["", " \n"])
@pytest.mark.parametrize("file", [*REQUIRED, "identity.json"])
def test_a_required_file_is_empty(dump: Path, file: str, content: str) -> None:
    """A failed call leaves an empty file, so an empty required file is an error and does not mean an empty list."""
    (dump / file).write_text(content, encoding="utf-8")
    _refused(command.scan(dump), file, "empty")


@pytest.mark.parametrize("file", [*REQUIRED, "identity.json"])
def test_a_required_file_is_cut_short(dump: Path, file: str) -> None:
    """A truncated file, as after an interrupted copy, is an error."""
    content = (dump / file).read_bytes()
    (dump / file).write_bytes(content[: len(content) // 2])
    _refused(command.scan(dump), file)


@pytest.mark.parametrize("content", ["[]", "null", '"text"', "12", "Unable to locate credentials."])
@pytest.mark.parametrize("file", [*REQUIRED, "identity.json"])
def test_a_required_file_is_no_json_object(dump: Path, file: str, content: str) -> None:
    """Every output of the AWS CLI is one JSON object; other JSON is an error."""
    (dump / file).write_text(content, encoding="utf-8")
    _refused(command.scan(dump), file)


@pytest.mark.parametrize("file", REQUIRED)
def test_a_required_file_is_of_another_call(dump: Path, file: str) -> None:
    """If a required file has another call's output, the error names the list that is expected."""
    (dump / file).write_text('{"Instances": []}', encoding="utf-8")
    _refused(command.scan(dump), file, REQUIRED[file])


def test_managed_prefix_lists_under_the_name_of_prefix_lists(dump: Path) -> None:
    """Both calls return PrefixLists, but only describe-prefix-lists has their CIDRs."""
    managed = dump_of("customer-list-to-nat") / "managed-prefix-lists.json"
    shutil.copy(managed, dump / "prefix-lists.json")
    _refused(command.scan(dump), "prefix-lists.json", "Cidrs")


@pytest.mark.parametrize("file", REQUIRED)
def test_a_required_file_is_one_page_of_several(dump: Path, file: str) -> None:
    """A NextToken means that the list is incomplete, which is an error."""
    _change(dump / file, lambda document: document.update(NextToken="eyJ2IjoiMiIsImMiOiJ"))
    _refused(command.scan(dump), file, "NextToken")


@pytest.mark.parametrize("field", ["Account", "Region"])
def test_the_identity_lacks_a_field(dump: Path, field: str) -> None:
    """identity.json without an account or a Region, as get-caller-identity alone prints it, is an error."""
    _change(dump / "identity.json", lambda document: document.pop(field))
    _refused(command.scan(dump), "identity.json", field)


@pytest.mark.parametrize("content", ['{"Vp', "[]", '{"Instances": []}'], ids=["cut short", "no object", "another call"])
@pytest.mark.parametrize("file", OPTIONAL)
def test_an_optional_file_is_malformed(dump: Path, file: str, content: str) -> None:
    """An optional file that exists must be valid, because half of it could give wrong verdicts."""
    (dump / file).parent.mkdir(exist_ok=True)
    (dump / file).write_text(content, encoding="utf-8")
    _refused(command.scan(dump), Path(file).name)


@pytest.mark.parametrize("file", OPTIONAL)
def test_an_optional_file_is_empty(dump: Path, file: str) -> None:
    """An empty optional file means not readable, and changes nothing where it is not needed."""
    before = command.without_time(command.scan(dump))
    (dump / file).parent.mkdir(exist_ok=True)
    (dump / file).touch()
    assert command.without_time(command.scan(dump)) == before


def test_there_is_no_dump(tmp_path: Path) -> None:
    """An empty folder is not a dump: the error names the folder."""
    (tmp_path / "nothing-here").mkdir()
    _refused(command.scan(tmp_path / "nothing-here"), "nothing-here")


def test_the_folder_holds_other_files(tmp_path: Path) -> None:
    """A folder with other files is not a dump."""
    (tmp_path / "holiday.json").write_text("{}", encoding="utf-8")
    _refused(command.scan(tmp_path), tmp_path.name)


def test_the_folder_does_not_exist(tmp_path: Path) -> None:
    """If the folder does not exist, the error names it."""
    _refused(command.scan(tmp_path / "gone"), "gone")


def test_the_folder_is_a_file(dump: Path) -> None:
    """If the path is a file, the error names it."""
    _refused(command.scan(dump / "vpcs.json"), "vpcs.json")


def test_one_of_several_folders_has_a_fault(tmp_path: Path) -> None:
    """If one account's folder has an error, nothing is printed for the other accounts either."""
    for name in ("two-accounts", "two-regions"):
        for folder in dump_of(name).iterdir():
            if folder.is_dir():
                shutil.copytree(folder, tmp_path / f"{name}-{folder.name}")
    (tmp_path / "two-regions-us-east-1").rename(tmp_path / "broken")
    (tmp_path / "broken" / "subnets.json").unlink()
    stderr = _refused(command.scan(tmp_path), "subnets.json", "missing")
    assert str(Path("broken") / "subnets.json") in stderr


def test_one_of_several_folders_holds_no_dump(tmp_path: Path) -> None:
    """A folder without a dump next to one with a dump is an error, for example after an interrupted collection."""
    _copy("gateway-endpoint", tmp_path / "web")
    (tmp_path / "payments").mkdir()
    _refused(command.scan(tmp_path), "payments")


def test_the_same_account_and_region_twice(tmp_path: Path) -> None:
    """Two folders of the same account and Region can contradict each other: the error names both."""
    _copy("gateway-endpoint", tmp_path / "monday")
    _copy("nat-gateway-zonal", tmp_path / "tuesday")
    _refused(command.scan(tmp_path), "monday", "tuesday", "123456789012", "us-east-1")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_as_powershell_writes_them(dump: Path, encoding: str) -> None:
    """Windows PowerShell's redirection writes UTF-16, and others a byte order mark; both are read."""
    before = command.without_time(command.scan(dump))
    for file in dump.glob("*.json"):
        file.write_text(file.read_text(encoding="utf-8"), encoding=encoding)
    result = command.scan(dump)
    assert (result.exit_code, command.without_time(result), result.stderr) == (0, before, "")


def test_files_in_no_unicode_encoding(dump: Path) -> None:
    """If a file is not text, the error names it."""
    (dump / "vpcs.json").write_bytes(b'{"Vpcs": [{"Tags": [{"Key": "Name", "Value": "caf\xe9"}]}]}')
    _refused(command.scan(dump), "vpcs.json")


def test_more_than_is_known_is_taken(dump: Path) -> None:
    """Files, fields and values that a newer AWS CLI adds cause no error."""
    before = command.without_time(command.scan(dump))
    (dump / "instances.json").write_text('{"Reservations": []}', encoding="utf-8")
    _change(dump / "subnets.json", lambda document: document["Subnets"][0].update(Colour="blue", Type="New"))
    _change(dump / "vpcs.json", lambda document: document.update(Notes=[{"Text": "new"}]))
    assert command.without_time(command.scan(dump)) == before


# A file, a change to its document that makes a record malformed, and the field at fault.
MALFORMED: dict[str, tuple[str, Callable[[Any], object], str]] = {
    "subnet without its id": ("subnets.json", lambda d: d["Subnets"][0].pop("SubnetId"), "SubnetId"),
    "subnet without its VPC": ("subnets.json", lambda d: d["Subnets"][0].pop("VpcId"), "VpcId"),
    "subnet without its owner": ("subnets.json", lambda d: d["Subnets"][0].pop("OwnerId"), "OwnerId"),
    "subnet's id no text": ("subnets.json", lambda d: d["Subnets"][0].update(SubnetId=7), "SubnetId"),
    "VPC without its id": ("vpcs.json", lambda d: d["Vpcs"][0].pop("VpcId"), "VpcId"),
    "table without its id": ("route-tables.json", lambda d: d["RouteTables"][0].pop("RouteTableId"), "RouteTableId"),
    "table without its VPC": ("route-tables.json", lambda d: d["RouteTables"][0].pop("VpcId"), "VpcId"),
    "table without routes": ("route-tables.json", lambda d: d["RouteTables"][0].pop("Routes"), "Routes"),
    "routes no list": ("route-tables.json", lambda d: d["RouteTables"][0].update(Routes={}), "Routes"),
    "associations no list": (
        "route-tables.json",
        lambda d: d["RouteTables"][0].update(Associations="x"),
        "Associations",
    ),
    "route without a destination": (
        "route-tables.json",
        lambda d: d["RouteTables"][0]["Routes"][0].pop("DestinationCidrBlock"),
        "Destination",
    ),
    "route's destination garbage": (
        "route-tables.json",
        lambda d: d["RouteTables"][0]["Routes"][0].update(DestinationCidrBlock="10.0.0.0/33"),
        "10.0.0.0/33",
    ),
    "route's destination no address": (
        "route-tables.json",
        lambda d: d["RouteTables"][0]["Routes"][0].update(DestinationCidrBlock="everywhere"),
        "everywhere",
    ),
    "route's IPv6 destination garbage": (
        "route-tables.json",
        lambda d: d["RouteTables"][0]["Routes"].append({"DestinationIpv6CidrBlock": "::g/0", "State": "active"}),
        "::g/0",
    ),
    "prefix list without its id": (
        "prefix-lists.json",
        lambda d: d["PrefixLists"][0].pop("PrefixListId"),
        "PrefixListId",
    ),
    "prefix list without its name": (
        "prefix-lists.json",
        lambda d: d["PrefixLists"][2].pop("PrefixListName"),
        "PrefixListName",
    ),
    "prefix list's CIDR garbage": (
        "prefix-lists.json",
        lambda d: d["PrefixLists"][2]["Cidrs"].append("44.220.0.0/99"),
        "44.220.0.0/99",
    ),
    "endpoint without its id": (
        "vpc-endpoints.json",
        lambda d: d["VpcEndpoints"][0].pop("VpcEndpointId"),
        "VpcEndpointId",
    ),
    "endpoint without its state": ("vpc-endpoints.json", lambda d: d["VpcEndpoints"][0].pop("State"), "State"),
    "NAT gateway without its id": (
        "nat-gateways.json",
        lambda d: d["NatGateways"][0].pop("NatGatewayId"),
        "NatGatewayId",
    ),
    "account no text": ("identity.json", lambda d: d.update(Account=123456789012), "Account"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_record_is_malformed(dump: Path, case: str) -> None:
    """If AWS could not have returned a record, the error names the file and the field or value."""
    file, change, fault = MALFORMED[case]
    _change(dump / file, change)
    _refused(command.scan(dump), file, fault)


def test_a_transit_gateway_route_is_malformed(tmp_path: Path) -> None:
    """If the destination of a transit gateway's route is malformed, the error names the file."""
    dump = _copy("transit-gateway-central-egress", tmp_path / "dump")
    file = next(path for path in (dump / "transit-gateway-routes").iterdir() if "0.0.0.0/0" in path.read_text())
    _change(file, lambda document: document["Routes"][0].update(DestinationCidrBlock="nowhere"))
    _refused(command.scan(dump), "transit-gateway-routes", "nowhere")


def test_an_entry_of_a_customer_prefix_list_is_malformed(tmp_path: Path) -> None:
    """If an entry of a customer-managed list is not a CIDR, the error names its value."""
    dump = _copy("customer-list-to-nat", tmp_path / "dump")
    (file,) = (dump / "managed-prefix-list-entries").iterdir()
    _change(file, lambda document: document["Entries"][0].update(Cidr="0.0.0.0/0x"))
    _refused(command.scan(dump), "0.0.0.0/0x")


@pytest.mark.parametrize("also_missing", [[], ["NetworkInterfaceId"]], ids=["with its id", "without any id"])
def test_a_network_interface_that_a_route_uses_is_malformed(tmp_path: Path, also_missing: list[str]) -> None:
    """A network interface without a source/destination check is an error; no value is assumed."""
    dump = _copy("nat-instance", tmp_path / "dump")
    for field in ["SourceDestCheck", *also_missing]:
        _change(dump / "network-interfaces.json", lambda document, field=field: _used_interface(document).pop(field))
    _refused(command.scan(dump), "network-interfaces.json", (also_missing or ["SourceDestCheck"])[0])


def _used_interface(document: dict[str, Any]) -> dict[str, Any]:
    """Return the interface of the dump's NAT instance."""
    (found,) = (row for row in document["NetworkInterfaces"] if not row.get("SourceDestCheck"))
    return found


@pytest.mark.parametrize("incomplete", [{}, {"NetworkInterfaceId": "eni-0a1b2c3d4e5f60718"}, {"Attachment": "none"}])
def test_a_network_interface_that_no_route_uses_is_malformed(tmp_path: Path, incomplete: dict[str, Any]) -> None:
    """EC2 lists every interface of the account, so an incomplete one that no route needs is not an error."""
    dump = _copy("nat-instance", tmp_path / "dump")
    before = command.scan(dump)
    _change(dump / "network-interfaces.json", lambda document: document["NetworkInterfaces"].insert(0, incomplete))
    after = command.scan(dump)
    assert command.without_time(after) == command.without_time(before)
    assert (after.exit_code, after.stderr) == (before.exit_code, "")
    assert before.exit_code == 1


def test_a_network_interface_is_whole_in_another_folder(tmp_path: Path) -> None:
    """An incomplete description of a participant's NAT instance is not an error if another dump has it complete."""
    shutil.copytree(dump_of("interface-of-a-participant"), tmp_path / "dump")
    before = command.scan(tmp_path / "dump")
    assert "NAT_INSTANCE" in before.stdout
    (whole,) = (file for file in (tmp_path / "dump").glob("*/network-interfaces.json") if "eni-" in file.read_text())
    for folder in (path for path in (tmp_path / "dump").iterdir() if path.is_dir() and path != whole.parent):
        shutil.copy(whole, folder)
        _change(folder / whole.name, lambda document: [row.pop("SubnetId") for row in document["NetworkInterfaces"]])
    assert command.without_time(command.scan(tmp_path / "dump")) == command.without_time(before)
    _change(whole, lambda document: [row.pop("SubnetId") for row in document["NetworkInterfaces"]])
    _refused(command.scan(tmp_path / "dump"), "network-interfaces.json", "SubnetId")


# What a dump may hold that would make every subnet look fine: the file, a change to its document, and the fault.
ALL_CLEAR: dict[str, tuple[str, Callable[[Any], object], list[str]]] = {
    "wrong Region": (
        "identity.json",
        lambda d: d.update(Region="eu-west-1"),
        ["prefix-lists.json", "no prefix list of eu-west-1", "us-east-1", "identity.json"],
    ),
    "Region whose name starts alike": (
        "identity.json",
        lambda d: d.update(Region="us-east-11"),
        ["prefix-lists.json", "no prefix list of us-east-11"],
    ),
    "no prefix list": (
        "prefix-lists.json",
        lambda d: d["PrefixLists"].clear(),
        ["prefix-lists.json", "no prefix list"],
    ),
    "only global prefix lists": (
        "prefix-lists.json",
        lambda d: [row.update(PrefixListName="com.amazonaws.global.cloudfront") for row in d["PrefixLists"]],
        ["prefix-lists.json", "no prefix list of us-east-1"],
    ),
    "endpoint without its prefix list": (
        "prefix-lists.json",
        lambda d: d.update(PrefixLists=[e for e in d["PrefixLists"] if "s3express" not in e["PrefixListName"]]),
        ["prefix-lists.json", "no s3express prefix list", "vpce-"],
    ),
}


@pytest.mark.parametrize("case", ALL_CLEAR)
def test_a_dump_that_would_give_a_false_all_clear(dump: Path, case: str) -> None:
    """Prefix lists that cannot be the Region's are an error, because S3 Express would seem not to be offered."""
    file, change, faults = ALL_CLEAR[case]
    _change(dump / file, change)
    _refused(command.scan(dump), *faults)


def test_managed_prefix_lists_of_another_region(tmp_path: Path) -> None:
    """Prefix lists of another Region can hide the Region's IPv6 list. Customer-managed lists name no Region."""
    dump = _copy("customer-list-to-nat", tmp_path / "dump")
    file = dump / "managed-prefix-lists.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    own = [row for row in document["PrefixLists"] if row["OwnerId"] != "AWS"]
    file.write_text(json.dumps({"PrefixLists": own}), encoding="utf-8")
    assert command.scan(dump).exit_code != 2
    file.write_text(json.dumps(document).replace("us-east-1.", "eu-west-1."), encoding="utf-8")
    _refused(command.scan(dump), "managed-prefix-lists.json", "no prefix list of us-east-1")


@pytest.mark.parametrize("file", [*REQUIRED, "identity.json", *OPTIONAL])
def test_a_key_is_there_twice(dump: Path, file: str) -> None:
    """JSON does not define which of two equal keys counts, and one of them can be empty."""
    path = dump / file
    path.parent.mkdir(exist_ok=True)
    written = path.read_text(encoding="utf-8").strip() if path.exists() else '{"Other": [{"Deep": 1}]}'
    path.write_text(written.replace("{", '{"Rows": [{"Twice": [], "Twice": null}], ', 1), encoding="utf-8")
    _refused(command.scan(dump), Path(file).name, "the key 'Twice' twice")


@pytest.mark.parametrize(
    ("parameter", "named"),
    [
        ("publicSubnet=COMPLIANT", ["publicSubnet", "publicSubnets", "unresolvedEgress", "excludeTag"]),
        ("publicsubnets=COMPLIANT", ["publicsubnets"]),
        ("=COMPLIANT", []),
        ("publicSubnets", ["publicSubnets", "="]),
        ("", ["="]),
        ("publicSubnets=", ["publicSubnets", "must be one of"]),
        ("publicSubnets=compliant", ["publicSubnets", "COMPLIANT", "NON_COMPLIANT", "NOT_APPLICABLE"]),
        ("publicSubnets=INSUFFICIENT_DATA", ["publicSubnets", "COMPLIANT", "NON_COMPLIANT", "NOT_APPLICABLE"]),
        ("unresolvedEgress=COMPLIANT", ["unresolvedEgress", "NOT_APPLICABLE", "NON_COMPLIANT"]),
        ("scope=SOME", ["scope", "ALL", "DIRECTORY_BUCKETS"]),
        ("vpcIds=subnet-0f1e2d3c4b5a69788", ["vpcIds", "subnet-0f1e2d3c4b5a69788"]),
        ("vpcIds=vpc-0f1e2d3c4b5a69788,,x", ["vpcIds"]),
        ("networkRoleArn=NetworkReader", ["networkRoleArn", "NetworkReader"]),
    ],
)
def test_a_parameter_is_wrong(dump: Path, parameter: str, named: list[str]) -> None:
    """An unknown parameter or an invalid value is an error that names it and the allowed ones."""
    arguments = ["scan", "--from-dump", str(dump), "--format", "json", "--parameter", parameter]
    _refused(command.invoke(arguments), *named)


def test_every_parameter_is_taken(dump: Path) -> None:
    """The command accepts every rule parameter with each of its values."""
    values = {
        "publicSubnets": ["COMPLIANT", "NON_COMPLIANT", "NOT_APPLICABLE"],
        "unresolvedEgress": ["NOT_APPLICABLE", "NON_COMPLIANT"],
        "scope": ["ALL", "DIRECTORY_BUCKETS"],
        "vpcIds": ["vpc-0f1e2d3c4b5a69788", "vpc-0f1e2d3c,vpc-0a1b2c3d"],
        "excludeTag": ["express-path:exclude", "team=legacy", "a=b=c"],
        "networkRoleArn": [ARN],
    }
    for name, allowed in values.items():
        for value in allowed:
            result = command.scan(dump, {name: value})
            assert result.exit_code in {0, 1}, (name, value, result.stderr)
            assert json.loads(result.stdout)["schemaVersion"] == 1


def test_a_fault_wins_over_a_finding(tmp_path: Path) -> None:
    """If one folder has a NAT path and another has an error, the status is 2, not 1."""
    _copy("nat-gateway-zonal", tmp_path / "web")
    assert command.scan(tmp_path).exit_code == 1
    shutil.copytree(dump_of("two-accounts") / "payments", tmp_path / "payments")
    (tmp_path / "payments" / "nat-gateways.json").unlink()
    _refused(command.scan(tmp_path), "nat-gateways.json")


@pytest.mark.parametrize("arguments", [["scan"], ["scan", "--from-dump", ".", "--format", "xml"]])
def test_the_command_line_is_wrong(arguments: list[str]) -> None:
    """A missing folder and an unknown format are usage errors: status 2, and nothing on stdout."""
    _refused(command.invoke(arguments))

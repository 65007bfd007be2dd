"""Reading dumps: one file, one folder, and the folders of several accounts and Regions."""

import json
from pathlib import Path
from typing import Any

import pytest

from express_path.domain.verdict.evaluator import Account
from express_path.errors import DumpError
from express_path_cli.sources.dump import REQUIRED, DumpedAccount, DumpedRegion, read_dump
from tests.support.dumps import ACCOUNT, ATTACHMENT, INTERFACE, MANAGED, REGION, empty_dump, write

OTHER = "444455556666"
VPC = {"VpcId": "vpc-1", "OwnerId": ACCOUNT}
SUBNET = {"SubnetId": "subnet-1", "VpcId": "vpc-1", "OwnerId": ACCOUNT}
FIREWALL = {"FirewallName": "f", "FirewallArn": f"arn:aws:network-firewall:{REGION}:{ACCOUNT}:firewall/f"}
OPTIONAL: dict[str, dict[str, Any]] = {
    "network-interfaces.json": {"NetworkInterfaces": [INTERFACE]},
    "managed-prefix-lists.json": {"PrefixLists": [MANAGED]},
    "managed-prefix-list-entries/pl-1.json": {"Entries": [{"Cidr": "10.0.0.0/8"}]},
    "transit-gateway-attachments.json": {"TransitGatewayAttachments": [ATTACHMENT]},
    "transit-gateway-vpc-attachments.json": {
        "TransitGatewayVpcAttachments": [{**ATTACHMENT, "VpcId": "vpc-1", "SubnetIds": ["subnet-1"]}]
    },
    "transit-gateway-route-tables.json": {
        "TransitGatewayRouteTables": [{"TransitGatewayRouteTableId": "tgw-rtb-1", "TransitGatewayId": "tgw-1"}]
    },
    "transit-gateway-connects.json": {
        "TransitGatewayConnects": [
            {"TransitGatewayAttachmentId": "tgw-attach-9", "TransportTransitGatewayAttachmentId": "tgw-attach-1"}
        ]
    },
    "core-network-attachments/attachment-1.json": {
        "VpcAttachment": {
            "Attachment": {
                "AttachmentId": "attachment-1",
                "CoreNetworkArn": "arn:aws:networkmanager::111122223333:core-network/core-network-1",
                "State": "AVAILABLE",
                "ResourceArn": "arn:aws:ec2:us-east-1:111122223333:vpc/vpc-1",
            },
            "SubnetArns": ["arn:aws:ec2:us-east-1:111122223333:subnet/subnet-1"],
        }
    },
    "transit-gateway-routes/tgw-rtb-1.json": {"Routes": []},
    "firewalls/f.json": {"Firewall": FIREWALL, "FirewallStatus": {"Status": "READY"}},
    "directory-buckets.json": {"Buckets": [{"Name": "lake--use1-az4--x-s3"}]},
    "shared-subnets.json": {"resources": [{"arn": f"arn:aws:ec2:{REGION}:{ACCOUNT}:subnet/subnet-1"}]},
}
COMMANDS = {file.name: file.command for file in REQUIRED} | {"identity.json": "aws sts get-caller-identity"}
"""The command that creates each required file."""


def read(folder: Path) -> DumpedRegion:
    """Return the only Region of a dump."""
    [region] = read_dump(folder).regions
    return region


def refusal(folder: Path, file: str = "") -> DumpError:
    """Return the error that names a file of a dump, or else its folder."""
    with pytest.raises(DumpError) as raised:
        read_dump(folder)
    assert raised.value.path == str(folder / file)
    return raised.value


def test_the_required_files_alone(tmp_path: Path) -> None:
    """What optional files would contain is unknown without them."""
    region = read(empty_dump(tmp_path, Vpcs=[VPC], Subnets=[SUBNET]))
    network = region.network
    assert (network.account_id, network.region, list(network.vpcs)) == (ACCOUNT, REGION, ["vpc-1"])
    assert network.network_interfaces is network.firewalls is None
    assert network.transit_gateway_attachments is network.transit_gateway_route_tables is None
    assert network.transit_gateway_connects is None
    assert region.accounts == (DumpedAccount(Account(ACCOUNT), ("subnet-1",)),)


def test_every_optional_file(tmp_path: Path) -> None:
    """Each optional file adds its resources."""
    empty_dump(tmp_path, PrefixLists=listed(f"{REGION}.s3express"))
    for name, document in OPTIONAL.items():
        write(tmp_path / name, document)
    region = read(tmp_path)
    network = region.network
    assert list(network.network_interfaces or ()) == ["eni-1"]
    assert [str(cidr) for cidr in network.prefix_lists["pl-1"].cidrs or ()] == ["10.0.0.0/8"]
    assert (network.transit_gateway_attachments or {})["tgw-attach-1"].subnet_ids == ("subnet-1",)
    assert list(network.transit_gateway_route_tables or ()) == ["tgw-rtb-1"]
    assert network.transit_gateway_of_table == {"tgw-rtb-1": "tgw-1"}
    assert network.transit_gateway_connects == {"tgw-attach-9": {"tgw-attach-1"}}
    assert (network.core_network_attachments or {})["attachment-1"].subnet_ids == ("subnet-1",)
    assert list(network.firewalls or ()) == [FIREWALL["FirewallArn"]]
    assert region.accounts[0].account.has_directory_buckets is True
    assert region.accounts[0].account.shared_subnet_ids == {"subnet-1"}


def test_files_and_fields_of_a_newer_version_are_ignored(tmp_path: Path) -> None:
    """A newer AWS CLI may write more."""
    empty_dump(tmp_path, Vpcs=[{**VPC, "Colour": "blue"}])
    write(tmp_path / "instances.json", {"Reservations": []})
    write(tmp_path / "nat-gateways.json", {"NatGateways": [], "Notes": [{}], "NextToken": None})
    write(tmp_path / "managed-prefix-list-entries" / "README.md", "notes")
    assert list(read(tmp_path).network.vpcs) == ["vpc-1"]


@pytest.mark.parametrize(
    ("name", "field", "attribute", "known"),
    [
        ("directory-buckets.json", "Buckets", "has_directory_buckets", False),
        ("shared-subnets.json", "resources", "shared_subnet_ids", frozenset()),
    ],
)
def test_an_empty_list_differs_from_an_empty_file(
    tmp_path: Path, name: str, field: str, attribute: str, known: object
) -> None:
    """An empty list means that there are none; an empty file is left by a denied call."""
    for content, value in (({field: []}, known), ("", None)):
        write(empty_dump(tmp_path) / name, content)
        assert getattr(read(tmp_path).accounts[0].account, attribute) == value


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xef\xbb\xbf\r\n", b"\xff\xfe\r\x00\n\x00"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_required_file_that_is_missing_or_empty_is_refused(tmp_path: Path, name: str, content: bytes | None) -> None:
    """A failed call leaves an empty file; PowerShell leaves a byte order mark. The error has the command to run."""
    file = empty_dump(tmp_path) / name
    file.unlink() if content is None else file.write_bytes(content)
    error = refusal(tmp_path, name)
    assert ("missing" if content is None else "empty") in error.fault
    assert f"create it with: {COMMANDS[name]}" in error.remedy


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe\r\x00\n\x00"])
@pytest.mark.parametrize("name", ["network-interfaces.json", "transit-gateway-routes/tgw-rtb-1.json"])
def test_an_optional_file_that_is_empty_is_unknown(tmp_path: Path, name: str, content: bytes) -> None:
    """An optional file that a denied call left is the same as none."""
    write(empty_dump(tmp_path) / name, "").write_bytes(content)
    assert read(tmp_path).network.network_interfaces is None
    assert read(tmp_path).network.transit_gateway_route_tables is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_files_of_powershell_are_read(tmp_path: Path, encoding: str, line_end: str) -> None:
    """PowerShell redirects into UTF-16 with a byte order mark and Windows line ends."""
    text = json.dumps({"Subnets": [SUBNET]}, indent=4).replace("\n", line_end)
    (empty_dump(tmp_path) / "subnets.json").write_bytes(text.encode(encoding))
    assert list(read(tmp_path).network.subnets) == ["subnet-1"]


FAULTS = {
    b'{"FIELD": [': "cut short",
    b"Unable to locate credentials.": "not JSON",
    b'{"FIELD": []} {}': "not JSON",
    b'{"FIELD": ["caf\xe9"]}': "not JSON",
    b"[" * 100_000: "not JSON",
    b"[]": "not the JSON object",
    b"null": "not the JSON object",
    b'{"FIELD": [], "NextToken": "more"}': "contains a NextToken",
    b'{"FIELD": [], "nextToken": "more"}': "contains a nextToken",
    b'{"FIELD": [], "ContinuationToken": "more"}': "contains a ContinuationToken",
    b'{"FIELD": [], "FIELD": null}': "has the key 'FIELD' twice",
    b'{"FIELD": [], "Rows": [{"Twice": 1, "Twice": 2}]}': "has the key 'Twice' twice",
    b'{"Instances": []}': "contains Instances, but must contain the list FIELD",
    b"{}": "contains nothing, but must contain the list FIELD",
    b'{"FIELD": {}}': "must contain the list FIELD",
    b'{"FIELD": null}': "must contain the list FIELD",
    b'{"FIELD": ["vpc-1"]}': "must contain the list FIELD",
}
FILES = {
    "vpcs.json": ("Vpcs", "aws ec2 describe-vpcs"),
    "network-interfaces.json": ("NetworkInterfaces", "aws ec2 describe-network-interfaces"),
    "managed-prefix-list-entries/pl-1.json": (
        "Entries",
        "aws ec2 get-managed-prefix-list-entries --prefix-list-id pl-1",
    ),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", FAULTS, ids=list(map(str, range(len(FAULTS)))))
def test_a_file_that_is_not_the_whole_answer_of_its_call_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    """A required file, an optional one, and one for an ID: the error names the fault and the command."""
    field, command = FILES[name]
    write(empty_dump(tmp_path) / name, "").write_bytes(content.replace(b"FIELD", field.encode()))
    error = refusal(tmp_path, name)
    assert FAULTS[content].replace("FIELD", field) in error.fault
    assert f"create it again with: {command} > {Path(name).name}" in error.remedy


@pytest.mark.parametrize("name", [*COMMANDS, *OPTIONAL])
def test_every_file_must_be_complete(tmp_path: Path, name: str) -> None:
    """Half of any file, also of an optional one, could give wrong verdicts."""
    write(empty_dump(tmp_path) / name, '{"')
    assert "cut short" in refusal(tmp_path, name).fault


@pytest.mark.parametrize("name", ["managed-prefix-list-entries", "transit-gateway-routes", "firewalls"])
def test_a_file_in_place_of_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    """There is one file for each ID."""
    write(empty_dump(tmp_path) / name, {})
    assert "must be a folder" in refusal(tmp_path, name).fault


BAD_RECORDS: dict[str, dict[str, Any]] = {
    "vpcs.json": {"Vpcs": [{"VpcId": 1}]},
    "subnets.json": {"Subnets": [{"SubnetId": 1}]},
    "route-tables.json": {"RouteTables": [{"RouteTableId": 1}]},
    "vpc-endpoints.json": {"VpcEndpoints": [{"VpcEndpointId": 1}]},
    "nat-gateways.json": {"NatGateways": [{"NatGatewayId": 1}]},
    "prefix-lists.json": {"PrefixLists": [{"PrefixListId": 1}]},
    "managed-prefix-lists.json": {"PrefixLists": [{"PrefixListId": 1}]},
    "managed-prefix-list-entries/pl-1.json": {"Entries": [{"Cidr": "10.0.0.0"}]},
    "transit-gateway-attachments.json": {"TransitGatewayAttachments": [{"State": 1}]},
    "transit-gateway-vpc-attachments.json": {"TransitGatewayVpcAttachments": [{"SubnetIds": 1}]},
    "transit-gateway-routes/tgw-rtb-1.json": {"Routes": [{"State": 1}]},
    "firewalls/f.json": {"Firewall": {"FirewallArn": 1}},
    "firewall-endpoint-associations/f.json": {"VpcEndpointAssociation": {"FirewallArn": 1}},
    "shared-subnets.json": {"resources": [{"arn": 1}]},
    "identity.json": {"Account": ACCOUNT},
}


@pytest.mark.parametrize("name", BAD_RECORDS)
def test_a_record_that_cannot_be_read_is_refused_with_its_file(tmp_path: Path, name: str) -> None:
    """The error names the file, the resource, and the field."""
    write(empty_dump(tmp_path) / "managed-prefix-lists.json", {"PrefixLists": [MANAGED]})
    write(tmp_path / name, BAD_RECORDS[name])
    assert "field" in refusal(tmp_path, name).fault


@pytest.mark.parametrize("identity", [{"Account": "123"}, {"Account": "x" * 12}, {"Region": "virginia"}, {"Region": 1}])
def test_an_identity_names_an_account_and_a_region(tmp_path: Path, identity: dict[str, object]) -> None:
    """The AWS CLI prints no Region, so a person adds it."""
    write(empty_dump(tmp_path) / "identity.json", {"Account": ACCOUNT, "Region": REGION, **identity})
    assert next(iter(identity)) in refusal(tmp_path, "identity.json").fault


GATEWAY = {
    "VpcEndpointId": "vpce-0a1",
    "VpcId": "vpc-0a1",
    "VpcEndpointType": "Gateway",
    "ServiceName": f"com.amazonaws.{REGION}.s3",
    "State": "available",
}


@pytest.mark.parametrize(
    ("file", "field", "row"),
    [
        ("nat-gateways.json", "NatGateways", {"NatGatewayId": "nat-0a1", "VpcId": "vpc-0a1", "State": "available"}),
        ("vpc-endpoints.json", "VpcEndpoints", GATEWAY),
    ],
)
def test_an_identity_of_another_account_is_refused(tmp_path: Path, file: str, field: str, row: dict[str, Any]) -> None:
    """Only a VPC's owner sees its NAT gateways and gateway endpoints, so the owner made the dump, not the named account."""
    empty_dump(tmp_path, Vpcs=[{"VpcId": "vpc-0a1", "OwnerId": OTHER}])
    write(tmp_path / "vpc-endpoints.json", {"VpcEndpoints": [{**GATEWAY, "VpcEndpointType": "Interface"}]})
    read(tmp_path)  # subnets of another account's VPC may be shared with this one, which may have interfaces there
    write(tmp_path / file, {field: [row]})
    error = refusal(tmp_path, "identity.json")
    assert f"field Account is '{ACCOUNT}': must be {OTHER}" in error.fault
    assert f"only the owner of vpc-0a1 can describe {next(iter(row.values()))}" in error.fault


@pytest.mark.parametrize(
    ("region", "fields", "fault"),
    [
        ("eu-west-1", {"AvailabilityZone": "us-east-1a"}, "field AvailabilityZone is 'us-east-1a'"),
        ("us-east-1", {"AvailabilityZone": "us-east-10a"}, "field AvailabilityZone is 'us-east-10a'"),
        ("us-east-1", {"AvailabilityZone": "us-west-2-lax-1a"}, "field AvailabilityZone is 'us-west-2-lax-1a'"),
        (
            "cn-north-1",
            {"SubnetArn": "arn:aws-cn:ec2:cn-northwest-1:111122223333:subnet/subnet-1"},
            "field SubnetArn is 'arn:aws-cn:ec2:cn-northwest-1:111122223333:subnet/subnet-1'",
        ),
        ("us-east-1", {"AvailabilityZone": "us-east-1b"}, ""),
        ("us-west-2", {"AvailabilityZone": "us-west-2-lax-1a"}, ""),
        ("us-east-1", {"AvailabilityZone": "us-east-1-wl1-bos-wlz-1"}, ""),
        ("us-east-1", {"AvailabilityZoneId": "use1-az1"}, ""),
        ("us-east-1", {"AvailabilityZone": "a new form", "SubnetArn": "a new form"}, ""),
        ("us-gov-west-1", {"SubnetArn": "arn:aws-us-gov:ec2:us-gov-west-1:111122223333:subnet/subnet-1"}, ""),
        ("cn-north-1", {"SubnetArn": "arn:aws-cn:ec2:cn-north-1:1:subnet/s", "AvailabilityZone": "cn-north-1a"}, ""),
    ],
)
def test_an_identity_of_another_region_is_refused(
    tmp_path: Path, region: str, fields: dict[str, str], fault: str
) -> None:
    """A subnet's ARN contains the Region, and so do the names of Availability, Local, and Wavelength Zones."""
    empty_dump(tmp_path, region=region, Subnets=[{**SUBNET, **fields}])
    if not fault:
        assert read(tmp_path)
        return
    error = refusal(tmp_path, "subnets.json")
    assert f"subnet-1: {fault}: must be in {region}, the Region in identity.json" in error.fault
    assert "or correct the Region in identity.json" in error.remedy


def test_null_in_a_list_is_not_the_answer_of_another_command(tmp_path: Path) -> None:
    """It counts as something that shows nothing, and the rest of the list is read."""
    empty_dump(tmp_path, Subnets=[None, SUBNET])
    assert set(read(tmp_path).network.subnets) == {"Subnets without SubnetId", "subnet-1"}


FIRST_INTERFACE = {
    "NetworkInterfaceId": "eni-1",
    "SourceDestCheck": "on",
    "Attachment": {"InstanceId": "i-1", "DeviceIndex": 0},
}
SECOND_INTERFACE = {
    "NetworkInterfaceId": "eni-2",
    "SubnetId": "subnet-1",
    "SourceDestCheck": True,
    "Attachment": {"InstanceId": "i-1", "DeviceIndex": 1},
}
WHOLE = {**SECOND_INTERFACE, **FIRST_INTERFACE, "SourceDestCheck": True}


@pytest.mark.parametrize(
    ("target", "interfaces", "refused"),
    [
        ({"InstanceId": "i-1"}, [FIRST_INTERFACE, SECOND_INTERFACE], True),
        ({"InstanceId": "i-1"}, [FIRST_INTERFACE, WHOLE], False),
        ({"InstanceId": "i-1"}, [{"NetworkInterfaceId": 1}, WHOLE], False),
        ({"InstanceId": "i-1"}, [{"NetworkInterfaceId": 1}], True),
        ({"InstanceId": "i-2"}, [FIRST_INTERFACE], False),
        ({"NetworkInterfaceId": "eni-1"}, [FIRST_INTERFACE], True),
        ({"NetworkInterfaceId": "eni-2"}, [FIRST_INTERFACE, SECOND_INTERFACE], False),
        ({"NatGatewayId": "nat-1"}, [{"SubnetId": 1}, FIRST_INTERFACE, {"Attachment": "none"}], False),
    ],
)
def test_only_interfaces_that_routes_use_must_be_complete(
    tmp_path: Path, target: dict[str, str], interfaces: list[dict[str, object]], *, refused: bool
) -> None:
    """A route can use an interface by its own ID or by its instance's ID; another folder may describe it completely."""
    route = {"DestinationCidrBlock": "0.0.0.0/0", "State": "active", **target}
    table = {"RouteTableId": "rtb-1", "VpcId": "vpc-1", "Routes": [route]}
    empty_dump(tmp_path / "own", Vpcs=[VPC], Subnets=[SUBNET], RouteTables=[table])
    write(tmp_path / "own" / "network-interfaces.json", {"NetworkInterfaces": interfaces})
    if refused:
        assert "field" in refusal(tmp_path, "own/network-interfaces.json").fault
        whole = [{**WHOLE, "NetworkInterfaceId": "eni-1"}]
        write(empty_dump(tmp_path / "other", OTHER) / "network-interfaces.json", {"NetworkInterfaces": whole})
    assert read(tmp_path)


def listed(*names: str) -> list[dict[str, object]]:
    """Return AWS's prefix lists with these names."""
    return [
        {"PrefixListId": f"pl-{number}", "PrefixListName": f"com.amazonaws.{name}", "Cidrs": ["192.0.2.0/24"]}
        for number, name in enumerate(names)
    ]


ENDPOINT = {
    "VpcEndpointId": "vpce-1",
    "VpcId": "vpc-1",
    "VpcEndpointType": "Gateway",
    "ServiceName": f"com.amazonaws.{REGION}.s3express",
    "State": "available",
}


@pytest.mark.parametrize(
    ("lists", "fault"),
    [
        ([], "has no prefix list, but every Region has some"),
        (listed("eu-west-1.s3"), f"has com.amazonaws.eu-west-1.s3 and no prefix list of {REGION}"),
        (listed(f"{REGION}1.s3"), f"no prefix list of {REGION}"),
        (listed("global.cloudfront"), f"no prefix list of {REGION}"),
        (listed(f"{REGION}.s3", "eu-west-1.s3express"), "has no s3express prefix list, although vpce-1 is a gateway"),
    ],
)
def test_prefix_lists_that_cannot_be_those_of_the_region_are_refused(
    tmp_path: Path, lists: list[dict[str, object]], fault: str
) -> None:
    """S3 Express would seem not to be offered, and every subnet fine."""
    empty_dump(tmp_path, PrefixLists=lists, VpcEndpoints=[ENDPOINT])
    error = refusal(tmp_path, "prefix-lists.json")
    assert fault in error.fault
    assert "or correct the Region in identity.json" in error.remedy


def test_directory_buckets_where_the_service_is_not_offered_are_refused(tmp_path: Path) -> None:
    """There are buckets, so the lists are not those of the Region, or some are missing."""
    empty_dump(tmp_path, PrefixLists=listed(f"{REGION}.s3"))
    write(tmp_path / "directory-buckets.json", OPTIONAL["directory-buckets.json"])
    assert "although directory-buckets.json has a directory bucket" in refusal(tmp_path, "prefix-lists.json").fault


def test_a_region_without_the_service_has_no_list_of_it(tmp_path: Path) -> None:
    """The list of another Region is not that of this one."""
    empty_dump(tmp_path, PrefixLists=listed(f"{REGION}.s3", "eu-west-1.s3express"))
    assert read(tmp_path).network.express_prefix_lists == ()


def test_managed_prefix_lists_of_another_region_are_refused(tmp_path: Path) -> None:
    """They would hide the Region's IPv6 list. Lists of customers name no Region, and lack the CIDRs of AWS's lists."""
    own = {**MANAGED, "PrefixListId": "pl-2", "PrefixListName": "com.amazonaws.eu-west-1.s3express", "OwnerId": "AWS"}
    write(empty_dump(tmp_path) / "managed-prefix-lists.json", {"PrefixLists": [MANAGED, own]})
    assert f"no prefix list of {REGION}" in refusal(tmp_path, "managed-prefix-lists.json").fault
    write(tmp_path / "managed-prefix-lists.json", {"PrefixLists": [MANAGED]})
    assert read(tmp_path)
    write(tmp_path / "prefix-lists.json", {"PrefixLists": [MANAGED]})
    assert f"no prefix list of {REGION}" in refusal(tmp_path, "prefix-lists.json").fault


def test_a_list_of_other_buckets_is_refused(tmp_path: Path) -> None:
    """The output of ListBuckets looks similar, but it does not list directory buckets."""
    write(empty_dump(tmp_path) / "directory-buckets.json", {"Buckets": [], "Owner": {"ID": "75aa57f09aa0c8ca"}})
    error = refusal(tmp_path, "directory-buckets.json")
    assert "output of aws s3api list-buckets" in error.fault
    assert "aws s3api list-directory-buckets" in error.remedy


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ({"Firewalls": [FIREWALL]}, "must contain the object Firewall"),
        ({"VpcEndpointAssociation": {"FirewallArn": FIREWALL["FirewallArn"]}}, "must contain the object Firewall"),
        ({"Firewall": FIREWALL | {"FirewallArn": f"arn:aws:network-firewall:eu-west-1:{OTHER}:firewall/f"}}, "not in"),
    ],
)
def test_a_firewall_file_of_another_call_or_region_is_refused(tmp_path: Path, content: object, fault: str) -> None:
    """The output of list-firewalls, an association, and a firewall of another Region are not this Region's firewalls."""
    write(empty_dump(tmp_path) / "firewalls" / "f.json", content)
    assert fault in refusal(tmp_path, "firewalls/f.json").fault


def test_accounts_side_by_side_are_one_network_for_each_region(tmp_path: Path) -> None:
    """Networks are sorted by Region and account, whatever the folders' names."""
    empty_dump(tmp_path / "b", ACCOUNT, Subnets=[SUBNET])
    empty_dump(tmp_path / "a", OTHER, Vpcs=[VPC], Subnets=[SUBNET])
    empty_dump(tmp_path / "c", ACCOUNT, "eu-west-1")
    (tmp_path / ".git").mkdir()
    write(tmp_path / "README.md", "notes")
    ireland, virginia = read_dump(tmp_path).regions
    assert (ireland.network.region, virginia.network.region) == ("eu-west-1", REGION)
    assert [dumped.account.id for dumped in virginia.accounts] == [ACCOUNT, OTHER]
    assert list(virginia.network.vpcs) == ["vpc-1"]


def test_the_same_account_and_region_twice_is_refused(tmp_path: Path) -> None:
    """Two dumps of the same account and Region could contradict each other."""
    first, _ = empty_dump(tmp_path / "a"), empty_dump(tmp_path / "b")
    assert str(first) in refusal(tmp_path, "b").fault


def test_a_dump_inside_a_dump_is_refused(tmp_path: Path) -> None:
    """Dumps must be next to each other, one level below the folder."""
    empty_dump(empty_dump(tmp_path) / "nested")
    assert "keep them side by side" in refusal(tmp_path).remedy


@pytest.mark.parametrize("folder", [".", "missing", "file"])
def test_no_dump_at_all(tmp_path: Path, folder: str) -> None:
    """An empty folder, a missing folder, and a file are refused."""
    if folder == "file":
        write(tmp_path / folder, {})
    assert "express-path collect" in refusal(tmp_path / folder).remedy


def test_folders_that_are_bad_input_are_named_beside_the_others(tmp_path: Path) -> None:
    """A folder without a dump, with a bad file, and with an interface that a route cannot use; the others are read."""
    route = {"DestinationCidrBlock": "0.0.0.0/0", "State": "active", "NetworkInterfaceId": "eni-1"}
    table = {"RouteTableId": "rtb-1", "VpcId": "vpc-1", "Routes": [route]}
    empty_dump(tmp_path / "good")
    (tmp_path / "none").mkdir()
    write(empty_dump(tmp_path / "cut", OTHER) / "subnets.json", '{"')
    empty_dump(tmp_path / "interface", "777788889999", Vpcs=[VPC], Subnets=[SUBNET], RouteTables=[table])
    write(tmp_path / "interface" / "network-interfaces.json", {"NetworkInterfaces": [FIRST_INTERFACE]})
    dump = read_dump(tmp_path)
    assert [account.account.id for region in dump.regions for account in region.accounts] == [ACCOUNT]
    assert dump.regions[0].network.subnets == {}
    assert {path.name: Path(fault.path).name for path, fault in dump.faults.items()} == {
        "none": "identity.json",
        "cut": "subnets.json",
        "interface": "network-interfaces.json",
    }

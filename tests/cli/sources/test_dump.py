"""Reading dumps of one or several accounts and Regions into networks."""

from pathlib import Path

import pytest

from express_path.domain.verdict.evaluator import Account
from express_path.errors import DumpError
from express_path_cli.sources.dump import DumpedAccount, read_dump
from tests.support.dumps import ACCOUNT, empty_dump, write

OTHER = "444455556666"
VPC = {"VpcId": "vpc-1", "OwnerId": ACCOUNT}
SUBNET = {"SubnetId": "subnet-1", "VpcId": "vpc-1", "OwnerId": ACCOUNT}
MANAGED = {"PrefixListId": "pl-1", "PrefixListName": "own", "AddressFamily": "IPv4", "OwnerId": ACCOUNT}
ATTACHMENT = {
    "TransitGatewayAttachmentId": "tgw-attach-1",
    "TransitGatewayId": "tgw-1",
    "ResourceType": "vpc",
    "ResourceId": "vpc-1",
    "State": "available",
}
OPTIONAL = {
    "network-interfaces.json": {
        "NetworkInterfaces": [{"NetworkInterfaceId": "eni-1", "SubnetId": "subnet-1", "SourceDestCheck": True}]
    },
    "managed-prefix-lists.json": {"PrefixLists": [MANAGED]},
    "managed-prefix-list-entries/pl-1.json": {"Entries": [{"Cidr": "10.0.0.0/8"}]},
    "transit-gateway-attachments.json": {"TransitGatewayAttachments": [ATTACHMENT]},
    "transit-gateway-vpc-attachments.json": {
        "TransitGatewayVpcAttachments": [{**ATTACHMENT, "VpcId": "vpc-1", "SubnetIds": ["subnet-1"]}]
    },
    "transit-gateway-route-tables.json": {"TransitGatewayRouteTables": []},
    "transit-gateway-routes/tgw-rtb-1.json": {"Routes": []},
    "directory-buckets.json": {"Buckets": [{"Name": "lake--use1-az4--x-s3"}]},
    "shared-subnets.json": {"resources": [{"arn": f"arn:aws:ec2:us-east-1:{ACCOUNT}:subnet/subnet-1"}]},
}


def test_the_required_files_alone(tmp_path: Path) -> None:
    """Optional files that are missing count as not readable."""
    (region,) = read_dump(empty_dump(tmp_path, Vpcs=[VPC], Subnets=[SUBNET]))
    network = region.network
    assert (network.account_id, network.region, list(network.vpcs)) == (ACCOUNT, "us-east-1", ["vpc-1"])
    assert network.network_interfaces is None
    assert network.transit_gateway_attachments is None
    assert network.transit_gateway_route_tables is None
    assert region.accounts == (DumpedAccount(Account(ACCOUNT), ("subnet-1",)),)


def test_every_optional_file(tmp_path: Path) -> None:
    """Each optional file adds its resources."""
    empty_dump(tmp_path)
    for name, document in OPTIONAL.items():
        write(tmp_path / name, document)
    (region,) = read_dump(tmp_path)
    network = region.network
    assert list(network.network_interfaces) == ["eni-1"]
    assert [str(cidr) for cidr in network.prefix_lists["pl-1"].cidrs] == ["10.0.0.0/8"]
    assert network.transit_gateway_attachments["tgw-attach-1"].subnet_ids == ("subnet-1",)
    assert list(network.transit_gateway_route_tables) == ["tgw-rtb-1"]
    assert region.accounts[0].account.has_directory_buckets is True
    assert region.accounts[0].account.shared_subnet_ids == {"subnet-1"}


@pytest.mark.parametrize(("content", "known"), [({"Buckets": []}, False), ("", None)])
def test_an_empty_bucket_list_differs_from_an_empty_file(tmp_path: Path, content: object, known: object) -> None:
    """An empty list means no directory buckets; an empty file is left by a denied call."""
    write(empty_dump(tmp_path) / "directory-buckets.json", content)
    (region,) = read_dump(tmp_path)
    assert region.accounts[0].account.has_directory_buckets is known


@pytest.mark.parametrize(("content", "known"), [({"resources": []}, frozenset()), ("", None)])
def test_an_empty_share_list_differs_from_an_empty_file(tmp_path: Path, content: object, known: object) -> None:
    """An empty list means that no subnet is shared; after an empty file that is unknown."""
    write(empty_dump(tmp_path) / "shared-subnets.json", content)
    (region,) = read_dump(tmp_path)
    assert region.accounts[0].account.shared_subnet_ids == known


@pytest.mark.parametrize("name", OPTIONAL)
def test_an_optional_file_that_is_malformed_is_refused(tmp_path: Path, name: str) -> None:
    """A truncated optional file is an error, unlike a missing one."""
    write(empty_dump(tmp_path) / name, '{"')
    with pytest.raises(DumpError) as raised:
        read_dump(tmp_path)
    assert raised.value.path == str(tmp_path / name)


BAD_RECORDS = {
    "vpcs.json": {"Vpcs": [{}]},
    "prefix-lists.json": {"PrefixLists": [{"PrefixListId": "pl-1"}]},
    "managed-prefix-lists.json": {"PrefixLists": [{}]},
    "managed-prefix-list-entries/pl-1.json": {"Entries": [{"Cidr": "10.0.0.0"}]},
    "transit-gateway-attachments.json": {"TransitGatewayAttachments": [{}]},
    "transit-gateway-vpc-attachments.json": {"TransitGatewayVpcAttachments": [{}]},
    "transit-gateway-routes/tgw-rtb-1.json": {"Routes": [{}]},
    "shared-subnets.json": {"resources": [{"type": "ec2:Subnet"}]},
    "identity.json": {"Account": ACCOUNT},
}


@pytest.mark.parametrize("name", BAD_RECORDS)
def test_a_record_that_cannot_be_read_is_refused_with_its_file(tmp_path: Path, name: str) -> None:
    """The error names the file, the resource, and the field."""
    write(empty_dump(tmp_path) / "managed-prefix-lists.json", {"PrefixLists": [MANAGED]})
    write(tmp_path / name, BAD_RECORDS[name])
    with pytest.raises(DumpError) as raised:
        read_dump(tmp_path)
    assert raised.value.path == str(tmp_path / name)
    assert "field" in raised.value.fault


FIRST_INTERFACE = {"NetworkInterfaceId": "eni-1", "Attachment": {"InstanceId": "i-1", "DeviceIndex": 0}}
SECOND_INTERFACE = {
    "NetworkInterfaceId": "eni-2",
    "SubnetId": "subnet-1",
    "SourceDestCheck": True,
    "Attachment": {"InstanceId": "i-1", "DeviceIndex": 1},
}
WHOLE = {**SECOND_INTERFACE, **FIRST_INTERFACE}


@pytest.mark.parametrize(
    ("target", "interfaces", "refused"),
    [
        ({"InstanceId": "i-1"}, [FIRST_INTERFACE, SECOND_INTERFACE], True),
        ({"InstanceId": "i-1"}, [FIRST_INTERFACE, WHOLE], False),
        ({"InstanceId": "i-1"}, [{}, WHOLE], False),
        ({"InstanceId": "i-1"}, [{}], True),
        ({"InstanceId": "i-2"}, [FIRST_INTERFACE], False),
        ({"NetworkInterfaceId": "eni-1"}, [FIRST_INTERFACE], True),
        ({"NetworkInterfaceId": "eni-2"}, [FIRST_INTERFACE, SECOND_INTERFACE], False),
        ({"NatGatewayId": "nat-1"}, [{}, FIRST_INTERFACE], False),
    ],
)
def test_only_interfaces_that_routes_use_must_be_complete(
    tmp_path: Path, target: dict[str, str], interfaces: list[dict[str, object]], refused: bool
) -> None:
    """A route can use an interface by its own id or by its instance's id."""
    route = {"DestinationCidrBlock": "0.0.0.0/0", "State": "active", **target}
    table = {"RouteTableId": "rtb-1", "VpcId": "vpc-1", "Routes": [route]}
    empty_dump(tmp_path, Vpcs=[VPC], Subnets=[SUBNET], RouteTables=[table])
    path = write(tmp_path / "network-interfaces.json", {"NetworkInterfaces": interfaces})
    if refused:
        with pytest.raises(DumpError, match="field") as raised:
            read_dump(tmp_path)
        assert raised.value.path == str(path)
    else:
        assert read_dump(tmp_path)


def test_a_list_of_other_buckets_is_refused(tmp_path: Path) -> None:
    """The output of ListBuckets looks similar, but it does not list directory buckets."""
    write(empty_dump(tmp_path) / "directory-buckets.json", {"Buckets": [], "Owner": {"ID": "75aa57f09aa0c8ca"}})
    with pytest.raises(DumpError, match="output of aws s3api list-buckets; create it again with: aws s3api list-dir"):
        read_dump(tmp_path)


@pytest.mark.parametrize("content", [None, ""])
def test_a_dump_needs_an_identity(tmp_path: Path, content: str | None) -> None:
    """Without identity.json, the account of the subnets is unknown."""
    path = empty_dump(tmp_path) / "identity.json"
    path.unlink() if content is None else path.write_text(content, encoding="utf-8")
    with pytest.raises(DumpError, match="required file is missing or empty; create it with: aws sts"):
        read_dump(tmp_path)


def test_an_identity_of_another_account_is_refused(tmp_path: Path) -> None:
    """Only the owner of a VPC sees its NAT gateways, so the dump was made by the owner and not by the account named."""
    nat = {"NatGatewayId": "nat-0a1", "VpcId": "vpc-0a1", "SubnetId": "subnet-0a1", "State": "available"}
    shared = {"VpcId": "vpc-0a1", "OwnerId": OTHER}
    empty_dump(tmp_path, Vpcs=[shared], Subnets=[])
    read_dump(tmp_path)  # a subnet of another account's VPC may be shared with this one
    write(tmp_path / "nat-gateways.json", {"NatGateways": [nat]})
    with pytest.raises(DumpError, match=f"has account {ACCOUNT}, but .* account {OTHER} owns") as raised:
        read_dump(tmp_path)
    assert raised.value.path == str(tmp_path / "identity.json")


FIREWALL = {
    "Firewall": {"FirewallName": "f", "FirewallArn": f"arn:aws:network-firewall:us-east-1:{ACCOUNT}:firewall/f"},
    "FirewallStatus": {"Status": "READY"},
}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ({"Firewalls": [FIREWALL["Firewall"]]}, "Firewall"),
        ({"VpcEndpointAssociation": {"FirewallArn": FIREWALL["Firewall"]["FirewallArn"]}}, "Firewall"),
        (
            {"Firewall": {**FIREWALL["Firewall"], "FirewallArn": "arn:aws:network-firewall:eu-west-1:1:firewall/f"}},
            "not in us-east-1",
        ),
    ],
)
def test_a_firewall_file_of_another_call_or_region_is_refused(tmp_path: Path, content: object, fault: str) -> None:
    """The output of list-firewalls, an association, and a firewall of another Region are not this Region's firewalls."""
    empty_dump(tmp_path)
    write(tmp_path / "firewalls" / "f.json", FIREWALL)
    assert read_dump(tmp_path)[0].network.firewalls
    write(tmp_path / "firewalls" / "f.json", content)
    with pytest.raises(DumpError, match=fault) as raised:
        read_dump(tmp_path)
    assert raised.value.path == str(tmp_path / "firewalls" / "f.json")


def test_accounts_side_by_side_are_one_network_for_each_region(tmp_path: Path) -> None:
    """Networks are sorted by Region and account, whatever the folders' names."""
    empty_dump(tmp_path / "b", ACCOUNT, Subnets=[SUBNET])
    empty_dump(tmp_path / "a", OTHER, Vpcs=[VPC], Subnets=[SUBNET])
    empty_dump(tmp_path / "c", ACCOUNT, "eu-west-1")
    (tmp_path / ".git").mkdir()
    write(tmp_path / "README.md", "notes")
    ireland, virginia = read_dump(tmp_path)
    assert (ireland.network.region, virginia.network.region) == ("eu-west-1", "us-east-1")
    assert [dumped.account.id for dumped in virginia.accounts] == [ACCOUNT, OTHER]
    assert list(virginia.network.vpcs) == ["vpc-1"]


def test_the_same_account_and_region_twice_is_an_error(tmp_path: Path) -> None:
    """Two dumps of the same account and Region could contradict each other."""
    first, second = empty_dump(tmp_path / "a"), empty_dump(tmp_path / "b")
    with pytest.raises(DumpError, match="keep one of the two") as raised:
        read_dump(tmp_path)
    assert raised.value.path == str(second)
    assert str(first) in raised.value.fault


def test_a_dump_inside_a_dump_is_an_error(tmp_path: Path) -> None:
    """Dumps must be next to each other, one level below the folder."""
    empty_dump(empty_dump(tmp_path) / "nested")
    with pytest.raises(DumpError, match="keep them side by side"):
        read_dump(tmp_path)


@pytest.mark.parametrize("folder", [".", "missing", "identity.json"])
def test_no_dump_at_all(tmp_path: Path, folder: str) -> None:
    """An empty folder, a missing folder, and a file are refused."""
    path = tmp_path / folder
    if folder.endswith(".json"):
        write(path, {})
    with pytest.raises(DumpError) as raised:
        read_dump(path)
    assert raised.value.path == str(path)


def test_a_folder_without_a_dump_is_refused(tmp_path: Path) -> None:
    """If it were ignored, paths through that account would be evaluated with half of the network."""
    empty_dump(tmp_path / "a")
    (tmp_path / "b").mkdir()
    with pytest.raises(DumpError) as raised:
        read_dump(tmp_path)
    assert str(tmp_path / "b") in raised.value.path

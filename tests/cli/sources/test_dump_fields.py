"""The fields of a dump's files: values that AWS does not write are refused with their file and field."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from express_path.errors import DumpError
from express_path_cli.sources.dump import read_dump
from tests.support.dumps import ACCOUNT, ATTACHMENT, INTERFACE, MANAGED, REGION, write

ASSOCIATION = {"Main": False, "SubnetId": "subnet-1", "AssociationState": {"State": "associated"}}
ROUTE = {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1", "Origin": "CreateRoute", "State": "active"}
TO_INTERFACE = {"DestinationCidrBlock": "192.0.2.0/24", "NetworkInterfaceId": "eni-1", "State": "active"}
TGW_ROUTE = {"DestinationCidrBlock": "0.0.0.0/0", "Type": "static", "State": "active"}
SOUND: dict[str, dict[str, Any]] = {
    "identity.json": {"Account": ACCOUNT, "Region": REGION},
    "vpcs.json": {"Vpcs": [{"VpcId": "vpc-1", "OwnerId": ACCOUNT}]},
    "subnets.json": {
        "Subnets": [
            {
                "SubnetId": "subnet-1",
                "VpcId": "vpc-1",
                "OwnerId": ACCOUNT,
                "AvailabilityZoneId": "use1-az4",
                "Ipv6Native": False,
                "EnableDns64": False,
                "Ipv6CidrBlockAssociationSet": [{"Ipv6CidrBlockState": {"State": "associated"}}],
                "Tags": [{"Key": "Name", "Value": "a"}],
            }
        ]
    },
    "route-tables.json": {
        "RouteTables": [
            {
                "RouteTableId": "rtb-1",
                "VpcId": "vpc-1",
                "Associations": [ASSOCIATION],
                "Routes": [ROUTE, TO_INTERFACE],
            }
        ]
    },
    "vpc-endpoints.json": {
        "VpcEndpoints": [
            {
                "VpcEndpointId": "vpce-1",
                "VpcId": "vpc-1",
                "VpcEndpointType": "Gateway",
                "ServiceName": f"com.amazonaws.{REGION}.s3express",
                "State": "available",
                "IpAddressType": "ipv4",
            }
        ]
    },
    "nat-gateways.json": {"NatGateways": [{"NatGatewayId": "nat-1", "VpcId": "vpc-1", "SubnetId": "subnet-1"}]},
    "prefix-lists.json": {
        "PrefixLists": [
            {"PrefixListId": "pl-0", "PrefixListName": f"com.amazonaws.{REGION}.s3express", "Cidrs": ["192.0.2.0/24"]}
        ]
    },
    "network-interfaces.json": {
        "NetworkInterfaces": [{**INTERFACE, "Attachment": {"InstanceId": "i-1", "DeviceIndex": 0}}]
    },
    "managed-prefix-lists.json": {"PrefixLists": [MANAGED]},
    "transit-gateway-attachments.json": {"TransitGatewayAttachments": [ATTACHMENT]},
    "transit-gateway-vpc-attachments.json": {
        "TransitGatewayVpcAttachments": [
            {**ATTACHMENT, "VpcId": "vpc-1", "SubnetIds": ["subnet-1"], "Options": {"ApplianceModeSupport": "enable"}}
        ]
    },
    "transit-gateway-routes/tgw-rtb-1.json": {"Routes": [TGW_ROUTE], "AdditionalRoutesAvailable": False},
    "directory-buckets.json": {"Buckets": []},
    "shared-subnets.json": {"resources": [{"arn": f"arn:aws:ec2:{REGION}:{ACCOUNT}:subnet/subnet-1"}]},
}
WRONG = [
    *[("identity.json", ("Account",), value) for value in ("123", "x" * 12, 111122223333)],
    *[("identity.json", ("Region",), value) for value in ("us-east-1 ", "US-EAST-1", "virginia", 1)],
    ("vpcs.json", ("Vpcs", 0, "OwnerId"), 111122223333),
    *[("subnets.json", ("Subnets", 0, "Ipv6Native"), value) for value in ("true", 1, "False")],
    ("subnets.json", ("Subnets", 0, "EnableDns64"), "true"),
    ("subnets.json", ("Subnets", 0, "AvailabilityZoneId"), 4),
    ("subnets.json", ("Subnets", 0, "Tags", 0, "Value"), 5),
    ("subnets.json", ("Subnets", 0, "Ipv6CidrBlockAssociationSet", 0, "Ipv6CidrBlockState", "State"), True),
    ("route-tables.json", ("RouteTables", 0, "Associations", 0, "Main"), "true"),
    ("route-tables.json", ("RouteTables", 0, "Associations", 0, "SubnetId"), 1),
    ("route-tables.json", ("RouteTables", 0, "Associations", 0, "GatewayId"), 1),
    ("route-tables.json", ("RouteTables", 0, "Associations", 0, "AssociationState", "State"), 1),
    ("route-tables.json", ("RouteTables", 0, "Routes", 0, "DestinationCidrBlock"), "::/0"),
    ("route-tables.json", ("RouteTables", 0, "Routes", 0, "NatGatewayId"), ["nat-1"]),
    ("route-tables.json", ("RouteTables", 0, "Routes", 0, "State"), 1),
    ("route-tables.json", ("RouteTables", 0, "Routes", 0, "Origin"), 1),
    ("vpc-endpoints.json", ("VpcEndpoints", 0, "ServiceName"), 1),
    ("vpc-endpoints.json", ("VpcEndpoints", 0, "IpAddressType"), 4),
    ("vpc-endpoints.json", ("VpcEndpoints", 0, "OwnerId"), 1),
    ("nat-gateways.json", ("NatGateways", 0, "SubnetId"), 1),
    ("nat-gateways.json", ("NatGateways", 0, "RouteTableId"), 1),
    ("nat-gateways.json", ("NatGateways", 0, "AvailabilityMode"), True),
    ("network-interfaces.json", ("NetworkInterfaces", 0, "Attachment", "InstanceId"), 1),
    *[
        ("network-interfaces.json", ("NetworkInterfaces", 0, "Attachment", "DeviceIndex"), value)
        for value in ("0", True)
    ],
    ("managed-prefix-lists.json", ("PrefixLists", 0, "MaxEntries"), "5"),
    ("transit-gateway-attachments.json", ("TransitGatewayAttachments", 0, "ResourceId"), 1),
    ("transit-gateway-attachments.json", ("TransitGatewayAttachments", 0, "Association", "State"), 1),
    (
        "transit-gateway-attachments.json",
        ("TransitGatewayAttachments", 0, "Association", "TransitGatewayRouteTableId"),
        1,
    ),
    (
        "transit-gateway-vpc-attachments.json",
        ("TransitGatewayVpcAttachments", 0, "Options", "ApplianceModeSupport"),
        True,
    ),
    ("transit-gateway-routes/tgw-rtb-1.json", ("AdditionalRoutesAvailable",), "true"),
    ("transit-gateway-routes/tgw-rtb-1.json", ("Routes", 0, "Type"), 1),
    ("transit-gateway-routes/tgw-rtb-1.json", ("Routes", 0, "PrefixListId"), 1),
    ("transit-gateway-routes/tgw-rtb-1.json", ("Routes", 0, "DestinationCidrBlock"), 1),
    ("directory-buckets.json", ("ContinuationToken",), "more"),
    ("shared-subnets.json", ("nextToken",), "more"),
    ("shared-subnets.json", ("resources", 0, "arn"), 1),
]
OBEYED = [
    ("subnets.json", ("Subnets", 0, "SubnetId"), "subnet-\x1b[2J"),
    ("subnets.json", ("Subnets", 0, "VpcId"), "vpc-1\x9b2J"),
    ("route-tables.json", ("RouteTables", 0, "Routes", 0, "NatGatewayId"), "nat-1\r"),
    ("vpc-endpoints.json", ("VpcEndpoints", 0, "RouteTableIds"), ["rtb-1\n"]),
    ("subnets.json", ("Subnets", 0, "AvailabilityZoneId"), "use1-az1\x1b[31m"),
    ("route-tables.json", ("RouteTables", 0, "Routes", 0, "State"), "\x1b]0;title\x07"),
    ("vpc-endpoints.json", ("VpcEndpoints", 0, "ServiceName"), "com.amazonaws\x85"),
]


def dumped(folder: Path, name: str, place: tuple[str | int, ...], value: object) -> Path:
    """Write a sound dump but for one value at a place in one file."""
    for file_name, document in deepcopy(SOUND).items():
        if file_name == name:
            at: Any = document
            for key in place[:-1]:
                at = at[key]
            at[place[-1]] = value
        write(folder / file_name, document)
    return folder


def refusal(folder: Path) -> DumpError:
    """The error that reading a dump ends with."""
    with pytest.raises(DumpError) as raised:
        read_dump(folder)
    return raised.value


@pytest.mark.parametrize(
    ("name", "place", "value"), WRONG, ids=[f"{'.'.join(map(str, place))}={value!r}" for _, place, value in WRONG]
)
def test_value_of_another_type_is_refused(
    tmp_path: Path, name: str, place: tuple[str | int, ...], value: object
) -> None:
    """What AWS never writes there is no value to guess the meaning of; the error names file and field."""
    error = refusal(dumped(tmp_path, name, place, value))
    assert error.path == str(tmp_path / name)
    assert str(place[-1]) in error.fault


@pytest.mark.parametrize(("name", "place", "value"), OBEYED, ids=[case[1][-1] for case in OBEYED])
def test_control_characters_in_ids_and_words_of_awss_are_refused(
    tmp_path: Path, name: str, place: tuple[str | int, ...], value: object
) -> None:
    """A terminal would obey them; the error shows them as codes."""
    error = refusal(dumped(tmp_path, name, place, value))
    assert str(error).isprintable()
    assert str(place[-1]) in error.fault


def test_tags_hold_any_character(tmp_path: Path) -> None:
    """People choose them; a strange one stops no evaluation."""
    tags = [{"Key": "note\n", "Value": "one\ttwo\x1b"}]
    [region] = read_dump(dumped(tmp_path, "subnets.json", ("Subnets", 0, "Tags"), tags)).regions
    assert region.network.subnets["subnet-1"].tags == {"note\n": "one\ttwo\x1b"}


def test_the_same_dump_without_a_fault_is_read(tmp_path: Path) -> None:
    """It is the one value that each of the tests above is about."""
    [region] = read_dump(dumped(tmp_path, "", (), None)).regions
    assert list(region.network.subnets) == ["subnet-1"]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("vpcs.json", {"OwnerId": "444455556666"}),
        ("subnets.json", {"EnableDns64": True}),
        ("route-tables.json", {"Routes": []}),
        ("vpc-endpoints.json", {"State": "deleting"}),
        ("nat-gateways.json", {"RouteTableId": "rtb-1"}),
        ("prefix-lists.json", {"Cidrs": ["198.51.100.0/24"]}),
        ("network-interfaces.json", {"SourceDestCheck": False}),
        ("managed-prefix-lists.json", {"MaxEntries": 6}),
    ],
)
def test_resource_that_is_described_twice_is_refused_unless_alike(
    tmp_path: Path, name: str, change: dict[str, Any]
) -> None:
    """Two different descriptions of a resource are an error; the same one twice is not, because pages may overlap."""
    [(field, [described])] = SOUND[name].items()
    write(dumped(tmp_path, "", (), None) / name, {field: [described, described]})
    assert read_dump(tmp_path)
    write(tmp_path / name, {field: [described, {**described, **change}]})
    error = refusal(tmp_path)
    assert error.path == str(tmp_path / name)
    assert "twice" in error.fault

"""A resource changes only those parts of a record that its own arguments change."""

from dataclasses import MISSING, fields, replace
from typing import Any

import pytest

from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.resources import (
    AssociatedEndpoint,
    BlockMode,
    Firewall,
    NatGateway,
    NetworkInterface,
    PrefixList,
    Route,
    RouteTable,
    Subnet,
    TargetKind,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
    Vpc,
    VpcEndpoint,
)
from express_path.domain.network.snapshot import Snapshot
from express_path_cli.sources.change.changed_network import ChangedNetwork, Noted
from express_path_cli.sources.change.families import lay
from express_path_cli.sources.change.resource import Action, Arguments, Resource

OLD, NEW = {"a": "1"}, {"a": "2"}
ARN = "arn:aws:network-firewall:us-east-1:111122223333:firewall/f"
LIST_ROUTE = Route(parse_cidr("203.0.113.0/24"), "eni-1", TargetKind.NETWORK_INTERFACE, state="blackhole")
RECORDS: dict[str, tuple[str, Any]] = {
    "aws_vpc": ("vpcs", Vpc("vpc-1", "111122223333", OLD, BlockMode.INGRESS)),
    "aws_subnet": (
        "subnets",
        Subnet(
            "subnet-1",
            "vpc-1",
            "111122223333",
            "use1-az1",
            ipv6_native=True,
            has_ipv6=True,
            dns64=True,
            tags=OLD,
            block_mode=BlockMode.INGRESS,
            table_ids=("rtb-9",),
            blocks=("10.0.0.0/24",),
        ),
    ),
    "aws_route_table": (
        "route_tables",
        RouteTable("rtb-1", "vpc-1", (LIST_ROUTE,), owner_id="111122223333", tags=OLD),
    ),
    "aws_vpc_endpoint": (
        "vpc_endpoints",
        VpcEndpoint(
            "vpce-1",
            "vpc-1",
            "gateway",
            "com.amazonaws.us-east-1.s3express",
            "failed",
            "dualstack",
            ("subnet-1",),
            ("rtb-1",),
            "111122223333",
            OLD,
        ),
    ),
    "aws_nat_gateway": (
        "nat_gateways",
        NatGateway("nat-1", "vpc-1", "subnet-1", "private", "regional", "rtb-9", ARN, ("vpce-2",), "available"),
    ),
    "aws_ec2_managed_prefix_list": (
        "prefix_lists",
        PrefixList(
            "pl-1",
            "office",
            Family.IPV6,
            (parse_cidr("2001:db8::/32"),),
            aws_owned=False,
            max_entries=7,
            is_partial=True,
            other_names=("other",),
        ),
    ),
    "aws_networkfirewall_firewall": (
        "firewalls",
        Firewall(
            ARN,
            ("vpce-2",),
            is_proxy=True,
            forwards=True,
            nat_gateway_ids={"vpce-2": "nat-1"},
            owner_id="111122223333",
            associated=(AssociatedEndpoint("vpce-3", "444455556666"),),
        ),
    ),
    "aws_network_interface": (
        "network_interfaces",
        NetworkInterface(
            "eni-1",
            "subnet-1",
            source_dest_check=False,
            instance_id="i-1",
            device_index=1,
            is_managed=True,
            card_index=1,
        ),
    ),
    "aws_instance": (
        "network_interfaces",
        NetworkInterface("eni-2", "subnet-1", source_dest_check=False, instance_id="i-2", device_index=0, card_index=1),
    ),
    "aws_ec2_transit_gateway_vpc_attachment": (
        "transit_gateway_attachments",
        TransitGatewayAttachment(
            "tgw-attach-1",
            "tgw-1",
            "vpc",
            "vpc-1",
            "pending",
            "tgw-rtb-1",
            ("subnet-1",),
            appliance_mode=True,
            policy_table_id="tgw-ptb-1",
            shows_association=True,
            is_association_certain=False,
        ),
    ),
    "aws_ec2_transit_gateway_route_table": (
        "transit_gateway_route_tables",
        TransitGatewayRouteTable("tgw-rtb-1", (), truncated=True, attachment_types={"tgw-attach-1": "vpc"}),
    ),
}
"""The record of each type of resource that has one, with no field as it is by default, besides those of other resources."""
ARGUMENTS = {
    "aws_vpc": {"cidr_block": "10.0.0.0/16", "main_route_table_id": "rtb-9"},
    "aws_subnet": {"vpc_id": "vpc-1", "cidr_block": "10.0.0.0/24", "availability_zone": "us-east-1a"},
    "aws_route_table": {"vpc_id": "vpc-1"},
    "aws_vpc_endpoint": {"vpc_id": "vpc-1", "service_name": "com.amazonaws.us-east-1.s3express", "state": "available"},
    "aws_nat_gateway": {"subnet_id": "subnet-1"},
    "aws_ec2_managed_prefix_list": {"name": "office", "address_family": "IPv4"},
    "aws_networkfirewall_firewall": {"vpc_id": "vpc-1", "subnet_mapping": [{"subnet_id": "subnet-1"}]},
    "aws_network_interface": {"subnet_id": "subnet-1"},
    "aws_instance": {"subnet_id": "subnet-1", "primary_network_interface_id": "eni-2"},
    "aws_ec2_transit_gateway_vpc_attachment": {"vpc_id": "vpc-1", "subnet_ids": ["subnet-1"]},
    "aws_ec2_transit_gateway_route_table": {"transit_gateway_id": "tgw-1"},
}
"""What a configuration sets of each, which is less than the network shows."""


def changed(kind: str, **arguments: Any) -> Any:
    """Return the record of a resource after some of its arguments change."""
    base = Snapshot("111122223333", "us-east-1")
    for name in {name for name, _ in RECORDS.values()}:
        records = [record for of, record in RECORDS.values() if of == name]
        base = replace(base, **{name: {getattr(record, "arn", "") or record.id: record for record in records}})
    name, record = RECORDS[kind]
    resource_id = "i-2" if kind == "aws_instance" else getattr(record, "arn", "") or record.id
    before = {"id": resource_id, "tags": OLD, **ARGUMENTS[kind]}
    resource = Resource(
        address=f"{kind}.x",
        type=kind,
        block=f"{kind}.x",
        action=Action.UPDATE,
        before=Arguments(f"{kind}.x", before),
        after=Arguments(f"{kind}.x", {**before, **arguments}),
        id=resource_id,
        id_before=resource_id,
    )
    network = ChangedNetwork(base, Noted(), "999999999999", {}, has_base=True)
    lay(network, [resource])
    [after] = network.networks()
    return getattr(after, name)[getattr(record, "arn", "") or record.id]


@pytest.mark.parametrize("kind", RECORDS)
def test_a_resource_whose_tags_change_stays_what_it_is(kind: str) -> None:
    """In every field, none of which is as it is by default."""
    _, record = RECORDS[kind]
    others = {"routes", "associations", "device_index", "is_managed"}
    for field in fields(record):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        assert getattr(record, field.name) != default or field.name in others, field.name
    expected = replace(record, tags=NEW) if hasattr(record, "tags") else record
    assert changed(kind, tags=NEW) == expected


@pytest.mark.parametrize(
    ("kind", "argument", "value", "field", "expected"),
    [
        ("aws_subnet", "enable_dns64", False, "dns64", False),
        ("aws_subnet", "ipv6_native", False, "ipv6_native", False),
        ("aws_subnet", "ipv6_cidr_block", "", "has_ipv6", False),
        ("aws_vpc_endpoint", "ip_address_type", "ipv4", "ip_address_type", "ipv4"),
        ("aws_vpc_endpoint", "subnet_ids", ["subnet-2"], "subnet_ids", ("subnet-2",)),
        ("aws_nat_gateway", "connectivity_type", "public", "connectivity", "public"),
        ("aws_nat_gateway", "availability_mode", "zonal", "availability_mode", "zonal"),
        ("aws_ec2_managed_prefix_list", "name", "branch", "name", "branch"),
        ("aws_ec2_managed_prefix_list", "entry", [{"cidr": "10.0.0.0/8"}], "cidrs", (parse_cidr("10.0.0.0/8"),)),
        ("aws_network_interface", "source_dest_check", True, "source_dest_check", True),
        ("aws_instance", "source_dest_check", True, "source_dest_check", True),
        ("aws_ec2_transit_gateway_vpc_attachment", "subnet_ids", ["subnet-2"], "subnet_ids", ("subnet-2",)),
        ("aws_ec2_transit_gateway_vpc_attachment", "appliance_mode_support", "disable", "appliance_mode", False),
    ],
)
def test_an_argument_changes_its_own_field(
    kind: str, argument: str, value: object, field: str, expected: object
) -> None:
    """All others stay."""
    _, record = RECORDS[kind]
    assert changed(kind, **{argument: value}) == replace(record, **{field: expected})

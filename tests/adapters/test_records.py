"""EC2's descriptions into records: fields as EC2 spells them, and faults by name."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from express_path.adapters import records as read
from express_path.domain.network.addresses import Family, parse_cidr
from express_path.domain.network.resources import (
    AssociatedEndpoint,
    Association,
    BlockMode,
    PolicyEntry,
    PrefixList,
    Rank,
    Vpc,
    VpcEndpoint,
)
from express_path.errors import RecordError
from tests.support.dumps import ATTACHMENT
from tests.support.junk import spoilt

VPC = {"VpcId": "vpc-1", "OwnerId": "111122223333", "Tags": [{"Key": "team", "Value": "lake"}, {"Key": "empty"}]}
SUBNET = {
    "SubnetId": "subnet-1",
    "VpcId": "vpc-1",
    "OwnerId": "111122223333",
    "AvailabilityZone": "us-east-1a",
    "AvailabilityZoneId": "use1-az4",
    "Ipv6Native": True,
    "EnableDns64": True,
    "Ipv6CidrBlockAssociationSet": [
        {"Ipv6CidrBlock": "2001:db8::/64", "Ipv6CidrBlockState": {"State": "disassociated"}},
        {"Ipv6CidrBlock": "2001:db8:1::/64", "Ipv6CidrBlockState": {"State": "associated"}},
    ],
}
TABLE = {
    "RouteTableId": "rtb-1",
    "VpcId": "vpc-1",
    "OwnerId": "111122223333",
    "Routes": [
        {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1", "Origin": "CreateRoute", "State": "active"}
    ],
    "Associations": [
        {"Main": True, "AssociationState": {"State": "associated"}},
        {"Main": False, "SubnetId": "subnet-1", "AssociationState": {"State": "disassociating"}},
        {"Main": False, "GatewayId": "igw-1"},
    ],
}
ENDPOINT = {
    "VpcEndpointId": "vpce-1",
    "VpcId": "vpc-1",
    "VpcEndpointType": "GatewayLoadBalancer",
    "ServiceName": "com.amazonaws.vpce.us-east-1.vpce-svc-1",
    "State": "Available",
    "IpAddressType": "Ipv4",
    "SubnetIds": ["subnet-1"],
    "RouteTableIds": [],
    "OwnerId": "111122223333",
}
NAT = {"NatGatewayId": "nat-1", "VpcId": "vpc-1", "SubnetId": "subnet-1", "ConnectivityType": "private"}
INTERFACE = {
    "NetworkInterfaceId": "eni-1",
    "SubnetId": "subnet-1",
    "SourceDestCheck": False,
    "Attachment": {"InstanceId": "i-1", "DeviceIndex": 0},
}


def test_a_vpc() -> None:
    """A tag without a value has an empty one."""
    assert read.vpc(VPC) == Vpc("vpc-1", "111122223333", {"team": "lake", "empty": ""})
    assert read.vpc({"VpcId": "vpc-1"}) == Vpc("vpc-1")


@pytest.mark.parametrize(
    ("shown", "mode"),
    [
        ("off", BlockMode.OFF),
        ("block-ingress", BlockMode.INGRESS),
        ("block-bidirectional", BlockMode.BIDIRECTIONAL),
        (None, BlockMode.OFF),
        ("block-everything", BlockMode.NEW),
        ("unknown", BlockMode.NEW),
    ],
)
def test_mode_of_block_public_access(shown: str | None, mode: BlockMode) -> None:
    """EC2 shows the mode of subnets and VPCs, older output of the AWS CLI does not; a new mode is unknown."""
    states = {"BlockPublicAccessStates": {"InternetGatewayBlockMode": shown}} if shown else {}
    assert read.subnet({**SUBNET, **states}).block_mode is mode
    assert read.vpc({"VpcId": "vpc-1", **states}).block_mode is mode


@pytest.mark.parametrize(
    ("field", "target", "kind"),
    [
        ("GatewayId", "local", "LOCAL"),
        ("GatewayId", "igw-1", "INTERNET_GATEWAY"),
        ("GatewayId", "vgw-1", "VIRTUAL_PRIVATE_GATEWAY"),
        ("GatewayId", "vpce-1", "VPC_ENDPOINT"),
        ("NatGatewayId", "nat-1", "NAT_GATEWAY"),
        ("EgressOnlyInternetGatewayId", "eigw-1", "EGRESS_ONLY_INTERNET_GATEWAY"),
        ("TransitGatewayId", "tgw-1", "TRANSIT_GATEWAY"),
        ("NetworkInterfaceId", "eni-1", "NETWORK_INTERFACE"),
        ("InstanceId", "i-1", "INSTANCE"),
        ("VpcPeeringConnectionId", "pcx-1", "VPC_PEERING_CONNECTION"),
        ("LocalGatewayId", "lgw-1", "LOCAL_GATEWAY"),
        ("CarrierGatewayId", "cagw-1", "CARRIER_GATEWAY"),
        ("CoreNetworkArn", "arn:aws:networkmanager::111122223333:core-network/core-network-1", "CORE_NETWORK"),
        ("OdbNetworkArn", "arn:aws:odb:us-east-1:111122223333:odb-network/odbnet_1", "ODB_NETWORK"),
        ("GatewayId", "new-1", "UNKNOWN"),
        ("GatewayId", "VpcLattice", "UNKNOWN"),
        ("NatGatewayId", "new-1", "NAT_GATEWAY"),
        ("TransitGatewayId", "new-1", "TRANSIT_GATEWAY"),
        ("CoreNetworkArn", "core-network-1", "CORE_NETWORK"),
        ("NetworkInterfaceId", "new-1", "NETWORK_INTERFACE"),
        ("EgressOnlyInternetGatewayId", "new-1", "UNKNOWN"),
    ],
)
def test_a_routes_target(field: str, target: str, kind: str) -> None:
    """Every field in which EC2 names a route's target."""
    described = {"DestinationCidrBlock": "0.0.0.0/0", "Origin": "CreateRoute", "State": "active", field: target}
    (route,) = read.route_table({**TABLE, "Routes": [described]}).routes
    assert (route.target_id, route.target_kind, route.state, route.rank) == (target, kind, "active", Rank.STATIC)


def test_a_route_that_shows_less_may_be_any() -> None:
    """Without routes, without a destination, an origin, or a state, and with a target of a new form."""
    (unknown,) = read.route_table({**TABLE, "Routes": None}).routes
    assert (unknown.destination, unknown.target_kind) == ("unknown", "UNKNOWN")
    (route,) = read.route_table({**TABLE, "Routes": [{"NatGatewayId": "new"}]}).routes
    assert (route.destination, route.target_kind, route.rank, route.state) == (
        "unknown",
        "NAT_GATEWAY",
        Rank.SYSTEM,
        "",
    )
    (lattice,) = read.route_table(
        {**TABLE, "Routes": [{**TABLE["Routes"][0], "NatGatewayId": None, "GatewayId": "VpcLattice"}]}
    ).routes
    assert (lattice.target_id, lattice.target_kind) == ("VpcLattice", "UNKNOWN")


@pytest.mark.parametrize("changed", [{"Associations": None}, {"Associations": [None]}, {"Associations": [{}]}])
def test_a_table_that_does_not_show_its_associations_may_have_any(changed: dict) -> None:
    """An empty list of associations says that there is none."""
    assert read.route_table({**TABLE, **changed}).associations == (Association(),)
    assert read.route_table({**TABLE, "Associations": []}).associations == ()
    without = {key: value for key, value in TABLE.items() if key != "Associations"}
    assert read.route_table(without).associations == (Association(),)


def test_null_in_a_list_counts_as_an_entry_that_shows_nothing() -> None:
    """A route may lead anywhere then, a block of a subnet may be associated, and a tag has no key."""
    (unknown,) = read.route_table({**TABLE, "Routes": [None]}).routes
    assert (unknown.destination, unknown.target_kind) == ("unknown", "UNKNOWN")
    found = read.subnet({**SUBNET, "Ipv6CidrBlockAssociationSet": [None], "Tags": [None]})
    assert (found.has_ipv6, found.tags) == (True, {})


@pytest.mark.parametrize(
    ("described", "table_id"),
    [
        (NAT, None),
        ({**NAT, "AvailabilityMode": "zonal", "SubnetId": None}, None),
        ({**NAT, "AvailabilityMode": "regional", "SubnetId": None, "RouteTableId": "rtb-1"}, "rtb-1"),
        ({**NAT, "AvailabilityMode": "regional", "SubnetId": None}, ""),
        ({**NAT, "SubnetId": None}, ""),
    ],
)
def test_a_nat_gateway_that_may_be_regional_has_a_table(described: dict, table_id: str | None) -> None:
    """One whose table is not shown has an empty id: None stands for a zonal NAT gateway."""
    assert read.nat_gateway(described).route_table_id == table_id


@pytest.mark.parametrize(
    ("state", "endpoint_ids"), [("attached", ("vpce-1",)), ("new", ("vpce-1",)), (None, ("vpce-1",)), ("detached", ())]
)
def test_a_nat_gateway_names_the_endpoints_of_its_proxy(state: str | None, endpoint_ids: tuple) -> None:
    """Unless the appliance is detached."""
    appliance = {"Type": "network-firewall-proxy", "ApplianceArn": "arn", "VpcEndpointId": "vpce-1"}
    found = read.nat_gateway({**NAT, "AttachedAppliances": [{**appliance, "AttachmentState": state}]})
    assert found.proxy_endpoint_ids == endpoint_ids


@pytest.mark.parametrize(
    ("described", "bandwidth", "expected"),
    [
        ({}, 25.0, ("Instances without InstanceId", "", 25.0, {})),
        ({"InstanceId": "i-1", "InstanceType": "c5.large"}, "Up to 10", ("i-1", "c5.large", None, {})),
        (
            {"InstanceId": "i-1", "NetworkInterfaces": [{"NetworkInterfaceId": "new-1"}]},
            None,
            ("i-1", "", None, {"new-1": ""}),
        ),
    ],
)
def test_an_instance_that_shows_less_is_read(described: dict, bandwidth: object, expected: tuple) -> None:
    """Bandwidth that is text is as unknown as one that is missing."""
    found = read.instance(described, {"NetworkInfo": {"NetworkCards": [{"BaselineBandwidthInGbps": bandwidth}]}})
    assert (found.id, found.instance_type, found.baseline_gbps, found.subnet_of_interface) == expected


def test_a_vpc_endpoint() -> None:
    """Types and states are compared without case."""
    expected = VpcEndpoint(
        "vpce-1",
        "vpc-1",
        "gatewayloadbalancer",
        "com.amazonaws.vpce.us-east-1.vpce-svc-1",
        "available",
        subnet_ids=("subnet-1",),
        owner_id="111122223333",
    )
    assert read.vpc_endpoint(ENDPOINT) == expected


READERS = {
    "Vpcs": (read.vpc, VPC, ["VpcId"]),
    "Subnets": (read.subnet, SUBNET, ["SubnetId", "VpcId", "OwnerId"]),
    "RouteTables": (read.route_table, TABLE, ["RouteTableId", "VpcId", "Routes"]),
    "VpcEndpoints": (read.vpc_endpoint, ENDPOINT, ["VpcEndpointId", "VpcId", "VpcEndpointType", "State"]),
    "NatGateways": (read.nat_gateway, NAT, ["NatGatewayId"]),
    "NetworkInterfaces": (read.network_interface, INTERFACE, ["NetworkInterfaceId", "SubnetId", "SourceDestCheck"]),
}


@pytest.mark.parametrize(
    ("name", "field"), [(name, needed) for name, (_, _, fields) in READERS.items() for needed in fields]
)
def test_a_field_of_another_type_is_named(name: str, field: str) -> None:
    """The error carries the resource, the field, and what was found. A field that is missing is no error."""
    reader, described, _ = READERS[name]
    with pytest.raises(RecordError) as raised:
        reader({**described, field: 7})
    assert (raised.value.field, raised.value.found) == (field, 7)
    assert field in str(raised.value)
    assert reader({**described, field: None}).id


@pytest.mark.parametrize(
    ("routes", "field"),
    [
        ([{"DestinationCidrBlock": "10.0.0.0"}], "DestinationCidrBlock"),
        ([{"DestinationIpv6CidrBlock": "::/129"}], "DestinationIpv6CidrBlock"),
        (["rtb-1"], "Routes"),
        ({}, "Routes"),
    ],
)
def test_a_route_that_cannot_be_read_is_refused(routes: object, field: str) -> None:
    """A table with a route left out would be another table."""
    with pytest.raises(RecordError) as raised:
        read.route_table({**TABLE, "Routes": routes})
    assert raised.value.field == field
    assert "rtb-1" in raised.value.resource


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_whatever_is_wrong_is_a_record_error(name: str, data: st.DataObject) -> None:
    """A description spoilt anywhere gives a record or a RecordError, and never another exception."""
    reader, described, _ = READERS[name]
    with suppress(RecordError):
        assert reader(data.draw(spoilt(described))).id


# --- firewalls --------------------------------------------------------------------------------------------------------


ARN = "arn:aws:network-firewall:us-east-1:123456789012:firewall/f"
ZONE = {"Attachment": {"EndpointId": "vpce-1", "Status": "READY"}}


@pytest.mark.parametrize(
    ("firewall", "zone", "expected"),
    [
        ({}, ZONE, (("vpce-1",), False, False)),
        ({"TransparentFilteringNatScope": "NAT_ALL"}, ZONE, (("vpce-1",), False, False)),
        ({"ProxySettings": {"DomainName": "p"}}, ZONE, (("vpce-1",), True, False)),
        ({"ProxySettings": {}}, ZONE, (("vpce-1",), True, False)),
        ({"ProxySettings": {}, "TransparentFilteringNatScope": "NAT_NONE"}, ZONE, (("vpce-1",), True, True)),
        ({}, {**ZONE, "NatGatewayAttachments": [{"NatGatewayId": "nat-1"}]}, (("vpce-1",), True, False)),
        ({}, {"Attachment": {"Status": "CREATING"}}, ((), False, False)),
        ({}, {}, ((), False, False)),
    ],
)
def test_what_a_description_shows(firewall: dict, zone: dict, expected: tuple) -> None:
    """ProxySettings or NAT gateways show a NAT/Proxy firewall; an endpoint that is being created has no id yet."""
    answer = {"Firewall": {"FirewallArn": ARN, **firewall}, "FirewallStatus": {"SyncStates": {"us-east-1a": zone}}}
    found = read.firewalls([answer])[ARN]
    assert (found.endpoint_ids, found.is_proxy, found.forwards) == expected
    assert found.nat_gateway_ids == ({"vpce-1": "nat-1"} if "NatGatewayAttachments" in zone else {})
    assert found.owner_id == "123456789012"


@pytest.mark.parametrize(
    ("arn", "owner_id"),
    [
        ("arn:aws:network-firewall:us-east-1:111122223333:vpc-endpoint-association/a", "111122223333"),
        ("association-of-a-new-form", ""),
        (None, ""),
    ],
)
def test_an_association_names_an_endpoint_of_its_own_account(arn: str | None, owner_id: str) -> None:
    """The firewall may be another account's, so the association's ARN shows whose evidence it is."""
    association = {"FirewallArn": ARN, "VpcEndpointAssociationArn": arn}
    status = {"AssociationSyncState": {"us-east-1a": {"Attachment": {"EndpointId": "vpce-2"}}}}
    answers = [{"VpcEndpointAssociation": association, "VpcEndpointAssociationStatus": status}]
    found = read.firewalls([{"Firewall": {"FirewallArn": ARN}}], answers)[ARN]
    assert found.associated == (AssociatedEndpoint("vpce-2", owner_id),)


def test_a_firewall_without_an_arn_is_none() -> None:
    """Its endpoints are then those of any other appliance."""
    assert read.firewalls([{"Firewall": {}}], [{"VpcEndpointAssociation": {}}]) == {}


@pytest.mark.parametrize("answer", [{}, {"Firewall": {"FirewallArn": 1}}, {"Firewall": [ARN]}])
def test_a_description_without_a_firewall_is_an_error(answer: dict) -> None:
    """A description that lacks what a verdict needs is not used."""
    with pytest.raises(RecordError):
        read.firewalls([answer])


# --- transit gateways -------------------------------------------------------------------------------------------------


OF_VPC = {
    "TransitGatewayAttachmentId": "tgw-attach-1",
    "TransitGatewayId": "tgw-1",
    "VpcId": "vpc-1",
    "State": "available",
    "SubnetIds": ["subnet-1", "subnet-2"],
    "Options": {"ApplianceModeSupport": "enable"},
}
TGW_ROUTE = {
    "DestinationCidrBlock": "0.0.0.0/0",
    "TransitGatewayAttachments": [{"TransitGatewayAttachmentId": "tgw-attach-1", "ResourceType": "vpc"}],
    "Type": "static",
    "State": "active",
}


def test_either_description_alone_leaves_the_rest_unknown() -> None:
    """A spoke sees no association, and not every dump has the subnets."""
    (alone,) = read.attachments([ATTACHMENT], []).values()
    assert (alone.subnet_ids, alone.appliance_mode, alone.route_table_id) == (None, False, "tgw-rtb-1")
    (spokes,) = read.attachments([], [OF_VPC]).values()
    assert (spokes.resource_type, spokes.resource_id, spokes.route_table_id) == ("vpc", "vpc-1", None)


@pytest.mark.parametrize("field", ["TransitGatewayRouteTableId", "TransitGatewayPolicyTableId"])
@pytest.mark.parametrize(
    ("state", "table_id", "is_certain"),
    [
        ("associated", "tgw-table-1", True),
        ("associating", "tgw-table-1", False),
        (None, "tgw-table-1", False),
        ("a-new-state", "tgw-table-1", False),
        ("disassociating", None, True),
        ("disassociated", None, True),
    ],
)
def test_an_association_counts_by_its_state(
    field: str, state: str | None, table_id: str | None, is_certain: bool
) -> None:
    """One that has ended does not count, and one that is being made, or whose state is not known, may count."""
    association = {field: "tgw-table-1", "State": state}
    (found,) = read.attachments([{**ATTACHMENT, "Association": association}], []).values()
    assert (found.route_table_id or found.policy_table_id) == table_id
    assert (found.is_association_certain, found.shows_association) == (is_certain, True)


@pytest.mark.parametrize("association", [None, {}])
def test_an_association_that_is_not_shown(association: dict | None) -> None:
    """A VPC's owner does not see with which table the transit gateway's owner associates the attachment."""
    (found,) = read.attachments([{**ATTACHMENT, "Association": association}], []).values()
    assert (found.route_table_id, found.policy_table_id, found.shows_association) == (None, None, False)


def test_what_one_call_does_not_show_of_an_attachment_the_other_shows() -> None:
    """DescribeTransitGatewayVpcAttachments shows the state and the VPC, too."""
    of_vpc = {
        "TransitGatewayAttachmentId": "tgw-attach-1",
        "TransitGatewayId": "tgw-1",
        "VpcId": "vpc-1",
        "State": "pending",
    }
    (found,) = read.attachments([{"TransitGatewayAttachmentId": "tgw-attach-1", "State": None}], [of_vpc]).values()
    assert (found.transit_gateway_id, found.resource_type, found.resource_id, found.state) == (
        *("tgw-1", "vpc", "vpc-1", "pending"),
    )


def test_a_route_by_a_prefix_list_alone() -> None:
    """If EC2 returns no block, the destination is the list's entries."""
    described = {**TGW_ROUTE, "DestinationCidrBlock": None, "PrefixListId": "pl-1"}
    (route,) = read.transit_gateway_route_table("tgw-rtb-1", {"Routes": [described]}).routes
    assert route.destination == "pl-1"


def test_a_route_of_a_prefix_lists_entry_names_the_list() -> None:
    """A transit gateway has one route for each entry, so a change of the list changes its routes."""
    described = {**TGW_ROUTE, "PrefixListId": "pl-1"}
    (route,) = read.transit_gateway_route_table("tgw-rtb-1", {"Routes": [described]}).routes
    assert (str(route.destination), route.prefix_list_id) == (TGW_ROUTE["DestinationCidrBlock"], "pl-1")


@pytest.mark.parametrize(
    ("kind", "list_id", "rank"),
    [
        ("static", None, "STATIC"),
        ("static", "pl-1", "PREFIX_LIST"),
        ("propagated", None, "PROPAGATED"),
        ("system", None, "SYSTEM"),
        ("system", "pl-1", "SYSTEM"),
    ],
)
def test_the_type_of_a_route_decides_its_rank(kind: str, list_id: str | None, rank: str) -> None:
    """AWS documents an order for static and propagated routes only."""
    described = {**TGW_ROUTE, "Type": kind, "PrefixListId": list_id}
    (route,) = read.transit_gateway_route_table("tgw-rtb-1", {"Routes": [described]}).routes
    assert route.rank.name == rank


RULE = {
    "SourceCidrBlock": "10.0.0.0/8",
    "SourcePortRange": "*",
    "DestinationCidrBlock": "*",
    "DestinationPortRange": "443",
    "Protocol": "6",
}
ENTRY = {"PolicyRuleNumber": "10", "PolicyRule": RULE, "TargetRouteTableId": "tgw-rtb-1", "State": "active"}


def test_an_entry_of_a_policy_table() -> None:
    """What is left out may match everything."""
    full, empty = read.transit_gateway_policy_table("tgw-ptb-1", [ENTRY, {**ENTRY, "PolicyRule": {}}]).entries
    assert full == PolicyEntry(10, "tgw-rtb-1", source=parse_cidr("10.0.0.0/8"))
    assert empty == PolicyEntry(10, "tgw-rtb-1", is_certain=False)


@pytest.mark.parametrize(
    "changed",
    [
        {"State": "deleted"},
        *({"PolicyRule": {**RULE, "Protocol": protocol}} for protocol in ("1", "17", "47")),
        *({"PolicyRule": {**RULE, "DestinationPortRange": ports}} for ports in ("80", "1-442", "444-65535")),
    ],
)
def test_an_entry_that_matches_no_https_traffic_is_left_out(changed: dict) -> None:
    """It is deleted, or is for another protocol or for other ports."""
    assert read.transit_gateway_policy_table("tgw-ptb-1", [{**ENTRY, **changed}]).entries == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"State": "modifying"},
        {"State": None},
        *({"PolicyRule": {**RULE, "Protocol": protocol}} for protocol in ("tcp", "-1")),
        *({"PolicyRule": {**RULE, "DestinationPortRange": ports}} for ports in ("https", "443,8443")),
        *({"PolicyRule": {**RULE, "SourcePortRange": ports}} for ports in ("1024-65535", "ephemeral")),
        *({"PolicyRule": {**RULE, f"{side}CidrBlock": "pl-1"}} for side in ("Source", "Destination")),
    ],
)
def test_an_entry_that_may_match_is_not_certain(changed: dict) -> None:
    """A state or criterion may have a new form."""
    [entry] = read.transit_gateway_policy_table("tgw-ptb-1", [{**ENTRY, **changed}]).entries
    assert not entry.is_certain


@pytest.mark.parametrize(
    "changed",
    [
        *({"PolicyRuleNumber": number} for number in (None, "0", "50001", "system-1", "-1")),
        {"PolicyRule": {**RULE, "MetaData": {"MetaDataKey": "segment", "MetaDataValue": "prod"}}},
    ],
)
def test_an_entry_that_aws_may_manage_has_no_place(changed: dict) -> None:
    """Such entries come before those of customers, who number theirs from 1 to 50,000."""
    [entry] = read.transit_gateway_policy_table("tgw-ptb-1", [{**ENTRY, **changed}]).entries
    assert entry.number is None


@pytest.mark.parametrize("state", ["pending", "deleting", "deleted"])
def test_a_route_that_is_not_in_force_does_not_count(state: str) -> None:
    """Only active and blackhole routes count."""
    assert read.transit_gateway_route_table("tgw-rtb-1", {"Routes": [{**TGW_ROUTE, "State": state}]}).routes == ()


@pytest.mark.parametrize("field", ["TransitGatewayAttachmentId", "TransitGatewayId", "ResourceType", "State"])
def test_a_field_of_an_attachment_of_another_type_is_named(field: str) -> None:
    """The error names the field. A field that is missing is no error."""
    with pytest.raises(RecordError, match=field):
        read.attachments([{**ATTACHMENT, field: 7}], [])
    assert read.attachments([{**ATTACHMENT, field: None}], [])


@given(described=spoilt(ATTACHMENT), of_vpc=spoilt(OF_VPC), route=spoilt(TGW_ROUTE))
def test_whatever_is_wrong_with_a_transit_gateway_is_a_record_error(described: dict, of_vpc: dict, route: dict) -> None:
    """Invalid descriptions give records or a RecordError, and never another exception."""
    with suppress(RecordError):
        assert read.attachments([described], [of_vpc])
    with suppress(RecordError):
        assert read.transit_gateway_route_table("tgw-rtb-1", {"Routes": [route]}).id == "tgw-rtb-1"


# --- prefix lists -----------------------------------------------------------------------------------------------------


NAME = "com.amazonaws.us-east-1.s3express"
PLAIN = {"PrefixListId": "pl-1", "PrefixListName": NAME, "Cidrs": ["198.51.100.0/24"]}
MANAGED = {"PrefixListId": "pl-1", "PrefixListName": NAME, "AddressFamily": "IPv4", "OwnerId": "AWS"}
OWN = {
    "PrefixListId": "pl-2",
    "PrefixListName": "own",
    "AddressFamily": "IPv6",
    "OwnerId": "111122223333",
    "MaxEntries": 5,
}
LIST_ENTRIES = [{"Cidr": "2001:db8::/32", "Description": "documentation"}]
BLOCKS = (parse_cidr("198.51.100.0/24"),)


@pytest.mark.parametrize(("name", "family"), [(NAME, "IPv4"), ("com.amazonaws.us-east-1.ipv6.s3express", "IPv6")])
def test_a_list_without_blocks_is_unreadable(name: str, family: str) -> None:
    """Its addresses are unknown, but its name contains their family."""
    found = read.prefix_lists([{**PLAIN, "PrefixListName": name, "Cidrs": []}])["pl-1"]
    assert (found.cidrs, found.family) == (None, family)


@pytest.mark.parametrize(
    ("changed", "other_names"),
    [
        ({}, ()),
        ({"PrefixListName": None}, ()),
        ({"PrefixListName": "another"}, ("another",)),
        ({"OwnerId": "111122223333"}, ()),
        ({"AddressFamily": "IPv6"}, ()),
    ],
)
def test_the_two_descriptions_of_one_list_are_joined(changed: dict, other_names: tuple) -> None:
    """DescribePrefixLists lists AWS's lists only, so what it shows counts beside what the other call shows."""
    found = read.prefix_lists([PLAIN], [{**MANAGED, "MaxEntries": 9, **changed}])["pl-1"]
    assert found == PrefixList("pl-1", NAME, Family.IPV4, BLOCKS, max_entries=9, other_names=other_names)


def test_a_list_that_only_the_second_call_names_has_that_name() -> None:
    """A list without a name would hide every finding of the Region."""
    assert read.prefix_lists([{**PLAIN, "PrefixListName": None}], [MANAGED])["pl-1"].name == NAME


def test_entries_alone_are_a_list_of_nobody() -> None:
    """If lists may not be described, entries that were read still show what a route to them matches."""
    found = read.prefix_lists([PLAIN], [], {"pl-2": LIST_ENTRIES, "pl-3": []})
    assert found["pl-1"].cidrs == BLOCKS
    assert found["pl-2"] == PrefixList("pl-2", "", Family.IPV6, (parse_cidr("2001:db8::/32"),), aws_owned=False)
    assert found["pl-3"].cidrs == ()


def test_an_aws_list_without_entries_is_unreadable() -> None:
    """AWS publishes no empty list, so nothing was read."""
    assert read.prefix_lists([], [MANAGED], {"pl-1": []})["pl-1"].cidrs is None


def test_a_list_that_shows_less_is_unreadable() -> None:
    """Without CIDRs, with an entry without one, and with a new family; who owns it is known by its name."""
    found = read.prefix_lists([{**PLAIN, "Cidrs": None}], [{**MANAGED, "OwnerId": None}], {"pl-1": [{}], "pl-9": [{}]})
    assert (found["pl-1"].cidrs, found["pl-1"].aws_owned, found["pl-9"].cidrs) == (None, True, ())
    assert found["pl-9"].is_partial
    assert read.prefix_lists([], [{**OWN, "AddressFamily": "IPv8"}])["pl-2"].cidrs is None


@pytest.mark.parametrize("cidrs", [["198.51.100.0/24"], ["198.51.100.0/24", None]])
@pytest.mark.parametrize("entries", [[{"Cidr": "198.51.100.0/24"}], [{"Cidr": "198.51.100.0/24"}, {}]])
def test_a_list_with_an_entry_that_is_not_shown_is_partial(cidrs: list, entries: list) -> None:
    """The entries that are shown count, and further ones may be any."""
    found = read.prefix_lists([{**PLAIN, "Cidrs": cidrs}], [MANAGED], {"pl-1": entries})["pl-1"]
    assert found.cidrs == BLOCKS
    assert found.is_partial == (None in cidrs or {} in entries)


@pytest.mark.parametrize("managed", [[], [MANAGED]])
def test_the_blocks_of_an_aws_list_are_all_that_any_call_shows(managed: list) -> None:
    """One of the two calls was made earlier than the other."""
    found = read.prefix_lists([PLAIN], managed, {"pl-1": [{"Cidr": "192.0.2.0/24"}, {"Cidr": "198.51.100.0/24"}]})
    assert list(map(str, found["pl-1"].cidrs or ())) == ["198.51.100.0/24", "192.0.2.0/24"]


@pytest.mark.parametrize(
    ("plain", "managed", "entries", "field"),
    [
        ([{**PLAIN, "Cidrs": "198.51.100.0/24"}], [], {}, "Cidrs"),
        ([{**PLAIN, "Cidrs": ["198.51.100.0"]}], [], {}, "Cidrs"),
        ([{**PLAIN, "PrefixListName": 7}], [], {}, "PrefixListName"),
        ([{**PLAIN, "PrefixListId": 7}], [], {}, "PrefixListId"),
        ([], [{**OWN, "AddressFamily": 7}], {}, "AddressFamily"),
        ([], [OWN], {"pl-2": [{"Cidr": "no block"}]}, "Cidr"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused(plain: list, managed: list, entries: dict, field: str) -> None:
    """The error names the field."""
    with pytest.raises(RecordError) as raised:
        read.prefix_lists(plain, managed, entries)
    assert raised.value.field == field


@given(plain=spoilt(PLAIN), managed=spoilt(OWN), entry=spoilt(LIST_ENTRIES[0]), is_read=st.booleans())
def test_whatever_is_wrong_with_a_prefix_list_is_a_record_error(
    plain: dict, managed: dict, entry: dict, is_read: bool
) -> None:
    """Descriptions spoilt anywhere give lists or a RecordError, and never another exception."""
    with suppress(RecordError):
        assert read.prefix_lists([plain], [managed], {"pl-2": [entry]} if is_read else None)

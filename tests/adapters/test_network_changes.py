"""Configuration items of all formats as changes, and items that need no reads."""

import json
from collections.abc import Callable

import pytest

from express_path.adapters.network_changes import cannot_change_path, change_of, shows_no_change
from express_path.domain.verdict.fanout import ChangedResource, ResourceType
from express_path.errors import RecordError
from tests.adapters.events import Object, item, place

EXCLUSION, FIREWALL = ResourceType.BLOCK_PUBLIC_ACCESS_EXCLUSION, ResourceType.FIREWALL
ARN = "arn:aws:network-firewall:us-east-1:123456789012:firewall/edge"
ASSOCIATION = {"main": False, "subnetId": "subnet-1", "associationState": {"state": "associated"}}
TABLE = {"routeTableId": "rtb-1", "vpcId": "vpc-1", "associations": [ASSOCIATION]}


def pascal(value: object) -> object:
    """Return a value with the first letter of every key in upper case, as newer resource types have them."""
    if isinstance(value, dict):
        return {key[0].upper() + key[1:]: pascal(below) for key, below in value.items()}
    return [pascal(inner) for inner in value] if isinstance(value, list) else value


SHAPES: dict[str, Callable[[Object], object]] = {
    "camelCase": lambda configuration: configuration,
    "PascalCase": pascal,
    "JSON text": json.dumps,
    "JSON text of PascalCase": lambda configuration: json.dumps(pascal(configuration)),
}
all_shapes = pytest.mark.parametrize("shaped", SHAPES.values(), ids=SHAPES.keys())


def diff(**properties: tuple[object, object]) -> Object:
    """Return a configurationItemDiff: previous and updated value by property, whose name has "_" for "."."""
    changed = {
        name.replace("_", "."): {"previousValue": before, "updatedValue": after, "changeType": "UPDATE"}
        for name, (before, after) in properties.items()
    }
    return {"changedProperties": changed, "changeType": "UPDATE"}


def related(resource_type: str, resource_id: str) -> Object:
    """Return a relationship in the format of an event's item."""
    return {"resourceType": resource_type, "resourceId": resource_id, "resourceName": None, "name": "Contains"}


@all_shapes
@pytest.mark.parametrize("resource_type", list(ResourceType))
def test_change_names_resource_and_vpc(resource_type: ResourceType, shaped: Callable[[Object], object]) -> None:
    """Type, id, and VPC are read from each spelling of the configuration."""
    resource_id, vpc_id = (ARN, None) if resource_type is FIREWALL else ("id-1", "vpc-7")
    found = item(resourceType=resource_type.value, resourceId=resource_id, configuration=shaped({"vpcId": "vpc-7"}))
    may_be_regional = resource_type is ResourceType.NAT_GATEWAY
    expected = ChangedResource(resource_type, resource_id, vpc_id=vpc_id, may_be_regional=may_be_regional)
    assert change_of(found, {}) == expected


@pytest.mark.parametrize("key", ["name", "relationshipName"])
def test_vpc_may_stand_in_relationships(key: str) -> None:
    """If the configuration has no VPC, the relationships name it, as spelled in events or in the API."""
    relationship = {"resourceType": "AWS::EC2::VPC", "resourceId": "vpc-3", key: "Is contained in Vpc"}
    found = item(configuration={"vpcId": None}, relationships=[relationship])
    assert change_of(found, None).vpc_id == "vpc-3"


@all_shapes
def test_vpc_of_a_deleted_resource_stands_in_the_diff(shaped: Callable[[Object], object]) -> None:
    """The item of a deletion has no configuration, so the diff or the previous item has the values."""
    deleted = item(configurationItemStatus="ResourceDeleted", configuration=None)
    expected = ChangedResource(
        ResourceType.ROUTE_TABLE, "rtb-1", vpc_id="vpc-1", earlier_subnet_ids=frozenset({"subnet-1"}), deleted=True
    )
    as_object = shaped(TABLE) if not isinstance(shaped(TABLE), str) else TABLE
    assert change_of(deleted, diff(Configuration=(as_object, None))) == expected
    assert change_of(deleted, None, item(configuration=shaped(TABLE))) == expected


@all_shapes
def test_tags_that_look_like_ids_name_no_resource(shaped: Callable[[Object], object]) -> None:
    """Names such as vpc-prod or subnet-a in tags, which are next to ids and also change, are not used as ids."""
    tags = [{"key": "Name", "value": "vpc-prod"}, {"key": "subnet-of", "value": "subnet-a"}]
    now = item(configuration=shaped({"tags": tags, "vpcId": "vpc-7"}))
    before = item(configuration=shaped({"tags": tags}))
    retagged = diff(Configuration_Tags_0=({"key": "Name", "value": "subnet-b"}, None))
    assert change_of(now, retagged, before) == ChangedResource(ResourceType.ROUTE_TABLE, "rtb-1", vpc_id="vpc-7")


def test_an_item_that_names_two_vpcs_names_none() -> None:
    """It contradicts itself, so that the whole account is read."""
    found = item(configuration={"vpcId": "vpc-30f"}, relationships=[related("AWS::EC2::VPC", "vpc-3")])
    assert change_of(found, {}).vpc_id is None


def test_vpc_may_be_unknown() -> None:
    """An item without configuration, relationships and diff names no VPC."""
    assert change_of(item(configuration=None, relationships=...), None).vpc_id is None


def test_firewall_is_named_by_its_arn() -> None:
    """A firewall may have endpoints in several VPCs, and other accounts' firewalls may have its name."""
    found = item(resourceType=FIREWALL, resourceId="edge", ARN=ARN, configuration={"firewall": {"vpcId": "vpc-1"}})
    assert change_of(found, None) == ChangedResource(FIREWALL, ARN)


@all_shapes
def test_exclusion_names_its_subnet_or_vpc(shaped: Callable[[Object], object]) -> None:
    """An exclusion from Block Public Access names one of them, which a deletion's item only has in its diff."""
    found = item(resourceType=EXCLUSION, resourceId="vpcbpa-exclude-1", configuration=shaped({"subnetId": "subnet-1"}))
    assert change_of(found, None) == ChangedResource(EXCLUSION, "vpcbpa-exclude-1", subnet_id="subnet-1")
    gone = item(
        resourceType=EXCLUSION,
        resourceId="vpcbpa-exclude-1",
        configuration=None,
        configurationItemStatus="ResourceDeleted",
    )
    was = diff(Configuration=({"SubnetId": "subnet-1"}, None))
    found = change_of(gone, was)
    assert (found.subnet_id, found.deleted) == ("subnet-1", True)


@all_shapes
def test_an_endpoint_of_a_load_balancer_is_told_from_others(shaped: Callable[[Object], object]) -> None:
    """Its type shows that it names no route tables; a deletion's item has the type only in its diff."""
    appliance = {"vpcEndpointType": "GatewayLoadBalancer", "vpcId": "vpc-1"}
    of_endpoint = {"resourceType": ResourceType.VPC_ENDPOINT, "resourceId": "vpce-1"}
    assert change_of(item(**of_endpoint, configuration=shaped(appliance)), None).is_appliance_endpoint
    gone = item(**of_endpoint, configuration=None, configurationItemStatus="ResourceDeleted")
    assert change_of(gone, diff(Configuration=(pascal(appliance), None))).is_appliance_endpoint
    assert not change_of(gone, {}).is_appliance_endpoint
    gateway = shaped({**appliance, "vpcEndpointType": "Gateway"})
    assert not change_of(item(**of_endpoint, configuration=gateway), None).is_appliance_endpoint


@all_shapes
def test_a_nat_gateway_with_a_subnet_is_not_regional(shaped: Callable[[Object], object]) -> None:
    """Only a zonal one has a subnet. A deletion's item has it only in its diff, if at all."""
    of_gateway = {"resourceType": ResourceType.NAT_GATEWAY, "resourceId": "nat-1"}
    zonal = {"vpcId": "vpc-1", "subnetId": "subnet-1"}
    assert not change_of(item(**of_gateway, configuration=shaped(zonal)), None).may_be_regional
    gone = item(**of_gateway, configuration=None, configurationItemStatus="ResourceDeleted")
    assert not change_of(gone, diff(Configuration=(pascal(zonal), None))).may_be_regional
    assert change_of(gone, None).may_be_regional


@pytest.mark.parametrize(
    ("item_diff", "status", "expected"),
    [
        ({}, "OK", True),
        ({}, "ResourceDiscovered", False),
        ({"changedProperties": {}, "changeType": "UPDATE"}, "OK", True),
        ({"changedProperties": {}, "changeType": "CREATE"}, "ResourceDiscovered", False),
        ({"changedProperties": {}, "changeType": "DELETE"}, "ResourceDeleted", False),
        ({}, "ResourceDeleted", False),
        (diff(Configuration_EnableDns64=(False, True)), "OK", False),
        (None, "OK", False),
    ],
)
def test_item_that_is_sent_again_shows_no_change(item_diff: Object | None, status: str, expected: bool) -> None:
    """An empty diff shows none, unless the resource was discovered or is gone. Without a diff, there may be a change."""
    assert shows_no_change(item(configurationItemStatus=status), item_diff) is expected


@pytest.mark.parametrize("value", [{}, {"changedProperties": {}}])
def test_empty_diffs_tell_nothing(value: Object | None) -> None:
    """A diff may be empty at every level."""
    assert change_of(item(), value) == ChangedResource(ResourceType.ROUTE_TABLE, "rtb-1", vpc_id="vpc-1")


def test_earlier_associations_are_read_from_the_diff() -> None:
    """Subnets of removed associations count as previous ones, and those of new associations do not."""
    change = change_of(
        item(),
        diff(
            Configuration_Associations_0=(ASSOCIATION, None),
            Configuration_Associations_1=(None, {**ASSOCIATION, "subnetId": "subnet-2"}),
            Relationships_0=(related("AWS::EC2::Subnet", "subnet-3"), None),
        ),
    )
    assert change.earlier_subnet_ids == {"subnet-1", "subnet-3"}
    assert not change.main_changed


@pytest.mark.parametrize("sides", [({"main": True}, None), (None, {"main": True}), ({"Main": True}, {"Main": False})])
def test_main_association_that_comes_or_goes_is_noticed(sides: tuple[object, object]) -> None:
    """A table that becomes or ceases to be the main one affects subnets without an association."""
    assert change_of(item(), diff(Configuration_Associations_0=sides)).main_changed


def test_main_as_a_property_of_its_own_is_noticed() -> None:
    """The name of the diff's entry can be the property itself."""
    sides = (False, True)
    assert change_of(item(), diff(Configuration_Associations_0_Main=sides)).main_changed


@pytest.mark.parametrize(
    ("status", "deleted"),
    [
        ("OK", False),
        ("ResourceDiscovered", False),
        ("ResourceNotRecorded", False),
        ("ResourceDeleted", True),
        ("ResourceDeletedNotRecorded", True),
    ],
)
def test_deletion_is_told_by_the_status(status: str, deleted: bool) -> None:
    """Two of AWS Config's five statuses mean that the resource was deleted."""
    assert change_of(item(configurationItemStatus=status), None).deleted is deleted


@pytest.mark.parametrize("found", ["AWS::EC2::VPC", "AWS::EC2::subnet", "", None, ..., 7, ["AWS::EC2::Subnet"]])
def test_other_types_are_refused(found: object) -> None:
    """An item of another resource type is an error that names the supported types."""
    with pytest.raises(RecordError) as raised:
        change_of(item(resourceType=found), None)
    assert place(raised.value) == "configurationItem.resourceType"
    assert "AWS::EC2::RouteTable, AWS::EC2::Subnet" in raised.value.allowed


@pytest.mark.parametrize("found", ["", None, ...])
def test_resource_id_may_be_missing(found: object) -> None:
    """The change then concerns any resource of the type."""
    assert change_of(item(resourceId=found), None).resource_id == ""


@pytest.mark.parametrize("found", [7, ["rtb-1"], "rtb 1"])
def test_resource_id_is_an_id(found: object) -> None:
    """Anything else is an error that names the field."""
    with pytest.raises(RecordError) as raised:
        change_of(item(resourceId=found), None)
    assert place(raised.value) == "configurationItem.resourceId"


INTERFACE = related("AWS::EC2::NetworkInterface", "eni-1")
INSTANCE = related("AWS::EC2::Instance", "i-1")
FREE_ADDRESSES = {"Configuration_AvailableIpAddressCount": (250, 251)}
ATTACHED = diff(Relationships_0=(None, INTERFACE))
DROPPED = {
    "an interface came": {"Relationships_0": (None, INTERFACE)},
    "an interface went": {"Relationships_0": (INTERFACE, None)},
    "an instance came": {"Relationships_0": (None, INSTANCE)},
    "an instance went": {"Relationships_0": (INSTANCE, None)},
    "both went": {"Relationships_0": (INSTANCE, None), "Relationships_1": (INTERFACE, None)},
    "one for another": {"Relationships_0": (INTERFACE, {**INTERFACE, "resourceId": "eni-2"})},
    "the count of free addresses": FREE_ADDRESSES,
    "an interface and the count": {**FREE_ADDRESSES, "Relationships_0": (None, INTERFACE)},
}
KEPT = {
    "nothing": {},
    "a route table came": {"Relationships_0": (None, related("AWS::EC2::RouteTable", "rtb-1"))},
    "a network ACL went": {"Relationships_0": (related("AWS::EC2::NetworkAcl", "acl-1"), None)},
    "an interface and a route table": {
        "Relationships_0": (None, INTERFACE),
        "Relationships_1": (related("AWS::EC2::RouteTable", "rtb-1"), None),
    },
    "an interface for a route table": {"Relationships_0": (INTERFACE, related("AWS::EC2::RouteTable", "rtb-1"))},
    "DNS64": {"Configuration_EnableDns64": (False, True)},
    "a tag": {"Configuration_Tags_0": (None, {"key": "express-path:exclude", "value": ""})},
    "a relationship of no type": {"Relationships_0": (None, {"resourceId": "eni-1"})},
    "a relationship of no type beside an interface": {"Relationships_0": (INTERFACE, {"resourceId": "rtb-1"})},
    "a relationship of an odd type": {"Relationships_0": (None, {**INTERFACE, "resourceType": ["AWS::EC2::Instance"]})},
    "a property of that name": {"Configuration_Relationships": (None, INTERFACE)},
}


def subnet(status: str = "OK") -> Object:
    """Return a subnet's item."""
    return item(resourceType="AWS::EC2::Subnet", resourceId="subnet-1", configurationItemStatus=status)


@pytest.mark.parametrize("properties", DROPPED.values(), ids=DROPPED.keys())
def test_subnet_items_about_attachments_alone_are_dropped(properties: dict[str, tuple[object, object]]) -> None:
    """Items that report only interfaces or instances are frequent and do not change a path, so nothing is read."""
    assert cannot_change_path(subnet(), diff(**properties))


@pytest.mark.parametrize("properties", KEPT.values(), ids=KEPT.keys())
def test_other_subnet_items_are_kept(properties: dict[str, tuple[object, object]]) -> None:
    """Any other item of a subnet is evaluated, and so are subnets that come or go, and items without a diff."""
    assert not cannot_change_path(subnet(), diff(**properties))
    assert not cannot_change_path(subnet("ResourceDiscovered"), ATTACHED)
    assert not cannot_change_path(subnet("ResourceDeleted"), ATTACHED)
    assert not cannot_change_path(subnet(), None)


def test_a_route_tables_relationships_are_kept() -> None:
    """Relationships of a route table to interfaces are the targets of its routes."""
    assert not cannot_change_path(item(), diff(Relationships_0=(None, INTERFACE)))


@pytest.mark.parametrize("endpoint_type", ["Interface", "Gateway", "GatewayLoadBalancer", "a-new-type", None])
def test_endpoints_of_every_type_are_kept(endpoint_type: str | None) -> None:
    """An endpoint is a firewall's if a firewall names it, whatever its type is. The item does not show that."""
    configuration = {"vpcEndpointId": "vpce-1", "vpcEndpointType": endpoint_type, "vpcId": "vpc-1"}
    endpoint = item(resourceType="AWS::EC2::VPCEndpoint", resourceId="vpce-1", configuration=configuration)
    assert not cannot_change_path(endpoint, None)


@pytest.mark.parametrize(
    ("status", "change_type", "dropped"),
    [
        ("OK", "UPDATE", True),
        ("OK", None, False),
        ("ResourceDiscovered", "CREATE", False),
        ("ResourceDeleted", "DELETE", False),
    ],
)
def test_changes_of_a_directory_bucket_are_dropped(status: str, change_type: str | None, dropped: bool) -> None:
    """A bucket that existed before and still exists changes no verdict; a new or deleted one can."""
    bucket = item(resourceType="AWS::S3Express::DirectoryBucket", configurationItemStatus=status)
    changed = {"changedProperties": {}, "changeType": change_type} if change_type else None
    assert cannot_change_path(bucket, changed) is dropped


UNREADABLE = ["", "{", "vpc-1", '{"a": ' * 9999, "[" * 99_999, '{"a": "\\udc00"}', 7, ["a"], True]


@pytest.mark.parametrize("text", UNREADABLE, ids=range(len(UNREADABLE)))
def test_configuration_that_cannot_be_read_says_nothing(text: object) -> None:
    """A configuration is an object, JSON text of one, or null. In another form it names no VPC, as if it were missing."""
    endpoint = item(resourceType="AWS::EC2::VPCEndpoint", configuration=text)
    assert not cannot_change_path(endpoint, None)
    assert change_of(endpoint, None) == ChangedResource(ResourceType.VPC_ENDPOINT, "rtb-1")


@pytest.mark.parametrize("found", [..., None, 7, "Deleted", ["OK"], {"value": "OK"}])
def test_another_status_is_neither_an_update_nor_a_deletion(found: object) -> None:
    """So nothing is left out because of a status other than AWS Config's five (botocore model: config)."""
    strange = {**subnet(), **item(resourceType="AWS::EC2::Subnet", configurationItemStatus=found)}
    assert not change_of(strange, {}).deleted
    assert not shows_no_change(item(configurationItemStatus=found), {})
    assert not cannot_change_path(item(configurationItemStatus=found, resourceType="AWS::EC2::Subnet"), ATTACHED)


@pytest.mark.parametrize("found", [None, "text", 7, ["a"], {"Relationships.1": "text"}, {"Relationships.1": None}, {}])
def test_a_difference_of_another_form_leaves_nothing_out(found: object) -> None:
    """It may be about anything beside what can be read of it."""
    changed = {**ATTACHED["changedProperties"], **found} if isinstance(found, dict) else found
    difference = {"changedProperties": changed, "changeType": "UPDATE"}
    assert cannot_change_path(subnet(), difference) is (found == {})
    assert not shows_no_change(item(), difference)
    assert change_of(subnet(), difference).resource_id == "subnet-1"


KNOWN_ASSOCIATIONS = [
    {},
    diff(Configuration_Routes_0=(None, {"natGatewayId": "nat-1"})),
    diff(Configuration_Associations_0=(ASSOCIATION, None)),
    diff(Configuration_Associations_0=({"gatewayId": "igw-1"}, {"main": True, "subnetId": None})),
    diff(Configuration_Associations=([ASSOCIATION], [])),
    diff(Configuration_Associations_0_Main=(True, False)),
    diff(Configuration_Associations_0_SubnetId=("subnet-1", "subnet-2")),
    diff(Configuration_Associations_0_AssociationState=({"state": "associating"}, {"state": "associated"})),
    diff(Configuration=(TABLE, None)),
]
UNKNOWN_ASSOCIATIONS = [
    None,
    {"changedProperties": None},
    {"changedProperties": {"Configuration.Routes.0": {"updatedValue": {}}}},
    diff(Configuration_Associations_0=({**ASSOCIATION, "subnetId": "a-new-word"}, None)),
    diff(Configuration_Associations_0=({"subnetId": None, "main": "true"}, None)),
    diff(Configuration_Associations_0=("subnet-1", None)),
    diff(Configuration_Associations=({"subnet-1": ASSOCIATION}, [])),
    diff(Configuration_Associations_0_Main=("true", False)),
    diff(Configuration_Associations_0_SubnetId=(["a-new-word"], None)),
    diff(Configuration=({"routeTableId": "rtb-1"}, None)),
    diff(Configuration=("a-new-word", None)),
]


@pytest.mark.parametrize("difference", KNOWN_ASSOCIATIONS, ids=range(len(KNOWN_ASSOCIATIONS)))
def test_earlier_associations_are_known(difference: Object) -> None:
    """A difference shows which subnets a table governed before; of a table that was discovered, none is needed."""
    assert change_of(item(), difference).earlier_subnet_ids is not None
    assert change_of(item(configurationItemStatus="ResourceDiscovered"), None).earlier_subnet_ids == frozenset()


@pytest.mark.parametrize("difference", UNKNOWN_ASSOCIATIONS, ids=range(len(UNKNOWN_ASSOCIATIONS)))
def test_earlier_associations_are_not_known(difference: Object | None) -> None:
    """Without a difference, or with one that does not name the subnets, the table may have governed any subnet."""
    assert change_of(item(), difference).earlier_subnet_ids is None


@pytest.mark.parametrize("configuration", [None, "{", {"routeTableId": "rtb-1"}, {"associations": [{"subnetId": 7}]}])
def test_an_item_before_may_not_show_associations(configuration: object) -> None:
    """Then, too, the table may have governed any subnet."""
    assert change_of(item(), None, item(configuration=configuration)).earlier_subnet_ids is None


@pytest.mark.parametrize(
    ("named", "expected"), [({"ARN": ...}, ""), ({"ARN": "a-new-word"}, ""), ({"resourceId": ARN}, ARN)]
)
def test_a_firewall_without_its_arn_is_any_firewall(named: Object, expected: str) -> None:
    """Its name alone may be that of another account's firewall."""
    found = item(resourceType=FIREWALL, resourceId="edge", configuration={})
    assert (
        change_of({**found, **{key: value for key, value in named.items() if value is not ...}}, {}).resource_id
        == expected
    )

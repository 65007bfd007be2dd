"""Configuration items of AWS Config: which there are, what they are made of, and what changed between two."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from config_rule_sandbox.dynamic import Client

# --- kinds ---------------------------------------------------------------------------------------------------------
#
# The resource types that are recorded: how to read each from EC2, and which keys its configuration item has.
#
# Keys: https://github.com/awslabs/aws-config-resource-schema (AWS's schema of the items), which lacks some members of
# EC2's answers: coreNetworkArn, odbNetworkArn and ipAddress of a route, the policy of an endpoint, the availability mode
# and the route table of a NAT gateway. ARNs:
# https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html


ROUTE_TABLE = "AWS::EC2::RouteTable"
SUBNET = "AWS::EC2::Subnet"
VPC_ENDPOINT = "AWS::EC2::VPCEndpoint"
NAT_GATEWAY = "AWS::EC2::NatGateway"
BLOCK_OPTIONS = "AWS::EC2::VPCBlockPublicAccessOptions"
BLOCK_EXCLUSION = "AWS::EC2::VPCBlockPublicAccessExclusion"
PREFIX_LIST = "AWS::EC2::PrefixList"
FIREWALL = "AWS::NetworkFirewall::Firewall"
DIRECTORY_BUCKET = "AWS::S3Express::DirectoryBucket"
VPC = "AWS::EC2::VPC"
NETWORK_INTERFACE = "AWS::EC2::NetworkInterface"
INSTANCE = "AWS::EC2::Instance"


Described = dict[str, Any]
"""One resource as boto3 or CloudFormation describe it."""

Clients = Callable[[str], Client]
"""Returns the boto3 client of a service, by boto3's name for it."""

Read = Callable[[Clients], list[Described]]
"""Reads all resources of one type."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One recorded resource type.

    `read` returns the resources as boto3 or CloudFormation describe them, `id_key` is the key of the id there, `arn` the
    resource part of the ARN. `keys` are the keys of `configuration`, `members` those of the objects in its lists.
    `milliseconds` are times that Config writes as a number, `created` is the one that is the resource's creation time.
    `zone` is what Config writes for the Availability Zone where the resource has none. `service` is the service in the
    ARN. The keys of newer types are CloudFormation's, which begin with a capital.
    """

    resource_type: str
    read: "Read"
    id_key: str
    arn: str
    keys: tuple[str, ...]
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    milliseconds: tuple[str, ...] = ()
    created: str | None = None
    zone: str = "Not Applicable"
    service: str = "ec2"


def _listing(paginator: str, result: str) -> Read:
    """Return a reader of one paginated call of EC2."""
    return lambda client: _all(client("ec2"), paginator, result)


def _all(client: Client, paginator: str, result: str) -> list[Described]:
    return [resource for page in client.get_paginator(paginator).paginate() for resource in page[result]]


def _block_options(client: Clients) -> list[Described]:
    found = client("ec2").describe_vpc_block_public_access_options()["VpcBlockPublicAccessOptions"]
    return [{"AccountId": found["AwsAccountId"], "InternetGatewayBlockMode": found["InternetGatewayBlockMode"]}]


def _exclusions(client: Clients) -> list[Described]:
    found = client("ec2").describe_vpc_block_public_access_exclusions()["VpcBlockPublicAccessExclusions"]
    return [{**exclusion, **_excluded(exclusion["ResourceArn"].rpartition("/")[2])} for exclusion in found]


def _excluded(resource_id: str) -> Described:
    return {"SubnetId" if resource_id.startswith("subnet-") else "VpcId": resource_id}


def _prefix_lists(client: Clients) -> list[Described]:
    """Return the customers' lists. UNVERIFIED whether AWS Config also records those of AWS."""
    ec2 = client("ec2")
    found = [row for row in _all(ec2, "describe_managed_prefix_lists", "PrefixLists") if row["OwnerId"] != "AWS"]
    return [
        {**row, "Entries": ec2.get_managed_prefix_list_entries(PrefixListId=row["PrefixListId"])["Entries"]}
        for row in found
    ]


def _firewalls(client: Clients) -> list[Described]:
    """Return firewalls as AWS Config has them: DescribeFirewall's `Firewall` in camel case, without its status."""
    firewalls = client("network-firewall")
    arns = [row["FirewallArn"] for row in _all(firewalls, "list_firewalls", "Firewalls")]
    found = [firewalls.describe_firewall(FirewallArn=arn)["Firewall"] for arn in arns]
    return [{"FirewallName": firewall["FirewallName"], "firewall": camel(firewall)} for firewall in found]


def _buckets(client: Clients) -> list[Described]:
    return [_bucket(listed) for listed in _all(client("s3"), "list_directory_buckets", "Buckets")]


def _bucket(listed: Described) -> Described:
    """Return a listed directory bucket with the names of its CloudFormation type.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-s3express-directorybucket.html
    """
    zone = listed["Name"].split("--")[-2]
    redundancy = "SingleAvailabilityZone" if "-az" in zone else "SingleLocalZone"
    arn = listed["BucketArn"]
    return {"BucketName": listed["Name"], "LocationName": zone, "DataRedundancy": redundancy, "Arn": arn}


def camel(described: Described) -> dict[str, Any]:
    """Return a boto3 structure with the first letter of every key in lower case, at every depth."""
    return {name[:1].lower() + name[1:]: _camel_within(value) for name, value in described.items()}


def _camel_within(value: object) -> object:
    if isinstance(value, dict):
        return camel(value)
    return [_camel_within(member) for member in value] if isinstance(value, list) else value


ROUTE_KEYS = (
    "destinationCidrBlock",
    "destinationIpv6CidrBlock",
    "destinationPrefixListId",
    "egressOnlyInternetGatewayId",
    "gatewayId",
    "instanceId",
    "instanceOwnerId",
    "natGatewayId",
    "transitGatewayId",
    "localGatewayId",
    "carrierGatewayId",
    "networkInterfaceId",
    "origin",
    "state",
    "vpcPeeringConnectionId",
)

KINDS = (
    Kind(
        ROUTE_TABLE,
        _listing("describe_route_tables", "RouteTables"),
        "RouteTableId",
        "route-table",
        ("associations", "propagatingVgws", "routeTableId", "routes", "tags", "vpcId", "ownerId"),
        {
            "associations": (
                "main",
                "routeTableAssociationId",
                "routeTableId",
                "subnetId",
                "gatewayId",
                "associationState",
            ),
            "propagatingVgws": ("gatewayId",),
            "routes": ROUTE_KEYS,
        },
    ),
    Kind(
        SUBNET,
        _listing("describe_subnets", "Subnets"),
        "SubnetId",
        "subnet",
        (
            "availabilityZone",
            "availabilityZoneId",
            "availableIpAddressCount",
            "cidrBlock",
            "defaultForAz",
            "mapPublicIpOnLaunch",
            "mapCustomerOwnedIpOnLaunch",
            "customerOwnedIpv4Pool",
            "state",
            "subnetId",
            "vpcId",
            "ownerId",
            "assignIpv6AddressOnCreation",
            "ipv6CidrBlockAssociationSet",
            "tags",
            "subnetArn",
            "outpostArn",
            "enableDns64",
            "ipv6Native",
            "privateDnsNameOptionsOnLaunch",
        ),
    ),
    Kind(
        VPC_ENDPOINT,
        _listing("describe_vpc_endpoints", "VpcEndpoints"),
        "VpcEndpointId",
        "vpc-endpoint",
        (
            "vpcEndpointId",
            "vpcEndpointType",
            "vpcId",
            "serviceName",
            "state",
            "routeTableIds",
            "subnetIds",
            "groups",
            "ipAddressType",
            "dnsOptions",
            "privateDnsEnabled",
            "requesterManaged",
            "networkInterfaceIds",
            "dnsEntries",
            "creationTimestamp",
            "tags",
            "ownerId",
            "lastError",
        ),
        milliseconds=("creationTimestamp",),
        created="CreationTimestamp",
    ),
    Kind(
        NAT_GATEWAY,
        _listing("describe_nat_gateways", "NatGateways"),
        "NatGatewayId",
        "natgateway",
        (
            "createTime",
            "deleteTime",
            "failureCode",
            "failureMessage",
            "natGatewayAddresses",
            "natGatewayId",
            "state",
            "subnetId",
            "vpcId",
            "tags",
            "connectivityType",
        ),
        {"natGatewayAddresses": ("allocationId", "networkInterfaceId", "privateIp", "publicIp")},
        milliseconds=("createTime", "deleteTime"),
        created="CreateTime",
    ),
    Kind(
        BLOCK_OPTIONS,
        _block_options,
        "AccountId",
        "vpc-block-public-access-options",
        ("AccountId", "InternetGatewayBlockMode"),
    ),
    Kind(
        BLOCK_EXCLUSION,
        _exclusions,
        "ExclusionId",
        "vpc-block-public-access-exclusion",
        ("ExclusionId", "InternetGatewayExclusionMode", "SubnetId", "VpcId"),
    ),
    Kind(
        PREFIX_LIST,
        _prefix_lists,
        "PrefixListId",
        "prefix-list",
        ("PrefixListId", "PrefixListName", "AddressFamily", "OwnerId", "MaxEntries", "Version", "Entries"),
    ),
    Kind(FIREWALL, _firewalls, "FirewallName", "firewall", ("firewall",), service="network-firewall"),
    Kind(
        DIRECTORY_BUCKET,
        _buckets,
        "BucketName",
        "bucket",
        ("BucketName", "LocationName", "DataRedundancy", "Arn"),
        zone="Regional",
        service="s3express",
    ),
    Kind(
        VPC,
        _listing("describe_vpcs", "Vpcs"),
        "VpcId",
        "vpc",
        (
            "cidrBlock",
            "dhcpOptionsId",
            "state",
            "vpcId",
            "ownerId",
            "instanceTenancy",
            "ipv6CidrBlockAssociationSet",
            "cidrBlockAssociationSet",
            "isDefault",
            "tags",
        ),
        zone="Multiple Availability Zones",
    ),
)
"""In the order in which the items of one change are delivered."""

KIND_OF = {kind.resource_type: kind for kind in KINDS}


# --- what the recorder reads ---------------------------------------------------------------------------------------
#
# Reads the network through the EC2 API, as AWS Config's recorder does.


@dataclass(frozen=True, slots=True)
class Contained:
    """The parts of a network interface or an instance that others are related to."""

    resource_type: str
    resource_id: str
    subnet_id: str | None
    vpc_id: str | None


@dataclass(frozen=True, slots=True)
class Network:
    """All resources of the recorded types, by type and id, and what their subnets and VPCs contain."""

    resources: dict[str, dict[str, Described]]
    contained: list[Contained]

    def route_tables_of(self, subnet_id: str) -> list[str]:
        """Return the ids of the tables that are explicitly associated with a subnet; none if it uses the main one."""
        return [
            table_id
            for table_id, table in self.resources[ROUTE_TABLE].items()
            if subnet_id in [association.get("SubnetId") for association in table["Associations"]]
        ]

    def ids_in_vpc(self, resource_type: str, vpc_id: str) -> list[str]:
        """Return the ids of all resources of one type in a VPC."""
        return [
            resource_id
            for resource_id, resource in self.resources[resource_type].items()
            if resource["VpcId"] == vpc_id
        ]


def observe(client: Clients) -> Network:
    """Read the whole account and Region."""
    resources = {kind.resource_type: {found[kind.id_key]: found for found in kind.read(client)} for kind in KINDS}
    return Network(resources, _interfaces(client("ec2")) + _instances(client("ec2")))


def _interfaces(ec2: Client) -> list[Contained]:
    return [
        Contained(NETWORK_INTERFACE, interface["NetworkInterfaceId"], interface.get("SubnetId"), interface.get("VpcId"))
        for interface in _all(ec2, "describe_network_interfaces", "NetworkInterfaces")
    ]


def _instances(ec2: Client) -> list[Contained]:
    reservations = _all(ec2, "describe_instances", "Reservations")
    found = [instance for reservation in reservations for instance in reservation["Instances"]]
    return [
        Contained(INSTANCE, instance["InstanceId"], instance.get("SubnetId"), instance.get("VpcId"))
        for instance in found
        if instance["State"]["Name"] != "terminated"
    ]


# --- relationships -------------------------------------------------------------------------------------------------
#
# Relationships between resources, as configuration items list them.
#
# Which there are: https://docs.aws.amazon.com/config/latest/developerguide/resource-config-reference.html. Their wording
# is Config's own: the newer types, endpoints and NAT gateways, have names that end after "in " or "to ".


Relationship = dict[str, Any]


def relationships_of(
    network: Network, resource_type: str, described: Described, *, indirect: bool = True
) -> list[Relationship]:
    """Return the relationships of one resource, sorted by the ids of the others.

    Indirect ones are those that follow from the other resource's configuration: what a subnet or a VPC contains, and
    the route table of a subnet. Customers can have them switched off
    (https://docs.aws.amazon.com/config/latest/developerguide/faq.html).
    """
    found = {
        ROUTE_TABLE: _of_route_table,
        SUBNET: _of_subnet,
        VPC_ENDPOINT: _of_endpoint,
        NAT_GATEWAY: _of_nat_gateway,
        VPC: _of_vpc,
    }.get(resource_type, _of_other)(network, described)
    if not indirect and resource_type in (SUBNET, VPC):
        found = [relationship for relationship in found if relationship["name"] == "Is contained in Vpc"]
    return sorted(found, key=lambda relationship: str(relationship["resourceId"]))


def _of_route_table(_network: Network, table: Described) -> list[Relationship]:
    subnets = [association["SubnetId"] for association in table["Associations"] if association.get("SubnetId")]
    return [*_many(SUBNET, subnets, "Contains Subnet"), _one(VPC, table["VpcId"], "Is contained in Vpc")]


def _of_other(_network: Network, described: Described) -> list[Relationship]:
    """Return the VPC of an exclusion; the other types are related to nothing that is recorded here."""
    return [_one(VPC, described["VpcId"], "Is contained in ")] if "VpcId" in described else []


def _of_subnet(network: Network, subnet: Described) -> list[Relationship]:
    inside = [contained for contained in network.contained if contained.subnet_id == subnet["SubnetId"]]
    tables = network.route_tables_of(subnet["SubnetId"])
    return [
        *_contents(inside),
        *_many(ROUTE_TABLE, tables, "Is contained in RouteTable"),
        _one(VPC, subnet["VpcId"], "Is contained in Vpc"),
    ]


def _of_endpoint(_network: Network, endpoint: Described) -> list[Relationship]:
    return [
        *_many(NETWORK_INTERFACE, endpoint.get("NetworkInterfaceIds") or [], "Is attached to "),
        *_many(SUBNET, endpoint.get("SubnetIds") or [], "Is contained in "),
        *_many(ROUTE_TABLE, endpoint.get("RouteTableIds") or [], "Is contained in "),
        _one(VPC, endpoint["VpcId"], "Is contained in "),
    ]


def _of_nat_gateway(_network: Network, gateway: Described) -> list[Relationship]:
    # A regional NAT gateway is in no subnet.
    subnets = [gateway["SubnetId"]] if gateway.get("SubnetId") else []
    return [*_many(SUBNET, subnets, "Is contained in "), _one(VPC, gateway["VpcId"], "Is contained in ")]


def _of_vpc(network: Network, vpc: Described) -> list[Relationship]:
    vpc_id = vpc["VpcId"]
    return [
        *_contents([contained for contained in network.contained if contained.vpc_id == vpc_id]),
        *_many(ROUTE_TABLE, network.ids_in_vpc(ROUTE_TABLE, vpc_id), "Contains RouteTable"),
        *_many(SUBNET, network.ids_in_vpc(SUBNET, vpc_id), "Contains Subnet"),
    ]


def _contents(inside: list[Contained]) -> list[Relationship]:
    names = {NETWORK_INTERFACE: "Contains NetworkInterface", INSTANCE: "Contains Instance"}
    return [
        _one(contained.resource_type, contained.resource_id, names[contained.resource_type]) for contained in inside
    ]


def _many(resource_type: str, ids: list[str], name: str) -> list[Relationship]:
    return [_one(resource_type, resource_id, name) for resource_id in ids]


def _one(resource_type: str, resource_id: str, name: str) -> Relationship:
    return {"resourceId": resource_id, "resourceName": None, "resourceType": resource_type, "name": name}


# --- items ---------------------------------------------------------------------------------------------------------
#
# Configuration items in the shape in which rule events carry them (version 1.3).
#
# https://docs.aws.amazon.com/config/latest/developerguide/config-item-table.html names the components; the order of the
# keys and the empty configurationStateMd5Hash are those of items that Config delivers.


Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ItemStyle:
    """The details in which configuration items differ by age and origin, so that tests can use each form.

    `explicit_nulls`: a missing value is null, else its key is missing. `state_as_object`: `state` is {"value": "..."}
    (as the query schema has it), else a string. `indirect_relationships`: subnets and VPCs have items where what they
    contain changed, which customers can have switched off
    (https://docs.aws.amazon.com/config/latest/developerguide/faq.html).
    """

    explicit_nulls: bool = True
    state_as_object: bool = False
    indirect_relationships: bool = True


@dataclass(frozen=True, slots=True)
class Recorded:
    """Whose items these are and how they look."""

    account_id: str
    region: str
    style: ItemStyle

    def item(self, kind: Kind, described: Described, network: Network, status: str, captured: str) -> Item:
        """Return the item of a resource that exists; `captured` is its capture time as Config writes it."""
        resource_id = described[kind.id_key]
        created = described.get(kind.created) if kind.created else None
        indirect = self.style.indirect_relationships
        related = relationships_of(network, kind.resource_type, described, indirect=indirect)
        return {
            **self._body(configuration(kind, described, self.style), related),
            "tags": {tag["Key"]: tag["Value"] for tag in described.get("Tags") or []},
            **self._head(kind, resource_id, status, captured),
            "availabilityZone": described["AvailabilityZone"] if kind.resource_type == SUBNET else kind.zone,
            "resourceCreationTime": timestamp(created) if created else None,
        }

    def deleted(self, kind: Kind, resource_id: str, captured: str) -> Item:
        """Return the item of a resource that is gone: it has neither configuration nor tags nor relationships."""
        return {
            **self._body(None, []),
            "tags": {},
            **self._head(kind, resource_id, "ResourceDeleted", captured),
            "availabilityZone": None,
            "resourceCreationTime": None,
        }

    def _body(self, configured: dict[str, Any] | None, related: list[Relationship]) -> Item:
        return {
            "relatedEvents": [],
            "relationships": related,
            "configuration": configured,
            "supplementaryConfiguration": {},
        }

    def _head(self, kind: Kind, resource_id: str, status: str, captured: str) -> Item:
        partition = "aws-cn" if self.region.startswith("cn-") else "aws"
        return {
            "configurationItemVersion": "1.3",
            "configurationItemCaptureTime": captured,
            "configurationStateId": round(datetime.fromisoformat(captured).timestamp() * 1000),
            "awsAccountId": self.account_id,
            "configurationItemStatus": status,
            "resourceType": kind.resource_type,
            "resourceId": resource_id,
            "resourceName": resource_id if kind.resource_type == DIRECTORY_BUCKET else None,
            "ARN": f"arn:{partition}:{kind.service}:{self.region}:{self.account_id}:{kind.arn}/{resource_id}",
            "awsRegion": self.region,
            "configurationStateMd5Hash": "",
        }


def configuration(kind: Kind, described: Described, style: ItemStyle) -> dict[str, Any]:
    """Return the `configuration` of an item: EC2's answer in camel case, cut to the keys that Config has."""
    found = camel(described) if kind.keys[0][0].islower() else dict(described)
    for name in kind.milliseconds:
        if name in found:
            found[name] = round(found[name].timestamp() * 1000)
    for name, keys in kind.members.items():
        found[name] = [_with_keys(member, keys, style) for member in found.get(name, [])]
    if style.state_as_object and "state" in found:
        found["state"] = {"value": found["state"]}
    return _with_keys(found, kind.keys, style)


def timestamp(moment: datetime) -> str:
    """Return a time as Config writes it: UTC, milliseconds, Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _with_keys(found: dict[str, Any], keys: tuple[str, ...], style: ItemStyle) -> dict[str, Any]:
    if style.explicit_nulls:
        return {name: found.get(name) for name in keys}
    return {name: found[name] for name in keys if found.get(name) is not None}


# --- differences ---------------------------------------------------------------------------------------------------
#
# configurationItemDiff: what changed between two configuration items of one resource.
#
# https://docs.aws.amazon.com/config/latest/developerguide/example-sns-notification.html shows the form: keys are paths
# with a capital first letter ("Configuration.State"), a member of a list is removed and added as a whole
# ("Configuration.Routes.0"), and related resources are counted like members ("Relationships.0").


Changes = dict[str, dict[str, Any]]


def diff(previous: Item | None, updated: Item) -> dict[str, Any]:
    """Return the diff that leads from the previous item (None if there was none) to the updated one."""
    before = previous or {"configuration": None, "relationships": []}
    changes = _members("Relationships", before["relationships"], updated["relationships"])
    if before["configuration"] is None or updated["configuration"] is None:
        changes |= _value("Configuration", before["configuration"], updated["configuration"])
    else:
        changes |= _properties("Configuration", before["configuration"], updated["configuration"])
    return {"changedProperties": changes, "changeType": _change_type(before["configuration"], updated["configuration"])}


def _properties(path: str, previous: dict[str, Any], updated: dict[str, Any]) -> Changes:
    """Return the changes between two objects, by property."""
    changes: Changes = {}
    for name in sorted({*previous, *updated}):
        before, after = previous.get(name), updated.get(name)
        below = f"{path}.{name[:1].upper()}{name[1:]}"
        if isinstance(before, dict) and isinstance(after, dict):
            changes |= _properties(below, before, after)
        elif isinstance(before, list) and isinstance(after, list):
            changes |= _members(below, before, after)
        else:
            changes |= _value(below, before, after)
    return changes


def _members(path: str, previous: list[Any], updated: list[Any]) -> Changes:
    """Return the members that were removed and those that were added; their order does not count."""
    removed = [(member, None) for member in previous if member not in updated]
    added = [(None, member) for member in updated if member not in previous]
    changes: Changes = {}
    for number, (before, after) in enumerate([*removed, *added]):
        changes |= _value(f"{path}.{number}", before, after)
    return changes


def _value(path: str, before: object, after: object) -> Changes:
    if before == after:
        return {}
    return {path: {"previousValue": before, "updatedValue": after, "changeType": _change_type(before, after)}}


def _change_type(before: object, after: object) -> str:
    if before is None:
        return "CREATE"
    return "DELETE" if after is None else "UPDATE"

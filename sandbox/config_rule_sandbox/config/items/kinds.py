"""The resource types that are recorded: how to read each from EC2, and which keys its configuration item has.

Keys: https://github.com/awslabs/aws-config-resource-schema (AWS's schema of the items), which lacks some members of
EC2's answers: coreNetworkArn, odbNetworkArn and ipAddress of a route, the policy of an endpoint, the availability mode
and the route table of a NAT gateway. ARNs:
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from config_rule_sandbox.dynamic import Client

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
    return lambda client: list_all(client("ec2"), paginator, result)


def list_all(client: Client, paginator: str, result: str) -> list[Described]:
    """Return what an operation lists on all of its pages."""
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
    found = [row for row in list_all(ec2, "describe_managed_prefix_lists", "PrefixLists") if row["OwnerId"] != "AWS"]
    return [
        {**row, "Entries": ec2.get_managed_prefix_list_entries(PrefixListId=row["PrefixListId"])["Entries"]}
        for row in found
    ]


def _firewalls(client: Clients) -> list[Described]:
    """Return firewalls as AWS Config has them: DescribeFirewall's `Firewall` in camel case, without its status."""
    firewalls = client("network-firewall")
    arns = [row["FirewallArn"] for row in list_all(firewalls, "list_firewalls", "Firewalls")]
    found = [firewalls.describe_firewall(FirewallArn=arn)["Firewall"] for arn in arns]
    return [{"FirewallName": firewall["FirewallName"], "firewall": camel(firewall)} for firewall in found]


def _buckets(client: Clients) -> list[Described]:
    return [_bucket(listed) for listed in list_all(client("s3"), "list_directory_buckets", "Buckets")]


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

NEWER_TYPES = (BLOCK_OPTIONS, BLOCK_EXCLUSION, PREFIX_LIST, FIREWALL, DIRECTORY_BUCKET)
"""The types whose items have the form of CloudFormation's resources."""

KIND_OF = {kind.resource_type: kind for kind in KINDS}

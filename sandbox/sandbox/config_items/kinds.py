"""The resource types that are recorded: how to read each from EC2, and which keys its configuration item has.

Keys: https://github.com/awslabs/aws-config-resource-schema (AWS's schema of the items), which lacks some members of
EC2's answers: coreNetworkArn, odbNetworkArn and ipAddress of a route, the policy of an endpoint, the availability mode
and the route table of a NAT gateway. ARNs:
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

ROUTE_TABLE = "AWS::EC2::RouteTable"
SUBNET = "AWS::EC2::Subnet"
VPC_ENDPOINT = "AWS::EC2::VPCEndpoint"
NAT_GATEWAY = "AWS::EC2::NatGateway"
DIRECTORY_BUCKET = "AWS::S3Express::DirectoryBucket"
VPC = "AWS::EC2::VPC"
NETWORK_INTERFACE = "AWS::EC2::NetworkInterface"
INSTANCE = "AWS::EC2::Instance"


@dataclass(frozen=True, slots=True)
class Kind:
    """One recorded resource type.

    `paginator` and `result` are boto3's names of the call that lists it, `id_key` the key of its id there, `arn` the
    resource part of its ARN. `keys` are the keys of `configuration`, `members` those of the objects in its lists.
    `milliseconds` are times that Config writes as a number, `created` is the one that is the resource's creation time.
    `zone` is what Config writes for the Availability Zone where the resource has none. `service` is the service in the
    ARN: items of other services than EC2 have CloudFormation's keys, which begin with a capital.
    """

    resource_type: str
    paginator: str
    result: str
    id_key: str
    arn: str
    keys: tuple[str, ...]
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    milliseconds: tuple[str, ...] = ()
    created: str | None = None
    zone: str = "Not Applicable"
    service: str = "ec2"


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
        "describe_route_tables",
        "RouteTables",
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
        "describe_subnets",
        "Subnets",
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
        "describe_vpc_endpoints",
        "VpcEndpoints",
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
        "describe_nat_gateways",
        "NatGateways",
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
        DIRECTORY_BUCKET,
        "list_directory_buckets",
        "Buckets",
        "BucketName",
        "bucket",
        ("BucketName", "LocationName", "DataRedundancy", "Arn"),
        zone="Regional",
        service="s3express",
    ),
    Kind(
        VPC,
        "describe_vpcs",
        "Vpcs",
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

"""The rows of a VPC, its subnets, and its NAT gateways, in the format of the AWS CLI.

A function's keyword parameters are the options that a network file can give; any other option raises TypeError.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Row = dict[str, Any]
Tags = Mapping[str, str]

ZONES = {"us-east-1": ("use1", 4), "eu-south-1": ("eus1", 1), "eu-west-1": ("euw1", 1)}
"""The prefix of a Region's zone ids, and the number of the zone that the account calls a."""
VPC_IPV6, SUBNET_IPV6 = "2600:1f18:7c4a:b000::/56", "2600:1f18:7c4a:b0{}0::/64"


class AccountRegion(NamedTuple):
    """The account and Region of a dump."""

    account: str
    region: str

    def arn(self, service: str, resource: str, owner: str = "") -> str:
        """Return the ARN of a resource in this Region."""
        return f"arn:aws:{service}:{self.region}:{owner or self.account}:{resource}"


class Vpc(NamedTuple):
    """The values of a VPC that the rows of its resources repeat."""

    id: str
    owner: str
    cidrs: tuple[str, ...]
    ipv6: bool
    place: AccountRegion


def name_of(resource_id: str) -> str:
    """Return the name in a readable id: private-a for subnet-private-a, spokes for tgw-rtb-spokes."""
    kind = next((kind for kind in ("tgw-attach-", "tgw-rtb-") if resource_id.startswith(kind)), "")
    return resource_id.removeprefix(kind) if kind else resource_id.partition("-")[2]


def tag_list(resource_id: str, tags: Tags | None) -> list[Row]:
    """Return the Name tag, with the name from the id, and the given tags."""
    given = {"Name": name_of(resource_id)} | dict(tags or {})
    return [{"Key": key, "Value": value} for key, value in given.items()]


def with_fields(row: Row, fields: Mapping[str, Any] | None) -> Row:
    """Return the row with these fields, spelled as in the AWS CLI, set; a field that is null is removed."""
    return {key: value for key, value in (row | dict(fields or {})).items() if value is not None}


def vpc_row(vpc: Vpc, *, tags: Tags | None = None, fields: Row | None = None) -> Row:
    """Return a row of DescribeVpcs."""
    ipv6_block = {
        "AssociationId": f"vpc-cidr-assoc-{name_of(vpc.id)}-ipv6",
        "Ipv6CidrBlock": VPC_IPV6,
        "Ipv6CidrBlockState": {"State": "associated"},
        "NetworkBorderGroup": vpc.place.region,
        "Ipv6Pool": "Amazon",
        "Ipv6AddressAttribute": "public",
        "IpSource": "amazon",
    }
    row = {
        "OwnerId": vpc.owner,
        "InstanceTenancy": "default",
        "Ipv6CidrBlockAssociationSet": [ipv6_block] if vpc.ipv6 else None,
        "CidrBlockAssociationSet": [
            {
                "AssociationId": f"vpc-cidr-assoc-{name_of(vpc.id)}-{number}",
                "CidrBlock": cidr,
                "CidrBlockState": {"State": "associated"},
            }
            for number, cidr in enumerate(vpc.cidrs)
        ],
        "IsDefault": False,
        "Tags": tag_list(vpc.id, tags) if tags or vpc.owner == vpc.place.account else [],
        "BlockPublicAccessStates": {"InternetGatewayBlockMode": "off"},
        "VpcId": vpc.id,
        "State": "available",
        "CidrBlock": vpc.cidrs[0],
        "DhcpOptionsId": "dopt-0a61d9e72c5b3f804",
    }
    return with_fields(row, fields)


def zone_fields(region: str, letter: str) -> Row:
    """Return the name and the id of an Availability Zone for its letter."""
    prefix, first = ZONES[region]
    zone_id = f"{prefix}-az{first + ord(letter) - ord('a')}"
    return {"AvailabilityZone": region + letter, "AvailabilityZoneId": zone_id}


def subnet_row(  # one parameter for each option of a network file
    vpc: Vpc,
    subnet_id: str,
    *,
    cidr: str | None = None,
    zone: str = "a",
    map_public_ip: bool = False,
    ipv6: Iterable[str] = (),
    dns64: bool = False,
    block_public_access: str = "off",
    owner: str = "",
    tags: Tags | None = None,
    fields: Row | None = None,
) -> Row:
    """Return a row of DescribeSubnets; ipv6 lists the states of its IPv6 blocks; without cidr, it is IPv6-native."""
    owner = owner or vpc.owner
    native = cidr is None
    row = {
        **zone_fields(vpc.place.region, zone),
        "MapCustomerOwnedIpOnLaunch": False,
        "OwnerId": owner,
        "AssignIpv6AddressOnCreation": set(ipv6) == {"associated"},
        "Ipv6CidrBlockAssociationSet": [
            {
                "AssociationId": f"subnet-cidr-assoc-{name_of(subnet_id)}-{number}",
                "Ipv6CidrBlock": SUBNET_IPV6.format(number),
                "Ipv6CidrBlockState": {"State": state},
                "Ipv6AddressAttribute": "public",
                "IpSource": "amazon",
            }
            for number, state in enumerate(ipv6, start=1)
        ],
        "Tags": tag_list(subnet_id, tags) if tags or owner == vpc.place.account else None,
        "SubnetArn": vpc.place.arn("ec2", f"subnet/{subnet_id}", owner),
        "EnableDns64": dns64,
        "Ipv6Native": native,
        "PrivateDnsNameOptionsOnLaunch": {
            "HostnameType": "resource-name" if native else "ip-name",
            "EnableResourceNameDnsARecord": False,
            "EnableResourceNameDnsAAAARecord": native,
        },
        "BlockPublicAccessStates": {"InternetGatewayBlockMode": block_public_access},
        "SubnetId": subnet_id,
        "State": "available",
        "VpcId": vpc.id,
        "CidrBlock": cidr,
        "AvailableIpAddressCount": 0 if native else 251,
        "DefaultForAz": False,
        "MapPublicIpOnLaunch": map_public_ip,
    }
    return with_fields(row, fields)


def nat_gateway_row(  # one parameter for each option of a network file
    vpc: Vpc,
    nat_id: str,
    *,
    subnet: str | None = None,
    route_table: str | None = None,
    state: str = "available",
    connectivity: str = "public",
    fields: Row | None = None,
) -> Row:
    """Return a row of DescribeNatGateways; without a subnet, it is regional and can have a route table."""
    name = name_of(nat_id)
    public = {
        "AllocationId": f"eipalloc-{name}",
        "PublicIp": "198.51.100.24",
        "AssociationId": f"eipassoc-{name}",
    }
    private = {"NetworkInterfaceId": f"eni-of-{nat_id}", "PrivateIp": "10.0.0.73"}
    regional = {"AutoScalingIps": "enabled", "AutoProvisionZones": "enabled", "RouteTableId": route_table}
    address = {
        **(public if connectivity == "public" else {}),
        **(private if subnet else zone_fields(vpc.place.region, "a")),
        "IsPrimary": True,
        "Status": "succeeded",
    }
    row = {
        "CreateTime": "2026-03-02T09:14:27+00:00",
        "NatGatewayAddresses": [address],
        "NatGatewayId": nat_id,
        "State": state,
        "SubnetId": subnet,
        "VpcId": vpc.id,
        "Tags": tag_list(nat_id, None),
        "ConnectivityType": connectivity,
        "AvailabilityMode": "zonal" if subnet else "regional",
        **({} if subnet else regional),
    }
    return with_fields(row, fields)

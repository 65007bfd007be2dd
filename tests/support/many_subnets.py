"""Dumps with many subnets in the AWS CLI's format: VPCs of 200 subnets and 10 route tables, half of them compliant."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ACCOUNT, REGION = "111122223333", "us-east-1"
LIST = "pl-0c2f61a4b98d7e035"
SUBNETS_OF_A_VPC, TABLES_OF_A_VPC = 200, 10
ZONES = ("a", "b", "c")
TRANSIT_GATEWAY, TRANSIT_GATEWAY_TABLE = "tgw-0e2d4c6b8a0f1e3d5", "tgw-rtb-0a1b2c3d4e5f60718"
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Vpc:
    """A VPC: its number in the whole dump, its account, and whether its traffic uses a transit gateway."""

    number: int
    account: str = ACCOUNT
    is_behind_transit_gateway: bool = False


def write_dump(folder: Path, vpcs: int) -> None:
    """Write a dump of one account with the given number of VPCs."""
    _write_account(folder, [_Vpc(number) for number in range(vpcs)])


def write_organization(folder: Path, accounts: int, vpcs: int) -> None:
    """Write a dump of several accounts, each with the given number of VPCs.

    Every second VPC is behind a transit gateway of the first account, which leads to the NAT gateway of the first VPC.
    """
    for number in range(accounts):
        account = f"{number + 1:012}"
        numbers = range(number * vpcs, (number + 1) * vpcs)
        of_account = [_Vpc(vpc, account, is_behind_transit_gateway=vpc % 2 == 1) for vpc in numbers]
        _write_account(folder / account, of_account)
        _write(
            folder / account,
            "transit-gateway-vpc-attachments",
            "TransitGatewayVpcAttachments",
            map(_vpc_attachment, of_account),
        )
    owner = folder / f"{1:012}"
    attachments = [_attachment(vpc) for vpc in range(accounts * vpcs)]
    _write(owner, "transit-gateway-attachments", "TransitGatewayAttachments", attachments)
    (owner / "transit-gateway-routes").mkdir()
    _write(owner, f"transit-gateway-routes/{TRANSIT_GATEWAY_TABLE}", "Routes", [_route_to_egress_vpc()])


def _write_account(folder: Path, vpcs: list[_Vpc]) -> None:
    folder.mkdir(parents=True)
    found: dict[str, Rows] = {
        "Vpcs": [_vpc(vpc) for vpc in vpcs],
        "Subnets": [_subnet(vpc, number) for vpc in vpcs for number in range(SUBNETS_OF_A_VPC)],
        "RouteTables": [_table(vpc, number) for vpc in vpcs for number in range(TABLES_OF_A_VPC)],
        "VpcEndpoints": [_endpoint(vpc) for vpc in vpcs],
        "NatGateways": [_nat_gateway(vpc) for vpc in vpcs],
        "PrefixLists": [
            {
                "PrefixListId": LIST,
                "PrefixListName": f"com.amazonaws.{REGION}.s3express",
                "Cidrs": ["18.34.0.0/19", "52.95.0.0/20"],
            }
        ],
    }
    names = ("vpcs", "subnets", "route-tables", "vpc-endpoints", "nat-gateways", "prefix-lists")
    for name, (field, rows) in zip(names, found.items(), strict=True):
        _write(folder, name, field, rows)
    account = vpcs[0].account
    identity = {"UserId": "u", "Account": account, "Arn": f"arn:aws:iam::{account}:user/u", "Region": REGION}
    (folder / "identity.json").write_text(json.dumps(identity), encoding="utf-8")


def _write(folder: Path, name: str, field: str, rows: Iterable[dict[str, Any]]) -> None:
    (folder / f"{name}.json").write_text(json.dumps({field: list(rows)}, indent=4), encoding="utf-8")


def _id(kind: str, number: int) -> str:
    return f"{kind}-{number:017x}"


def _subnet_id(vpc: int, number: int) -> str:
    return _id("subnet", vpc * SUBNETS_OF_A_VPC + number)


def _vpc(vpc: _Vpc) -> dict[str, Any]:
    return {
        "OwnerId": vpc.account,
        "InstanceTenancy": "default",
        "IsDefault": False,
        "VpcId": _id("vpc", vpc.number),
        "State": "available",
        "CidrBlock": "10.0.0.0/16",
        "DhcpOptionsId": "dopt-0123456789abcdef0",
        "Tags": [{"Key": "Name", "Value": f"vpc-{vpc.number}"}],
    }


def _subnet(vpc: _Vpc, number: int) -> dict[str, Any]:
    subnet_id = _subnet_id(vpc.number, number)
    return {
        "AvailabilityZoneId": f"use1-az{number % len(ZONES) + 1}",
        "MapCustomerOwnedIpOnLaunch": False,
        "OwnerId": vpc.account,
        "AssignIpv6AddressOnCreation": False,
        "Ipv6CidrBlockAssociationSet": [],
        "Tags": [{"Key": "Name", "Value": f"private-{number}"}, {"Key": "team", "Value": "data"}],
        "SubnetArn": f"arn:aws:ec2:{REGION}:{vpc.account}:subnet/{subnet_id}",
        "EnableDns64": False,
        "Ipv6Native": False,
        "PrivateDnsNameOptionsOnLaunch": {
            "HostnameType": "ip-name",
            "EnableResourceNameDnsARecord": False,
            "EnableResourceNameDnsAAAARecord": False,
        },
        "SubnetId": subnet_id,
        "State": "available",
        "VpcId": _id("vpc", vpc.number),
        "CidrBlock": f"10.0.{number}.0/24",
        "AvailableIpAddressCount": 251,
        "AvailabilityZone": f"{REGION}{ZONES[number % len(ZONES)]}",
        "DefaultForAz": False,
        "MapPublicIpOnLaunch": False,
    }


def _table(vpc: _Vpc, number: int) -> dict[str, Any]:
    table_id = _id("rtb", vpc.number * TABLES_OF_A_VPC + number)
    count = SUBNETS_OF_A_VPC // TABLES_OF_A_VPC
    way_out = (
        {"TransitGatewayId": TRANSIT_GATEWAY}
        if vpc.is_behind_transit_gateway
        else {"NatGatewayId": _id("nat", vpc.number)}
    )
    cured = {
        "DestinationPrefixListId": LIST,
        "GatewayId": _id("vpce", vpc.number),
        "Origin": "CreateRoute",
        "State": "active",
    }
    return {
        "Associations": [
            _association(table_id, _subnet_id(vpc.number, number * count + place)) for place in range(count)
        ],
        "PropagatingVgws": [],
        "RouteTableId": table_id,
        "Routes": [
            {
                "DestinationCidrBlock": "10.0.0.0/16",
                "GatewayId": "local",
                "Origin": "CreateRouteTable",
                "State": "active",
            },
            {"DestinationCidrBlock": "0.0.0.0/0", **way_out, "Origin": "CreateRoute", "State": "active"},
            *([cured] if number % 2 else []),
        ],
        "Tags": [{"Key": "Name", "Value": f"private-{number}"}],
        "VpcId": _id("vpc", vpc.number),
        "OwnerId": vpc.account,
    }


def _association(table_id: str, subnet_id: str) -> dict[str, Any]:
    return {
        "Main": False,
        "RouteTableAssociationId": f"rtbassoc-{subnet_id}",
        "RouteTableId": table_id,
        "SubnetId": subnet_id,
        "AssociationState": {"State": "associated"},
    }


def _endpoint(vpc: _Vpc) -> dict[str, Any]:
    return {
        "VpcEndpointId": _id("vpce", vpc.number),
        "VpcEndpointType": "Gateway",
        "VpcId": _id("vpc", vpc.number),
        "ServiceName": f"com.amazonaws.{REGION}.s3express",
        "State": "available",
        "RouteTableIds": [],
        "SubnetIds": [],
        "OwnerId": vpc.account,
    }


def _nat_gateway(vpc: _Vpc) -> dict[str, Any]:
    return {
        "NatGatewayId": _id("nat", vpc.number),
        "SubnetId": _subnet_id(vpc.number, 0),
        "VpcId": _id("vpc", vpc.number),
        "State": "available",
        "ConnectivityType": "public",
    }


def _vpc_attachment(vpc: _Vpc) -> dict[str, Any]:
    return {
        "TransitGatewayAttachmentId": _id("tgw-attach", vpc.number),
        "TransitGatewayId": TRANSIT_GATEWAY,
        "VpcId": _id("vpc", vpc.number),
        "VpcOwnerId": vpc.account,
        "State": "available",
        "SubnetIds": [_subnet_id(vpc.number, number) for number in range(len(ZONES))],
        "Options": {"DnsSupport": "enable", "Ipv6Support": "disable", "ApplianceModeSupport": "disable"},
    }


def _attachment(vpc: int) -> dict[str, Any]:
    return {
        "TransitGatewayAttachmentId": _id("tgw-attach", vpc),
        "TransitGatewayId": TRANSIT_GATEWAY,
        "ResourceType": "vpc",
        "ResourceId": _id("vpc", vpc),
        "State": "available",
        "Association": {"TransitGatewayRouteTableId": TRANSIT_GATEWAY_TABLE, "State": "associated"},
    }


def _route_to_egress_vpc() -> dict[str, Any]:
    attached = {"ResourceId": _id("vpc", 0), "TransitGatewayAttachmentId": _id("tgw-attach", 0), "ResourceType": "vpc"}
    return {
        "DestinationCidrBlock": "0.0.0.0/0",
        "TransitGatewayAttachments": [attached],
        "Type": "static",
        "State": "active",
    }

"""A dump with many subnets in the AWS CLI's format: VPCs of 200 subnets and 10 route tables, half of them compliant."""

import json
from pathlib import Path
from typing import Any

ACCOUNT, REGION = "111122223333", "us-east-1"
LIST = "pl-0c2f61a4b98d7e035"
SUBNETS_OF_A_VPC, TABLES_OF_A_VPC = 200, 10
Rows = list[dict[str, Any]]


def write_dump(folder: Path, vpcs: int) -> None:
    """Write a dump with the given number of VPCs."""
    folder.mkdir(parents=True)
    found: dict[str, Rows] = {
        "Vpcs": [_vpc(vpc) for vpc in range(vpcs)],
        "Subnets": [_subnet(vpc, number) for vpc in range(vpcs) for number in range(SUBNETS_OF_A_VPC)],
        "RouteTables": [_table(vpc, number) for vpc in range(vpcs) for number in range(TABLES_OF_A_VPC)],
        "VpcEndpoints": [_endpoint(vpc) for vpc in range(vpcs)],
        "NatGateways": [_nat_gateway(vpc) for vpc in range(vpcs)],
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
        (folder / f"{name}.json").write_text(json.dumps({field: rows}, indent=4), encoding="utf-8")
    identity = {"UserId": "u", "Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:user/u", "Region": REGION}
    (folder / "identity.json").write_text(json.dumps(identity), encoding="utf-8")


def _id(kind: str, number: int) -> str:
    return f"{kind}-{number:017x}"


def _subnet_id(vpc: int, number: int) -> str:
    return _id("subnet", vpc * SUBNETS_OF_A_VPC + number)


def _vpc(vpc: int) -> dict[str, Any]:
    return {
        "OwnerId": ACCOUNT,
        "InstanceTenancy": "default",
        "IsDefault": False,
        "VpcId": _id("vpc", vpc),
        "State": "available",
        "CidrBlock": "10.0.0.0/16",
        "DhcpOptionsId": "dopt-0123456789abcdef0",
        "Tags": [{"Key": "Name", "Value": f"vpc-{vpc}"}],
    }


def _subnet(vpc: int, number: int) -> dict[str, Any]:
    subnet_id = _subnet_id(vpc, number)
    return {
        "AvailabilityZoneId": "use1-az4",
        "MapCustomerOwnedIpOnLaunch": False,
        "OwnerId": ACCOUNT,
        "AssignIpv6AddressOnCreation": False,
        "Ipv6CidrBlockAssociationSet": [],
        "Tags": [{"Key": "Name", "Value": f"private-{number}"}, {"Key": "team", "Value": "data"}],
        "SubnetArn": f"arn:aws:ec2:{REGION}:{ACCOUNT}:subnet/{subnet_id}",
        "EnableDns64": False,
        "Ipv6Native": False,
        "PrivateDnsNameOptionsOnLaunch": {
            "HostnameType": "ip-name",
            "EnableResourceNameDnsARecord": False,
            "EnableResourceNameDnsAAAARecord": False,
        },
        "SubnetId": subnet_id,
        "State": "available",
        "VpcId": _id("vpc", vpc),
        "CidrBlock": f"10.0.{number}.0/24",
        "AvailableIpAddressCount": 251,
        "AvailabilityZone": f"{REGION}a",
        "DefaultForAz": False,
        "MapPublicIpOnLaunch": False,
    }


def _table(vpc: int, number: int) -> dict[str, Any]:
    table_id = _id("rtb", vpc * TABLES_OF_A_VPC + number)
    count = SUBNETS_OF_A_VPC // TABLES_OF_A_VPC
    cured = {"DestinationPrefixListId": LIST, "GatewayId": _id("vpce", vpc), "Origin": "CreateRoute", "State": "active"}
    return {
        "Associations": [_association(table_id, _subnet_id(vpc, number * count + place)) for place in range(count)],
        "PropagatingVgws": [],
        "RouteTableId": table_id,
        "Routes": [
            {
                "DestinationCidrBlock": "10.0.0.0/16",
                "GatewayId": "local",
                "Origin": "CreateRouteTable",
                "State": "active",
            },
            {
                "DestinationCidrBlock": "0.0.0.0/0",
                "NatGatewayId": _id("nat", vpc),
                "Origin": "CreateRoute",
                "State": "active",
            },
            *([cured] if number % 2 else []),
        ],
        "Tags": [{"Key": "Name", "Value": f"private-{number}"}],
        "VpcId": _id("vpc", vpc),
        "OwnerId": ACCOUNT,
    }


def _association(table_id: str, subnet_id: str) -> dict[str, Any]:
    return {
        "Main": False,
        "RouteTableAssociationId": f"rtbassoc-{subnet_id}",
        "RouteTableId": table_id,
        "SubnetId": subnet_id,
        "AssociationState": {"State": "associated"},
    }


def _endpoint(vpc: int) -> dict[str, Any]:
    return {
        "VpcEndpointId": _id("vpce", vpc),
        "VpcEndpointType": "Gateway",
        "VpcId": _id("vpc", vpc),
        "ServiceName": f"com.amazonaws.{REGION}.s3express",
        "State": "available",
        "RouteTableIds": [],
        "SubnetIds": [],
        "OwnerId": ACCOUNT,
    }


def _nat_gateway(vpc: int) -> dict[str, Any]:
    return {
        "NatGatewayId": _id("nat", vpc),
        "SubnetId": _subnet_id(vpc, 0),
        "VpcId": _id("vpc", vpc),
        "State": "available",
        "ConnectivityType": "public",
    }

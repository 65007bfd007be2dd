"""Dumps with many subnets: VPCs of 200 subnets and 10 route tables, every second of which uses the endpoint."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support import network_files

ACCOUNT = "111122223333"
SUBNETS_OF_A_VPC, TABLES_OF_A_VPC = 200, 10
TRANSIT_GATEWAY, TRANSIT_GATEWAY_TABLE = "tgw-0e2d4c6b8a0f1e3d5", "tgw-rtb-0a1b2c3d4e5f60718"


def write_dump(folder: Path, vpcs: int) -> None:
    """Write a dump of one account with the given number of VPCs."""
    network_files.write_dump(folder, {"account": ACCOUNT, "vpcs": _vpcs(range(vpcs))})


def write_organization(folder: Path, accounts: int, vpcs: int, subnets: int = SUBNETS_OF_A_VPC) -> None:
    """Write a dump of several accounts, each with the given number of VPCs, each with the given number of subnets.

    Every second VPC is behind a transit gateway of the first account, which leads to the NAT gateway of the first VPC.
    """
    owner = f"{1:012}"
    for number in range(accounts):
        account, own = f"{number + 1:012}", range(number * vpcs, (number + 1) * vpcs)
        attached = range(accounts * vpcs) if account == owner else own
        gateway = {
            "id": TRANSIT_GATEWAY,
            "owner": owner,
            "attachments": {_id("tgw-attach", vpc): _attachment(vpc, f"{vpc // vpcs + 1:012}") for vpc in attached},
        }
        if account == owner:
            gateway["route_tables"] = {TRANSIT_GATEWAY_TABLE: [f"0.0.0.0/0 -> {_id('tgw-attach', 0)}"]}
        own_vpcs = _vpcs(own, subnets, behind_transit_gateway=True)
        network = {"account": account, "vpcs": own_vpcs, "transit_gateway": gateway}
        network_files.write_dump(folder / account, network)


def _id(kind: str, number: int) -> str:
    return f"{kind}-{number:017x}"


def _subnet_ids(vpc: int, subnets: int) -> list[str]:
    return [_id("subnet", vpc * SUBNETS_OF_A_VPC + number) for number in range(subnets)]


def _vpcs(
    numbers: Iterable[int], subnets: int = SUBNETS_OF_A_VPC, *, behind_transit_gateway: bool = False
) -> dict[str, Any]:
    """Return VPCs by ID; every second one may be behind a transit gateway, and the others have a NAT gateway."""
    return {
        _id("vpc", vpc): _vpc(vpc, subnets, TRANSIT_GATEWAY if behind_transit_gateway and vpc % 2 else _id("nat", vpc))
        for vpc in numbers
    }


def _vpc(vpc: int, subnets: int, way_out: str) -> dict[str, Any]:
    subnet_ids, count = _subnet_ids(vpc, subnets), subnets // TABLES_OF_A_VPC
    routes = [f"0.0.0.0/0 -> {way_out}", f"pl-s3express -> {_id('vpce', vpc)}"]
    return {
        "tags": {"Name": f"vpc-{vpc}"},
        "subnets": {
            subnet_id: {
                "cidr": f"10.0.{number}.0/24",
                "zone": "abc"[number % 3],
                "tags": {"Name": f"private-{number}", "team": "data"},
            }
            for number, subnet_id in enumerate(subnet_ids)
        },
        "route_tables": {
            _id("rtb", vpc * TABLES_OF_A_VPC + number): {
                "subnets": subnet_ids[number * count : (number + 1) * count],
                "routes": routes if number % 2 else routes[:1],
                "tags": {"Name": f"private-{number}"},
            }
            for number in range(TABLES_OF_A_VPC)
        },
        "nat_gateways": {_id("nat", vpc): {"subnet": subnet_ids[0]}},
        "gateway_endpoints": {_id("vpce", vpc): {}},
    }


def _attachment(vpc: int, account: str) -> dict[str, Any]:
    return {
        "vpc": _id("vpc", vpc),
        "vpc_owner": account,
        "subnets": _subnet_ids(vpc, 3),
        "table": TRANSIT_GATEWAY_TABLE,
    }

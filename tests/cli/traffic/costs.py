"""Runs `cost` in the sandbox, and records traffic of NAT gateways there."""

import json
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network
from typing import Any

from typer.testing import Result

from config_rule_sandbox.networks.account import Account
from express_path_cli.nat.prices import TRAFFIC, window
from tests.support.command import invoke

GB = 10**9


def cost(*options: str) -> Result:
    """Run the command."""
    return invoke(["cost", *options])


def cost_json(*options: str, exit_code: int = 0) -> dict[str, Any]:
    """Run the command for JSON and return the document."""
    result = cost("--format", "json", *options)
    assert result.exit_code == exit_code, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def by_id(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the NAT gateways of a document by their ids."""
    return {gateway["id"]: gateway for gateway in document["natGateways"]}


def carry(
    account: Account, nat_gateway_id: str, out: float, back: float, *, days: int = 1, zone: str | None = None
) -> None:
    """Record this many GB in each direction, in equal amounts over the last days.

    Their first hour has nothing: by the time that a command looks, it may be no longer one of them.
    """
    during = window(datetime.now(UTC), days)
    hours = range(1, days * 24)
    for metric in TRAFFIC:
        share = (out if metric in ("BytesInFromSource", "BytesOutToDestination") else back) * GB / len(hours)
        points = [(during.start + timedelta(hours=hour), share) for hour in hours]
        place = (account.account_id, account.sandbox.region)
        account.sandbox.metrics.record(nat_gateway_id, metric, points, zone, place)


def regional_nat_gateway(account: Account) -> str:
    """Make a VPC with subnets in the zones a and b, the first of which leads to a regional NAT gateway; return that."""
    vpc_id = account.vpc()
    account.internet_gateway(vpc_id)
    account.subnet(vpc_id, zone="b")
    subnet_id = account.subnet(vpc_id)
    made = account.ec2.create_nat_gateway(VpcId=vpc_id, AvailabilityMode="regional")["NatGateway"]
    nat_id = str(made["NatGatewayId"])
    account.ec2.associate_route_table(SubnetId=subnet_id, RouteTableId=account.table(vpc_id, NatGatewayId=nat_id))
    return nat_id


def interface_of(account: Account, nat_gateway_id: str) -> tuple[str, str]:
    """Return a NAT gateway's network interface and its private address."""
    [row] = account.ec2.describe_nat_gateways(NatGatewayIds=[nat_gateway_id])["NatGateways"]
    [address] = row["NatGatewayAddresses"]
    return address["NetworkInterfaceId"], address["PrivateIp"]


def express_address(account: Account) -> str:
    """Return an address of S3 Express in the Region."""
    listed = account.ec2.describe_prefix_lists()["PrefixLists"]
    [cidrs] = [prefix_list["Cidrs"] for prefix_list in listed if prefix_list["PrefixListName"].endswith("s3express")]
    return str(IPv4Network(cidrs[0])[1])

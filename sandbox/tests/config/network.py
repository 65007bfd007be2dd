"""A small VPC for the tests of AWS Config: a public, a private, and an isolated subnet, and an S3 gateway endpoint."""

from collections.abc import Mapping

from sandbox.networks.account import Account
from sandbox.server import Sandbox

Ids = Mapping[str, str]
"""Ids of resources by the names used here."""


def small_vpc(sandbox: Sandbox) -> Ids:
    """Build the VPC. Each subnet has its own route table, and no subnet uses the main one."""
    account = Account(sandbox)
    vpc = account.vpc()
    igw = account.internet_gateway(vpc)
    rtb_public = account.table(vpc, GatewayId=igw)
    public = account.subnet(vpc, rtb_public)
    nat = account.nat_gateway(public)
    account.ec2.get_waiter("nat_gateway_available").wait(NatGatewayIds=[nat])
    rtb_private, rtb_isolated = account.table(vpc, NatGatewayId=nat), account.table(vpc)
    main = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "association.main", "Values": ["true"]}]
    [rtb_main] = account.ec2.describe_route_tables(Filters=main)["RouteTables"]
    endpoint = account.ec2.create_vpc_endpoint(
        VpcId=vpc, ServiceName=f"com.amazonaws.{sandbox.region}.s3", RouteTableIds=[rtb_private]
    )["VpcEndpoint"]
    account.ec2.create_tags(Resources=[rtb_public], Tags=[{"Key": "Name", "Value": "public"}])
    return {
        "vpc": vpc,
        "igw": igw,
        "nat": nat,
        "public": public,
        "private": account.subnet(vpc, rtb_private),
        "isolated": account.subnet(vpc, rtb_isolated),
        "rtb-main": rtb_main["RouteTableId"],
        "rtb-public": rtb_public,
        "rtb-private": rtb_private,
        "rtb-isolated": rtb_isolated,
        "vpce-s3": endpoint["VpcEndpointId"],
    }

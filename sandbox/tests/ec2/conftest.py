"""Fixtures for the tests of EC2: a client, a VPC, a route table, and a subnet."""

import pytest

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.server import Sandbox


@pytest.fixture
def ec2(sandbox: Sandbox) -> Client:
    """Return a client of EC2 in us-east-1."""
    return sandbox.client("ec2")


@pytest.fixture
def vpc_id(ec2: Client) -> str:
    """Create a VPC with 10.0.0.0/16 and return its id."""
    return str(ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"])


@pytest.fixture
def table_id(ec2: Client, vpc_id: str) -> str:
    """Create a route table in the VPC and return its id."""
    return str(ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"])


@pytest.fixture
def subnet_id(ec2: Client, vpc_id: str) -> str:
    """Create a subnet in the VPC and return its id."""
    made = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24", AvailabilityZoneId="use1-az4")
    return str(made["Subnet"]["SubnetId"])

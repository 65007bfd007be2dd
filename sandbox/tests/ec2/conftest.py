"""Fixtures for the tests of EC2: a client, a VPC, and a route table."""

import pytest

from sandbox.dynamic import Client
from sandbox.server import Sandbox


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

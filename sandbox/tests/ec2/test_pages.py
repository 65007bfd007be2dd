"""Pagination: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html#api-pagination."""

import pytest

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox

OPERATIONS = {
    "describe_vpcs": "Vpcs",
    "describe_subnets": "Subnets",
    "describe_route_tables": "RouteTables",
    "describe_vpc_endpoints": "VpcEndpoints",
    "describe_nat_gateways": "NatGateways",
    "describe_prefix_lists": "PrefixLists",
    "describe_managed_prefix_lists": "PrefixLists",
    "describe_network_interfaces": "NetworkInterfaces",
    "describe_internet_gateways": "InternetGateways",
    "describe_instances": "Reservations",
}


@pytest.fixture(scope="module")
def full_sandbox(running_sandbox: Sandbox) -> Sandbox:
    """Return the sandbox with seven of everything that is listed here. No test changes it."""
    running_sandbox.reset()
    ec2 = running_sandbox.client("ec2")
    for number in range(7):
        vpc_id = ec2.create_vpc(CidrBlock=f"10.{number}.0.0/16")["Vpc"]["VpcId"]
        subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock=f"10.{number}.0.0/24")["Subnet"]["SubnetId"]
        ec2.create_internet_gateway()
        ec2.run_instances(ImageId="ami-00000000", MinCount=1, MaxCount=1, SubnetId=subnet_id)
        ec2.create_nat_gateway(SubnetId=subnet_id, ConnectivityType="private")
        ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName="com.amazonaws.us-east-1.s3express")
    return running_sandbox


@pytest.fixture
def sandbox(full_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """Return that sandbox, which makes no pages by itself."""
    monkeypatch.setattr(full_sandbox.ec2.knobs, "page_size", full_sandbox.ec2.knobs.page_size)
    return full_sandbox


@pytest.mark.parametrize(("operation", "key"), OPERATIONS.items())
def test_long_lists_have_pages(sandbox: Sandbox, ec2: Client, operation: str, key: str) -> None:
    """MaxResults, or the server by itself, makes pages that together have the items of one call, each once."""
    call = getattr(ec2, operation)
    everything = call()[key]
    pages = [page[key] for page in ec2.get_paginator(operation).paginate(PaginationConfig={"PageSize": 5})]
    assert [len(page) for page in pages[:-1]] == [5] * (len(pages) - 1)
    assert len(pages) > 1
    assert [item for page in pages for item in page] == everything
    sandbox.ec2.knobs.page_size = 3
    first = call()
    assert first[key] == everything[:3]
    assert call(NextToken=first["NextToken"])[key] == everything[3:6]


def test_a_foreign_token_is_refused(ec2: Client) -> None:
    """An unknown token, or a token of another operation, is InvalidNextToken; the last page has none."""
    token = ec2.describe_vpcs(MaxResults=5)["NextToken"]
    assert refused(lambda: ec2.describe_subnets(NextToken=token)) == "InvalidNextToken"
    assert refused(lambda: ec2.describe_subnets(NextToken="invented")) == "InvalidNextToken"
    assert "NextToken" not in ec2.describe_vpcs(MaxResults=1000)


def test_max_results_beyond_the_maximum(ec2: Client) -> None:
    """More than an operation's maximum (100 route tables, botocore model) is refused; endpoints have none.

    https://github.com/aws/aws-cli/issues/3397
    """
    assert ec2.describe_route_tables(MaxResults=100)["RouteTables"]
    assert refused(ec2.describe_route_tables, MaxResults=101) == "InvalidParameterValue"
    assert len(ec2.describe_vpc_endpoints(MaxResults=5000)["VpcEndpoints"]) == 7

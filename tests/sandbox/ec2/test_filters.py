"""Filters that do not exist: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Filter.html."""

import pytest

from sandbox.dynamic import Client
from sandbox.refusals import refused

MISSPELT = [{"Name": "vpcid", "Values": ["vpc-00000000"]}]


@pytest.mark.parametrize(
    "operation",
    [
        "describe_instances",
        "describe_managed_prefix_lists",
        "describe_nat_gateways",
        "describe_network_acls",
        "describe_network_interfaces",
        "describe_prefix_lists",
        "describe_route_tables",
        "describe_security_groups",
        "describe_subnets",
        "describe_transit_gateway_attachments",
        "describe_vpc_endpoints",
        "describe_vpcs",
    ],
)
def test_an_unknown_filter_is_refused(ec2: Client, operation: str) -> None:
    """A filter that an operation does not know is InvalidParameterValue, and never ignored.

    So a misspelt filter cannot pass for one that finds everything; https://github.com/boto/boto3/issues/1299.
    """
    assert refused(getattr(ec2, operation), Filters=MISSPELT) == "InvalidParameterValue"


def test_an_unknown_filter_of_services_has_a_code_of_its_own(ec2: Client) -> None:
    """DescribeVpcEndpointServices answers InvalidFilter (https://github.com/mondoohq/mql/issues/4454)."""
    assert refused(ec2.describe_vpc_endpoint_services, Filters=MISSPELT) == "InvalidFilter"


def test_tags_may_have_any_name(ec2: Client, vpc_id: str) -> None:
    """`tag:` is followed by a key that the customer chose, `tag-key` by nothing (botocore model, Filters)."""
    ec2.create_tags(Resources=[vpc_id], Tags=[{"Key": "vpcid", "Value": "x"}])
    for condition in ({"Name": "tag:vpcid", "Values": ["x"]}, {"Name": "tag-key", "Values": ["vpcid"]}):
        assert [vpc["VpcId"] for vpc in ec2.describe_vpcs(Filters=[condition])["Vpcs"]] == [vpc_id]


def test_a_filter_has_two_hundred_values_at_most(ec2: Client) -> None:
    """More are FilterLimitExceeded (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html)."""
    ids = [f"vpc-{number:08x}" for number in range(201)]
    assert ec2.describe_vpcs(Filters=[{"Name": "vpc-id", "Values": ids[:200]}])["Vpcs"] == []
    assert refused(ec2.describe_vpcs, Filters=[{"Name": "vpc-id", "Values": ids}]) == "FilterLimitExceeded"

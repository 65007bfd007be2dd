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
    """A filter that an operation does not know gives InvalidParameterValue and is never ignored.

    So a misspelt filter cannot pass for one that finds everything; https://github.com/boto/boto3/issues/1299.
    """
    assert refused(getattr(ec2, operation), Filters=MISSPELT) == "InvalidParameterValue"


@pytest.mark.parametrize("name", ["available", "/28", "Owner", "tag", "isdefault"])
def test_a_word_of_the_documentation_is_no_filter(ec2: Client, name: str) -> None:
    """The documentation of Filters also names values and examples, which are not filters."""
    assert refused(ec2.describe_vpcs, Filters=[{"Name": name, "Values": ["x"]}]) == "InvalidParameterValue"


@pytest.mark.parametrize("name", ["is-default", "isDefault"])
def test_default_vpcs_are_found_by_both_names_of_the_filter(ec2: Client, vpc_id: str, name: str) -> None:
    """EC2 accepts `isDefault`, which earlier versions of API_DescribeVpcs.html list."""
    found = ec2.describe_vpcs(Filters=[{"Name": name, "Values": ["false"]}])["Vpcs"]
    assert [vpc["VpcId"] for vpc in found] == [vpc_id]


@pytest.mark.parametrize("name", ["cidr-block", "cidr", "cidrBlock"])
def test_a_filter_may_have_several_documented_names(ec2: Client, vpc_id: str, name: str) -> None:
    """All three names for a subnet's block that API_DescribeSubnets.html lists find the subnet."""
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.7.0/24")["Subnet"]["SubnetId"]
    found = ec2.describe_subnets(Filters=[{"Name": name, "Values": ["10.0.7.0/24"]}])["Subnets"]
    assert [subnet["SubnetId"] for subnet in found] == [subnet_id]


def test_tag_values_are_accepted_where_tag_keys_are(ec2: Client, vpc_id: str) -> None:
    """EC2 accepts `tag-value` for resources with tags, but not for operations without `tag-key`."""
    ec2.create_tags(Resources=[vpc_id], Tags=[{"Key": "Owner", "Value": "TeamA"}])
    wanted = [{"Name": "tag-value", "Values": ["Team?"]}]
    assert [vpc["VpcId"] for vpc in ec2.describe_vpcs(Filters=wanted)["Vpcs"]] == [vpc_id]
    assert refused(ec2.describe_prefix_lists, Filters=wanted) == "InvalidParameterValue"


def test_an_unknown_filter_of_services_has_a_code_of_its_own(ec2: Client) -> None:
    """DescribeVpcEndpointServices returns InvalidFilter (https://github.com/mondoohq/mql/issues/4454)."""
    assert refused(ec2.describe_vpc_endpoint_services, Filters=MISSPELT) == "InvalidFilter"


def test_tags_may_have_any_name(ec2: Client, vpc_id: str) -> None:
    """`tag:` needs a key, and `tag-key` has no suffix (botocore model, Filters)."""
    ec2.create_tags(Resources=[vpc_id], Tags=[{"Key": "vpcid", "Value": "x"}])
    for condition in ({"Name": "tag:vpcid", "Values": ["x"]}, {"Name": "tag-key", "Values": ["vpcid"]}):
        assert [vpc["VpcId"] for vpc in ec2.describe_vpcs(Filters=[condition])["Vpcs"]] == [vpc_id]


def test_a_filter_has_two_hundred_values_at_most(ec2: Client) -> None:
    """More are FilterLimitExceeded (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html)."""
    ids = [f"vpc-{number:08x}" for number in range(201)]
    assert ec2.describe_vpcs(Filters=[{"Name": "vpc-id", "Values": ids[:200]}])["Vpcs"] == []
    assert refused(ec2.describe_vpcs, Filters=[{"Name": "vpc-id", "Values": ids}]) == "FilterLimitExceeded"


def test_one_of_the_values_is_enough(ec2: Client, vpc_id: str) -> None:
    """The values of a filter are alternatives, and wildcards are supported.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Filter.html
    """
    table_id = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    ids = []
    for block in ("198.51.100.0/24", "203.0.113.0/24"):
        made = ec2.create_nat_gateway(SubnetId=subnet_id, ConnectivityType="private")["NatGateway"]["NatGatewayId"]
        ec2.create_route(RouteTableId=table_id, DestinationCidrBlock=block, NatGatewayId=made)
        ids.append(made)
    for values in ([ids[0], "nat-00000000"], ["nat-00000000", ids[1][:-1] + "?"]):
        found = ec2.describe_route_tables(Filters=[{"Name": "route.nat-gateway-id", "Values": values}])["RouteTables"]
        assert [table["RouteTableId"] for table in found] == [table_id], values
    nothing = [{"Name": "route.nat-gateway-id", "Values": ["nat-00000000", "nat-11111111"]}]
    assert ec2.describe_route_tables(Filters=nothing)["RouteTables"] == []

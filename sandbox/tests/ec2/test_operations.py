"""What all EC2 operations share: filters and dry runs."""

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.refusals import refused

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


def test_filters_have_all_their_names(ec2: Client, vpc_id: str) -> None:
    """A filter is found by each documented name and by tags of any name, and wildcards are supported.

    `isDefault` was in earlier versions of API_DescribeVpcs.html. EC2 accepts `tag-value` for resources with tags.
    """
    ec2.create_tags(Resources=[vpc_id], Tags=[{"Key": "vpcid", "Value": "TeamA"}])
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.7.0/24")["Subnet"]["SubnetId"]
    of_vpcs = {"is-default": "false", "isDefault": "false"}
    of_vpcs |= {"tag:vpcid": "TeamA", "tag-key": "vpcid", "tag-value": "Team?"}
    for name, value in of_vpcs.items():
        found = ec2.describe_vpcs(Filters=[{"Name": name, "Values": [value]}])["Vpcs"]
        assert [vpc["VpcId"] for vpc in found] == [vpc_id], name
    for name in ("cidr-block", "cidr", "cidrBlock"):
        subnets = ec2.describe_subnets(Filters=[{"Name": name, "Values": ["10.0.7.0/24"]}])["Subnets"]
        assert [subnet["SubnetId"] for subnet in subnets] == [subnet_id], name
    without_tags = [{"Name": "tag-value", "Values": ["Team?"]}]
    assert refused(ec2.describe_prefix_lists, Filters=without_tags) == "InvalidParameterValue"


def test_a_filter_has_two_hundred_values_at_most(ec2: Client) -> None:
    """More are FilterLimitExceeded (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html)."""
    ids = [f"vpc-{number:08x}" for number in range(201)]
    assert ec2.describe_vpcs(Filters=[{"Name": "vpc-id", "Values": ids[:200]}])["Vpcs"] == []
    assert refused(ec2.describe_vpcs, Filters=[{"Name": "vpc-id", "Values": ids}]) == "FilterLimitExceeded"


def test_one_of_the_values_is_enough(ec2: Client, table_id: str, subnet_id: str) -> None:
    """The values of a filter are alternatives, and one of a resource's values is enough.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Filter.html
    """
    ids = []
    for block in ("198.51.100.0/24", "203.0.113.0/24"):
        made = ec2.create_nat_gateway(SubnetId=subnet_id, ConnectivityType="private")["NatGateway"]["NatGatewayId"]
        ec2.create_route(RouteTableId=table_id, DestinationCidrBlock=block, NatGatewayId=made)
        ids.append(made)
    for values, wanted in (
        ([ids[0], "nat-00000000"], [table_id]),
        (["nat-00000000", ids[1][:-1] + "?"], [table_id]),
        (["nat-00000000", "nat-11111111"], []),
    ):
        found = ec2.describe_route_tables(Filters=[{"Name": "route.nat-gateway-id", "Values": values}])["RouteTables"]
        assert [table["RouteTableId"] for table in found] == wanted, values


def test_dry_run_changes_nothing(ec2: Client) -> None:
    """A permitted dry run fails with DryRunOperation and status 412, and creates nothing.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html
    """
    before = ec2.describe_vpcs()["Vpcs"]
    with pytest.raises(ClientError) as raised:
        ec2.create_vpc(CidrBlock="10.0.0.0/16", DryRun=True)
    assert raised.value.response["Error"]["Code"] == "DryRunOperation"
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 412
    assert ec2.describe_vpcs()["Vpcs"] == before

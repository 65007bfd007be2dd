"""VPC Block Public Access (https://docs.aws.amazon.com/vpc/latest/userguide/security-vpc-bpa.html)."""

from datetime import timedelta

import pytest

from config_rule_sandbox.answers import ShownBlockMode
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.ec2.block_public_access import block_public_access_of
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox


def mode_of(ec2: Client, subnet_id: str) -> str:
    """Return the state of Block Public Access that a subnet shows."""
    [subnet] = ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"]
    return str(subnet["BlockPublicAccessStates"]["InternetGatewayBlockMode"])


def test_subnets_show_the_mode_of_the_account_unless_they_are_excluded(ec2: Client, vpc_id: str) -> None:
    """An exclusion of the VPC or the subnet opens internet gateways for both directions, or only for egress."""
    first, second = (
        str(ec2.create_subnet(VpcId=vpc_id, CidrBlock=f"10.0.{number}.0/24")["Subnet"]["SubnetId"]) for number in (0, 1)
    )
    assert mode_of(ec2, first) == "off"
    answer = ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-bidirectional")
    assert answer["VpcBlockPublicAccessOptions"]["InternetGatewayBlockMode"] == "block-bidirectional"
    assert ec2.describe_vpc_block_public_access_options()["VpcBlockPublicAccessOptions"]["State"] == "update-complete"
    assert {mode_of(ec2, subnet_id) for subnet_id in (first, second)} == {"block-bidirectional"}
    ec2.create_vpc_block_public_access_exclusion(VpcId=vpc_id, InternetGatewayExclusionMode="allow-bidirectional")
    ec2.create_vpc_block_public_access_exclusion(SubnetId=second, InternetGatewayExclusionMode="allow-egress")
    assert [mode_of(ec2, subnet_id) for subnet_id in (first, second)] == ["off", "block-ingress"]
    ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="off")
    assert [mode_of(ec2, subnet_id) for subnet_id in (first, second)] == ["off", "off"]


def test_subnets_may_show_a_change_later(sandbox: Sandbox, ec2: Client, vpc_id: str) -> None:
    """Until then, they show what was set before the first change, and the status says that an update is in progress."""
    sandbox.answers.shown_block_mode = ShownBlockMode.LATER
    subnet_id = str(ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"])
    ec2.modify_vpc_block_public_access_options(InternetGatewayBlockMode="block-bidirectional")
    ec2.create_vpc_block_public_access_exclusion(SubnetId=subnet_id, InternetGatewayExclusionMode="allow-egress")
    options = ec2.describe_vpc_block_public_access_options()["VpcBlockPublicAccessOptions"]
    assert (mode_of(ec2, subnet_id), options["State"]) == ("off", "update-in-progress")
    block_public_access_of(sandbox.account_id, sandbox.region).grow_older(timedelta(days=1))
    options = ec2.describe_vpc_block_public_access_options()["VpcBlockPublicAccessOptions"]
    assert (mode_of(ec2, subnet_id), options["State"]) == ("block-ingress", "update-complete")


@pytest.mark.parametrize(
    ("operation", "parameters"),
    [
        ("modify_vpc_block_public_access_options", {"InternetGatewayBlockMode": "on"}),
        ("create_vpc_block_public_access_exclusion", {"InternetGatewayExclusionMode": "allow-egress"}),
        ("create_vpc_block_public_access_exclusion", {"InternetGatewayExclusionMode": "all", "VpcId": "vpc-1"}),
    ],
)
def test_what_makes_no_sense_is_refused(ec2: Client, operation: str, parameters: dict[str, str]) -> None:
    """An unknown mode, or an exclusion without a VPC or subnet, is rejected."""
    assert refused(getattr(ec2, operation), **parameters).startswith("InvalidParameter")

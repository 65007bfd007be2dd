"""Subnets (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Subnet.html)."""

import ipaddress

import pytest

from config_rule_sandbox.dynamic import Client


@pytest.fixture
def blocks(ec2: Client) -> tuple[str, list[str]]:
    """Create a dual-stack VPC and return its id and its IPv6 /64 blocks."""
    vpc_id = ec2.create_vpc(CidrBlock="10.0.0.0/16", AmazonProvidedIpv6CidrBlock=True)["Vpc"]["VpcId"]
    (vpc,) = ec2.describe_vpcs(VpcIds=[vpc_id])["Vpcs"]
    network = ipaddress.ip_network(vpc["Ipv6CidrBlockAssociationSet"][0]["Ipv6CidrBlock"])
    return vpc_id, [str(block) for block in network.subnets(new_prefix=64)]


def test_ipv6_native(ec2: Client, blocks: tuple[str, list[str]]) -> None:
    """An IPv6-only subnet has Ipv6Native and no CidrBlock."""
    vpc_id, ipv6 = blocks
    subnet_id = ec2.create_subnet(VpcId=vpc_id, Ipv6Native=True, Ipv6CidrBlock=ipv6[0])["Subnet"]["SubnetId"]
    (subnet,) = ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"]
    assert subnet["Ipv6Native"] is True
    assert "CidrBlock" not in subnet


def test_state_of_an_ipv6_block(ec2: Client, blocks: tuple[str, list[str]]) -> None:
    """The state of an IPv6 block is `associated`, and a disassociated block is not listed."""
    vpc_id, ipv6 = blocks
    subnet_id = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24", Ipv6CidrBlock=ipv6[0])["Subnet"]["SubnetId"]
    (block,) = ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]["Ipv6CidrBlockAssociationSet"]
    assert (block["Ipv6CidrBlock"], block["Ipv6CidrBlockState"]) == (ipv6[0], {"State": "associated"})
    ec2.disassociate_subnet_cidr_block(AssociationId=block["AssociationId"])
    assert ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]["Ipv6CidrBlockAssociationSet"] == []


def test_dns64(ec2: Client, vpc_id: str) -> None:
    """EnableDns64 is false by default and can be set for each subnet, beside the other attributes (ModifySubnetAttribute)."""
    first, second = (
        ec2.create_subnet(VpcId=vpc_id, CidrBlock=f"10.0.{number}.0/24")["Subnet"]["SubnetId"] for number in range(2)
    )
    ec2.modify_subnet_attribute(SubnetId=first, EnableDns64={"Value": True})
    ec2.modify_subnet_attribute(SubnetId=second, MapPublicIpOnLaunch={"Value": True})
    shown = {subnet["SubnetId"]: subnet for subnet in ec2.describe_subnets()["Subnets"]}
    assert [shown[name]["EnableDns64"] for name in (first, second)] == [True, False]
    assert [shown[name]["MapPublicIpOnLaunch"] for name in (first, second)] == [False, True]


def test_only_the_default_vpc_has_default_subnets(ec2: Client, vpc_id: str) -> None:
    """A subnet outside the default VPC is not a default subnet and assigns no public addresses.

    https://docs.aws.amazon.com/vpc/latest/userguide/default-subnet.html
    """
    subnet = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24", AvailabilityZoneId="use1-az4")["Subnet"]
    assert (subnet["DefaultForAz"], subnet["MapPublicIpOnLaunch"]) == (False, False)
    assert (subnet["AvailabilityZone"], subnet["AvailabilityZoneId"]) == ("us-east-1d", "use1-az4")
    assert subnet["OwnerId"] == "123456789012"
    (default,) = ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"]
    in_it = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [default["VpcId"]]}])["Subnets"]
    assert all(subnet["DefaultForAz"] for subnet in in_it)

"""Shared subnets, as a participant and AWS Resource Access Manager show them.

https://docs.aws.amazon.com/vpc/latest/userguide/vpc-share-limitations.html,
https://docs.aws.amazon.com/ram/latest/APIReference/API_ListResources.html
"""

import pytest

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox

OWNER, PARTICIPANT = "123456789012", "210987654321"


@pytest.fixture
def participant(sandbox: Sandbox) -> Client:
    """Return an EC2 client in the account with which subnets are shared."""
    return sandbox.client("ec2", credentials=sandbox.credentials(PARTICIPANT))


@pytest.fixture
def shared_id(sandbox: Sandbox, subnet_id: str) -> str:
    """Share the subnet and return its id."""
    sandbox.ec2.sharing.share_subnet(subnet_id, PARTICIPANT)
    return subnet_id


def test_the_participant_sees_the_subnet_and_its_vpc(
    ec2: Client, participant: Client, shared_id: str, vpc_id: str
) -> None:
    """Both are listed with their owner's OwnerId and found by ids and filters, without the owner's tags."""
    ec2.create_tags(Resources=[shared_id], Tags=[{"Key": "owner", "Value": "a"}])
    [subnet] = participant.describe_subnets(SubnetIds=[shared_id])["Subnets"]
    [vpc] = participant.describe_vpcs(VpcIds=[vpc_id])["Vpcs"]
    assert (subnet["OwnerId"], vpc["OwnerId"], subnet.get("Tags", [])) == (OWNER, OWNER, [])
    assert shared_id in [item["SubnetId"] for item in participant.describe_subnets()["Subnets"]]
    by_vpc, by_owner = ([{"Name": name, "Values": [id_]}] for name, id_ in (("vpc-id", vpc_id), ("owner-id", OWNER)))
    assert [item["SubnetId"] for item in participant.describe_subnets(Filters=by_vpc)["Subnets"]] == [shared_id]
    assert [item["VpcId"] for item in participant.describe_vpcs(Filters=by_owner)["Vpcs"]] == [vpc_id]


def test_the_participant_sees_the_table_in_force(
    ec2: Client, participant: Client, shared_id: str, vpc_id: str, table_id: str
) -> None:
    """Participants can describe the route table of a shared subnet, main or associated, without other subnets."""
    hidden = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.1.0/24")["Subnet"]["SubnetId"]
    by_vpc = [{"Name": "vpc-id", "Values": [vpc_id]}]
    [main] = participant.describe_route_tables(Filters=by_vpc)["RouteTables"]
    assert (main["Associations"][0]["Main"], main["OwnerId"]) == (True, OWNER)
    for one in (hidden, shared_id):
        ec2.associate_route_table(RouteTableId=table_id, SubnetId=one)
    [table] = participant.describe_route_tables(Filters=by_vpc)["RouteTables"]
    assert table["RouteTableId"] == table_id
    assert [item["SubnetId"] for item in table["Associations"]] == [shared_id]
    assert refused(participant.describe_subnets, SubnetIds=[hidden]) == "InvalidSubnetID.NotFound"


def test_the_participant_sees_neither_nat_gateways_nor_endpoints(
    ec2: Client, participant: Client, shared_id: str, vpc_id: str
) -> None:
    """Only the owner sees NAT gateways and VPC endpoints."""
    ec2.create_nat_gateway(SubnetId=shared_id, ConnectivityType="private")
    ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName="com.amazonaws.us-east-1.s3express")
    assert participant.describe_nat_gateways()["NatGateways"] == []
    assert participant.describe_vpc_endpoints()["VpcEndpoints"] == []


def test_shares_belong_to_one_account_and_region(sandbox: Sandbox, shared_id: str) -> None:
    """A third account, or the same account in another Region, sees nothing, and a reset ends the share."""
    other = sandbox.client("ec2", credentials=sandbox.credentials("333333333333"))
    assert refused(other.describe_subnets, SubnetIds=[shared_id]) == "InvalidSubnetID.NotFound"
    elsewhere = sandbox.client("ec2", "us-west-2", sandbox.credentials(PARTICIPANT))
    assert refused(elsewhere.describe_subnets, SubnetIds=[shared_id]) == "InvalidSubnetID.NotFound"
    sandbox.reset()
    assert sandbox.ec2.knobs.shares == []


def listed(client: Client, **asked: object) -> list[str]:
    """Return the ids of the resources that a client of Resource Access Manager lists, in pages of one."""
    pages = client.get_paginator("list_resources").paginate(PaginationConfig={"PageSize": 1}, **asked)
    return [resource["arn"].rpartition("/")[2] for page in pages for resource in page["resources"]]


def test_shared_subnets_are_listed(sandbox: Sandbox, ec2: Client, vpc_id: str) -> None:
    """The owner's list has the resources it shares, and the participant's list those shared with it, in pages."""
    made = [
        ec2.create_subnet(VpcId=vpc_id, CidrBlock=f"10.0.{number}.0/24")["Subnet"]["SubnetId"] for number in range(3)
    ]
    owner = sandbox.client("ram")
    participant = sandbox.client("ram", credentials=sandbox.credentials(PARTICIPANT))
    assert listed(owner, resourceOwner="SELF") == []
    for subnet_id in made[:2]:
        sandbox.ec2.sharing.share_subnet(subnet_id, PARTICIPANT)
    assert listed(owner, resourceOwner="SELF", resourceType="ec2:Subnet") == made[:2]
    assert listed(owner, resourceOwner="SELF", resourceType="ec2:PrefixList") == []
    assert listed(owner, resourceOwner="OTHER-ACCOUNTS") == []
    assert listed(participant, resourceOwner="OTHER-ACCOUNTS") == made[:2]
    assert listed(sandbox.client("ram", "eu-west-1"), resourceOwner="SELF") == []
    [first] = owner.list_resources(resourceOwner="SELF", maxResults=1)["resources"]
    assert first["arn"] == f"arn:aws:ec2:us-east-1:{OWNER}:subnet/{made[0]}"

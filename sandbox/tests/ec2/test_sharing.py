"""Shared subnets as a participant sees them.

https://docs.aws.amazon.com/vpc/latest/userguide/vpc-share-limitations.html
"""

import pytest

from sandbox.dynamic import Client
from sandbox.refusals import refused
from sandbox.server import Sandbox

OWNER, PARTICIPANT = "123456789012", "210987654321"


@pytest.fixture
def participant(sandbox: Sandbox) -> Client:
    """Return an EC2 client in the account with which subnets are shared."""
    return sandbox.client("ec2", credentials=sandbox.credentials(PARTICIPANT))


@pytest.fixture
def subnet_id(sandbox: Sandbox, ec2: Client, vpc_id: str) -> str:
    """Create a subnet, share it, and return its id."""
    made = str(ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"])
    sandbox.ec2.sharing.share_subnet(made, PARTICIPANT)
    return made


def test_the_participant_sees_the_subnet(participant: Client, subnet_id: str) -> None:
    """A shared subnet is listed for the participant, with its owner's OwnerId."""
    (subnet,) = participant.describe_subnets(SubnetIds=[subnet_id])["Subnets"]
    assert subnet["OwnerId"] == OWNER
    assert subnet_id in [item["SubnetId"] for item in participant.describe_subnets()["Subnets"]]


def test_the_participant_sees_the_vpc(participant: Client, subnet_id: str, vpc_id: str) -> None:
    """Its VPC is listed once, and filters and ids find it and the subnet."""
    assert subnet_id
    (vpc,) = participant.describe_vpcs(VpcIds=[vpc_id])["Vpcs"]
    assert vpc["OwnerId"] == OWNER
    by_vpc = [{"Name": "vpc-id", "Values": [vpc_id]}]
    assert [item["SubnetId"] for item in participant.describe_subnets(Filters=by_vpc)["Subnets"]] == [subnet_id]
    by_owner = [{"Name": "owner-id", "Values": [OWNER]}]
    assert [item["VpcId"] for item in participant.describe_vpcs(Filters=by_owner)["Vpcs"]] == [vpc_id]


def test_the_participant_sees_the_table_in_force(
    ec2: Client, participant: Client, subnet_id: str, vpc_id: str, table_id: str
) -> None:
    """Participants can describe the route table of a shared subnet, associated or main."""
    by_vpc = [{"Name": "vpc-id", "Values": [vpc_id]}]
    (main,) = participant.describe_route_tables(Filters=by_vpc)["RouteTables"]
    assert (main["Associations"][0]["Main"], main["OwnerId"]) == (True, OWNER)
    ec2.associate_route_table(RouteTableId=table_id, SubnetId=subnet_id)
    (table,) = participant.describe_route_tables(Filters=by_vpc)["RouteTables"]
    assert table["RouteTableId"] == table_id
    assert [item["SubnetId"] for item in table["Associations"]] == [subnet_id]


def test_the_participant_sees_no_other_subnet(ec2: Client, participant: Client, subnet_id: str, vpc_id: str) -> None:
    """Other subnets of the VPC are not visible, not even in the associations of a shared table."""
    hidden = ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.0.1.0/24")["Subnet"]["SubnetId"]
    table_id = ec2.create_route_table(VpcId=vpc_id)["RouteTable"]["RouteTableId"]
    for one in (hidden, subnet_id):
        ec2.associate_route_table(RouteTableId=table_id, SubnetId=one)
    assert refused(participant.describe_subnets, SubnetIds=[hidden]) == "InvalidSubnetID.NotFound"
    (table,) = participant.describe_route_tables(RouteTableIds=[table_id])["RouteTables"]
    assert [item["SubnetId"] for item in table["Associations"]] == [subnet_id]


def test_the_participant_sees_neither_nat_gateways_nor_endpoints(
    ec2: Client, participant: Client, subnet_id: str, vpc_id: str
) -> None:
    """Only the owner sees NAT gateways and VPC endpoints."""
    ec2.create_nat_gateway(SubnetId=subnet_id, ConnectivityType="private")
    ec2.create_vpc_endpoint(VpcId=vpc_id, ServiceName="com.amazonaws.us-east-1.s3express")
    assert participant.describe_nat_gateways()["NatGateways"] == []
    assert participant.describe_vpc_endpoints()["VpcEndpoints"] == []


def test_tags_are_each_accounts_own(ec2: Client, participant: Client, subnet_id: str) -> None:
    """The participant does not see the owner's tags."""
    ec2.create_tags(Resources=[subnet_id], Tags=[{"Key": "owner", "Value": "a"}])
    (seen,) = participant.describe_subnets(SubnetIds=[subnet_id])["Subnets"]
    assert not seen.get("Tags")


def test_shares_belong_to_one_account_and_region(sandbox: Sandbox, subnet_id: str) -> None:
    """A third account, or the same account in another Region, sees nothing."""
    other = sandbox.client("ec2", credentials=sandbox.credentials("333333333333"))
    assert refused(other.describe_subnets, SubnetIds=[subnet_id]) == "InvalidSubnetID.NotFound"
    elsewhere = sandbox.client("ec2", "us-west-2", sandbox.credentials(PARTICIPANT))
    assert refused(elsewhere.describe_subnets, SubnetIds=[subnet_id]) == "InvalidSubnetID.NotFound"


def test_reset_ends_sharing(sandbox: Sandbox, subnet_id: str) -> None:
    """A reset also removes the shares."""
    assert subnet_id
    sandbox.reset()
    assert sandbox.ec2.knobs.shares == []

"""Tags of resources (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html)."""

from sandbox.dynamic import Client


def test_a_resource_has_its_own_tags(ec2: Client, vpc_id: str) -> None:
    """Tags belong to one resource, can be used in filters, and can be removed."""
    other = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
    ec2.create_tags(Resources=[vpc_id], Tags=[{"Key": "owner", "Value": "network"}])
    (found,) = ec2.describe_vpcs(Filters=[{"Name": "tag:owner", "Values": ["network"]}])["Vpcs"]
    assert (found["VpcId"], found["Tags"]) == (vpc_id, [{"Key": "owner", "Value": "network"}])
    assert not ec2.describe_vpcs(VpcIds=[other])["Vpcs"][0].get("Tags")
    ec2.delete_tags(Resources=[vpc_id], Tags=[{"Key": "owner"}])
    assert not ec2.describe_vpcs(VpcIds=[vpc_id])["Vpcs"][0].get("Tags")

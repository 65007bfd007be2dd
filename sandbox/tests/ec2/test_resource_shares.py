"""The resources that an account shares, as returned by AWS Resource Access Manager.

https://docs.aws.amazon.com/ram/latest/APIReference/API_ListResources.html
"""

from sandbox.dynamic import Client
from sandbox.refusals import refused
from sandbox.server import Sandbox

OWNER, PARTICIPANT = "123456789012", "210987654321"


def shared(client: Client, **asked: object) -> list[str]:
    """Return the ids that a client reads, in pages of one."""
    pages = client.get_paginator("list_resources").paginate(PaginationConfig={"PageSize": 1}, **asked)
    return [resource["arn"].rpartition("/")[2] for page in pages for resource in page["resources"]]


def test_shared_subnets(sandbox: Sandbox, ec2: Client, vpc_id: str) -> None:
    """The owner's list has the resources it shares, and the participant's list those shared with it, in pages."""
    made = [
        ec2.create_subnet(VpcId=vpc_id, CidrBlock=f"10.0.{number}.0/24")["Subnet"]["SubnetId"] for number in range(3)
    ]
    owner = sandbox.client("ram")
    participant = sandbox.client("ram", credentials=sandbox.credentials(PARTICIPANT))
    assert shared(owner, resourceOwner="SELF") == []
    for subnet_id in made[:2]:
        sandbox.ec2.sharing.share_subnet(subnet_id, PARTICIPANT)
    assert shared(owner, resourceOwner="SELF", resourceType="ec2:Subnet") == made[:2]
    assert shared(owner, resourceOwner="SELF", resourceType="ec2:PrefixList") == []
    assert shared(owner, resourceOwner="OTHER-ACCOUNTS") == []
    assert shared(participant, resourceOwner="OTHER-ACCOUNTS") == made[:2]
    assert shared(sandbox.client("ram", "eu-west-1"), resourceOwner="SELF") == []
    [listed] = owner.list_resources(resourceOwner="SELF", maxResults=1)["resources"]
    assert listed["arn"] == f"arn:aws:ec2:us-east-1:{OWNER}:subnet/{made[0]}"


def test_the_list_can_be_denied(sandbox: Sandbox) -> None:
    """A denial has RAM's error code."""
    sandbox.faults.deny("ram", "ListResources")
    assert refused(sandbox.client("ram").list_resources, resourceOwner="SELF") == "AccessDeniedException"

"""AWS-managed prefix lists.

https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html names them and their
weights; https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-az-networking.html the Regions.
"""

import ipaddress

import pytest

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.ec2.regions import REGIONS
from config_rule_sandbox.refusals import refused
from config_rule_sandbox.server import Sandbox

OWNED_BY_AWS = [{"Name": "owner-id", "Values": ["AWS"]}]
NAME = "com.amazonaws.us-east-1.s3express"


def test_s3express_has_a_list_of_each_address_family(ec2: Client) -> None:
    """The IPv4 list has six CIDRs, its documented weight, in DescribePrefixLists and in its entries; IPv6 is apart."""
    listed = {item["PrefixListName"]: item for item in ec2.describe_prefix_lists()["PrefixLists"]}
    assert {"com.amazonaws.us-east-1.s3", "com.amazonaws.us-east-1.dynamodb"} < set(listed)
    lists = ec2.describe_managed_prefix_lists(Filters=OWNED_BY_AWS)["PrefixLists"]
    cidrs = {
        item["AddressFamily"]: [
            entry["Cidr"] for entry in ec2.get_managed_prefix_list_entries(PrefixListId=item["PrefixListId"])["Entries"]
        ]
        for item in lists
        if item["PrefixListName"].endswith(".s3express")
    }
    assert (len(cidrs["IPv4"]), cidrs["IPv4"]) == (6, listed[NAME]["Cidrs"])
    assert {ipaddress.ip_network(cidr).version for cidr in cidrs["IPv6"]} == {6}


def test_each_region_of_the_service_has_its_own_lists(sandbox: Sandbox) -> None:
    """All 15 Regions with S3 Express One Zone have both lists, whose ranges never overlap."""
    networks = []
    for region in REGIONS:
        client = sandbox.client("ec2", region)
        lists = client.describe_managed_prefix_lists(Filters=OWNED_BY_AWS)["PrefixLists"]
        wanted = {f"com.amazonaws.{region}.s3express", f"com.amazonaws.{region}.ipv6.s3express"}
        assert wanted < {item["PrefixListName"] for item in lists}
        for item in client.describe_prefix_lists()["PrefixLists"]:
            if item["PrefixListName"].endswith(".s3express"):
                networks += [ipaddress.ip_network(cidr) for cidr in item["Cidrs"]]
    assert len(networks) == 6 * len(REGIONS) == 90
    assert not [1 for i, one in enumerate(networks) for other in networks[i + 1 :] if one.overlaps(other)]


@pytest.mark.parametrize("region", ["eu-west-2", "us-gov-west-1", "ap-east-1"])
def test_other_regions_have_none(sandbox: Sandbox, region: str) -> None:
    """A Region without S3 Express has only the lists of S3 and DynamoDB."""
    names = {item["PrefixListName"] for item in sandbox.client("ec2", region).describe_prefix_lists()["PrefixLists"]}
    assert f"com.amazonaws.{region}.s3" in names
    assert not [name for name in names if "s3express" in name]


def test_ids_are_the_same_in_every_account(sandbox: Sandbox, ec2: Client) -> None:
    """All accounts of a Region have the same ids of AWS-managed lists; a customer's list is never one of a service."""
    other = sandbox.client("ec2", credentials=sandbox.credentials("210987654321"))
    listed = ec2.describe_prefix_lists()["PrefixLists"]
    other.create_managed_prefix_list(PrefixListName=NAME, MaxEntries=1, AddressFamily="IPv4")
    assert other.describe_prefix_lists()["PrefixLists"] == listed


def test_unknown_lists_are_refused(ec2: Client) -> None:
    """An id that does not exist is rejected; the error code is spelled differently by each operation.

    https://github.com/hashicorp/terraform-provider-aws, internal/service/ec2/find.go
    """
    unknown = {"PrefixListIds": ["pl-00000000"]}
    assert refused(ec2.describe_prefix_lists, **unknown) == "InvalidPrefixListId.NotFound"
    assert refused(ec2.describe_managed_prefix_lists, **unknown) == "InvalidPrefixListID.NotFound"
    code = refused(ec2.get_managed_prefix_list_entries, PrefixListId="pl-00000000")
    assert code == "InvalidPrefixListID.NotFound"

"""AWS-managed prefix lists.

https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html names them and their
weights; https://docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-az-networking.html the Regions.
"""

import ipaddress

import pytest

from sandbox.dynamic import Client
from sandbox.ec2.prefix_lists import REGIONS
from sandbox.refusals import refused
from sandbox.server import Sandbox

OWNED_BY_AWS = [{"Name": "owner-id", "Values": ["AWS"]}]


def test_lists_six_ipv4_cidrs_for_s3express(ec2: Client) -> None:
    """DescribePrefixLists returns com.amazonaws.us-east-1.s3express with six CIDRs, its documented weight."""
    lists = {item["PrefixListName"]: item["Cidrs"] for item in ec2.describe_prefix_lists()["PrefixLists"]}
    assert len(lists["com.amazonaws.us-east-1.s3express"]) == 6
    assert {"com.amazonaws.us-east-1.s3", "com.amazonaws.us-east-1.dynamodb"} < set(lists)


def test_lists_ipv6_separately(ec2: Client) -> None:
    """DescribeManagedPrefixLists shows the address family in AddressFamily (botocore model, ManagedPrefixList)."""
    lists = ec2.describe_managed_prefix_lists(Filters=OWNED_BY_AWS)["PrefixLists"]
    families = {item["AddressFamily"]: item for item in lists if item["PrefixListName"].endswith(".s3express")}
    assert set(families) == {"IPv4", "IPv6"}
    entries = ec2.get_managed_prefix_list_entries(PrefixListId=families["IPv6"]["PrefixListId"])["Entries"]
    assert all(ipaddress.ip_network(entry["Cidr"]).version == 6 for entry in entries)


def test_entries_are_the_cidrs(ec2: Client) -> None:
    """GetManagedPrefixListEntries and DescribePrefixLists return the same CIDRs for a list."""
    by_name = [{"Name": "prefix-list-name", "Values": ["com.amazonaws.us-east-1.s3express"]}]
    (listed,) = ec2.describe_prefix_lists(Filters=by_name)["PrefixLists"]
    entries = ec2.get_managed_prefix_list_entries(PrefixListId=listed["PrefixListId"])["Entries"]
    assert [entry["Cidr"] for entry in entries] == listed["Cidrs"]


@pytest.mark.parametrize("region", REGIONS)
def test_every_region_of_the_service_has_its_lists(sandbox: Sandbox, region: str) -> None:
    """All 15 Regions with S3 Express One Zone have both lists."""
    lists = sandbox.client("ec2", region).describe_managed_prefix_lists(Filters=OWNED_BY_AWS)["PrefixLists"]
    names = {item["PrefixListName"] for item in lists}
    assert {f"com.amazonaws.{region}.s3express", f"com.amazonaws.{region}.ipv6.s3express"} < names


@pytest.mark.parametrize("region", ["eu-west-2", "us-gov-west-1", "ap-east-1"])
def test_other_regions_have_none(sandbox: Sandbox, region: str) -> None:
    """A Region without S3 Express has only the lists of S3 and DynamoDB."""
    names = {item["PrefixListName"] for item in sandbox.client("ec2", region).describe_prefix_lists()["PrefixLists"]}
    assert f"com.amazonaws.{region}.s3" in names
    assert not [name for name in names if "s3express" in name]


def test_ids_are_the_same_in_every_account(sandbox: Sandbox, ec2: Client) -> None:
    """All accounts of a Region have the same ids of AWS-managed lists."""
    other = sandbox.client("ec2", credentials=sandbox.credentials("210987654321"))
    assert other.describe_prefix_lists()["PrefixLists"] == ec2.describe_prefix_lists()["PrefixLists"]


def test_customer_lists_are_no_service(ec2: Client) -> None:
    """A customer-managed list is never returned as a list of an AWS service, whatever its name."""
    name = "com.amazonaws.us-east-1.s3express"
    ec2.create_managed_prefix_list(PrefixListName=name, MaxEntries=1, AddressFamily="IPv4")
    assert len([item for item in ec2.describe_prefix_lists()["PrefixLists"] if item["PrefixListName"] == name]) == 1


def test_entries_of_an_unknown_list_are_refused(ec2: Client) -> None:
    """InvalidPrefixListID.NotFound (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html)."""
    code = refused(lambda: ec2.get_managed_prefix_list_entries(PrefixListId="pl-00000000"))
    assert code == "InvalidPrefixListID.NotFound"


def test_unknown_lists_are_refused(ec2: Client) -> None:
    """An id that does not exist is rejected; the error code is spelled differently by each operation.

    https://github.com/hashicorp/terraform-provider-aws, internal/service/ec2/find.go
    """
    unknown = {"PrefixListIds": ["pl-00000000"]}
    assert refused(ec2.describe_prefix_lists, **unknown) == "InvalidPrefixListId.NotFound"
    assert refused(ec2.describe_managed_prefix_lists, **unknown) == "InvalidPrefixListID.NotFound"


def test_ranges_of_two_regions_never_overlap(sandbox: Sandbox) -> None:
    """Each Region has different CIDRs, so a test can distinguish the lists of two Regions."""
    networks = [
        ipaddress.ip_network(cidr)
        for region in REGIONS
        for item in sandbox.client("ec2", region).describe_prefix_lists()["PrefixLists"]
        if item["PrefixListName"].endswith(".s3express")
        for cidr in item["Cidrs"]
    ]
    assert len(networks) == 6 * len(REGIONS)
    assert not [1 for i, one in enumerate(networks) for other in networks[i + 1 :] if one.overlaps(other)]

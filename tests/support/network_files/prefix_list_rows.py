"""Prefix lists in the format of the AWS CLI: those of AWS, which every network has, and customer-managed ones."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.support.network_files.vpc_rows import AccountRegion, Row, name_of, tag_list, with_fields

S3_CIDRS = ("54.231.0.0/16", "52.216.0.0/15", "3.5.0.0/19", "16.182.0.0/16", "18.34.0.0/19")
DYNAMODB_CIDRS = ("52.94.0.0/22", "3.218.180.0/22", "35.71.68.0/22")
S3EXPRESS_CIDRS = (
    "3.4.112.0/22",
    "16.15.64.0/18",
    "18.97.32.0/20",
    "44.220.0.0/16",
    "52.219.224.0/23",
    "54.226.96.0/24",
)
S3EXPRESS_IPV6_CIDRS = ("2600:1fa0:8100::/40", "2600:1fb8:4000::/36")


class PrefixListOfAws(NamedTuple):
    """A prefix list that AWS owns."""

    id: str
    name: str
    cidrs: Sequence[str]


def lists_of_aws(place: AccountRegion, s3express: Sequence[str], *, s3express_ipv6: bool) -> list[PrefixListOfAws]:
    """Return the lists of a Region; s3express is empty if the Region does not have S3 Express."""
    service = f"com.amazonaws.{place.region}"
    lists = [
        PrefixListOfAws("pl-s3", f"{service}.s3", S3_CIDRS),
        PrefixListOfAws("pl-dynamodb", f"{service}.dynamodb", DYNAMODB_CIDRS),
        PrefixListOfAws("pl-s3express", f"{service}.s3express", s3express),
        PrefixListOfAws(
            "pl-s3express-ipv6", f"{service}.ipv6.s3express", S3EXPRESS_IPV6_CIDRS if s3express_ipv6 else ()
        ),
    ]
    return [row for row in lists if row.cidrs]


def prefix_list_row(listed: PrefixListOfAws) -> Row:
    """Return a row of DescribePrefixLists."""
    return {"Cidrs": list(listed.cidrs), "PrefixListId": listed.id, "PrefixListName": listed.name}


def managed_row(place: AccountRegion, listed: PrefixListOfAws) -> Row:
    """Return an AWS-managed list's row of DescribeManagedPrefixLists."""
    return {
        "PrefixListId": listed.id,
        "AddressFamily": "IPv6" if ":" in listed.cidrs[0] else "IPv4",
        "State": "create-complete",
        "PrefixListArn": place.arn("ec2", f"prefix-list/{listed.id}", "aws"),
        "PrefixListName": listed.name,
        "Tags": [],
        "OwnerId": "AWS",
        "IpamPrefixListResolverSyncEnabled": False,
    }


def customer_row(  # one parameter for each option of a network file
    place: AccountRegion,
    list_id: str,
    *,
    name: str = "",
    owner: str = "",
    family: str = "IPv4",
    entries: object = None,  # noqa: ARG001  # in a file of their own
    fields: Row | None = None,
) -> Row:
    """Return a customer-managed list's row of DescribeManagedPrefixLists."""
    row = {
        "PrefixListId": list_id,
        "AddressFamily": family,
        "State": "create-complete",
        "PrefixListArn": place.arn("ec2", f"prefix-list/{list_id}", owner),
        "PrefixListName": name or name_of(list_id),
        "MaxEntries": 20,
        "Version": 3,
        "Tags": tag_list(list_id, None),
        "OwnerId": owner or place.account,
        "IpamPrefixListResolverSyncEnabled": False,
    }
    return with_fields(row, fields)


def entries_response(list_id: str, entries: Sequence[str]) -> Mapping[str, Any]:
    """Return the response of GetManagedPrefixListEntries."""
    return {"Entries": [{"Cidr": cidr, "Description": name_of(list_id)} for cidr in entries]}

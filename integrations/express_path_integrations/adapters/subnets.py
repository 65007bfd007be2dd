"""Where a subnet is, and who owns it, as EC2 says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from express_path.adapters.aws import filtered
from express_path.domain.network.snapshot import SubnetTags
from express_path.fields import free_text, identifier, optional_free_text

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


@dataclass(frozen=True, slots=True)
class Place:
    """The VPC and the zone of a subnet, and the tags of the subnet, its route table, and its VPC together."""

    vpc_id: str
    zone_id: str
    tags: Mapping[str, str]


def read_places(ec2: "EC2Client", tables: Mapping[str, str | None]) -> dict[str, Place]:
    """Read the places of subnets that exist, by subnet; tables are the IDs of their route tables. Raise ApiError."""
    rows = filtered(ec2, "describe_subnets", "Subnets", "subnet-id", sorted(tables))
    subnets = {identifier(row, "SubnetId", "subnet"): row for row in rows}
    vpcs = {subnet_id: identifier(row, "VpcId", subnet_id) for subnet_id, row in subnets.items()}
    known = {subnet_id: tables[subnet_id] or "" for subnet_id in subnets}
    tags: dict[str, dict[str, str]] = {}
    resource_ids = sorted({*subnets, *vpcs.values(), *filter(None, known.values())})
    for row in filtered(ec2, "describe_tags", "Tags", "resource-id", resource_ids):
        of_resource = tags.setdefault(identifier(row, "ResourceId", "tag"), {})
        of_resource[free_text(row, "Key", "tag")] = optional_free_text(row, "Value", "tag")
    return {
        subnet_id: Place(
            vpcs[subnet_id],
            optional_free_text(row, "AvailabilityZoneId", subnet_id),
            SubnetTags(*(tags.get(name, {}) for name in (subnet_id, known[subnet_id], vpcs[subnet_id]))).merged(),
        )
        for subnet_id, row in subnets.items()
    }

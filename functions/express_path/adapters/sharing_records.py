"""Resource Access Manager's list of shared resources into the ids of the subnets that an account shares."""

from collections.abc import Iterable

from express_path.adapters.aws import Aws, pages
from express_path.adapters.fields import Description, identifier

OWN_SUBNETS = {"resourceOwner": "SELF", "resourceType": "ec2:Subnet"}
"""What ram:ListResources is asked for: the subnets that the account itself shares with others."""


def read_shared_subnet_ids(aws: Aws) -> frozenset[str]:
    """The subnets of the Region that the account shares. Raises ApiError."""
    return shared_subnet_ids(pages(aws.ram, "ram", "list_resources", "resources", **OWN_SUBNETS))


def shared_subnet_ids(resources: Iterable[Description]) -> frozenset[str]:
    """The subnets that ram:ListResources lists for resourceOwner SELF, whatever the status of their shares.

    The response is described in https://docs.aws.amazon.com/ram/latest/APIReference/API_ListResources.html; a subnet's
    ARN ends in subnet/<id>. Raises RecordError where a resource has no ARN.
    """
    return frozenset(identifier(each, "arn", "resources").rpartition("/")[2] for each in resources)

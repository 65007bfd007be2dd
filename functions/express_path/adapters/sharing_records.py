"""Convert the resources that Resource Access Manager lists as shared."""

from collections.abc import Iterable

from express_path.fields import Description, identifier

OWN_SUBNETS = {"resourceOwner": "SELF", "resourceType": "ec2:Subnet"}
"""The parameters of ram:ListResources: the subnets that the account itself shares with others."""


def shared_subnet_ids(resources: Iterable[Description]) -> frozenset[str]:
    """Return the ids of the subnets that ram:ListResources returns for resourceOwner SELF, whatever their status.

    The response is described in https://docs.aws.amazon.com/ram/latest/APIReference/API_ListResources.html; a subnet's
    ARN ends in subnet/<id>. Raise RecordError if a resource has no ARN.
    """
    return frozenset(identifier(resource, "arn", "resources").rpartition("/")[2] for resource in resources)

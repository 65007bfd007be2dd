"""Read the route tables of a VPC and one endpoint from EC2, for an undo and for what a heal records about owners."""

from express_path.adapters.aws import Aws, pages
from express_path.adapters.ec2_records import route_table, vpc_endpoint
from express_path.adapters.fields import optional_free_text
from express_path.domain.heal.undo import LiveResources


def read_live_resources(aws: Aws, vpc_id: str, endpoint_id: str) -> LiveResources:
    """Read what EC2 shows now, which may be outdated.

    https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html

    Both reads filter, so a deleted resource is missing instead of an error. Raise ApiError and RecordError.
    """
    of_vpc = [{"Name": "vpc-id", "Values": [vpc_id]}]
    of_id = [{"Name": "vpc-endpoint-id", "Values": [endpoint_id]}]
    endpoints = pages(aws.ec2, "ec2", "describe_vpc_endpoints", "VpcEndpoints", Filters=of_id)
    tables = pages(aws.ec2, "ec2", "describe_route_tables", "RouteTables", Filters=of_vpc)
    policies = [optional_free_text(endpoint, "PolicyDocument", endpoint_id) for endpoint in endpoints]
    return LiveResources(tuple(map(route_table, tables)), tuple(map(vpc_endpoint, endpoints)), "".join(policies))

"""Read what an undo needs from EC2: the route tables of the heal's VPC, and the heal's endpoint."""

from express_path.adapters.aws import Aws, pages
from express_path.adapters.ec2_records import route_table, vpc_endpoint
from express_path.domain.heal.ledger import RunRecord
from express_path.domain.heal.undo import LiveResources


def read_live_resources(aws: Aws, heal: RunRecord) -> LiveResources:
    """Read what EC2 shows now, which may be outdated.

    https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html

    Both reads filter, so a deleted resource is missing instead of an error. Raise ApiError and RecordError.
    """
    of_vpc = [{"Name": "vpc-id", "Values": [heal.vpc_id]}]
    of_id = [{"Name": "vpc-endpoint-id", "Values": [heal.endpoint_id]}]
    endpoints = pages(aws.ec2, "ec2", "describe_vpc_endpoints", "VpcEndpoints", Filters=of_id)
    tables = pages(aws.ec2, "ec2", "describe_route_tables", "RouteTables", Filters=of_vpc)
    return LiveResources(tuple(map(route_table, tables)), tuple(map(vpc_endpoint, endpoints)))

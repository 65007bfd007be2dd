"""Deletes everything of a run. It finds things by their names, so it needs nothing but the run's id."""

import time
from collections.abc import Callable

from botocore.exceptions import ClientError, WaiterError

from acceptance import stack
from acceptance.place import ENDED, LONGEST_SECONDS, POLL_SECONDS, Place, pages

NETWORK = "-network"
"""How the name of the stack with the VPC ends, which goes last."""
Finders = tuple[Callable[[Place], list[str]], Callable[[Place, str], object]]


class LeftOverError(Exception):
    """Something of a run could not be deleted: `left` has what it is, and the last error about it."""

    def __init__(self, left: list[str]) -> None:
        super().__init__("could not be deleted: " + "; ".join(left))
        self.left = left


def clean(place: Place) -> None:
    """Delete everything of the run, and look again until nothing is left. LeftOverError if something stays."""
    until = time.monotonic() + LONGEST_SECONDS[place.name]
    while left := _pass(place):
        if time.monotonic() > until:
            raise LeftOverError(left)
        time.sleep(POLL_SECONDS[place.name])


def _pass(place: Place) -> list[str]:
    """Try to delete everything once, and return what there was."""
    found = []
    for find, delete in KINDS:
        for one in find(place):
            error = ""
            try:
                delete(place, one)
            except (ClientError, WaiterError) as raised:  # something else may have to go first, or it is gone
                error = f" ({raised})"
            found.append(f"{one}{error}")
    return found


def _named(service: str, operation: str, key: str, name: str = "") -> Callable[[Place], list[str]]:
    """Return what finds things whose name has the run's."""

    def find(place: Place) -> list[str]:
        client = place.client(service)
        found = pages(client, operation, key) if client.can_paginate(operation) else getattr(client, operation)()[key]
        return [one for one in (row[name] if name else row for row in found) if place.stack_name in one]

    return find


def _tagged(operation: str, key: str, name: str) -> Callable[[Place], list[str]]:
    """Return what finds things of EC2 that a run made outside of its stacks."""

    def find(place: Place) -> list[str]:
        filters = [{"Name": "tag:Name", "Values": [place.stack_name]}]
        found = pages(place.client("ec2"), operation, key, Filters=filters)
        return [one[name] for one in found if one.get("State") not in ("deleted", "delete-complete")]

    return find


def _deleting(service: str, operation: str, parameter: str) -> Callable[[Place, str], object]:
    """Return what deletes a thing by one call."""

    def delete(place: Place, one: str) -> object:
        return getattr(place.client(service), operation)(**{parameter: one})

    return delete


def _executions(place: Place) -> list[str]:
    """Return the executions of the run's runbooks that have not ended, such as those that wait for an approval."""
    found = pages(place.client("ssm"), "describe_automation_executions", "AutomationExecutionMetadataList")
    own = [one for one in found if place.stack_name in one["DocumentName"]]
    return [one["AutomationExecutionId"] for one in own if one["AutomationExecutionStatus"] not in ENDED]


def _stacks(place: Place) -> list[str]:
    return [name for name in _named(*STACKS)(place) if not name.endswith(NETWORK)]


def _networks(place: Place) -> list[str]:
    return [name for name in _named(*STACKS)(place) if name.endswith(NETWORK)]


def _endpoints(place: Place) -> list[str]:
    """Return the endpoints in the run's VPC, also those that heals created."""
    filters = [{"Name": "tag:Name", "Values": [place.stack_name + NETWORK]}]
    vpcs = pages(place.client("ec2"), "describe_vpcs", "Vpcs", Filters=filters)
    return [endpoint for vpc in vpcs for endpoint in place.endpoints(vpc["VpcId"])]


def _delete_endpoint(place: Place, name: str) -> object:
    return place.client("ec2").delete_vpc_endpoints(VpcEndpointIds=[name])


def _delete_table(place: Place, name: str) -> None:
    place.client("dynamodb").update_table(TableName=name, DeletionProtectionEnabled=False)
    place.client("dynamodb").delete_table(TableName=name)


def _delete_bucket(place: Place, name: str) -> None:
    s3 = place.client("s3")
    for one in pages(s3, "list_objects_v2", "Contents", Bucket=name):
        s3.delete_object(Bucket=name, Key=one["Key"])
    s3.delete_bucket(Bucket=name)


STACKS = ("cloudformation", "describe_stacks", "Stacks", "StackName")
AGGREGATORS = "describe_configuration_aggregators", "ConfigurationAggregators", "ConfigurationAggregatorName"
KINDS: tuple[Finders, ...] = (
    (_executions, _deleting("ssm", "stop_automation_execution", "AutomationExecutionId")),
    (_stacks, stack.delete),
    (_named("config", *AGGREGATORS), _deleting("config", "delete_configuration_aggregator", AGGREGATORS[2])),
    (
        _named("logs", "describe_log_groups", "logGroups", "logGroupName"),
        _deleting("logs", "delete_log_group", "logGroupName"),
    ),
    (_named("dynamodb", "list_tables", "TableNames"), _delete_table),
    (_named("s3", "list_buckets", "Buckets", "Name"), _delete_bucket),
    (_endpoints, _delete_endpoint),
    (
        _tagged("describe_nat_gateways", "NatGateways", "NatGatewayId"),
        _deleting("ec2", "delete_nat_gateway", "NatGatewayId"),
    ),
    (_networks, stack.delete),
    (
        _tagged("describe_managed_prefix_lists", "PrefixLists", "PrefixListId"),
        _deleting("ec2", "delete_managed_prefix_list", "PrefixListId"),
    ),
)
"""How to find and delete each kind of thing that a run makes, in the order in which they go."""

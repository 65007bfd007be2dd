"""Deletes everything of a run. It finds things by the run's tag or by its name, so it needs nothing but the run's id."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from botocore.exceptions import ClientError, WaiterError

from acceptance.place import LONGEST_SECONDS, POLL_SECONDS, TAG, Place, is_gone, pages

ENDED = ["Success", "Failed", "TimedOut", "Cancelled", "CompletedWithSuccess", "CompletedWithFailure"]


class LeftOverError(Exception):
    """Something of a run could not be deleted: `left` has what it is, and the last error about it."""

    def __init__(self, left: list[str]) -> None:
        super().__init__("could not be deleted: " + "; ".join(left))
        self.left = left


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing that a run makes: how to find those of a run, and how to delete one."""

    name: str
    find: Callable[[Place], Iterable[str]]
    delete: Callable[[Place, str], object]


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
    for kind in KINDS:
        for one in kind.find(place):
            error = ""
            try:
                kind.delete(place, one)
            except (ClientError, WaiterError) as raised:  # something else may have to go first
                if not (isinstance(raised, ClientError) and is_gone(raised)):
                    error = f" ({raised})"
            found.append(f"{kind.name} {one}{error}")
    return found


def _named(service: str, operation: str, key: str, name: str, prefix: str = "") -> Callable[[Place], Iterable[str]]:
    """Return what finds things by a name that begins with that of the run's stack, or with `prefix` and the run."""

    def find(place: Place) -> list[str]:
        client = place.client(service)
        begin = f"{prefix}{place.run}" if prefix else place.stack_name
        found = pages(client, operation, key) if client.can_paginate(operation) else getattr(client, operation)()[key]
        names = [one[name] if name else one for one in found]
        return [one for one in names if one.rpartition("/")[2].rpartition(":")[2].startswith(begin)]

    return find


def _tagged(operation: str, key: str, name: str) -> Callable[[Place], Iterable[str]]:
    """Return what finds things of EC2 by the run's tag."""

    def find(place: Place) -> list[str]:
        filters = [{"Name": f"tag:{TAG}", "Values": [place.run]}]
        found = pages(place.client("ec2"), operation, key, Filters=filters)
        return [one[name] for one in found if one.get("State") not in ("deleted", "delete-complete")]

    return find


def _addresses(place: Place) -> list[str]:
    filters = [{"Name": f"tag:{TAG}", "Values": [place.run]}]
    return [one["AllocationId"] for one in place.client("ec2").describe_addresses(Filters=filters)["Addresses"]]


def _endpoints(place: Place) -> list[str]:
    """Return the endpoints in the run's VPCs, also those that heals created."""
    ec2, vpcs = place.client("ec2"), list(_tagged("describe_vpcs", "Vpcs", "VpcId")(place))
    found = pages(
        ec2, "describe_vpc_endpoints", "VpcEndpoints", Filters=[{"Name": "vpc-id", "Values": vpcs or ["none"]}]
    )
    return [one["VpcEndpointId"] for one in found if one["State"].lower() != "deleted"]


def _executions(place: Place) -> list[str]:
    """Return the executions of the run's runbooks that have not ended, such as those that wait for an approval."""
    found = pages(place.client("ssm"), "describe_automation_executions", "AutomationExecutionMetadataList")
    return [
        one["AutomationExecutionId"]
        for one in found
        if place.run in one["DocumentName"] and one["AutomationExecutionStatus"] not in ENDED
    ]


def _documents(place: Place) -> list[str]:
    own = [{"Key": "Owner", "Values": ["Self"]}]
    found = pages(place.client("ssm"), "list_documents", "DocumentIdentifiers", Filters=own)
    return [one["Name"] for one in found if place.run in one["Name"]]


def _delete_stack(place: Place, name: str) -> None:
    cloudformation = place.client("cloudformation")
    cloudformation.delete_stack(StackName=name)
    cloudformation.get_waiter("stack_delete_complete").wait(StackName=name)


def _delete_table(place: Place, name: str) -> None:
    dynamodb = place.client("dynamodb")
    dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)
    dynamodb.delete_table(TableName=name)


def _delete_bucket(place: Place, name: str) -> None:
    s3 = place.client("s3")
    for one in pages(s3, "list_objects_v2", "Contents", Bucket=name):
        s3.delete_object(Bucket=name, Key=one["Key"])
    s3.delete_bucket(Bucket=name)


def _delete_role(place: Place, name: str) -> None:
    iam = place.client("iam")
    for policy in pages(iam, "list_role_policies", "PolicyNames", RoleName=name):
        iam.delete_role_policy(RoleName=name, PolicyName=policy)
    iam.delete_role(RoleName=name)


def _delete_gateway(place: Place, name: str) -> None:
    ec2 = place.client("ec2")
    [found] = ec2.describe_internet_gateways(InternetGatewayIds=[name])["InternetGateways"]
    for attachment in found["Attachments"]:
        ec2.detach_internet_gateway(InternetGatewayId=name, VpcId=attachment["VpcId"])
    ec2.delete_internet_gateway(InternetGatewayId=name)


def _by(service: str, operation: str, parameter: str) -> Callable[[Place, str], object]:
    """Return what deletes a thing by one call."""

    def delete(place: Place, one: str) -> object:
        return getattr(place.client(service), operation)(**{parameter: [one] if parameter.endswith("Ids") else one})

    return delete


KINDS = (
    Kind("execution", _executions, _by("ssm", "stop_automation_execution", "AutomationExecutionId")),
    Kind("stack", _named("cloudformation", "describe_stacks", "Stacks", "StackName"), _delete_stack),
    Kind(
        "rule",
        _named("config", "describe_config_rules", "ConfigRules", "ConfigRuleName", "acceptance-"),
        _by("config", "delete_config_rule", "ConfigRuleName"),
    ),
    Kind(
        "aggregator",
        _named(
            "config", "describe_configuration_aggregators", "ConfigurationAggregators", "ConfigurationAggregatorName"
        ),
        _by("config", "delete_configuration_aggregator", "ConfigurationAggregatorName"),
    ),
    Kind(
        "function",
        _named("lambda", "list_functions", "Functions", "FunctionName"),
        _by("lambda", "delete_function", "FunctionName"),
    ),
    Kind(
        "log group",
        _named("logs", "describe_log_groups", "logGroups", "logGroupName"),
        _by("logs", "delete_log_group", "logGroupName"),
    ),
    Kind("document", _documents, _by("ssm", "delete_document", "Name")),
    Kind(
        "topic",
        _named("sns", "list_topics", "Topics", "TopicArn", "Automation-"),
        _by("sns", "delete_topic", "TopicArn"),
    ),
    Kind("queue", _named("sqs", "list_queues", "QueueUrls", ""), _by("sqs", "delete_queue", "QueueUrl")),
    Kind(
        "event bus",
        _named("events", "list_event_buses", "EventBuses", "Name"),
        _by("events", "delete_event_bus", "Name"),
    ),
    Kind("role", _named("iam", "list_roles", "Roles", "RoleName"), _delete_role),
    Kind("table", _named("dynamodb", "list_tables", "TableNames", ""), _delete_table),
    Kind("bucket", _named("s3", "list_buckets", "Buckets", "Name"), _delete_bucket),
    Kind("endpoint", _endpoints, _by("ec2", "delete_vpc_endpoints", "VpcEndpointIds")),
    Kind(
        "NAT gateway",
        _tagged("describe_nat_gateways", "NatGateways", "NatGatewayId"),
        _by("ec2", "delete_nat_gateway", "NatGatewayId"),
    ),
    Kind("address", _addresses, _by("ec2", "release_address", "AllocationId")),
    Kind("subnet", _tagged("describe_subnets", "Subnets", "SubnetId"), _by("ec2", "delete_subnet", "SubnetId")),
    Kind(
        "route table",
        _tagged("describe_route_tables", "RouteTables", "RouteTableId"),
        _by("ec2", "delete_route_table", "RouteTableId"),
    ),
    Kind(
        "prefix list",
        _tagged("describe_managed_prefix_lists", "PrefixLists", "PrefixListId"),
        _by("ec2", "delete_managed_prefix_list", "PrefixListId"),
    ),
    Kind(
        "internet gateway",
        _tagged("describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
        _delete_gateway,
    ),
    Kind("VPC", _tagged("describe_vpcs", "Vpcs", "VpcId"), _by("ec2", "delete_vpc", "VpcId")),
)
"""Everything that a run makes. What others need comes before them, but passes are repeated in any case."""

"""Deletes everything of a run. It finds things by their names, so it needs nothing but the run's id."""

import sys
from functools import partial

from botocore.exceptions import ClientError, WaiterError

from acceptance import stack
from acceptance.place import Place

RUNNING = {"Key": "ExecutionStatus", "Values": ["InProgress", "Pending", "Waiting"]}


def clean(place: Place) -> None:
    """Delete everything of the run, and look again until nothing is left. TimeoutError if something stays."""
    place.until("an account without anything of the run", lambda: not _delete(place))


def _delete(place: Place) -> bool:
    """Try to delete everything once, print what cannot be deleted yet, and return whether there was anything."""
    own, network = place.stack_name, f"{place.stack_name}-network"
    metadata = f"AutomationExecutionMetadataList[?starts_with(DocumentName, '{own}')].AutomationExecutionId"
    executions = place.ask("ssm", "describe_automation_executions", metadata, Filters=[RUNNING])
    stacks = place.ask("cloudformation", "describe_stacks", f"Stacks[?starts_with(StackName, '{own}')].StackName")
    tables = place.ask("dynamodb", "list_tables", f"TableNames[?starts_with(@, '{own}')]")
    buckets = place.ask("s3", "list_buckets", f"Buckets[?starts_with(Name, '{own}')].Name")
    named = [{"Name": "tag:Name", "Values": [network]}]
    vpcs = place.ask("ec2", "describe_vpcs", "Vpcs[].VpcId", Filters=named)
    # What heals made goes before the network, and after what makes heals.
    steps = [
        *(partial(place.client("ssm").stop_automation_execution, AutomationExecutionId=one) for one in executions),
        *(partial(stack.delete, place, one) for one in stacks if one != network),
        *(partial(_delete_table, place, one) for one in tables),
        *(partial(_delete_bucket, place, one) for one in buckets),
        *(partial(place.delete_endpoints, one) for one in vpcs),
        *(partial(stack.delete, place, one) for one in stacks if one == network),
    ]
    for step in steps:
        try:
            step()
        except (ClientError, WaiterError) as error:  # something else may have to go first, or it is gone
            sys.stderr.write(f"{error}\n")
    return bool(steps)


def _delete_table(place: Place, name: str) -> None:
    place.client("dynamodb").update_table(TableName=name, DeletionProtectionEnabled=False)
    place.client("dynamodb").delete_table(TableName=name)


def _delete_bucket(place: Place, name: str) -> None:
    s3 = place.client("s3")
    for key in place.ask("s3", "list_objects_v2", "Contents[].Key", Bucket=name):
        s3.delete_object(Bucket=name, Key=key)
    s3.delete_bucket(Bucket=name)

"""Deletes everything of a run. It finds things by their names, so it needs nothing but the run's id."""

import sys
from functools import partial

from botocore.exceptions import ClientError, WaiterError

from acceptance import stack
from acceptance.run import Run

RUNNING = {"Key": "ExecutionStatus", "Values": ["InProgress", "Pending", "Waiting"]}


def clean(run: Run) -> None:
    """Delete everything of the run, and look again until nothing is left. TimeoutError if something stays."""
    sys.stderr.write(f"Cleaning up. If this is interrupted: make acceptance-clean RUN={run.id}\n")
    run.until("an account without anything of the run", lambda: not _delete(run))
    sys.stderr.write("Nothing of the run is left.\n")


def _delete(run: Run) -> bool:
    """Try to delete everything once, print what cannot be deleted yet, and return whether there was anything."""
    own, network = run.stack_name, f"{run.stack_name}-network"
    metadata = f"AutomationExecutionMetadataList[?starts_with(DocumentName, '{own}')].AutomationExecutionId"
    executions = run.ask("ssm", "describe_automation_executions", metadata, Filters=[RUNNING])
    stacks = run.ask("cloudformation", "describe_stacks", f"Stacks[?starts_with(StackName, '{own}')].StackName")
    tables = run.ask("dynamodb", "list_tables", f"TableNames[?starts_with(@, '{own}')]")
    buckets = run.ask("s3", "list_buckets", f"Buckets[?starts_with(Name, '{own}')].Name")
    named = [{"Name": "tag:Name", "Values": [network]}]
    vpcs = run.ask("ec2", "describe_vpcs", "Vpcs[].VpcId", Filters=named)
    # What heals made goes before the network, and after what makes heals. The bucket goes with the network.
    steps = [
        *(partial(run.client("ssm").stop_automation_execution, AutomationExecutionId=one) for one in executions),
        *(partial(stack.delete, run, one) for one in stacks if one != network),
        *(partial(_delete_table, run, one) for one in tables),
        *(partial(_empty, run, one) for one in buckets),
        *(partial(run.delete_endpoints, one) for one in vpcs),
        *(partial(stack.delete, run, one) for one in stacks if one == network),
    ]
    for step in steps:
        try:
            step()
        except (ClientError, WaiterError) as error:  # something else may have to go first, or it is gone
            sys.stderr.write(f"{error}\n")
    return bool(steps)


def _delete_table(run: Run, name: str) -> None:
    run.client("dynamodb").update_table(TableName=name, DeletionProtectionEnabled=False)
    run.client("dynamodb").delete_table(TableName=name)


def _empty(run: Run, bucket: str) -> None:
    for key in run.ask("s3", "list_objects_v2", "Contents[].Key", Bucket=bucket):
        run.client("s3").delete_object(Bucket=bucket, Key=key)

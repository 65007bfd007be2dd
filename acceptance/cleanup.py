"""Deletes everything of a run. It finds things by their names and tags, so it needs nothing but the run's id."""

import sys
from collections.abc import Callable
from functools import partial

from botocore.exceptions import ClientError

from acceptance.facts import Json
from acceptance.interruptions import is_interruption
from acceptance.run import ENDED, Run, attempt
from acceptance.stack import NotMadeError, delete

RUNNING = {"Key": "ExecutionStatus", "Values": ["InProgress", "Pending", "Waiting", "Cancelling"]}


def clean(run: Run) -> None:
    """Delete everything of the run, and look again until nothing is left. TimeoutError if something stays."""
    sys.stderr.write(f"Cleaning up. If this is interrupted: {run.command('acceptance-clean')}\n")
    run.until("an account without anything of the run", lambda: not _delete(run))
    sys.stderr.write(f"Nothing of the run is left in {run.place}.\n")


def _delete(run: Run) -> bool:
    """Try to delete everything once, print what cannot be deleted yet, and return whether there was anything."""
    own, network = run.stack_name, f"{run.stack_name}-network"
    executions = _executions(run)
    stacks = run.ask("cloudformation", "describe_stacks", f"Stacks[?starts_with(StackName, '{own}')].StackName")
    tables = run.ask("dynamodb", "list_tables", f"TableNames[?starts_with(@, '{own}')]")
    buckets = run.ask("s3", "list_buckets", f"Buckets[?starts_with(Name, '{own}')].Name")
    vpcs = run.ask("ec2", "describe_vpcs", "Vpcs[].VpcId", Filters=[{"Name": "tag:Name", "Values": [network]}])
    # No stack can be deleted while AWS Config remediates: https://docs.aws.amazon.com/config/latest/APIReference/API_DeleteRemediationConfiguration.html.
    # What heals made goes before the network, and after what makes heals. The bucket goes with the network.
    steps: list[Callable[[], object]] = [
        *(partial(run.close, vpc, is_closed=False) for vpc in vpcs),
        *(partial(_stop, run, execution) for execution in executions),
        *(partial(delete, run, name) for name in stacks if name != network),
        *(partial(_delete_table, run, name) for name in tables),
        *(partial(_empty, run, bucket) for bucket in buckets),
        *(partial(run.delete_endpoints, vpc) for vpc in vpcs),
        *(partial(delete, run, name) for name in stacks if name == network),
    ]
    for step in steps:
        try:
            step()
        except (ClientError, NotMadeError, TimeoutError) as error:  # something else may have to go first, or it is gone
            if is_interruption(error):
                raise
            sys.stderr.write(f"{error}\n")
    return bool(steps)


def _executions(run: Run) -> list[Json]:
    """Return the executions of the run's documents that have not ended, whether the run or AWS Config started them.

    The names of all documents contain that of the product's rule.
    """
    query = f"AutomationExecutionMetadataList[?contains(DocumentName, '{run.rule_name}')]"
    return run.ask("ssm", "describe_automation_executions", query, Filters=[RUNNING])


def _stop(run: Run, execution: Json) -> None:
    """Stop an execution and wait for its end."""
    execution_id = execution["AutomationExecutionId"]
    if execution["AutomationExecutionStatus"] != "Cancelling":
        run.client("ssm").stop_automation_execution(AutomationExecutionId=execution_id)
    run.execution(execution_id, *ENDED)


def _delete_table(run: Run, name: str) -> None:
    """Delete a table, whose protection can be removed, and which can be deleted, only while nothing else changes it."""
    client = run.client("dynamodb")

    def status() -> str:
        code, found = attempt(partial(client.describe_table, TableName=name))
        return str(found["Table"]["TableStatus"]) if found else code

    if run.look_for(lambda: status() in ("ACTIVE", "DELETING")) and status() == "ACTIVE":
        client.update_table(TableName=name, DeletionProtectionEnabled=False)
        run.until(f"{name} as it was", lambda: status() == "ACTIVE")
        client.delete_table(TableName=name)
    run.until(f"an account without {name}", lambda: status() == "ResourceNotFoundException")


def _empty(run: Run, bucket: str) -> None:
    for key in run.ask("s3", "list_objects_v2", "Contents[].Key", Bucket=bucket):
        run.client("s3").delete_object(Bucket=bucket, Key=key)

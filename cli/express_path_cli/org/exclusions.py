"""Accounts that a roll-out excludes, and those of them that have the rule all the same."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from express_path.adapters.aws import Expecting, calling
from express_path.adapters.roll_out import Place, StackSet
from express_path_cli.automation.stack_sets import Deployed
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.sources.live import Home
from express_path_cli.terminal.texts import count_text

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

PARAMETER = "ExcludedAccountIds"
"""The parameter of org/stackset.yaml with the accounts that do not get the rule."""


def read_exclusions(home: Home, deployed: Deployed, task_pool: TaskPool) -> Mapping[str, frozenset[str]]:
    """Read the accounts that each StackSet of the rule excludes, by the name of the StackSet; none are left out.

    What cannot be read is added to the failures of the pool.
    """
    deploying = [stack_set for stack_set in deployed.stack_sets if stack_set.deploys_rule]
    read = partial(_excluded, home.aws.client("cloudformation"))
    found = task_pool.run(deploying, read, lambda stack_set: f"the exclusions of {stack_set.name}")
    return {stack_set.name: account_ids for stack_set, account_ids in found if account_ids}


def _excluded(cloudformation: "CloudFormationClient", stack_set: StackSet) -> frozenset[str]:
    """Read the accounts from the parameters of the stack that contains the StackSet. Raise ApiError.

    A StackSet's own description has no filter. Without such a stack, nothing is known to be excluded.
    """
    stack_name = ""
    with Expecting("ValidationError"), calling("cloudformation:DescribeStackResources"):
        rows = cloudformation.describe_stack_resources(PhysicalResourceId=stack_set.id)["StackResources"]
        stack_name = next((str(row["StackName"]) for row in rows), "")
    if not stack_name:
        return frozenset()
    with calling("cloudformation:DescribeStacks"):
        [stack] = cloudformation.describe_stacks(StackName=stack_name)["Stacks"]
    values = {row["ParameterKey"]: row.get("ParameterValue", "") for row in stack.get("Parameters", ())}
    return frozenset(values.get(PARAMETER, "").split(",")) - {""}


def with_rule(deployed: Deployed, exclusions: Mapping[str, frozenset[str]]) -> Mapping[Place, str]:
    """Return the name of the StackSet by each account and Region that it excludes, and in which it has an instance."""
    return {
        place: instance.stack_set.name
        for place, instance in deployed.instances.items()
        if place.account_id in exclusions.get(instance.stack_set.name, ())
    }


def ignored_text(stack_set: str) -> str:
    """Return why an excluded account has the rule."""
    return (
        f"the account is in {PARAMETER} of {stack_set}, but has an instance: automatic deployment ignores that list when an "
        "account joins"
    )


def notes(exclusions: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yield what exclusions do not do."""
    for name, account_ids in sorted(exclusions.items()):
        yield (
            f"{name} excludes {count_text(len(account_ids), 'account')} with {PARAMETER}, which automatic deployment ignores: an "
            "account that joins the OU gets the rule. Keep such accounts in an OU to which you do not deploy"
        )

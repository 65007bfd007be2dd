"""Where a roll-out should work and is silent: the stack instances of its StackSets, and the metrics of their functions.

The metrics of other accounts are read in the monitoring account, to which Observability Access Manager links them:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDataQuery.html
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import Aws, pages
from express_path.adapters.roll_out import Place, StackInstance, StackSet, all_members, read_instances, read_stack_sets
from express_path.errors import ApiError, RecordError

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

HEALTH_FUNCTION = "express-path-health"
"""The name of the health function of a stack with the default RuleName (template.yaml)."""
FINDINGS_FUNCTION = "express-path-findings"
"""The name of the function of the integrations, which fails if it can write no finding (integrations/template.yaml). The end of
a sweep invokes it, too."""
WINDOW = timedelta(hours=25)
"""How long ago the last success may be: a sweep runs at least once a day, and AWS Config may be an hour late."""
GRACE = timedelta(hours=26)
"""How long after its creation an instance is not expected to have a success: the first sweep may run after a day."""
_QUERIES = 500
"""The most queries of a call (https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html)."""
_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Silence:
    """An account and Region in which a function had no success, and why, as far as that is known."""

    place: Place
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Listening:
    """In how many accounts and Regions the rule should work, and what is left out: new instances, and inactive accounts.

    Where the rule works, the integrations should work, too, if they are deployed there.

    silent: sorted. inactive: the states, such as SUSPENDED, by account.
    """

    expected: int
    silent: Sequence[Silence]
    new: Sequence[Place]
    inactive: Mapping[str, str]


def listen(aws: Aws, stack_sets_region: str, call_as: str, now: datetime) -> Listening:
    """Compare the stack instances with the successes of their functions.

    Raise ApiError if something cannot be read, and RecordError if there is no instance: then nothing is known to work.
    """
    cloudformation = replace(aws, region=stack_sets_region).client("cloudformation")
    stack_sets = read_stack_sets(cloudformation, call_as)
    instances = [row for stack_set in stack_sets for row in _instances(cloudformation, call_as, stack_set)]
    if not any(row.stack_set.deploys_rule for row in instances):
        names = [row.name for row in stack_sets if row.deploys_rule]
        raise RecordError(stack_sets_region, "StackSets", names, "StackSets with instances")
    states = {member.id: member.state for member in all_members(aws.client("organizations")) if not member.is_active}
    new = {(row.deploys_rule, place) for row in stack_sets for place in _new_places(cloudformation, call_as, row, now)}
    expected = [
        row
        for row in instances
        if row.place.account_id not in states and (row.stack_set.deploys_rule, row.place) not in new
    ]
    rules = [row for row in expected if row.stack_set.deploys_rule]
    silent = list(_silent(aws, rules, HEALTH_FUNCTION, now))
    places = {row.place for row in silent}
    integrations = [row for row in expected if row.stack_set.deploys_integrations and row.place not in places]
    silent += _silent(aws, integrations, FINDINGS_FUNCTION, now)
    left_out = {row.place.account_id for row in instances if row.place.account_id in states}
    return Listening(
        len(rules),
        sorted(silent, key=lambda row: row.place),
        sorted(place for is_rule, place in new if is_rule),
        {account_id: states[account_id] for account_id in sorted(left_out)},
    )


def _instances(cloudformation: Any, call_as: str, stack_set: StackSet) -> Sequence[StackInstance]:  # noqa: ANN401  # boto3's client
    """Read the instances of a StackSet with functions. Raise ApiError."""
    if stack_set.deploys_rule or stack_set.deploys_integrations:
        return read_instances(cloudformation, call_as, stack_set)
    return ()


def _new_places(cloudformation: Any, call_as: str, stack_set: StackSet, now: datetime) -> Iterator[Place]:  # noqa: ANN401  # boto3's client
    """Yield where an operation of the last hours, or one that still runs, creates instances of functions. Raise ApiError.

    An instance does not say when it was created:
    https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_StackInstanceSummary.html
    """
    if not stack_set.deploys_rule and not stack_set.deploys_integrations:
        return
    given = {"StackSetName": stack_set.name, "CallAs": call_as}
    rows = pages(cloudformation, "cloudformation", "list_stack_set_operations", "Summaries", **given)
    for row in rows:
        ended = row.get("EndTimestamp")
        if row["Action"] == "CREATE" and (ended is None or now - ended < GRACE):
            given_operation = {**given, "OperationId": row["OperationId"]}
            operation = "list_stack_set_operation_results"
            for result in pages(cloudformation, "cloudformation", operation, "Summaries", **given_operation):
                yield Place(str(result["Account"]), str(result["Region"]))


def _silent(aws: Aws, instances: Sequence[StackInstance], function: str, now: datetime) -> Iterator[Silence]:
    """Yield the instances whose function of this name had no success. Raise ApiError."""
    by_region: dict[str, list[StackInstance]] = defaultdict(list)
    for instance in instances:
        by_region[instance.place.region].append(instance)
    for region, rows in sorted(by_region.items()):
        cloudwatch = replace(aws, region=region).cloudwatch
        for start in range(0, len(rows), _QUERIES):
            some = rows[start : start + _QUERIES]
            working = _with_success(cloudwatch, [row.place.account_id for row in some], function, now)
            for row in some:
                if row.place.account_id not in working:
                    yield Silence(row.place, _reason(row))


def _reason(instance: StackInstance) -> str:
    if instance.stack_id and instance.stack_set.deploys_integrations:
        return "the integrations updated no findings in the last 25 hours"
    if instance.stack_id:
        return "no check after a sweep succeeded in the last 25 hours"
    return f"the stack does not exist ({instance.status}): {instance.reason or 'the reason is not known'}"


def _with_success(cloudwatch: "CloudWatchClient", account_ids: Sequence[str], function: str, now: datetime) -> set[str]:
    """Read in which accounts a function had a success: an hour in which the least number of errors was 0.

    Raise ApiError. An account without a link, and a function that never ran, have no data.
    """
    queries: Any = [  # a literal of the stubs
        {
            "Id": f"a{account_id}",
            "AccountId": account_id,
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/Lambda",
                    "MetricName": "Errors",
                    "Dimensions": [{"Name": "FunctionName", "Value": function}],
                },
                "Period": _HOUR,
                "Stat": "Minimum",
            },
        }
        for account_id in account_ids
    ]
    given = {"MetricDataQueries": queries, "StartTime": now - WINDOW, "EndTime": now}
    results = pages(cloudwatch, "cloudwatch", "get_metric_data", "MetricDataResults", **given)
    for result in results:
        # A later page has the rest of a series. Without the permission to read an account, nothing is known to work there.
        if result["StatusCode"] not in ("Complete", "PartialData", "Forbidden"):
            raise ApiError("cloudwatch:GetMetricData", result["StatusCode"], f"account {result['Id'][1:]}")
    return {result["Id"][1:] for result in results if 0 in result["Values"]}

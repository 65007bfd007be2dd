"""Stop all heals of a deployment, and allow them again. All calls are made with the stack's StopRole."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import Aws, Expecting, calling, pages
from express_path.adapters.ledger import LedgerItem, stop_record
from express_path.adapters.remediation import list_exceptions
from express_path.domain.heal.ledger_records import STOP_ID, Stop
from express_path.errors import ApiError
from express_path_cli.automation.deployments import Deployment
from express_path_cli.automation.exceptions import clear_exceptions, denied_by_policy
from express_path_cli.terminal.errors import OptionError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_ssm import SSMClient

MAX_REASON = 500
"""The longest reason, in characters. Runs that end because of a stop repeat it."""
_KEY = {"id": {"S": STOP_ID}}


@dataclass(frozen=True, slots=True)
class StopRecord:
    """A stop, and the subnets that had a remediation exception then; None if that was not recorded.

    time: the attribute that says when, as DynamoDB has it; None without one.
    """

    stop: Stop
    exceptions: frozenset[str] | None = None
    time: Any = field(default=None, compare=False)

    @property
    def since(self) -> str:
        """Since when heals are stopped, by whom, and why."""
        stop = self.stop
        return f"since {stop.stopped_at or '?'} by {stop.by or '?'}: {stop.reason or 'no reason'}"


def read_stop(dynamodb: "DynamoDBClient", table: str) -> StopRecord | None:
    """Read the stop in a ledger, or return None if heals are not stopped. Any item stops them. Raise ApiError."""
    with calling("dynamodb:GetItem"):
        found: Mapping[str, Any] = dynamodb.get_item(TableName=table, Key=_KEY, ConsistentRead=True)
    item: LedgerItem | None = found.get("Item")
    if item is None:
        return None
    recorded = item.get("exceptionsRecorded") == {"BOOL": True}
    exceptions = frozenset(item.get("exceptions", {}).get("SS", ())) if recorded else None
    return StopRecord(stop_record(item), exceptions, item.get("stoppedAt"))


def checked_reason(reason: str) -> str:
    """Return a reason in one line. Raise OptionError if it is too long."""
    text = " ".join(reason.split())
    if len(text) > MAX_REASON:
        raise OptionError(
            f"--reason has {len(text)} characters", f"use at most {MAX_REASON}, such as a ticket's number"
        )
    return text


def put_stop(dynamodb: "DynamoDBClient", table: str, stop: Stop) -> bool:
    """Stop all heals: from now on, no heal starts a change. Return whether they were not stopped before.

    A second stop keeps the record of the first one. Raise ApiError.
    """
    return _put(dynamodb, table, _item(stop), "attribute_not_exists(id)", {})


def record_exceptions(aws: Aws, deployment: Deployment, stop: Stop) -> frozenset[str]:
    """Record which subnets have a remediation exception now, and return them. Raise ApiError.

    This follows the stop, so that a slow read does not delay it.
    """
    found = list_exceptions(aws.config, deployment.rule)
    item = _item(stop) | {"exceptionsRecorded": {"BOOL": True}} | ({"exceptions": {"SS": found}} if found else {})
    if not _put(aws.dynamodb, deployment.ledger, item, "stoppedAt = :time", {":time": {"S": stop.stopped_at}}):
        raise ApiError("dynamodb:PutItem", "Started", "somebody allowed heals again in the meantime")
    return frozenset(found)


def _item(stop: Stop) -> dict[str, Any]:
    values = {"stoppedAt": stop.stopped_at, "by": stop.by, "reason": stop.reason}
    return _KEY | {name: {"S": value} for name, value in values.items() if value}


def _put(dynamodb: "DynamoDBClient", table: str, item: dict[str, Any], condition: str, values: dict[str, Any]) -> bool:
    given: dict[str, Any] = {"ExpressionAttributeValues": values} if values else {}
    with Expecting("ConditionalCheckFailedException"), calling("dynamodb:PutItem"):
        dynamodb.put_item(TableName=table, Item=item, ConditionExpression=condition, **given)
        return True
    return False


BETWEEN = frozenset(
    {
        *("findElected", "recordCreation", "decideCreate", "create"),
        *("findTarget", "recordIntent", "decideAssociate", "associate"),
    }
)
"""The steps of a heal from the last check of the stop to the change."""
POLL_SECONDS = 2.0
LONGEST_WAIT = 300.0
"""How long to wait for such steps, in seconds. They take a few seconds, unless EC2 or Lambda throttles."""
QUIET_READS = 2
"""How many reads in a row must show no such run. Whether this list is consistent is not documented."""


@dataclass(frozen=True, slots=True)
class Running:
    """A run of a runbook that is in progress, and the name of its current step."""

    run_id: str
    document: str
    step: str

    @property
    def may_change(self) -> bool:
        """Return whether a heal may have checked before the stop, and change something after it."""
        return self.step in BETWEEN


IN_PROGRESS = ("Pending", "InProgress", "Waiting", "Cancelling")
"""The statuses of a run that has not ended. One that waits for an approval is Waiting
(https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_AutomationExecutionMetadata.html)."""


def running(ssm: "SSMClient", document: str) -> list[Running]:
    """Read which runs of a runbook are in progress. Raise ApiError."""
    filters = [
        {"Key": "DocumentNamePrefix", "Values": [document]},
        {"Key": "ExecutionStatus", "Values": list(IN_PROGRESS)},
    ]
    operation, field = "describe_automation_executions", "AutomationExecutionMetadataList"
    return [
        Running(str(row["AutomationExecutionId"]), document, str(row.get("CurrentStepName") or ""))
        for row in pages(ssm, "ssm", operation, field, Filters=filters)
        if row["DocumentName"] == document  # the prefix also fits the runbooks of other rules, and that of approvals
    ]


def wait_for_changes(ssm: "SSMClient", document: str) -> list[Running]:
    """Wait until no run is between a check and its change, and return the runs that still run.

    After LONGEST_WAIT seconds, some of them may still change something. Raise ApiError.
    """
    return _wait(lambda: running(ssm, document), lambda run: run.may_change, LONGEST_WAIT)


def wait_for_runs(
    ssm: "SSMClient", documents: Sequence[str], seconds: float, seen: Callable[[Sequence[Running]], None]
) -> list[Running]:
    """Wait until no run of these runbooks is in progress, and return those that still are after so many seconds.

    `seen` gets the runs of each look. Raise ApiError.
    """

    def look() -> list[Running]:
        found = [run for document in documents for run in running(ssm, document)]
        seen(found)
        return found

    return _wait(look, lambda _run: True, seconds)


def _wait(look: Callable[[], list[Running]], matters: Callable[[Running], bool], seconds: float) -> list[Running]:
    """Look until no run matters in several looks in a row, or the time is over, and return the runs of the last look."""
    end = time.monotonic() + seconds
    quiet = 0
    while True:
        found = look()
        quiet = 0 if any(map(matters, found)) else quiet + 1
        if quiet == QUIET_READS or time.monotonic() >= end:
            return found
        time.sleep(POLL_SECONDS)


@dataclass(frozen=True, slots=True)
class Exceptions:
    """The subnets whose remediation exceptions are to be cleared, or were, and those that keep theirs."""

    cleared: Sequence[str] = ()
    left: Sequence[str] = ()


def find_exceptions(aws: Aws, deployment: Deployment, record: StopRecord | None) -> Exceptions:
    """Find out which exceptions a service control policy caused since the stop: these are to be cleared. Raise ApiError."""
    found = sorted(list_exceptions(aws.config, deployment.rule))
    known = record.exceptions if record else None
    new = [] if known is None else [row for row in found if row not in known]
    denied: set[str] = set()
    with Expecting("NoSuchRemediationConfigurationException"):  # then nothing shows why heals failed
        denied = denied_by_policy(aws.config, deployment.rule, new)
    return Exceptions(sorted(denied), [row for row in found if row not in denied])


def allow_heals(aws: Aws, deployment: Deployment, record: StopRecord) -> Exceptions:
    """Clear the exceptions that a service control policy caused since the stop, and then allow heals. Raise ApiError.

    In this order, so that after an interruption the next call knows which exceptions existed before the stop.
    """
    found = find_exceptions(aws, deployment, record)
    kept = set(clear_exceptions(aws.config, deployment.rule, found.cleared))
    _delete(aws.dynamodb, deployment.ledger, record)
    return Exceptions([row for row in found.cleared if row not in kept], sorted({*found.left, *kept}))


def _delete(dynamodb: "DynamoDBClient", table: str, record: StopRecord) -> None:
    """Delete the stop that was read, and no later one."""
    given: dict[str, Any] = {"ExpressionAttributeValues": {":time": record.time}} if record.time else {}
    is_same = "stoppedAt = :time" if record.time else "attribute_not_exists(stoppedAt)"
    with calling("dynamodb:DeleteItem"):
        dynamodb.delete_item(
            TableName=table,
            Key=_KEY,
            ConditionExpression=f"attribute_not_exists(id) OR {is_same}",
            **given,
        )

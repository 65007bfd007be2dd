"""The runs of a runbook that Systems Manager lists."""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import pages

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

_LONGEST_RUN = timedelta(days=2)
"""How long a run takes at most: a day for an approval, and the heal. Runs are found by the time of their start."""


def runs_since(
    ssm: "SSMClient", document: str, since: datetime, statuses: Collection[str] = ()
) -> Iterator[Mapping[str, Any]]:
    """Yield the AutomationExecutionMetadata of a runbook's runs that ended since a time, or run now. Raise ApiError.

    statuses are those that count; if there are none, all do.
    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_AutomationExecutionMetadata.html
    """
    start = (since - _LONGEST_RUN).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    filters = [{"Key": "DocumentNamePrefix", "Values": [document]}, {"Key": "StartTimeAfter", "Values": [start]}]
    if statuses:
        filters.append({"Key": "ExecutionStatus", "Values": list(statuses)})
    operation, field = "describe_automation_executions", "AutomationExecutionMetadataList"
    for row in pages(ssm, "ssm", operation, field, Filters=filters):
        # The prefix also fits the runbooks of other rules, and that of approvals.
        if row["DocumentName"] == document and row.get("ExecutionEndTime", since) >= since:
            yield row

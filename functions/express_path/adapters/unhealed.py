"""Subnets that AWS Config should heal, the runs that it started for them, and those that it has not started.

What makes AWS Config start an automatic remediation again is not documented, besides PutRemediationConfigurations:
https://docs.aws.amazon.com/config/latest/APIReference/API_PutRemediationConfigurations.html. So nothing relies on it:
`express-path start` starts remediations, and sweeps, `doctor`, and `heals` name the subnets that wait for one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import Expecting, pages
from express_path.adapters.config_rule.stored_results import PAGE
from express_path.adapters.ledger import Ledger
from express_path.adapters.remediation import list_exceptions
from express_path.domain.heal.ledger_records import ApprovalState, TableRecord

if TYPE_CHECKING:
    from mypy_boto3_config import ConfigServiceClient

SUBNET = "AWS::EC2::Subnet"
MAX_KEYS = 100
"""The most resources of one request about remediations (botocore model: config ResourceKeys)."""
QUIET = timedelta(days=1)
"""How long a subnet is NON_COMPLIANT without a run until it counts as waiting."""
MAX_WAITING = 100
"""The most waiting subnets that are named."""
MAX_READ = 1000
"""The most subnets whose runs are read in order to find those that wait: a hundred are read with one call."""


def batches(subnet_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield subnets in the numbers that one request takes."""
    for start in range(0, len(subnet_ids), MAX_KEYS):
        yield subnet_ids[start : start + MAX_KEYS]


def flagged_since(config: "ConfigServiceClient", rule_name: str) -> dict[str, datetime]:
    """Read the subnets that AWS Config has as NON_COMPLIANT, each with the time of that result. Raise ApiError.

    A sweep reports only results that changed, so a subnet has been NON_COMPLIANT at least since then.
    """
    operation, wanted = "get_compliance_details_by_config_rule", ["NON_COMPLIANT"]
    rows = pages(
        config,
        "config",
        operation,
        "EvaluationResults",
        ConfigRuleName=rule_name,
        ComplianceTypes=wanted,
        PaginationConfig={"PageSize": PAGE},
    )
    identifiers = [row["EvaluationResultIdentifier"] for row in rows]
    return {
        str(found["EvaluationResultQualifier"]["ResourceId"]): found["OrderingTimestamp"]
        for found in identifiers
        if found["EvaluationResultQualifier"]["ResourceType"] == SUBNET
    }


@dataclass(frozen=True, slots=True)
class LastRun:
    """The last remediation of a subnet: whether it has not ended, when it was started, and when AWS Config updated it."""

    is_running: bool
    started: datetime
    updated: datetime


def last_runs(config: "ConfigServiceClient", rule_name: str, subnet_ids: Sequence[str]) -> dict[str, LastRun] | None:
    """Read the last remediation of each of these subnets that had one; None if the rule has no remediation.

    https://docs.aws.amazon.com/config/latest/APIReference/API_DescribeRemediationExecutionStatus.html. Raise ApiError.
    """
    found: dict[str, LastRun] = {}
    operation, field = "describe_remediation_execution_status", "RemediationExecutionStatuses"
    with Expecting("NoSuchRemediationConfigurationException"):
        for keys in batches(subnet_ids):
            wanted = [{"resourceType": SUBNET, "resourceId": subnet_id} for subnet_id in keys]
            for status in pages(config, "config", operation, field, ConfigRuleName=rule_name, ResourceKeys=wanted):
                found[str(status["ResourceKey"]["resourceId"])] = _last_run(status)
        return found
    return None


def _last_run(status: Mapping[str, Any]) -> LastRun:
    started: datetime = status["InvocationTime"]
    return LastRun(status["State"] in ("QUEUED", "IN_PROGRESS"), started, status.get("LastUpdatedTime") or started)


def waiting_subnets(
    config: "ConfigServiceClient",
    rule_name: str,
    flagged: Mapping[str, datetime],
    now: datetime,
    undecided: Callable[[Sequence[str]], Sequence[str]],
) -> list[str]:
    """Return the subnets that AWS Config should have healed and has not started for a day, up to MAX_WAITING, sorted.

    They have been NON_COMPLIANT for a day, have no remediation exception, no run, and none that ended within a day.
    flagged: since when subnets are NON_COMPLIANT. None of them waits if the rule has no remediation. Raise ApiError.
    undecided: leaves out subnets that only a person heals, so that they never take the place of those that wait.
    """
    quiet = sorted(subnet_id for subnet_id, since in flagged.items() if now - since >= QUIET)
    if not quiet:
        return []
    excepted = set(list_exceptions(config, rule_name))
    waiting: list[str] = []
    for keys in batches([subnet_id for subnet_id in quiet if subnet_id not in excepted][:MAX_READ]):
        runs = last_runs(config, rule_name, keys)
        if runs is None:
            return []
        waiting += undecided([key for key in keys if key not in runs or _is_quiet(runs[key], now)])
        if len(waiting) >= MAX_WAITING:
            break
    return waiting[:MAX_WAITING]


def _is_quiet(run: LastRun, now: datetime) -> bool:
    return not run.is_running and now - max(run.started, run.updated) >= QUIET


def needs_person(table: TableRecord) -> bool:
    """Return whether a route table's heals that AWS Config starts are blocked until a person heals it.

    Its last heal was undone, or an approver rejected it.
    """
    is_denied = table.approval is not None and table.approval.state is ApprovalState.DENIED
    return table.is_undone or is_denied


def without_decided(ledger: Ledger, waiting: Sequence[str], tables: Mapping[str, str]) -> list[str]:
    """Return the waiting subnets without those that only a person heals. tables: the route table of each, if it is known.

    Raise ApiError, RecordError.
    """
    known = {tables[subnet_id] for subnet_id in waiting if subnet_id in tables}
    decided = {table_id for table_id in known if needs_person(ledger.table(table_id))}
    return [subnet_id for subnet_id in waiting if tables.get(subnet_id) not in decided]


def waiting_problem(waiting: Sequence[str], command: str) -> str:
    """Return which subnets AWS Config does not heal, and the command that starts their heals."""
    if not waiting:
        return ""
    named = ", ".join(waiting[:MAX_NAMED])
    rest = f" and {len(waiting) - MAX_NAMED} more" if len(waiting) > MAX_NAMED else ""
    least = "at least " if len(waiting) == MAX_WAITING else ""
    return (
        f"NON_COMPLIANT subnets could be healed, and AWS Config has started no run for a day: {least}{len(waiting)} of them, "
        f"{named}{rest} (to start their heals: {command})"
    )


MAX_NAMED = 10
"""How many subnets a sentence names."""

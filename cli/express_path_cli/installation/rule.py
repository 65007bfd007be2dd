"""The deployed rule: its function's activity, its state in AWS Config, its results, and its sweeps.

The function writes one line about each sweep to its log, and the health function one about its check after that. AWS Config's own times are not exact:
LastSuccessfulInvocationTime also counts evaluations after a change, and a sweep posts only results that changed, so
those in an aggregator may be old.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from express_path.adapters.aws import Aws, Expecting, calling, pages
from express_path.adapters.health import read_counts, read_function
from express_path.domain.path.reasons import Compliance
from express_path.fields import (
    Description,
    count,
    free_text,
    identifier,
    json_text,
    nested,
    required_object,
    required_rows,
    rows,
)

FAILED = "evaluation failed"
"""The message of the rule's function about an invocation that failed (express_path/handlers/evaluate.py)."""
CHECKED = "checked"
"""The message of the health function about a check (express_path/handlers/check_health.py)."""

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_config import ConfigServiceClient
    from mypy_boto3_logs import CloudWatchLogsClient


_DAY, _WEEK = timedelta(days=1), timedelta(days=7)
_COUNTED = ("Invocations", "Errors", "AsyncEventsDropped")


@dataclass(frozen=True, slots=True)
class FunctionActivity:
    """A function's invocations and errors of the last day in CloudWatch, and the hour of its last invocation.

    dropped are the events that Lambda gave up, after all retries or because the function could not run in time.
    """

    invocations: int
    errors: int
    dropped: int
    last: datetime | None


def read_activity(cloudwatch: "CloudWatchClient", function_name: str, now: datetime) -> FunctionActivity:
    """Read what CloudWatch counted for a function in the last day, and the hour of its last invocation within a week.

    Raise ApiError.
    """
    counts = read_counts(cloudwatch, function_name, _COUNTED, now - _WEEK, now)
    invocations, errors, dropped = (
        int(sum(value for time, value in counts[name].items() if now - time <= _DAY)) for name in _COUNTED
    )
    invoked = [time for time, value in counts["Invocations"].items() if value]
    return FunctionActivity(invocations, errors, dropped, max(invoked, default=None))


def read_failures(logs: "CloudWatchLogsClient", log_group: str, now: datetime) -> Mapping[str, str]:
    """Read why evaluations of the last day failed, from the function's log: the last error of each resource.

    An evaluation of all subnets has the resource "everything". A function that times out or runs out of memory writes no
    such record, and one that never ran has no log. Raise ApiError.
    """
    records: Sequence[_Logged] = ()
    with Expecting("ResourceNotFoundException"):
        records = _records(logs, log_group, now - _DAY, FAILED)
    return {str(logged.record.get("resourceId")): str(logged.record.get("error")) for logged in records}


MAX_COUNTED = 1000
"""The most results that are counted, because AWS Config returns only a hundred per call."""
_HOURS = {"One_Hour": 1, "Three_Hours": 3, "Six_Hours": 6, "Twelve_Hours": 12, "TwentyFour_Hours": 24}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of AWS Config. `function_arn` is the identifier of its source. `period` is that of its schedule, None without one.

    `parameters` are its InputParameters, not yet parsed.
    """

    name: str
    state: str
    function_arn: str
    period: timedelta | None
    parameters: Mapping[str, object]

    @property
    def function_account_id(self) -> str:
        """The account of its function (12 digits); empty for a rule that AWS manages, which has none."""
        return self._arn_part(4)

    @property
    def function_name(self) -> str:
        """The name of its function; empty for a rule that AWS manages, which has none."""
        return self._arn_part(6)

    def _arn_part(self, index: int) -> str:
        parts = self.function_arn.split(":")
        return parts[index] if len(parts) > index else ""


def find_rules(config: "ConfigServiceClient", name: str) -> list[Rule]:
    """Read the rules of that name: the account's own first, then those of conformance packs and the organization.

    A conformance pack appends -conformance-pack-... to a rule's name. An organization adds the prefix OrgConfigRule-
    and a suffix. Raise ApiError, RecordError.
    """
    described = pages(config, "config", "describe_config_rules", "ConfigRules")
    rules = [_rule(row) for row in described if _is_named(identifier(row, "ConfigRuleName", "rule"), name)]
    return sorted(rules, key=lambda rule: (rule.name != name, rule.name))


def _is_named(found: str, name: str) -> bool:
    return found == name or found.startswith((f"{name}-conformance-pack-", f"OrgConfigRule-{name}-"))


def _rule(row: Description) -> Rule:
    name = identifier(row, "ConfigRuleName", "rule")
    source = nested(row, "Source", name)
    details = rows(source, "SourceDetails", name)
    # By default, the period of a schedule is a day: https://docs.aws.amazon.com/config/latest/APIReference/API_SourceDetail.html
    hours = [
        _HOURS[detail.get("MaximumExecutionFrequency") or "TwentyFour_Hours"]
        for detail in details
        if detail["MessageType"] == "ScheduledNotification"
    ]
    return Rule(
        name,
        identifier(row, "ConfigRuleState", name),
        identifier(source, "SourceIdentifier", name),
        timedelta(hours=hours[0]) if hours else None,
        json_text(row, "InputParameters", name) if row.get("InputParameters") else {},
    )


@dataclass(frozen=True, slots=True)
class RuleTimes:
    """When AWS Config invoked a rule and got results, or failed to. A time is None if it is not reported."""

    activated: datetime | None = None
    invoked: datetime | None = None
    invocation_failed: datetime | None = None
    evaluated: datetime | None = None
    evaluation_failed: datetime | None = None
    error: str = ""


def read_times(config: "ConfigServiceClient", name: str) -> RuleTimes:
    """Read when AWS Config last invoked the rule and got results, if it reports that. Raise ApiError."""
    with calling("config:DescribeConfigRuleEvaluationStatus"):
        answer = config.describe_config_rule_evaluation_status(ConfigRuleNames=[name])
    for row in answer["ConfigRulesEvaluationStatus"]:
        error = (row.get("LastErrorCode"), row.get("LastErrorMessage"))
        return RuleTimes(
            row.get("FirstActivatedTime"),
            row.get("LastSuccessfulInvocationTime"),
            row.get("LastFailedInvocationTime"),
            row.get("LastSuccessfulEvaluationTime"),
            row.get("LastFailedEvaluationTime"),
            ": ".join(filter(None, error)),
        )
    return RuleTimes()


def count_flagged(config: "ConfigServiceClient", name: str) -> int:
    """Read how many subnets are NON_COMPLIANT in AWS Config, counting up to MAX_COUNTED. Raise ApiError."""
    operation = "get_compliance_details_by_config_rule"
    wanted = {"ConfigRuleName": name, "ComplianceTypes": ["NON_COMPLIANT"]}
    limits = {"MaxItems": MAX_COUNTED, "PageSize": 100}
    return len(pages(config, "config", operation, "EvaluationResults", PaginationConfig=limits, **wanted))


OVERDUE = timedelta(hours=25)
"""How old the last sweep may be: a sweep runs at least once a day, at an hour that AWS Config chooses."""
_WINDOW = timedelta(days=3)
"""How far back a sweep is searched."""
_UNCHECKED = {
    "component": "health check",
    "problem": "none has followed the last sweep yet: the event of its end did not reach the function, or the function cannot run",
}
"""The fault of a sweep without a check, which comes seconds later."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The last sweep: when it was, None if there was none in the last three days, and what it found.

    counts: how many subnets have each compliance. excluded: how many subnets each tag, or the parameter vpcIds, excludes.
    faults: what does not work, in sentences, as the check after it found. That there was none yet is a fault, too.
    """

    time: datetime | None
    counts: Mapping[str, int] = field(default_factory=dict)
    unresolved: int = 0
    excluded: Mapping[str, int] = field(default_factory=dict)
    faults: Sequence[str] = ()

    def is_overdue(self, now: datetime) -> bool:
        """Return whether the next sweep should have run."""
        return self.time is None or now - self.time > OVERDUE


def read_sweep(aws: Aws, rule: str, now: datetime) -> Sweep:
    """Find the function of a rule, and read its last sweep. Raise ApiError, RecordError."""
    name = next((deployed_rule.function_name for deployed_rule in find_rules(aws.config, rule)), "")
    function = read_function(aws.functions, name) if name else None
    return last_sweep(aws.client("logs"), function.log_group, now) if function else Sweep(None)


def last_sweep(logs: "CloudWatchLogsClient", log_group: str, now: datetime) -> Sweep:
    """Read what the log of a rule says about the last sweep, and the last check. Raise ApiError, RecordError."""
    swept = _records(logs, log_group, now - _WINDOW, "swept")
    if not swept:
        return Sweep(None)
    time, line = swept[-1]
    checked = [row for row in _records(logs, log_group, time, CHECKED) if row.time >= time]
    faults = required_rows(checked[-1].record, "faults", "the line of the last check") if checked else [_UNCHECKED]
    where = "the line of the last sweep"
    counts = required_object(line, "counts", where)
    return Sweep(
        time,
        {name: count(counts, name, f"{where}, counts") for name in Compliance},
        count(line, "unresolved", where),
        {free_text(row, "by", where): count(row, "subnets", where) for row in required_rows(line, "excluded", where)},
        [f"{free_text(row, 'component', where)}: {free_text(row, 'problem', where)}" for row in faults],
    )


class _Logged(NamedTuple):
    """A record of a log, and when it was written."""

    time: datetime
    record: Description


def _records(logs: "CloudWatchLogsClient", log_group: str, since: datetime, message: str) -> Sequence[_Logged]:
    """Read the records of a log that have this message, oldest first. Raise ApiError."""
    events = pages(
        logs,
        "logs",
        "filter_log_events",
        "events",
        logGroupName=log_group,
        startTime=int(since.timestamp() * 1000),
        filterPattern=f'"{message}"',
    )
    lines = sorted(events, key=lambda event: int(event["timestamp"]))
    logged = (
        _Logged(datetime.fromtimestamp(int(line["timestamp"]) / 1000, UTC), _record(str(line["message"])))
        for line in lines
    )
    return [line for line in logged if line.record.get("message") == message]


def _record(line: str) -> Description:
    """Return a line of the log as an object; empty if it is none."""
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, Mapping) else {}

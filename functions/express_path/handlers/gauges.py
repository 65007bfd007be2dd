"""The CloudWatch metrics of a rule in this account and Region: the gauges of a sweep.

Each metric has one dimension, RuleName: CloudWatch charges for each combination of dimensions, and the stacks of an
account must not feed each other's alarms.
"""

import json
import sys
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from aws_lambda_powertools import Logger

from express_path.adapters.aws import BRIEF_CONFIG, Aws
from express_path.adapters.sweep_history import DIMENSION, NAMESPACE, Gauge, failed_heals, last_gauges
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.summary import Summary
from express_path.errors import ApiError
from express_path.events.schema import RuleRun
from express_path.events.writer import summary_json

_Value = TypeVar("_Value")


_DAY = timedelta(days=1)


def report_sweep(aws: Aws, run: RuleRun, summary: Summary, heal_documents: Collection[str], logger: Logger) -> None:
    """Print what a sweep found, with its gauges, in one line.

    A gauge is printed if it is not 0, because a metric costs money while it has values, and once more when it is 0 again.
    If the earlier values cannot be read, all are printed; HealsFailed is left out if it cannot be read.
    """
    aws = replace(aws, client_config=BRIEF_CONFIG)
    now = datetime.now(UTC)
    values: dict[str, int] = {
        "NonCompliant": summary.counts[Compliance.NON_COMPLIANT],
        "Unresolved": summary.unresolved,
    }
    names = (*values, "HealsFailed")
    before = _unless_failing(lambda: last_gauges(aws.cloudwatch, run.rule_name, names, now), "earlier gauges", logger)
    failed = _unless_failing(lambda: failed_heals(aws.ssm, heal_documents, now - _DAY), "HealsFailed", logger)
    if failed is not None:
        values["HealsFailed"] = failed
    gauges = {name: value for name, value in values.items() if value or _was_not_zero(name, before)}
    _print(
        run.rule_name,
        gauges,
        message="swept",
        sweepId=run.sweep_id,
        unresolved=summary.unresolved,
        **summary_json(summary),
    )


def _was_not_zero(name: str, before: Mapping[str, Gauge] | None) -> bool:
    """Return whether the last value of a gauge is not 0, or is not known."""
    return before is None or (name in before and bool(before[name].value))


def _print(rule_name: str, values: Mapping[str, int], **more: Any) -> None:  # noqa: ANN401  # any JSON
    """Print metrics in the Embedded Metric Format, with more that the log has and the metrics do not; without any, only that.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
    """
    metrics = [{"Name": name, "Unit": "Count"} for name in values]
    directive = {"Namespace": NAMESPACE, "Dimensions": [[DIMENSION]], "Metrics": metrics}
    described = {"_aws": {"Timestamp": round(time.time() * 1000), "CloudWatchMetrics": [directive]}} if values else {}
    sys.stdout.write(json.dumps({**described, DIMENSION: rule_name, **values, **more}) + "\n")


def _unless_failing(read: Callable[[], _Value], gauge: str, logger: Logger) -> _Value | None:
    """Return what was read; if the read fails, log a warning and return None."""
    try:
        return read()
    except ApiError as error:
        logger.warning("a gauge cannot be read", extra={"gauge": gauge, "error": str(error)})
        return None

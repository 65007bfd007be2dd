"""The CloudWatch metrics of this account and Region, in the Embedded Metric Format: the gauges of a sweep, and a count."""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from express_path.adapters.aws import BRIEF_CONFIG, Aws
from express_path.adapters.sweep_history import FIRST_PERIOD, failed_heals, previous_sweep
from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.summary import Summary
from express_path.errors import ApiError

NAMESPACE, SERVICE = "ExpressPath", "evaluate"
_Value = TypeVar("_Value")
metrics = Metrics(namespace=NAMESPACE, service=SERVICE)


def emit_gauges(
    aws: Aws, summary: Summary, became_unresolved: int, heal_documents: Collection[str], logger: Logger
) -> None:
    """Print the gauges of a sweep; a gauge whose value cannot be read is left out.

    became_unresolved is printed only if it is not 0, because a metric costs money for each hour in which it has a value.

    They are printed at every log level, because they are not log lines.
    """
    aws = replace(aws, client_config=BRIEF_CONFIG)
    for name, count in (
        ("NonCompliant", summary.counts[Compliance.NON_COMPLIANT]),
        ("Compliant", summary.counts[Compliance.COMPLIANT]),
        ("NotApplicable", summary.counts[Compliance.NOT_APPLICABLE]),
        ("Unresolved", summary.unresolved),
    ):
        metrics.add_metric(name, MetricUnit.Count, count)
    if became_unresolved:
        metrics.add_metric("BecameUnresolved", MetricUnit.Count, became_unresolved)
    now = datetime.now(UTC)
    previous = _unless_failing(
        lambda: previous_sweep(aws.cloudwatch, NAMESPACE, SERVICE, "NonCompliant", now),
        "SecondsSincePreviousSweep",
        logger,
    )
    if previous:
        metrics.add_metric("SecondsSincePreviousSweep", MetricUnit.Seconds, (now - previous).total_seconds())
    failed = _unless_failing(
        lambda: failed_heals(aws.ssm, heal_documents, previous or now - FIRST_PERIOD), "HealsFailed", logger
    )
    if failed is not None:
        metrics.add_metric("HealsFailed", MetricUnit.Count, failed)
    metrics.flush_metrics()


def count_unpublished(events: int) -> None:
    """Print how many events EventBridge did not take; at every log level, like the gauges."""
    metrics.add_metric("UnpublishedEvents", MetricUnit.Count, events)
    metrics.flush_metrics()


def _unless_failing(read: Callable[[], _Value], gauge: str, logger: Logger) -> _Value | None:
    """Return what was read; if the read fails, log a warning and return None."""
    try:
        return read()
    except ApiError as error:
        logger.warning("a gauge is left out, because it cannot be read", extra={"gauge": gauge, "error": str(error)})
        return None

"""The rule's Lambda function: parse an event of AWS Config, evaluate it, and report the result."""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.aws import Aws
from express_path.adapters.config_rule.events import ConfigEvent, parse_event
from express_path.adapters.config_rule.results import put_evaluations
from express_path.adapters.ec2_snapshot import SnapshotReader
from express_path.adapters.serialization import verdict_with_capacity
from express_path.domain.path.reasons import Compliance
from express_path.evaluation import Answer, Services, evaluate

logger = Logger(service="express-path")
metrics = Metrics(namespace="ExpressPath", service="evaluate")

MAX_RETURNED = 1000
"""The most verdicts that an invocation returns. Lambda limits the size of a response, and AWS Config ignores it
(https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html)."""


def compose_services(environment: Mapping[str, str]) -> Services:
    """Make the services with the settings of the function's environment."""
    aws = Aws.connect(environment.get("AWS_REGION"))
    return Services(aws, SnapshotReader(aws, environment.get("NETWORK_ROLE_EXTERNAL_ID", "")))


@cache
def _warm_services() -> Services:
    """Return the services of this runtime, made at its first invocation."""
    return compose_services(os.environ)


@metrics.log_metrics
@logger.inject_lambda_context(clear_state=True)
def handler(
    event: dict[str, Any],
    context: LambdaContext,  # noqa: ARG001  # the decorators use it
    services: Services | None = None,
) -> dict[str, Any]:
    """Evaluate an event and report the result to AWS Config. Lambda passes no services, so the runtime's are used."""
    logger.setLevel(os.environ.get("POWERTOOLS_LOG_LEVEL") or "INFO")  # Lambda's own level may be lower: template.yaml
    metrics.add_metric("EventsReceived", MetricUnit.Count, 1)
    config_event = parse_event(event)
    subject = (config_event.item or {}).get("resourceId", "everything")
    logger.set_correlation_id(f"{subject}@{config_event.ordering_timestamp.isoformat()}")
    services = services or _warm_services()
    answer = evaluate(services, config_event)
    _log_notes(answer)
    posted = _report(services, config_event, answer)
    returned = answer.verdicts[:MAX_RETURNED]
    return {
        "posted": posted,
        "evaluations": [verdict_with_capacity(verdict, answer.snapshot) for verdict in returned],
    }


def _log_notes(answer: Answer) -> None:
    if answer.note:
        logger.info(answer.note)
    for operation in answer.denied:
        logger.warning("access denied: what this read would show counts as unknown", extra={"operation": operation})


def _report(services: Services, event: ConfigEvent, answer: Answer) -> int:
    """Report the verdicts to AWS Config, log and count them; return how many were reported."""
    evaluations = answer.evaluations(event)
    posted = put_evaluations(services.aws.config, event, evaluations) if evaluations else 0
    logger.info("evaluated", extra={"posted": posted, "ruleName": event.rule_name})
    metrics.add_metric("VerdictsPosted", MetricUnit.Count, posted)
    flagged = sum(verdict.compliance is Compliance.NON_COMPLIANT for verdict in answer.verdicts)
    metrics.add_metric("NonCompliantPosted", MetricUnit.Count, flagged)
    return posted

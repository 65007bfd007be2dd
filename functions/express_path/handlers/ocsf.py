"""The Lambda function that publishes each changed verdict as an OCSF finding, for a SIEM or a data lake."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.typing import LambdaContext

from express_path.adapters.aws import Aws
from express_path.adapters.event_bus import put_entries
from express_path.domain.findings.ocsf import CLOSE, CREATE, UPDATE, Activity, ocsf_finding
from express_path.domain.path.reasons import Compliance
from express_path.errors import ApiError, EventError, SettingError
from express_path.events.parser import parse_verdict_event, verdict_of
from express_path.events.schema import EarlierResult, VerdictChanged
from express_path.events.writer import Entry

logger = Logger(service="express-path")

SOURCE, DETAIL_TYPE = "express-path.ocsf", "Compliance Finding"


@dataclass(frozen=True, slots=True)
class Services:
    """What the function needs from AWS, and the bus to publish on."""

    aws: Aws
    bus_name: str


def compose_services(environment: Mapping[str, str]) -> Services:
    """Make the services with the settings of the function's environment. Raise SettingError, or ApiError."""
    bus_name = environment.get("EVENT_BUS_NAME", "")
    if not bus_name:
        raise SettingError("EVENT_BUS_NAME", bus_name, "the name of an event bus")
    return Services(Aws.connect(environment.get("AWS_REGION")), bus_name)


@cache
def _warm_services() -> Services:
    """Return the services of this runtime, made at its first invocation."""
    return compose_services(os.environ)


@logger.inject_lambda_context(clear_state=True)
def handler(
    event: dict[str, Any],
    context: LambdaContext,  # noqa: ARG001  # the decorator uses it
    services: Services | None = None,
) -> dict[str, Any]:
    """Publish one VerdictChanged as a finding. Raise EventError, or ApiError if EventBridge does not take it."""
    changed = parse_verdict_event(event)
    if not isinstance(changed, VerdictChanged):
        raise EventError("detail-type", event["detail-type"], "VerdictChanged")
    entry = finding_entry(changed)
    services = services or _warm_services()
    rejected = put_entries(services.aws.events, services.bus_name, [entry])
    if rejected:
        raise ApiError("events:PutEvents", rejected[0].code, rejected[0].message)
    logger.info("published", extra={"subnetId": changed.new.subnet_id, "reason": changed.new.reason})
    return {"published": entry.resources[0]}


def finding_entry(changed: VerdictChanged) -> Entry:
    """Return the entry of a changed verdict. Its time is the ordering timestamp of the evaluation."""
    run, verdict = changed.run, verdict_of(changed.run, changed.new)
    milliseconds = round(run.ordering_timestamp.timestamp() * 1000)
    activity = _activity(changed.old, verdict.compliance)
    finding = ocsf_finding(verdict, changed.new.remedy, milliseconds, activity, run.rule_name)
    arn = finding["resources"][0]["uid"]
    return Entry(SOURCE, DETAIL_TYPE, (arn,), run.ordering_timestamp, json.dumps(finding, separators=(",", ":")))


def _activity(old: EarlierResult | None, new: Compliance) -> Activity:
    """Return what happened to the finding: it exists while the subnet is NON_COMPLIANT."""
    failed = old is not None and old.compliance is Compliance.NON_COMPLIANT
    if new is Compliance.NON_COMPLIANT:
        return UPDATE if failed else CREATE
    return CLOSE if failed else UPDATE

"""Security Hub's events on the default bus: sent to the queues of the rules that match them."""

import json
from typing import Any

from moto.events.models import Rule, events_backends
from moto.sqs.models import sqs_backends
from moto.utilities.arns import parse_arn

from sandbox.security_hub.store import findings_of


def announce(account_id: str, region: str) -> int:
    """Send the events since the last call, and return how many there were. Only targets that are queues get them."""
    findings = findings_of(account_id, region)
    sent = vars(findings).setdefault("announced", 0)
    events = findings.events[sent:]
    vars(findings)["announced"] = len(findings.events)
    rules = events_backends[account_id][region].event_buses["default"].rules.values()
    for event in events:
        for rule in rules:
            if rule.state == "ENABLED" and _matches(rule, event):
                _send(rule, event, account_id, region)
    return len(events)


def _matches(rule: Rule, event: dict[str, Any]) -> bool:
    """Return whether a pattern matches an event. moto does not look into lists of objects, so it gets the one finding.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-patterns-arrays.html
    """
    [finding] = event["detail"]["findings"]
    shown: Any = {**event, "detail": {"findings": finding}}
    return rule.event_pattern.matches_event(shown)


def _send(rule: Rule, event: dict[str, Any], account_id: str, region: str) -> None:
    for target in rule.targets:
        arn = parse_arn(target["Arn"])
        if arn.service == "sqs":
            sqs_backends[account_id][region].send_message(arn.resource_id, json.dumps(event))

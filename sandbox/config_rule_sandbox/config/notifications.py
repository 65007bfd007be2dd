"""Invoking events, and the event that a rule's Lambda function gets.

https://docs.aws.amazon.com/config/latest/developerguide/evaluate-config_develop-rules_example-events.html
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from config_rule_sandbox.config.items.items import Item

Event = dict[str, Any]

SUMMARY_KEYS = (
    "configurationItemVersion",
    "configurationItemCaptureTime",
    "configurationStateId",
    "awsAccountId",
    "configurationItemStatus",
    "resourceType",
    "resourceId",
    "resourceName",
    "ARN",
    "awsRegion",
    "availabilityZone",
    "configurationStateMd5Hash",
    "resourceCreationTime",
)
"""The members of an oversized item that its summary keeps, in addition to the type of the change."""


@dataclass(frozen=True, slots=True)
class RuleIdentity:
    """The parts of an event that are the same for every invocation of a rule; `parameters` is None if it has none."""

    name: str
    arn: str
    rule_id: str
    account_id: str
    execution_role_arn: str
    parameters: Mapping[str, str] | None = None


def change_notification(item: Item, diff: dict[str, Any] | None, created: str) -> dict[str, Any]:
    """Return the invoking event of a changed resource, or of one that is evaluated again, where the difference is null."""
    return {
        "configurationItemDiff": diff,
        "configurationItem": item,
        "notificationCreationTime": created,
        "messageType": "ConfigurationItemChangeNotification",
        "recordVersion": "1.3",
    }


def oversized_notification(item: Item, change_type: str, created: str) -> dict[str, Any]:
    """Return the invoking event of an item that is too large to be sent: a summary, the rest is in the history."""
    return {
        "configurationItemSummary": {"changeType": change_type, **{key: item[key] for key in SUMMARY_KEYS}},
        "notificationCreationTime": created,
        "messageType": "OversizedConfigurationItemChangeNotification",
        "recordVersion": "1.0",
    }


def scheduled_notification(account_id: str, created: str) -> dict[str, Any]:
    """Return the invoking event of the periodic trigger."""
    return {
        "awsAccountId": account_id,
        "notificationCreationTime": created,
        "messageType": "ScheduledNotification",
        "recordVersion": "1.0",
    }


def rule_event(rule: RuleIdentity, invoking_event: dict[str, Any], token: str) -> Event:
    """Return the event with which Config invokes the function: invoking event and parameters are JSON strings."""
    parameters = {} if rule.parameters is None else {"ruleParameters": json.dumps(dict(rule.parameters))}
    return {
        "version": "1.0",
        "invokingEvent": json.dumps(invoking_event),
        **parameters,
        "resultToken": token,
        "eventLeftScope": False,
        "executionRoleArn": rule.execution_role_arn,
        "configRuleArn": rule.arn,
        "configRuleName": rule.name,
        "configRuleId": rule.rule_id,
        "accountId": rule.account_id,
        "evaluationMode": "DETECTIVE",
    }

"""Whether a subscription of the alarm topic takes the messages of alarms, or its filter policy drops all of them.

https://docs.aws.amazon.com/sns/latest/dg/sns-subscription-filter-policies.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import Expecting, calling, pages
from express_path.domain.policies.documents import listed
from express_path.fields import json_text

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

_ABSENT, _ANY = object(), object()
"""A property that a message does not have, and one whose value is not known."""
_ALARM = {
    "AlarmName": _ANY,
    "AlarmDescription": _ANY,
    "AWSAccountId": _ANY,
    "AlarmConfigurationUpdatedTimestamp": _ANY,
    "NewStateValue": "ALARM",
    "NewStateReason": _ANY,
    "StateChangeTime": _ANY,
    "Region": _ANY,
    "AlarmArn": _ANY,
    "OldStateValue": _ANY,
    "OKActions": _ANY,
    "AlarmActions": _ANY,
    "InsufficientDataActions": _ANY,
    "Trigger": _ANY,
}
"""The message of an alarm:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-actions.html. It has no message attributes."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A confirmed subscription, and its filter policy with its scope, MessageAttributes or MessageBody; both may be empty."""

    arn: str
    filter_policy: Mapping[str, Any]
    scope: str


def read_subscriptions(sns: "SNSClient", topic: str) -> list[Subscription]:
    """Return the confirmed subscriptions of a topic, none if it does not exist. Raise ApiError, RecordError."""
    rows: list[Mapping[str, Any]] = []
    with Expecting("NotFound", "NotFoundException"):
        rows = pages(sns, "sns", "list_subscriptions_by_topic", "Subscriptions", TopicArn=topic)
    # The others are PendingConfirmation or Deleted.
    return [_subscription(sns, row["SubscriptionArn"]) for row in rows if row["SubscriptionArn"].startswith("arn:")]


def _subscription(sns: "SNSClient", arn: str) -> Subscription:
    with calling("sns:GetSubscriptionAttributes"):
        found = sns.get_subscription_attributes(SubscriptionArn=arn)["Attributes"]
    policy = json_text(found, "FilterPolicy", arn) if found.get("FilterPolicy") else {}
    return Subscription(arn, policy, found.get("FilterPolicyScope", "MessageAttributes"))


def filters_problem(topic: str, subscriptions: Sequence[Subscription]) -> str:
    """Return that the filter policies of all subscriptions drop every message of alarms; nothing without subscriptions."""
    if not subscriptions or any(takes_alarms(row) for row in subscriptions):
        return ""
    names = ", ".join(sorted(row.arn.rpartition(":")[2] for row in subscriptions))
    return f"the filter policies of all subscriptions of topic {topic} ({names}) drop every alarm: nobody is notified"


def takes_alarms(subscription: Subscription) -> bool:
    """Return whether a subscription may take the message of an alarm. An operator that is not known here may match."""
    message = _ALARM if subscription.scope == "MessageBody" else {}
    return _may_match(subscription.filter_policy, message)


def _may_match(policy: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Return whether each property of a policy may match. `$or` has a list of policies, of which one must."""
    for name, wanted in policy.items():
        found = message.get(name, _ABSENT)
        if name == "$or" and isinstance(wanted, list):
            if not any(_may_match(choice, message) for choice in wanted if isinstance(choice, Mapping)):
                return False
        elif isinstance(wanted, Mapping):
            inner = found if isinstance(found, Mapping) else {}
            if found is not _ANY and not _may_match(wanted, inner):
                return False
        elif isinstance(wanted, list) and not any(_may_be(condition, found) for condition in wanted):
            return False
    return True


def _may_be(condition: Any, found: object) -> bool:  # noqa: ANN401  # any JSON
    """Return whether a property may meet one condition: a value, or an object with one operator."""
    if isinstance(condition, Mapping) and "exists" in condition:
        return bool(condition["exists"]) == (found is not _ABSENT)
    if found is _ABSENT:
        return False
    if found is _ANY:
        return True
    if not isinstance(condition, Mapping):
        return bool(condition == found)
    text = str(found)
    for operator, operand in condition.items():
        if operator == "prefix" and isinstance(operand, str):
            return text.startswith(operand)
        if operator == "suffix" and isinstance(operand, str):
            return text.endswith(operand)
        if operator == "equals-ignore-case":
            return text.lower() == str(operand).lower()
        if operator == "anything-but" and not isinstance(operand, Mapping):
            return found not in listed(operand)
    return True

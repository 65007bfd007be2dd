"""Whether the subscriptions of the alarm topic take the messages of alarms and notices, or their filter policies drop some.

https://docs.aws.amazon.com/sns/latest/dg/sns-subscription-filter-policies.html
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from botocore.loaders import create_loader

from express_path.adapters.aws import Expecting, calling, pages
from express_path.domain.policies.documents import listed
from express_path.domain.policies.patterns import is_like
from express_path.fields import Description, json_text

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

_ABSENT, _ANY = object(), object()
"""A property that a message does not have, and one whose value is not known."""


@dataclass(frozen=True, slots=True)
class Text:
    """A property of a message: it is one of these texts, or begins with one of them and may go on in any way."""

    texts: tuple[str, ...]
    goes_on: bool = False

    def may(self, holds: Callable[[str], bool], beginning: Callable[[str], bool] = bool) -> bool:
        """Return whether a text may be one for which something holds. `beginning` decides about texts that go on."""
        return any(holds(text) or (self.goes_on and beginning(text)) for text in self.texts)


@dataclass(frozen=True, slots=True)
class Message:
    """A message that goes to the topic: its kind, alarm or notice, what sends it, and its body. It has no attributes."""

    kind: str
    sender: str
    body: Mapping[str, Any]


NOTICE: Mapping[str, Any] = {
    "version": "1.0",
    "source": "custom",
    "content": {
        "textType": "client-markdown",
        "title": Text(("express-path: ",), goes_on=True),
        "description": _ANY,
        "nextSteps": _ANY,
    },
}
"""What the messages of all notices have in common (template.yaml, InputTemplate)."""


def alarm_body(alarm: Description, account_id: str, region: str) -> Mapping[str, Any]:
    """Return the message of an alarm that goes off, from its description: what is not in that is not known.

    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html and
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-actions.html
    """
    same = ("AlarmName", "AlarmDescription", "AlarmArn", "OKActions", "AlarmActions", "InsufficientDataActions")
    of_trigger = ("MetricName", "Namespace", "Period", "EvaluationPeriods", "ComparisonOperator", "Threshold")
    unknown = ("StatisticType", "Statistic", "Unit", "TreatMissingData", "EvaluateLowSampleCountPercentile")
    trigger = {name: alarm.get(name, _ANY) for name in of_trigger} | dict.fromkeys(unknown, _ANY)
    dimensions = [{"name": row["Name"], "value": row["Value"]} for row in alarm.get("Dimensions", ())]
    return {
        **{name: alarm.get(name, _ANY) for name in same},
        "AWSAccountId": account_id,
        "AlarmConfigurationUpdatedTimestamp": _ANY,
        "NewStateValue": "ALARM",
        "NewStateReason": Text(("Threshold Crossed: ",), goes_on=True),
        "StateChangeTime": _ANY,
        "Region": Text(tuple(names)) if (names := list(_region_names(region))) else _ANY,
        "OldStateValue": Text(("OK", "INSUFFICIENT_DATA")),
        "Trigger": trigger | {"DatapointsToAlarm": _ANY, "Dimensions": dimensions or _ANY},
    }


def _region_names(region: str) -> Iterator[str]:
    """Yield the ways in which AWS writes the name of a Region, such as US East (N. Virginia), or US - N. Virginia.

    Nothing if botocore does not know the name of the Region.
    """
    area, _, city = _place(region).rstrip(")").partition(" (")
    if not city:
        return
    for name in dict.fromkeys((area, area.split(" ")[0], area.replace("Europe", "EU"))):
        yield f"{name} ({city})"
        yield f"{name} - {city}"


@cache
def _place(region: str) -> str:
    """Return what a Region is called in botocore's data; empty if it is not there."""
    partitions = create_loader().load_data("endpoints")["partitions"]
    return next((str(row["regions"][region]["description"]) for row in partitions if region in row["regions"]), "")


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


def filters_problem(topic: str, subscriptions: Sequence[Subscription], messages: Sequence[Message]) -> str:
    """Return which messages the filter policies of all subscriptions drop; nothing without subscriptions."""
    if not subscriptions:
        return ""
    dropped = [row for row in messages if not any(may_take(subscription, row) for subscription in subscriptions)]
    if not dropped:
        return ""
    names = ", ".join(sorted(row.arn.rpartition(":")[2] for row in subscriptions))
    what = [_dropped(kind, messages, dropped) for kind in ("alarm", "notice")]
    text = (
        f"the filter policies of all subscriptions of topic {topic} ({names}) drop {' and '.join(filter(None, what))}"
    )
    return f"{text}: nobody is notified" if len(dropped) == len(messages) else f"{text}: nobody gets these"


def _dropped(kind: str, messages: Sequence[Message], dropped: Sequence[Message]) -> str:
    senders = [row.sender for row in dropped if row.kind == kind]
    if not senders:
        return ""
    if len(senders) == sum(row.kind == kind for row in messages):
        return f"every {kind}"
    return f"the {kind} {', '.join(senders)}"


def may_take(subscription: Subscription, message: Message) -> bool:
    """Return whether a subscription may take a message. An operator that is not known here may match."""
    return _may_match(subscription.filter_policy, message.body if subscription.scope == "MessageBody" else {})


def _may_match(policy: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Return whether each property of a policy may match. `$or` has a list of policies, of which one must."""
    for name, wanted in policy.items():
        if name == "$or" and isinstance(wanted, list):
            if not any(_may_match(choice, message) for choice in wanted if isinstance(choice, Mapping)):
                return False
        elif not _may_have(wanted, message.get(name, _ABSENT)):
            return False
    return True


def _may_have(wanted: Any, found: object) -> bool:  # noqa: ANN401  # any JSON
    """Return whether a property may be as wanted: an object of properties, or a list of conditions, of which one must hold."""
    if isinstance(found, list):
        return any(_may_have(wanted, element) for element in found or [_ABSENT])
    if isinstance(wanted, Mapping):
        return found is _ANY or _may_match(wanted, found if isinstance(found, Mapping) else {})
    return any(_may_be(condition, found) for condition in listed(wanted))


def _may_be(condition: Any, found: object) -> bool:  # noqa: ANN401  # any JSON
    """Return whether a property may meet one condition: a value, or an object with one operator."""
    if isinstance(condition, Mapping) and "exists" in condition:
        return bool(condition["exists"]) == (found is not _ABSENT)
    if found is _ABSENT or isinstance(found, Mapping):
        return False
    if found is _ANY:
        return True
    if isinstance(found, str):
        found = Text((found,))
    if not isinstance(condition, Mapping):
        return _may_equal(condition, found)
    return all(_may_meet(operator, operand, found) for operator, operand in condition.items())


def _may_equal(wanted: object, found: object) -> bool:
    if isinstance(found, Text):
        return isinstance(wanted, str) and found.may(lambda text: text == wanted, wanted.startswith)
    return wanted == found


def _may_meet(operator: str, operand: Any, found: object) -> bool:  # noqa: ANN401  # any JSON
    """Return whether a property may meet an operator.

    https://docs.aws.amazon.com/sns/latest/dg/string-value-matching.html and
    https://docs.aws.amazon.com/sns/latest/dg/numeric-value-matching.html
    """
    if operator == "anything-but":
        return _may_be_other_than(operand, found)
    if operator == "numeric":
        return isinstance(found, int | float) and _is_number(operand, found)
    if operator == "cidr":
        return False  # no property is an address
    if operator not in ("prefix", "suffix", "equals-ignore-case", "wildcard") or not isinstance(operand, str):
        return True
    if not isinstance(found, Text):
        return False
    if operator == "prefix":
        return found.may(lambda text: text.startswith(operand), operand.startswith)
    if operator == "suffix":
        return found.may(lambda text: text.endswith(operand))
    if operator == "wildcard":
        return found.may(lambda text: is_like(text, operand))
    return found.may(
        lambda text: text.lower() == operand.lower(), lambda text: operand.lower().startswith(text.lower())
    )


def _may_be_other_than(excluded: Any, found: object) -> bool:  # noqa: ANN401  # any JSON
    """Return whether a property may be none of some values, or not begin or end as an object with an operator says."""
    if not isinstance(found, Text):
        return isinstance(excluded, Mapping) or found not in listed(excluded)
    if not isinstance(excluded, Mapping):
        return found.goes_on or any(text not in listed(excluded) for text in found.texts)
    if found.goes_on:
        prefix = excluded.get("prefix")
        return not all(isinstance(prefix, str) and text.startswith(prefix) for text in found.texts)
    return any(
        not all(_may_meet(operator, operand, Text((text,))) for operator, operand in excluded.items())
        for text in found.texts
    )


def _is_number(comparisons: Sequence[Any], found: float) -> bool:
    """Return whether a number meets pairs of an operator and a number, such as [">", 0, "<=", 5]."""
    compare: Mapping[str, Callable[[float, float], bool]] = {
        "=": lambda number, limit: number == limit,
        "<": lambda number, limit: number < limit,
        "<=": lambda number, limit: number <= limit,
        ">": lambda number, limit: number > limit,
        ">=": lambda number, limit: number >= limit,
    }
    pairs = zip(comparisons[::2], comparisons[1::2], strict=False)
    return all(operator not in compare or compare[operator](found, limit) for operator, limit in pairs)

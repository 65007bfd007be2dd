"""The resource policies of event buses, and of the queues that are targets.

https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-bus-permissions-manage.html. A statement applies to the
bus itself, and PutEvents is an action on it:
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoneventbridge.html
"""

import json
import re
from collections.abc import Iterator

from moto.events.models import events_backends
from moto.sns.models import sns_backends
from moto.sqs.models import sqs_backends
from moto.utilities.arns import parse_arn

from config_rule_sandbox.iam.policies import Authorization, Statement, as_list, is_allowed, names_service


def bus_statements(resource: str) -> Iterator[Statement]:
    """Yield the statements of the policy of the event bus that an ARN names."""
    if not re.match(r"arn:[\w-]+:events:[\w-]+:\d+:event-bus/", resource):
        return
    _, _, _, region, account_id, path = resource.split(":", 5)
    bus = events_backends[account_id][region].event_buses.get(path.removeprefix("event-bus/"))
    if bus is not None and bus.policy:
        yield from as_list(json.loads(bus.policy)["Statement"])


def queue_statements(resource: str) -> Iterator[Statement]:
    """Yield the statements of the policy of the queue that an ARN names.

    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-using-identity-based-policies.html. A
    statement for a service names no principal of an account.
    """
    if not re.match(r"arn:[\w-]+:sqs:", resource):
        return
    _, _, _, region, account_id, name = resource.split(":")
    queue = sqs_backends[account_id][region].queues.get(name)
    if queue is not None and queue.policy:
        yield from as_list(json.loads(queue.policy)["Statement"])


SERVICE = "events.amazonaws.com"


def may_send(queue_arn: str, rule_arn: str) -> bool:
    """Return whether a queue exists, and its policy lets EventBridge send it the events of a rule.

    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html#eb-sqs-permissions
    """
    wanted = Authorization("sqs:SendMessage", queue_arn, {"aws:SourceArn": [rule_arn]})
    return is_allowed([row for row in queue_statements(queue_arn) if names_service(row, SERVICE)], wanted)


def may_publish(topic_arn: str, rule_arn: str, role_arn: str) -> bool:
    """Return whether EventBridge may publish the events of a rule to a topic that exists.

    In the same account, its policy must admit EventBridge, and a condition is never met
    (https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html#eb-sns-permissions). That page also says
    that delivery with a role may fail, so it does here. A topic of another account needs a role:
    https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-service-cross-account.html.
    """
    arn = parse_arn(topic_arn)
    topic = sns_backends[arn.account][arn.region].topics.get(topic_arn)
    if topic is None or arn.account != parse_arn(rule_arn).account:
        return topic is not None and bool(role_arn)
    named = [row for row in as_list(json.loads(topic.policy)["Statement"]) if names_service(row, SERVICE)]
    return not role_arn and is_allowed(named, Authorization("sns:Publish", topic_arn))

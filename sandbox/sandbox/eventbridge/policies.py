"""The resource policies of event buses.

https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-bus-permissions-manage.html. A statement applies to the
bus itself, and PutEvents is an action on it:
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoneventbridge.html
"""

import json
import re
from collections.abc import Iterator

from moto.events.models import events_backends

from sandbox.iam_policies import Statement, as_list


def bus_statements(resource: str) -> Iterator[Statement]:
    """Yield the statements of the policy of the event bus that an ARN names."""
    if not re.match(r"arn:[\w-]+:events:[\w-]+:\d+:event-bus/", resource):
        return
    _, _, _, region, account_id, path = resource.split(":", 5)
    bus = events_backends[account_id][region].event_buses.get(path.removeprefix("event-bus/"))
    if bus is not None and bus.policy:
        yield from as_list(json.loads(bus.policy)["Statement"])

"""A rule for tests: deployed in a sandbox with AWS Config, while its function runs in this process."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from aws_lambda_powertools.utilities.typing import LambdaContext

from config_rule_sandbox.config.deployment import RuleDefinition
from config_rule_sandbox.config.items.items import ItemStyle
from config_rule_sandbox.config.loop import ConfigLoop
from config_rule_sandbox.config.notifications import change_notification, rule_event
from config_rule_sandbox.server import Sandbox
from express_path.domain.verdict.fanout import ResourceType
from express_path.evaluation import RuleServices
from express_path.handlers.evaluate import compose_services, handler

RULE = RuleDefinition("s3express-no-nat-path", "express-path-evaluate", tuple(ResourceType))
"""The rule, with the scope that the template gives it."""

Event = dict[str, Any]
Item = dict[str, Any]


RETAGGED = {
    "changedProperties": {
        "Configuration.Tags.0": {
            "previousValue": None,
            "updatedValue": {"key": "team", "value": "network"},
            "changeType": "CREATE",
        }
    },
    "changeType": "UPDATE",
}
"""A difference that says nothing of what a change concerns."""


class Context(LambdaContext):
    """The context that Lambda passes to a function."""

    def __init__(self) -> None:
        """Name the function as the stack does."""
        self._function_name = "express-path-evaluate"
        self._function_version = "$LATEST"
        self._invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:express-path-evaluate"
        self._memory_limit_in_mb = 1024
        self._aws_request_id = "00000000-0000-0000-0000-000000000000"


class Held(NamedTuple):
    """A result that AWS Config has stored: `reason` is the annotation's first word, `ordering` is in epoch seconds."""

    compliance: str
    reason: str
    annotation: str
    ordering: float


class Rule:
    """A rule and its function. The function can ignore events that a test is not about."""

    def __init__(
        self, sandbox: Sandbox, parameters: Mapping[str, str] | None = None, style: ItemStyle | None = None
    ) -> None:
        """Deploy the rule."""
        self.sandbox = sandbox
        self.loop = ConfigLoop(sandbox, self.invoke, rule=RULE, parameters=parameters, style=style)
        self._services: RuleServices | None = None
        self.asleep = False
        self.only_for = ""

    def invoke(self, event: Event) -> Any:
        """Invoke the function, unless this event must be ignored."""
        if self.asleep or (self.only_for and self.only_for not in event["invokingEvent"]):
            return {"evaluations": []}
        self._services = self._services or compose_services(os.environ)
        return handler(event, Context(), self._services)

    def restart(self) -> None:
        """Let the next event start the function cold, with the environment at that time."""
        self._services = None

    def take_as_known(self) -> None:
        """Mark the current network as delivered to AWS Config without evaluating it, then clear the recorded calls."""
        self.asleep = True
        self.loop.notice()
        self.loop.deliver()
        self.asleep = False
        self.sandbox.calls.clear()

    def changes(self, of: str = "") -> dict[str, str]:
        """Deliver pending changes and return the reason of every subnet that was evaluated for them.

        `of` is a resource id: the function then ignores the events of all other resources.
        """
        self.only_for = f'"resourceId": "{of}", "resourceName": null, "ARN"' if of else ""
        self.loop.notice()
        deliveries = self.loop.deliver()
        for delivery in deliveries:
            if delivery.error:
                raise delivery.error
        return self.answers([delivery.answer for delivery in deliveries])

    def answers(self, answers: list[Any]) -> dict[str, str]:
        """Return the reason of every subnet in the function's answers."""
        return {
            evaluation["subnetId"]: str(evaluation["reason"])
            for answer in answers
            for evaluation in answer["evaluations"]
        }

    def sweep(self) -> dict[str, str]:
        """Invoke the function like the schedule does and return the reason of every subnet that it reported."""
        self.only_for = ""
        delivery = self.loop.scheduled()
        if delivery.error:
            raise delivery.error
        return self.answers([delivery.answer])

    def event(self, item: Item, diff: Mapping[str, Any] | None = None, **more: object) -> Event:
        """Return the event of a changed item, with another tag as the difference; `more` replaces keys of the event."""
        notification = change_notification(item, dict(RETAGGED if diff is None else diff), self.now)
        token = self.loop.results.issue_token(self.loop.rule.name)
        return {**rule_event(self.loop.rule, notification, token), **more}

    def tell(self, item: Item, diff: Mapping[str, Any] | None = None, **more: object) -> dict[str, str]:
        """Invoke the function with the given item and return the reason of every subnet that was evaluated."""
        return self.answers([self.invoke(self.event(item, diff, **more))])

    def store(self, subnet_id: str, time: datetime) -> None:
        """Store a result of this time as somebody else who has a result token of the rule would."""
        result = {
            "ComplianceResourceType": "AWS::EC2::Subnet",
            "ComplianceResourceId": subnet_id,
            "ComplianceType": "NON_COMPLIANT",
            "Annotation": "NAT_GATEWAY: stored by somebody else",
            "OrderingTimestamp": time,
        }
        token = self.loop.results.issue_token(self.loop.rule.name)
        self.sandbox.client("config").put_evaluations(Evaluations=[result], ResultToken=token)

    @property
    def now(self) -> str:
        """Return a time of AWS Config that is later than everything that the sandbox has recorded."""
        return (datetime.now(UTC) + timedelta(minutes=1)).isoformat(timespec="milliseconds")

    def held(self) -> dict[str, Held]:
        """Return the results that AWS Config has stored, by subnet."""
        return {
            result.resource[1]: Held(
                result.compliance, (result.annotation or "").partition(":")[0], result.annotation or "", result.ordering
            )
            for result in self.loop.results.of_rule(self.loop.rule.name)
        }

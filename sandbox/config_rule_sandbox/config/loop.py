"""AWS Config's loop: it notices changes in EC2, invokes the rule's function with them, and so gets evaluations.

with Sandbox() as sandbox:
    loop = ConfigLoop(sandbox, invoke=lambda event: handler(event, context), rule=RuleDefinition("my-rule"))
    loop.baseline()
    loop.deliver()
"""

import json
import random
from collections.abc import Mapping
from functools import partial
from typing import Any

from config_rule_sandbox.answers import ItemOrder, NewerItems, RepeatedItem
from config_rule_sandbox.config.deployment import RuleDefinition, deploy_rule, function_arn, rule_exists
from config_rule_sandbox.config.invocation import Delivery, Invoke, failure_record, invoke_asynchronously
from config_rule_sandbox.config.items.differences import diff
from config_rule_sandbox.config.items.items import Item, ItemStyle, Recorded
from config_rule_sandbox.config.items.kinds import NEWER_TYPES
from config_rule_sandbox.config.notifications import (
    change_notification,
    oversized_notification,
    rule_event,
    scheduled_notification,
)
from config_rule_sandbox.config.recorder import Change, Recorder
from config_rule_sandbox.config.results import results_of
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.server import Sandbox

MAXIMUM_NOTIFICATION = 256 * 1024
"""Bytes of a notification beyond which Config sends a summary: what one asynchronous event of Lambda may have.

https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
"""


class ConfigLoop:
    """One rule of AWS Config in a running sandbox, and the recorder that feeds it.

    `invoke` takes an event and returns the function's answer or raises. `deliveries` are all invocations so far,
    `on_failure` the records of the events that failed three times. `oversized_above` (bytes) may be lowered so that
    smaller items count as oversized.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        invoke: Invoke,
        *,
        rule: RuleDefinition | None = None,
        parameters: Mapping[str, str] | None = None,
        style: ItemStyle | None = None,
    ) -> None:
        """Deploy the rule. Nothing is recorded or invoked yet."""
        self.sandbox = sandbox
        definition = rule or RuleDefinition()
        self.rule = deploy_rule(sandbox, definition, parameters)
        self.oversized_above = MAXIMUM_NOTIFICATION
        self.deliveries: list[Delivery] = []
        self.on_failure: list[dict[str, Any]] = []
        self.results = results_of(sandbox.account_id, sandbox.region)
        recorded = Recorded(sandbox.account_id, sandbox.region, style or ItemStyle())
        self._recorder = Recorder(partial(direct_client, sandbox), recorded)
        self._function_arn = function_arn(sandbox, definition.function_name)
        self._resource_types = definition.resource_types
        self._invoke = invoke
        self._queue: list[dict[str, Any]] = []
        self._held_back: list[dict[str, Any]] = []

    @property
    def queued(self) -> list[dict[str, Any]]:
        """The invoking events that wait for `deliver`."""
        return [*self._held_back, *self._queue]

    def baseline(self) -> list[Item]:
        """Discover everything anew, as a recorder does that has just been started; queue and return the items."""
        self._recorder.last.clear()
        return self.notice()

    def go_on_from(self, earlier: "ConfigLoop") -> None:
        """Know what another loop has recorded, as if the rule had been there then."""
        self._recorder.last = dict(earlier._recorder.last)

    def notice(self) -> list[Item]:
        """Look for changes since the last look; record and return their items, and queue those in the rule's scope."""
        changes = self._recorder.look()
        for change in changes:
            self.results.record(change.item)
            self._queue_change(change)
        return [change.item for change in changes]

    def evaluate_again(self) -> None:
        """Queue the last item of every resource in the rule's scope once more, without a difference.

        AWS Config does that when the rule is created or updated, and when somebody starts an evaluation
        (https://docs.aws.amazon.com/config/latest/APIReference/API_StartConfigRulesEvaluation.html).
        """
        for item in self._recorder.last.values():
            difference: dict[str, Any] | None
            match self.sandbox.answers.repeated_item:
                case RepeatedItem.UNCHANGED:
                    difference = diff(item, item)
                case RepeatedItem.CREATED:
                    difference = diff(None, item)
                case _:
                    difference = None
            self._queue_change(Change(item, difference, None))

    def deliver(self, *, late: bool = False, shuffled_with_seed: int | None = None) -> list[Delivery]:
        """Invoke the function for every queued item, one after the other, and return what became of each.

        `late` holds back what has been queued since the last delivery: it arrives with the next one, when the network
        may look different again. A seed shuffles the order in which items arrive, the same way each time.
        """
        due, self._held_back = self._held_back, []
        if late:
            self._held_back = self._queue
        else:
            due = [*due, *self._queue]
        self._queue = []
        if self.sandbox.answers.item_order is ItemOrder.REVERSED:
            due.reverse()
        if self.sandbox.answers.item_order is ItemOrder.REPEATED:
            due = [*due, *due]
        if shuffled_with_seed is not None:
            random.Random(shuffled_with_seed).shuffle(due)
        return [self.send(event) for event in due]

    def take(self) -> list[dict[str, Any]]:
        """Return the invoking events that wait for `deliver`, and leave it to the caller to `send` them."""
        taken, self._held_back, self._queue = self.queued, [], []
        return taken

    def scheduled(self) -> Delivery:
        """Invoke the function as the periodic trigger does, and return what became of it.

        A rule that has been deleted meanwhile still gets this one event.
        """
        return self.send(self.periodic())

    def periodic(self) -> dict[str, Any]:
        """Return the invoking event of the periodic trigger, at the present time."""
        return scheduled_notification(self.rule.account_id, self._recorder.now())

    def send(self, invoking_event: dict[str, Any]) -> Delivery:
        """Invoke the function with an invoking event, and return what became of it."""
        token = self.results.issue_token(self.rule.name)
        event = rule_event(self.rule, invoking_event, token)
        delivery = invoke_asynchronously(self._invoke, event)
        self.deliveries.append(delivery)
        if delivery.error:
            self.on_failure.append(failure_record(delivery, self._function_arn))
        return delivery

    def _queue_change(self, change: Change) -> None:
        if change.item["resourceType"] not in self._resource_types or not rule_exists(self.sandbox, self.rule.name):
            return
        item = change.item
        if item["resourceType"] in NEWER_TYPES and self.sandbox.answers.newer_items is NewerItems.NAMED_BY_ARN:
            item = {**item, "resourceId": item["ARN"]}
        notification = change_notification(item, change.diff, self._recorder.now())
        if change.diff is None and self.sandbox.answers.repeated_item is RepeatedItem.ABSENT:
            del notification["configurationItemDiff"]
        if len(json.dumps(notification).encode()) > self.oversized_above:
            change_type = (change.diff or {}).get("changeType", "UPDATE")
            notification = oversized_notification(change.item, change_type, self._recorder.now())
        self._queue.append(notification)

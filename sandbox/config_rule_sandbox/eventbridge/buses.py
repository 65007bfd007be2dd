"""EventBridge: what a request may hold, entries that fail, and delivery to Lambda functions, which moto lacks."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from typing import Any

from moto.events.exceptions import ValidationException
from moto.events.models import EventsBackend, Rule
from moto.sqs.models import sqs_backends
from moto.utilities.arns import parse_arn

from config_rule_sandbox.config.invocation import invoke_asynchronously
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.eventbridge.policies import may_publish, may_send
from config_rule_sandbox.patching.patches import Patches

Event = dict[str, Any]
Function = Callable[[Event], Any]

MAXIMUM_BYTES = 262_144
"""The most bytes of the entries of one request: the smaller of the limits that AWS documents.

https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
"""
TIME_BYTES = 14


@dataclass
class _FailingEntries:
    code: str
    times: int | None
    detail_type: str | None

    def fits(self, entry: Mapping[str, Any]) -> bool:
        return self.times != 0 and self.detail_type in (None, entry["DetailType"])


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event for one target, and the error of its last attempt, None if it succeeded or waits.

    The ARNs are those of the rule, and of the target's dead-letter queue and role, empty without one.
    """

    target_arn: str
    event: Event
    error: Exception | None = None
    rule_arn: str = ""
    dead_letter_arn: str = ""
    role_arn: str = ""


class EventBridge:
    """The knobs of EventBridge.

    `register` lets rules invoke a function, and `run_others` runs those that are not registered: it takes the ARN and the event.
    `holds` keeps events for functions and queues in `held`, which
    `deliver` sends: a test may reorder or repeat them before. `deliveries` has what became of the events that `deliver`
    sent.
    """

    def __init__(self) -> None:
        """Begin without functions; entries succeed, and events are delivered at once."""
        self._lock = Lock()
        self.reset()

    def reset(self) -> None:
        """Forget functions, failures, and events."""
        self.holds = False
        self.held: list[Delivery] = []
        self.deliveries: list[Delivery] = []
        self.run_others: Callable[[str, Event], Any] | None = None
        self._functions: dict[str, Function] = {}
        self._failing: list[_FailingEntries] = []

    def register(self, name: str, function: Function) -> None:
        """Let targets with the ARN of a function of this name invoke a callable of one event."""
        self._functions[name] = function

    def fail_entries(
        self, code: str = "InternalFailure", times: int | None = None, detail_type: str | None = None
    ) -> None:
        """Let entries fail with an error code, in a request that succeeds: some of them, or all until `reset`.

        Source: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsResultEntry.html
        """
        self._failing.append(_FailingEntries(code, times, detail_type))

    def succeed(self) -> None:
        """Let all entries succeed again."""
        self._failing.clear()

    def deliver(self) -> list[Delivery]:
        """Send the events that are held, in their order, and return what became of each."""
        due, self.held = self.held, []
        done = [self._invoke(delivery) for delivery in due]
        self.deliveries += done
        return done

    def apply(self, patches: Patches) -> None:
        """Let moto check and deliver as EventBridge does."""

        def put_events(backend: EventsBackend, events: list[Event]) -> list[Event]:
            return self._put_events(original, backend, events)

        def send(rule: Rule, event: Event, transform_input: bool = True) -> None:  # noqa: FBT001, FBT002  # moto's
            del transform_input
            self._send(rule, event)

        original = EventsBackend.put_events
        patches.set(EventsBackend, "put_events", put_events)
        patches.set(Rule, "send_to_targets", send)
        patches.wrap(EventsBackend, "delete_event_bus", _unless_it_has_rules)

    def _put_events(self, original: Moto, backend: EventsBackend, entries: list[Event]) -> list[Event]:
        """Check the size of all entries, take out those that fail, and let moto put the others."""
        if sum(map(_size, entries)) > MAXIMUM_BYTES:
            raise ValidationException("Total size of the entries in the request is over the limit.")
        answers = [self._failure(entry) for entry in entries]
        passing = [entry for entry, failure in zip(entries, answers, strict=True) if failure is None]
        put = iter(original(backend, passing) if passing else [])
        return [next(put) if failure is None else failure for failure in answers]

    def _failure(self, entry: Event) -> Event | None:
        for failing in self._failing:
            if failing.fits(entry):
                failing.times = None if failing.times is None else failing.times - 1
                return {"ErrorCode": failing.code, "ErrorMessage": f"The test requested {failing.code}."}
        return None

    def _send(self, rule: Rule, event: Event) -> None:
        """Deliver to functions, queues, and topics. Nobody reads what topics get here."""
        if rule.state != "ENABLED" or not rule.event_pattern.matches_event(event):  # type: ignore[arg-type]  # moto types its events
            return
        for target in rule.targets:
            service = parse_arn(target["Arn"]).service
            if service not in ("lambda", "sns", "sqs"):
                raise NotImplementedError(f"the sandbox does not deliver to {target['Arn']}")
            dead_letter_arn, role_arn = target.get("DeadLetterConfig", {}).get("Arn", ""), target.get("RoleArn", "")
            with self._lock:
                self.held.append(Delivery(target["Arn"], _delivered(event), None, rule.arn, dead_letter_arn, role_arn))
        if not self.holds:
            self.deliver()

    def _invoke(self, delivery: Delivery) -> Delivery:
        """Send a message to a queue or topic, or invoke a function asynchronously, as EventBridge does; Lambda retries twice.

        What a queue or topic does not take goes to the dead-letter queue at once, and is lost if that does not take it either:
        https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-rule-dlq.html.
        """
        service = parse_arn(delivery.target_arn).service
        if service != "lambda":
            published = service == "sns" and may_publish(delivery.target_arn, delivery.rule_arn, delivery.role_arn)
            if published or (service == "sqs" and _sent(delivery.target_arn, delivery)):
                return delivery
            kept = bool(delivery.dead_letter_arn) and _sent(delivery.dead_letter_arn, delivery)
            refused = f"{delivery.target_arn} does not exist, or refuses messages of {delivery.rule_arn}"
            return replace(delivery, error=RuntimeError(f"{refused}; {'kept' if kept else 'lost'}"))
        name = delivery.target_arn.partition(":function:")[2].partition(":")[0]
        function = self._functions.get(name) or (self.run_others and partial(self.run_others, delivery.target_arn))
        if function is None:
            return replace(delivery, error=LookupError(f"{delivery.target_arn} is not registered"))
        done = invoke_asynchronously(lambda event: function(json.loads(json.dumps(event))), delivery.event)
        return replace(delivery, error=done.error)


def _unless_it_has_rules(original: Moto) -> Moto:
    """Refuse to delete a bus that has rules, in EventBridge's words: https://github.com/anomalyco/sst/issues/4325.

    https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_DeleteEventBus.html: all rules must be deleted first.
    """

    def delete_event_bus(backend: EventsBackend, name: str) -> None:
        bus = backend.event_buses.get(name)
        if bus is not None and bus.rules:
            raise ValidationException("EventBus can't be deleted since it has rules.")
        original(backend, name)

    return delete_event_bus


def _sent(queue_arn: str, delivery: Delivery) -> bool:
    """Send an event to a queue, if its policy allows that. Return whether it was sent."""
    if not may_send(queue_arn, delivery.rule_arn):
        return False
    arn = parse_arn(queue_arn)
    sqs_backends[arn.account][arn.region].send_message(arn.resource_id, json.dumps(delivery.event))
    return True


def _size(entry: Mapping[str, Any]) -> int:
    """Return the size of an entry: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html."""
    texts = [entry.get("Source"), entry.get("DetailType"), entry.get("Detail"), *entry.get("Resources", [])]
    return sum(len(text.encode()) for text in texts if text) + (TIME_BYTES if entry.get("Time") else 0)


def _delivered(event: Event) -> Event:
    """Return the event with its time as EventBridge writes it: https://docs.aws.amazon.com/eventbridge/latest/ref/overiew-event-structure.html."""
    shown = datetime.fromtimestamp(event["time"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {key: value for key, value in event.items() if key != "ingestion-time"} | {"time": shown}

"""The simulation: changes, deliveries that are late, repeated, and out of order, failures, and the sweeps."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from random import Random
from typing import Any

from config_rule_sandbox.config.results import results_of
from config_rule_sandbox.eventbridge.buses import Delivery
from config_rule_sandbox.server import Sandbox
from tests.organization.simulated.consumer import Consumer
from tests.organization.simulated.place import CONSUMER, Place
from tests.organization.simulated.runtime import Runtime
from tests.organization.simulated.timeline import Timeline
from tests.organization.simulated.trouble import Trouble

CONSUMER_OUTAGE = (100.0, 130.0)
"""When every event fails at the consumer, in seconds."""
FIRST_ACCOUNT = 200_000_000_000
TROUBLE_SECONDS = 240.0
"""How long faults go on after the last change."""
CONFIG, EVENT = 20.0, 10.0
"""How many seconds AWS Config and EventBridge take on average."""
SWEEPS_BEGIN, LATEST = 60.0, 900.0
"""Seconds: within which all sweeps begin, and how long after that the latest event of the time before arrives."""
BATCHING, RETRY, OPERATOR = 20.0, 60.0, 300.0
"""Seconds: how long Lambda waits for messages, when failed messages are delivered again, and when operators act."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much happens: `changes` are spread over `seconds` and all accounts and Regions."""

    accounts: int
    regions: tuple[str, ...]
    changes: int
    seconds: float = 300.0


class Simulation:
    """An organization in an empty sandbox, to which the environment leads."""

    def __init__(self, sandbox: Sandbox, size: Size, seed: int) -> None:
        """Build the accounts, and deploy the rule to all of them."""
        self.size, self._sandbox = size, sandbox
        self._random = Random(seed)
        self.timeline = Timeline()
        self.runtime = Runtime(sandbox)
        self.trouble = Trouble(sandbox, self.timeline, self._random)
        self.consumer = Consumer(lambda key, subnet_id: self._places[key].stored(subnet_id))
        self.happened: Counter[str] = Counter()
        self._stragglers: list[tuple[Place, Delivery]] = []
        self._scheduled: set[tuple[str, str]] = set()
        self._bridge = sandbox.eventbridge
        self._bridge.holds = True
        self._bridge.register(CONSUMER, self._consume)
        account_ids = [str(FIRST_ACCOUNT + number) for number in range(size.accounts)]
        self._places = {place.key: place for place in self._built(account_ids)}

    @property
    def places(self) -> list[Place]:
        """The accounts and Regions."""
        return list(self._places.values())

    def _built(self, account_ids: list[str]) -> Iterator[Place]:
        for number, (account_id, region) in enumerate(product(account_ids, self.size.regions)):
            outage = self.trouble.outage(number)
            yield Place(self._sandbox, self.runtime, self.trouble, outage, account_id, region, self._random)

    def change(self) -> None:
        """Make the changes within the time of the simulation, and deliver everything that follows from them."""
        self.trouble.begin(self.size.seconds + TROUBLE_SECONDS)
        for _ in range(self.size.changes):
            place = self._random.choice(self.places)
            self.timeline.after(self._random.uniform(0, self.size.seconds), partial(self._change, place))
        self._settle()

    def sweep(self, trouble_seconds: float = 0.0) -> None:
        """Run the scheduled evaluation once in every account and Region; some are delivered twice."""
        self.trouble.begin(trouble_seconds)
        for place in self.places:
            self.timeline.after(self._random.uniform(0, SWEEPS_BEGIN), partial(self._sweep, place))
        late, self._stragglers = self._stragglers, []
        for place, delivery in late:
            self.timeline.after(self._random.uniform(0, LATEST), partial(self._arrive, place, delivery))
        self._settle()

    def clean_up(self) -> None:
        """Let AWS Config remove results that are NOT_APPLICABLE in some accounts and Regions, as it does at times."""
        for place in self.places:
            if self._random.choice([True, False]):
                results_of(*place.key).clean_up()

    def _settle(self) -> None:
        """Let time pass until nothing is left to deliver. Where messages failed, an operator starts an evaluation."""
        self.timeline.run()
        while failed := [place for place in self.places if place.purge_failed_messages()]:
            self.happened["evaluations started by an operator"] += len(failed)
            for place in failed:
                self.timeline.after(OPERATOR, partial(self._sweep, place))
            self.timeline.run()

    def _change(self, place: Place) -> None:
        self.happened["changes"] += 1
        place.network.change()
        for notification in place.look():
            for _ in range(self.trouble.copies()):
                self.happened["notifications of AWS Config"] += 1
                self.timeline.after(self.trouble.delay(CONFIG), partial(self._notify, place, notification))

    def _sweep(self, place: Place) -> None:
        notification = place.loop.periodic()
        for _ in range(self.trouble.copies()):
            self.timeline.after(self.trouble.delay(CONFIG), partial(self._notify, place, notification))

    def _notify(self, place: Place, notification: dict[str, Any]) -> None:
        """Deliver an invoking event to the rule's function. If it fails three times, an operator starts an evaluation."""
        place.loop.send(notification)
        self._after_rule(place)

    def _after_rule(self, place: Place) -> None:
        failed, place.loop.on_failure[:] = list(place.loop.on_failure), []
        if failed:
            self.happened["events that failed all retries"] += len(failed)
            self.timeline.after(OPERATOR, partial(self._sweep, place))
        self._collect(place)

    def _collect(self, place: Place) -> None:
        """Schedule the deliveries of the events that were put: late, sometimes twice, a few after the next sweep."""
        held, self._bridge.held = self._bridge.held, []
        for delivery in held:
            self.happened["events to deliver"] += 1
            for _ in range(self.trouble.copies()):
                self.timeline.after(self.trouble.delay(EVENT), partial(self._arrive, place, delivery))
            if self.trouble.often("delivered after the next sweep", 0.02):
                self._stragglers.append((place, delivery))

    def _arrive(self, place: Place, delivery: Delivery) -> None:
        self._bridge.held = [delivery]
        [done] = self._bridge.deliver()
        self._bridge.deliveries.clear()
        if done.error and ":sqs:" in delivery.target_arn:
            raise done.error  # the trouble of this simulation stops no queue
        if done.error:
            self.happened["events in the consumer's queue of failed events"] += 1
            self.timeline.after(OPERATOR, partial(self._arrive, place, delivery))
        if ":sqs:" in delivery.target_arn:
            self._poll_after(place, BATCHING)

    def _consume(self, event: dict[str, Any]) -> None:
        if self.trouble.often("consumer failed", 0.05) or self.trouble.is_within(CONSUMER_OUTAGE):
            raise RuntimeError("the consumer failed")
        self.consumer.receive(event)

    def _poll_after(self, place: Place, seconds: float) -> None:
        """Schedule a poll of the queue of an account and Region, unless one is scheduled already."""
        if place.key not in self._scheduled:
            self._scheduled.add(place.key)
            self.timeline.after(seconds, partial(self._poll, place))

    def _poll(self, place: Place) -> None:
        self._scheduled.discard(place.key)
        polled = place.poll_security_hub()
        if polled.returned:
            self.happened["messages of Security Hub's function delivered again"] += len(polled.returned)
        if polled.deleted or polled.returned:
            self._poll_after(place, RETRY if polled.returned else BATCHING)

"""AWS Config's recorder: reads the network and returns configuration items for what changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from config_rule_sandbox.answers import NewerTypes, given
from config_rule_sandbox.config.items.differences import diff
from config_rule_sandbox.config.items.items import Item, Recorded, timestamp
from config_rule_sandbox.config.items.kinds import (
    KIND_OF,
    KINDS,
    NEWER_TYPES,
    ROUTE_TABLE,
    SUBNET,
    VPC,
    Clients,
    Described,
    Kind,
)
from config_rule_sandbox.config.items.reading import Network, observe
from config_rule_sandbox.http.direct import acting_in

ResourceKey = tuple[str, str]
CONTENT = ("configuration", "relationships", "tags")
"""What makes an item different from the one before it."""


@dataclass(frozen=True, slots=True)
class Change:
    """An item, how it differs from the previous one (None if it is sent again), and that one (None for a new resource)."""

    item: Item
    diff: dict[str, Any] | None
    previous: Item | None


class Recorder:
    """Keeps the last item of each resource of the account and Region that the clients read; direct clients read that account."""

    def __init__(self, client: Clients, recorded: Recorded) -> None:
        """Begin without having seen anything: the first look discovers everything."""
        self.last: dict[ResourceKey, Item] = {}
        self._client = client
        self._recorded = recorded
        self._clock = datetime.fromtimestamp(0, UTC)

    def look(self) -> list[Change]:
        """Return the changes since the last look, in the order of the recorded types, related resources included."""
        with acting_in(self._recorded.account_id):
            network = observe(self._client)
        changes = [change for kind in _recorded_kinds() for change in self._of_kind(kind, network)]
        if self._recorded.style.indirect_relationships:
            changes += self._indirect(changes, network)
        return sorted(changes, key=lambda change: list(KIND_OF).index(change.item["resourceType"]))

    def now(self) -> str:
        """Return the time as Config writes it, later than any that was returned before."""
        self._clock = max(datetime.now(UTC), self._clock + timedelta(milliseconds=1))
        return timestamp(self._clock)

    def _of_kind(self, kind: Kind, network: Network) -> Iterator[Change]:
        present = network.resources[kind.resource_type]
        for resource_id, described in present.items():
            previous = self.last.get((kind.resource_type, resource_id))
            item = self._item(kind, described, network, previous)
            if previous is None or any(item[part] != previous[part] for part in CONTENT):
                yield self._keep(item, previous)
        gone = [key for key in self.last if key[0] == kind.resource_type and key[1] not in present]
        for key in gone:
            yield self._keep(self._recorded.deleted(kind, key[1], self.now()), self.last[key])

    def _item(self, kind: Kind, described: Described, network: Network, previous: Item | None) -> Item:
        status = "OK" if previous else "ResourceDiscovered"
        item = self._recorded.item(kind, described, network, status, self.now())
        if previous and kind.resource_type == SUBNET:
            item["configuration"]["availableIpAddressCount"] = previous["configuration"]["availableIpAddressCount"]
        return item

    def _keep(self, item: Item, previous: Item | None) -> Change:
        key = (item["resourceType"], item["resourceId"])
        if item["configuration"] is None:
            del self.last[key]
        else:
            self.last[key] = item
        return Change(item, diff(previous, item), previous)

    def _indirect(self, changes: list[Change], network: Network) -> list[Change]:
        """Return items of the subnets and VPCs of changed route tables that did not change themselves.

        https://docs.aws.amazon.com/config/latest/developerguide/faq.html: a change of a route table also makes items
        of the subnets and the VPC it is related to.
        """
        reported = {(change.item["resourceType"], change.item["resourceId"]) for change in changes}
        related = {key for change in changes if change.item["resourceType"] == ROUTE_TABLE for key in _related(change)}
        return [self._again(key, network) for key in sorted(related - reported) if key in self.last]

    def _again(self, key: ResourceKey, network: Network) -> Change:
        previous = self.last[key]
        described = network.resources[key[0]][key[1]]
        return self._keep(self._item(KIND_OF[key[0]], described, network, previous), previous)


def _recorded_kinds() -> Iterator[Kind]:
    for kind in KINDS:
        if kind.resource_type not in NEWER_TYPES or given().newer_types is not NewerTypes.NOT_RECORDED:
            yield kind


def _related(change: Change) -> set[ResourceKey]:
    """Return the subnets and the VPC that a route table is, or was, related to."""
    both = change.item["relationships"] + (change.previous["relationships"] if change.previous else [])
    return {
        (relationship["resourceType"], relationship["resourceId"])
        for relationship in both
        if relationship["resourceType"] in (SUBNET, VPC)
    }

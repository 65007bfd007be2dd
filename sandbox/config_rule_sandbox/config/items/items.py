"""Configuration items in the shape in which rule events carry them (version 1.3).

https://docs.aws.amazon.com/config/latest/developerguide/config-item-table.html names the components; the order of the
keys and the empty configurationStateMd5Hash are those of items that Config delivers.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from config_rule_sandbox.answers import ItemState, NewerItems, given
from config_rule_sandbox.config.items.kinds import DIRECTORY_BUCKET, NEWER_TYPES, SUBNET, Described, Kind, camel
from config_rule_sandbox.config.items.reading import Network
from config_rule_sandbox.config.items.relationships import Relationship, relationships_of

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ItemStyle:
    """The details in which configuration items differ by age and origin, so that tests can use each form.

    `explicit_nulls`: a missing value is null, else its key is missing. `state_as_object`: `state` is {"value": "..."}
    (as the query schema has it), else a string. `indirect_relationships`: subnets and VPCs have items where what they
    contain changed, which customers can have switched off
    (https://docs.aws.amazon.com/config/latest/developerguide/faq.html).
    """

    explicit_nulls: bool = True
    state_as_object: bool = False
    indirect_relationships: bool = True


@dataclass(frozen=True, slots=True)
class Recorded:
    """Whose items these are and how they look."""

    account_id: str
    region: str
    style: ItemStyle

    def item(self, kind: Kind, described: Described, network: Network, status: str, captured: str) -> Item:
        """Return the item of a resource that exists; `captured` is its capture time as Config writes it."""
        resource_id = described[kind.id_key]
        created = described.get(kind.created) if kind.created else None
        indirect = self.style.indirect_relationships
        related = relationships_of(network, kind.resource_type, described, indirect=indirect)
        return {
            **self._body(configuration(kind, described, self.style), related),
            "tags": {tag["Key"]: tag["Value"] for tag in described.get("Tags") or []},
            **self._head(kind, resource_id, status, captured),
            "availabilityZone": described["AvailabilityZone"] if kind.resource_type == SUBNET else kind.zone,
            "resourceCreationTime": timestamp(created) if created else None,
        }

    def deleted(self, kind: Kind, resource_id: str, captured: str) -> Item:
        """Return the item of a resource that is gone: it has neither configuration nor tags nor relationships."""
        return {
            **self._body(None, []),
            "tags": {},
            **self._head(kind, resource_id, "ResourceDeleted", captured),
            "availabilityZone": None,
            "resourceCreationTime": None,
        }

    def _body(self, configured: dict[str, Any] | None, related: list[Relationship]) -> Item:
        return {
            "relatedEvents": [],
            "relationships": related,
            "configuration": configured,
            "supplementaryConfiguration": {},
        }

    def _head(self, kind: Kind, resource_id: str, status: str, captured: str) -> Item:
        partition = "aws-cn" if self.region.startswith("cn-") else "aws"
        return {
            "configurationItemVersion": "1.3",
            "configurationItemCaptureTime": captured,
            "configurationStateId": round(datetime.fromisoformat(captured).timestamp() * 1000),
            "awsAccountId": self.account_id,
            "configurationItemStatus": status,
            "resourceType": kind.resource_type,
            "resourceId": resource_id,
            "resourceName": resource_id if kind.resource_type == DIRECTORY_BUCKET else None,
            "ARN": f"arn:{partition}:{kind.service}:{self.region}:{self.account_id}:{kind.arn}/{resource_id}",
            "awsRegion": self.region,
            "configurationStateMd5Hash": "",
        }


def configuration(kind: Kind, described: Described, style: ItemStyle) -> dict[str, Any]:
    """Return the `configuration` of an item: EC2's answer in camel case, cut to the keys that Config has."""
    if kind.resource_type in NEWER_TYPES and given().newer_items is not NewerItems.AS_IN_CLOUDFORMATION:
        return camel(described) if given().newer_items is NewerItems.AS_IN_EC2 else {}
    found = camel(described) if kind.keys[0][0].islower() else dict(described)
    for name in kind.milliseconds:
        if name in found:
            found[name] = round(found[name].timestamp() * 1000)
    for name, keys in kind.members.items():
        found[name] = [_with_keys(member, keys, style) for member in found.get(name, [])]
    if (style.state_as_object or given().item_state is ItemState.OBJECT) and "state" in found:
        found["state"] = {"value": found["state"]}
    return _with_keys(found, kind.keys, style)


def timestamp(moment: datetime) -> str:
    """Return a time as Config writes it: UTC, milliseconds, Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _with_keys(found: dict[str, Any], keys: tuple[str, ...], style: ItemStyle) -> dict[str, Any]:
    if style.explicit_nulls:
        return {name: found.get(name) for name in keys}
    return {name: found[name] for name in keys if found.get(name) is not None}

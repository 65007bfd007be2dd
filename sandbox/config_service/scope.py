"""The scope of a rule: which resources' changes invoke it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sandbox.config_items.items import Item
from sandbox.config_items.kinds import DIRECTORY_BUCKET, NAT_GATEWAY, ROUTE_TABLE, SUBNET, VPC_ENDPOINT

RESOURCE_TYPES = (ROUTE_TABLE, SUBNET, VPC_ENDPOINT, NAT_GATEWAY, DIRECTORY_BUCKET)


@dataclass(frozen=True)
class Scope:
    """Resource types; or one type and one resource of it; or a tag (key, and value unless that is None).

    No types at all stand for every type that is recorded.
    https://docs.aws.amazon.com/config/latest/APIReference/API_Scope.html
    """

    resource_types: Sequence[str] = RESOURCE_TYPES
    resource_id: str | None = None
    tag: tuple[str, str | None] | None = None

    def holds(self, item: Item) -> bool:
        """Return True if a resource is in scope, going by its configuration item."""
        if self.tag:
            key, value = self.tag
            return key in item["tags"] and value in (None, item["tags"][key])
        is_type = not self.resource_types or item["resourceType"] in self.resource_types
        return is_type and self.resource_id in (None, item["resourceId"])

    @classmethod
    def of(cls, definition: Mapping[str, Any]) -> Self:
        """Return the scope in a rule's definition, of which every member may be missing."""
        tag = definition.get("TagKey")
        return cls(
            tuple(definition.get("ComplianceResourceTypes") or ()),
            definition.get("ComplianceResourceId"),
            (tag, definition.get("TagValue")) if tag else None,
        )

    def definition(self) -> dict[str, Any]:
        """Return the Scope of PutConfigRule."""
        if self.tag:
            key, value = self.tag
            return {"TagKey": key} | ({} if value is None else {"TagValue": value})
        types = {"ComplianceResourceTypes": list(self.resource_types)}
        return types | ({} if self.resource_id is None else {"ComplianceResourceId": self.resource_id})

"""Transit gateway policy tables, which attachments can have in place of a route table.

https://docs.aws.amazon.com/vpc/latest/tgw/tgw-policy-tables-concepts.html
"""

from collections.abc import Callable
from typing import Any

from moto.core.responses import ActionResult
from moto.moto_api._internal import mock_random

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError, not_found
from config_rule_sandbox.ec2.transit_gateways.routes import table_of
from config_rule_sandbox.ec2.transit_gateways.visible import POLICY_TABLE, find

_MOST_ENTRIES = 50_000
_ANY = dict.fromkeys(
    ("SourceCidrBlock", "SourcePortRange", "DestinationCidrBlock", "DestinationPortRange", "Protocol"), "*"
)
"""What a rule matches that has no criteria."""


def _create(self: Moto) -> ActionResult:
    gateway_id = self._get_param("TransitGatewayId")
    if gateway_id not in list(self.ec2_backend.transit_gateways):
        raise not_found("InvalidTransitGatewayID.NotFound", "transitGateway", gateway_id)
    table_id = f"{POLICY_TABLE}-{mock_random.get_random_hex(17)}"
    _tables(self)[table_id] = {}
    described = {"TransitGatewayPolicyTableId": table_id, "TransitGatewayId": gateway_id, "State": "available"}
    return ActionResult({"TransitGatewayPolicyTable": described})


def _create_entry(self: Moto) -> ActionResult:
    number, target_id = self._get_param("PolicyRuleNumber"), self._get_param("TargetRouteTableId")
    if not (number.isdecimal() and 1 <= int(number) <= _MOST_ENTRIES):
        raise ApiError("InvalidParameterValue", f"Invalid policy rule number {number}")
    table_of(self.ec2_backend, target_id)
    rule = {**_ANY, **(self._get_param("PolicyRule") or {})}
    entry = {"PolicyRuleNumber": number, "PolicyRule": rule, "TargetRouteTableId": target_id, "State": "active"}
    _table(self)[int(number)] = entry
    return ActionResult({"TransitGatewayPolicyTableEntry": entry})


def _get_entries(self: Moto) -> ActionResult:
    return ActionResult({"TransitGatewayPolicyTableEntries": [entry for _, entry in sorted(_table(self).items())]})


def _associate(self: Moto) -> ActionResult:
    """Associate an attachment with a policy table; it can have no route table then."""
    _table(self)
    attachment = find(self.ec2_backend, self._get_param("TransitGatewayAttachmentId"))
    if attachment.associated_with:
        raise ApiError(
            "Resource.AlreadyAssociated", f"Transit Gateway Attachment {attachment.id} is already associated."
        )
    attachment.associated_with = self._get_param("TransitGatewayPolicyTableId")
    return ActionResult({"Association": {"TransitGatewayAttachmentId": attachment.id, "State": "associating"}})


def _tables(self: Moto) -> dict[str, dict[int, dict[str, Any]]]:
    """Return the entries of each policy table of the caller's own transit gateways."""
    found: dict[str, dict[int, dict[str, Any]]] = self.ec2_backend.__dict__.setdefault("policy_tables", {})
    return found


def _table(self: Moto) -> dict[int, dict[str, Any]]:
    table_id = self._get_param("TransitGatewayPolicyTableId")
    if table_id not in _tables(self):
        message = f"Transit Gateway Policy Table {table_id} was deleted or does not exist."
        raise ApiError("InvalidTransitGatewayPolicyTableId.NotFound", message)
    return _tables(self)[table_id]


POLICY_OPERATIONS: dict[str, Callable[[Moto], ActionResult]] = {
    "create_transit_gateway_policy_table": _create,
    "create_transit_gateway_policy_table_entry": _create_entry,
    "get_transit_gateway_policy_table_entries": _get_entries,
    "associate_transit_gateway_policy_table": _associate,
}
"""The operations, by the names of their methods."""

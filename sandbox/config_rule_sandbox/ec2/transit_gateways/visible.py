"""What an account sees of attachments to transit gateways: of its own VPCs, and to its own transit gateways."""

from typing import Any

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2 import lifecycle
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs

POLICY_TABLE = "tgw-ptb"
"""The prefix of the ids of policy tables."""


def find(backend: Moto, attachment_id: str) -> Moto:
    """Return an attachment that an account sees: of its VPCs and to its transit gateways."""
    attachment = backend.transit_gateway_attachments.get(attachment_id)
    if attachment is None or attachment.state == lifecycle.DELETED:
        message = f"Transit Gateway Attachment {attachment_id} was deleted or does not exist."
        raise ApiError("InvalidTransitGatewayAttachmentID.NotFound", message)
    return attachment


def asked_for(self: Moto, knobs: Knobs) -> list[Moto]:
    """Return the attachments that a request names, else all that its caller sees, after counting one description."""
    known = self.ec2_backend.transit_gateway_attachments
    for attachment in known.values():
        lifecycle.describe(attachment, knobs)
    wanted = self._get_param("TransitGatewayAttachmentIds", [])
    return [find(self.ec2_backend, one) for one in wanted] if wanted else list(known.values())


def described(backend: Moto, attachment: Moto) -> dict[str, Any]:
    """Return what an account sees of an attachment; its association only if it owns the transit gateway.

    Route tables, and with them associations, are for the owner of a transit gateway alone
    (https://docs.aws.amazon.com/vpc/latest/tgw/working-with-transit-gateways.html). Tags are each account's own.
    """
    owner_id = attachment.gateway_owner_id or attachment.owner_id
    seen = {
        "TransitGatewayAttachmentId": attachment.id,
        "TransitGatewayId": attachment.transit_gateway_id,
        "TransitGatewayOwnerId": owner_id,
        "ResourceOwnerId": attachment.resource_owner_id,
        "ResourceType": attachment.resource_type,
        "ResourceId": attachment.resource_id,
        "State": attachment.state,
        "CreationTime": attachment.creation_time,
        "Tags": [{"Key": key, "Value": value} for key, value in backend.tags.get(attachment.id, {}).items()],
    }
    if attachment.associated_with and attachment.state == lifecycle.AVAILABLE and owner_id == backend.account_id:
        is_policy = attachment.associated_with.startswith(POLICY_TABLE)
        field = "TransitGatewayPolicyTableId" if is_policy else "TransitGatewayRouteTableId"
        seen["Association"] = {field: attachment.associated_with, "State": "associated"}
    return seen


def described_vpc(backend: Moto, attachment: Moto) -> dict[str, Any]:
    """Return what an account sees of a VPC attachment: its subnets and options, too."""
    seen = described(backend, attachment)
    common = ("TransitGatewayAttachmentId", "TransitGatewayId", "State", "CreationTime", "Tags")
    return {
        **{name: seen[name] for name in common},
        "VpcId": attachment.vpc_id,
        "VpcOwnerId": attachment.resource_owner_id,
        "SubnetIds": attachment.subnet_ids,
        "Options": attachment.options,
    }

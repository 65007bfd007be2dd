"""Firewalls that are attached to a transit gateway instead of having endpoints in a VPC."""

from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends
from moto.ec2.models.transit_gateway_attachments import TransitGatewayAttachment
from moto.networkfirewall.responses import NetworkFirewallResponse

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2 import lifecycle
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patching.patches import Patches

ATTACHMENT_TYPE = "network-function"
"""The resource type of such an attachment (botocore model of ec2, TransitGatewayAttachmentResourceType)."""


def apply(patches: Patches, knobs: Knobs) -> None:
    """Let CreateFirewall attach a firewall to the transit gateway that it names; moto ignores TransitGatewayId.

    https://docs.aws.amazon.com/network-firewall/latest/developerguide/tgw-firewall.html
    """
    del knobs
    patches.wrap(NetworkFirewallResponse, "create_firewall", _creating_attachment)


def _creating_attachment(original: Moto) -> Moto:
    """Attach a firewall to the transit gateway that the request names."""

    def create_firewall(self: Moto) -> ActionResult:
        gateway_id = self._get_param("TransitGatewayId")
        backend = ec2_backends[self.current_account][self.region]
        gateway = backend.transit_gateways.get(gateway_id) if gateway_id else None
        if gateway_id and gateway is None:
            raise ApiError("InvalidRequestException", f"transit gateway {gateway_id} does not exist")
        answer: ActionResult = original(self)
        if gateway is not None:
            arn = f"arn:aws:network-firewall:{self.region}:{self.current_account}:firewall/"
            _attach(backend, gateway, arn + self._get_param("FirewallName"))
        return answer

    return create_firewall


def _attach(backend: Moto, gateway: Moto, firewall_arn: str) -> None:
    attachment: Moto = TransitGatewayAttachment(backend, firewall_arn, ATTACHMENT_TYPE, gateway)
    attachment.gateway_owner_id = gateway.owner_id
    backend.transit_gateway_attachments[attachment.id] = attachment
    lifecycle.start(attachment)

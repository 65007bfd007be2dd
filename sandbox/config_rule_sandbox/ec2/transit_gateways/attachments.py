"""Attachments of VPCs to transit gateways, over one account or two."""

from collections.abc import Callable

from moto.core.responses import ActionResult
from moto.ec2.models import ec2_backends
from moto.ec2.models.transit_gateway_attachments import TransitGatewayVpcAttachment

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2 import lifecycle
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.ec2.transit_gateways.filters import matching
from config_rule_sandbox.ec2.transit_gateways.routes import is_live
from config_rule_sandbox.ec2.transit_gateways.visible import asked_for, described, described_vpc, find

PENDING_ACCEPTANCE = "pendingAcceptance"
_Attachment: Moto = TransitGatewayVpcAttachment


def attachment_operations(knobs: Knobs) -> dict[str, Callable[[Moto], ActionResult]]:
    """Return the operations by the names of their methods; the knobs say how long an attachment stays pending."""

    def describe_transit_gateway_attachments(self: Moto) -> ActionResult:
        rows = [described(self.ec2_backend, attachment) for attachment in asked_for(self, knobs)]
        return ActionResult({"TransitGatewayAttachments": matching(self, rows)})

    def describe_transit_gateway_vpc_attachments(self: Moto) -> ActionResult:
        of_vpcs = [attachment for attachment in asked_for(self, knobs) if attachment.resource_type == "vpc"]
        rows = [described_vpc(self.ec2_backend, attachment) for attachment in of_vpcs]
        found = matching(self, rows)
        return ActionResult({"TransitGatewayVpcAttachments": found})

    return {
        "create_transit_gateway_vpc_attachment": _create_attachment,
        "accept_transit_gateway_vpc_attachment": _accept_attachment,
        "delete_transit_gateway_vpc_attachment": _delete_attachment,
        "describe_transit_gateway_attachments": describe_transit_gateway_attachments,
        "describe_transit_gateway_vpc_attachments": describe_transit_gateway_vpc_attachments,
    }


def _create_attachment(self: Moto) -> ActionResult:
    """Attach a VPC of the caller to a transit gateway of its own or a shared one.

    Where its owner does not accept attachments by itself, the attachment waits as pendingAcceptance
    (https://docs.aws.amazon.com/vpc/latest/tgw/acceptance-tgw-attach.html).
    """
    backend, parameters = self.ec2_backend, self.params
    gateway = backend.transit_gateways.get(parameters["TransitGatewayId"])
    if gateway is None:
        message = f"Transit Gateway {parameters['TransitGatewayId']} was deleted or does not exist."
        raise ApiError("InvalidTransitGatewayID.NotFound", message)
    vpc = backend.get_vpc(parameters["VpcId"])
    _refuse_second(backend, gateway, vpc.id)
    _check_subnets(backend, vpc.id, parameters.get("SubnetIds", []))
    specifications = parameters.get("TagSpecifications", [])
    tags = {tag["Key"]: tag["Value"] for specification in specifications for tag in specification.get("Tags", [])}
    options = parameters.get("Options", {})
    attachment = _Attachment(backend, gateway, vpc.id, [*parameters["SubnetIds"]], tags, options)
    attachment.gateway_owner_id = gateway.owner_id
    backend.transit_gateway_attachments[attachment.id] = attachment
    _of_owner(attachment).transit_gateway_attachments[attachment.id] = attachment
    if gateway.owner_id != backend.account_id and gateway.options["AutoAcceptSharedAttachments"] != "enable":
        attachment.state = PENDING_ACCEPTANCE
    else:
        _begin(attachment, gateway)
    return ActionResult({"TransitGatewayVpcAttachment": described_vpc(backend, attachment)})


def _begin(attachment: Moto, gateway: Moto) -> None:
    """Let an attachment become available, associated and propagating as the transit gateway's defaults say."""
    lifecycle.start(attachment)
    tables = _of_owner(attachment).transit_gateways_route_tables
    if gateway.options["DefaultRouteTableAssociation"] == "enable":
        attachment.associated_with = gateway.options["AssociationDefaultRouteTableId"]
    if gateway.options["DefaultRouteTablePropagation"] == "enable":
        table = tables[gateway.options["PropagationDefaultRouteTableId"]]
        table.__dict__.setdefault("propagating", []).append(attachment.id)


def _of_owner(attachment: Moto) -> Moto:
    return ec2_backends[attachment.gateway_owner_id][attachment.ec2_backend.region_name]


def _refuse_second(backend: Moto, gateway: Moto, vpc_id: str) -> None:
    for other in backend.transit_gateway_attachments.values():
        if (other.transit_gateway_id, other.resource_id) == (gateway.id, vpc_id) and is_live(other):
            message = f"{gateway.id} has non-deleted Transit Gateway Attachments with same VPC ID."
            raise ApiError("DuplicateTransitGatewayAttachment", message)


def _check_subnets(backend: Moto, vpc_id: str, subnet_ids: list[str]) -> None:
    """Refuse subnets of other VPCs, and more than one in a zone.

    https://docs.aws.amazon.com/vpc/latest/tgw/how-transit-gateways-work.html, "Availability Zones".
    """
    subnets = [backend.get_subnet(subnet_id) for subnet_id in subnet_ids]
    if not subnets:
        raise ApiError("MissingParameter", "The request must contain the parameter SubnetIds")
    for subnet in subnets:
        if subnet.vpc_id != vpc_id:
            raise ApiError("InvalidParameterValue", f"{subnet.id} is not in {vpc_id}")
    zones = [subnet.availability_zone for subnet in subnets]
    if len(set(zones)) < len(zones):
        raise ApiError("DuplicateSubnetsInSameZone", "Subnets specified in the request are in the same zone")


def _accept_attachment(self: Moto) -> ActionResult:
    """Accept an attachment that waits for it. IncorrectState otherwise; only the transit gateway's owner may."""
    backend = self.ec2_backend
    attachment = find(backend, self._get_param("TransitGatewayAttachmentId"))
    if attachment.state != PENDING_ACCEPTANCE or attachment.gateway_owner_id != backend.account_id:
        raise ApiError("IncorrectState", f"{attachment.id} is in invalid state")
    _begin(attachment, backend.transit_gateways[attachment.transit_gateway_id])
    return ActionResult({"TransitGatewayVpcAttachment": described_vpc(backend, attachment)})


def _delete_attachment(self: Moto) -> ActionResult:
    """Delete an attachment; its association and propagations go with it, its description stays a while."""
    backend = self.ec2_backend
    attachment = find(backend, self._get_param("TransitGatewayAttachmentId"))
    lifecycle.delete(attachment)
    attachment.associated_with = None
    for table in _of_owner(attachment).transit_gateways_route_tables.values():
        kept = [
            attachment_id for attachment_id in table.__dict__.get("propagating", []) if attachment_id != attachment.id
        ]
        table.propagating = kept
    return ActionResult({"TransitGatewayVpcAttachment": described_vpc(backend, attachment)})

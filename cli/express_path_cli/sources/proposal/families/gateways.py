"""NAT gateways, internet gateways, and other gateways that routes lead to."""

from collections.abc import Sequence

from express_path.domain.network.resources import NatGateway, TargetKind, target_kind
from express_path_cli.sources.proposal.draft import Draft
from express_path_cli.sources.proposal.resource import Action, Possible, Resource

_KINDS = {
    "aws_internet_gateway": TargetKind.INTERNET_GATEWAY,
    "aws_vpn_gateway": TargetKind.VIRTUAL_PRIVATE_GATEWAY,
}
_ATTACHMENTS = {
    "aws_internet_gateway_attachment": "internet_gateway_id",
    "aws_vpn_gateway_attachment": "vpn_gateway_id",
}
"""The attachments of gateways to VPCs, and the argument that names the gateway."""
_TARGETS = (
    *("aws_nat_gateway", "aws_egress_only_internet_gateway", "aws_ec2_carrier_gateway", "aws_vpc_peering_connection"),
    "aws_vpn_connection",
)
TYPES = frozenset({*_KINDS, *_ATTACHMENTS, *_TARGETS})


def remove(draft: Draft, resource: Resource) -> None:
    """Remove the attachment of a gateway: routes to it become blackholes."""
    before = resource.before
    attached = _ATTACHMENTS.get(resource.type)
    if attached:
        draft.gone.add(before.text(attached))
    is_moved = before.text("vpc_id") not in ("", resource.after.one("vpc_id"))
    if resource.type in _KINDS and resource.action is Action.UPDATE and is_moved:
        draft.gone.add(resource.id)


def add(draft: Draft, resources: Sequence[Resource]) -> None:
    """Add gateways."""
    for resource in resources:
        if resource.type in _KINDS:
            draft.gateway_kinds[resource.id] = _KINDS[resource.type]
        elif resource.type == "aws_nat_gateway":
            _add_nat(draft, resource)


def _add_nat(draft: Draft, resource: Resource) -> None:
    after = resource.after
    subnet = after.named("subnet_id")
    vpc_ids = {draft.subnets[one].vpc_id for one in subnet.among(draft.subnets)}
    draft.nats[resource.id] = NatGateway(
        id=resource.id,
        vpc_id=vpc_ids.pop() if len(vpc_ids) == 1 and not subnet.is_open else after.text("vpc_id"),
        subnet_id=subnet.certain,
        connectivity=after.text("connectivity_type") or "public",
        availability_mode=after.text("availability_mode") or "zonal",
    )


def gateway_kind(draft: Draft, found: Possible) -> TargetKind:
    """Return the kind of all gateways that a value may name, UNKNOWN if they differ."""
    kinds = {draft.gateway_kinds.get(one) or target_kind(one) for one in found.ids}
    return kinds.pop() if len(kinds) == 1 and not found.is_open else TargetKind.UNKNOWN

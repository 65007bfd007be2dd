"""NAT gateways, internet gateways, and other gateways that routes lead to."""

from express_path.domain.network.resources import NatGateway, TargetKind, target_kind
from express_path_cli.sources.change.changed_network import ChangedNetwork, add_nothing
from express_path_cli.sources.change.resource import Action, Possible, Resource

_KINDS = {
    "aws_internet_gateway": TargetKind.INTERNET_GATEWAY,
    "aws_vpn_gateway": TargetKind.VIRTUAL_PRIVATE_GATEWAY,
}
_ATTACHMENTS = ("aws_internet_gateway_attachment", "aws_vpn_gateway_attachment")


def _detach(network: ChangedNetwork, resource: Resource) -> None:
    """Let AWS drop what is routed to a gateway that loses its VPC."""
    network.gone.add(resource.before.text("internet_gateway_id") or resource.before.text("vpn_gateway_id"))


def _move(network: ChangedNetwork, resource: Resource) -> None:
    is_moved = resource.before.text("vpc_id") not in ("", resource.after.one("vpc_id"))
    if resource.action is Action.UPDATE and is_moved:
        network.gone.add(resource.id)


def _add_gateway(network: ChangedNetwork, resource: Resource) -> None:
    network.gateway_kinds[resource.id] = _KINDS[resource.type]


def _add_nat(network: ChangedNetwork, resource: Resource) -> None:
    after = resource.after
    subnet = after.named("subnet_id")
    vpc_ids = {network.records.subnets[subnet_id].vpc_id for subnet_id in subnet.among(network.records.subnets)}
    nat = NatGateway(
        id=resource.id,
        vpc_id=vpc_ids.pop() if len(vpc_ids) == 1 and not subnet.is_open else after.text("vpc_id"),
        subnet_id=subnet.certain,
        connectivity=after.text("connectivity_type") or "public",
        availability_mode=after.text("availability_mode") or "zonal",
    )
    network.put(
        network.records.nats,
        resource,
        nat,
        vpc_id="subnet_id",
        subnet_id="subnet_id",
        connectivity="connectivity_type",
        availability_mode="availability_mode",
    )


def gateway_kind(network: ChangedNetwork, found: Possible) -> TargetKind:
    """Return the kind of all gateways that a value may name, UNKNOWN if they differ."""
    kinds = {network.gateway_kinds.get(one) or target_kind(one) for one in found.ids}
    return kinds.pop() if len(kinds) == 1 and not found.is_open else TargetKind.UNKNOWN


ADD = {
    **dict.fromkeys(_KINDS, _add_gateway),
    "aws_nat_gateway": _add_nat,
    **dict.fromkeys(
        (
            *_ATTACHMENTS,
            *("aws_egress_only_internet_gateway", "aws_ec2_carrier_gateway", "aws_vpc_peering_connection"),
            "aws_vpn_connection",
        ),
        add_nothing,
    ),
}
REMOVE = {**dict.fromkeys(_ATTACHMENTS, _detach), **dict.fromkeys(_KINDS, _move)}

"""Network interfaces and instances, which may forward traffic."""

from collections.abc import Sequence

from express_path.domain.network.resources import NetworkInterface
from express_path_cli.sources.proposal.draft import Draft, certain_or
from express_path_cli.sources.proposal.resource import GONE, Action, Resource

TYPES = frozenset({"aws_network_interface", "aws_instance", "aws_network_interface_attachment"})
"""An attachment changes no interface: what decides is the subnet, and whether the source and destination are checked."""


def remove(draft: Draft, resource: Resource) -> None:
    """Remove an interface, or the primary one of an instance."""
    if resource.action in GONE:
        interface_id = resource.before.text("primary_network_interface_id") or resource.id_before
        draft.interfaces.pop(interface_id, None)
        draft.gone.add(interface_id)


def add(draft: Draft, resources: Sequence[Resource]) -> None:
    """Add interfaces, and the primary ones of instances that bring none of their own."""
    for resource in resources:
        if resource.type == "aws_network_interface_attachment":
            continue
        after = resource.after
        is_instance = resource.type == "aws_instance"
        interface_id = resource.made("primary_network_interface_id") if is_instance else resource.id
        has_it = interface_id in draft.interfaces and resource.action is Action.KEEP
        if has_it or (is_instance and after.values.get("network_interface")):
            continue
        checks = after.is_unknown("source_dest_check") or after.known("source_dest_check") is not False
        subnet_id = certain_or(after.named("subnet_id"), after.unknown("subnet_id"))
        draft.interfaces[interface_id] = NetworkInterface(interface_id, subnet_id, checks, resource.id)

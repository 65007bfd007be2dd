"""Network interfaces and instances, which may forward traffic."""

from collections.abc import Sequence

from express_path.domain.network.resources import NetworkInterface
from express_path_cli.sources.proposal.draft import Draft
from express_path_cli.sources.proposal.resource import Resource

TYPES = frozenset({"aws_network_interface", "aws_instance", "aws_network_interface_attachment"})
"""An attachment changes no interface: what decides is the subnet, and whether the source and destination are checked."""


def remove(_: Draft, __: Resource) -> None:
    """Remove nothing but what the id of a resource names."""


def add(draft: Draft, resources: Sequence[Resource]) -> None:
    """Add interfaces, and the primary ones of instances that bring none of their own."""
    for resource in resources:
        after = resource.after
        is_instance = resource.type == "aws_instance"
        if resource.type == "aws_network_interface_attachment" or (
            is_instance and after.values.get("network_interface")
        ):
            continue
        interface_id = resource.made("primary_network_interface_id") if is_instance else resource.id
        checks = after.is_unknown("source_dest_check") or after.known("source_dest_check") is not False
        draft.interfaces[interface_id] = NetworkInterface(interface_id, after.one("subnet_id"), checks, resource.id)

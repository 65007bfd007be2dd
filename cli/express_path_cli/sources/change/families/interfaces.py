"""Network interfaces and instances, which may forward traffic."""

from collections.abc import Mapping

from express_path.domain.network.resources import NetworkInterface
from express_path_cli.sources.change.changed_network import ChangedNetwork, Effect, add_nothing
from express_path_cli.sources.change.resource import Resource


def _add(network: ChangedNetwork, resource: Resource) -> None:
    """Add an interface, or the primary one of an instance that brings none of its own."""
    after = resource.after
    is_instance = resource.type == "aws_instance"
    if is_instance and after.values.get("network_interface"):
        return
    interface_id = resource.made("primary_network_interface_id") if is_instance else resource.id
    checks = after.is_unknown("source_dest_check") or after.known("source_dest_check") is not False
    network.interfaces[interface_id] = NetworkInterface(interface_id, after.one("subnet_id"), checks, resource.id)


ADD = {
    "aws_network_interface": _add,
    "aws_instance": _add,
    # What decides is the subnet, and whether the source and destination are checked.
    "aws_network_interface_attachment": add_nothing,
}
REMOVE: Mapping[str, Effect] = {}

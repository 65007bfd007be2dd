"""Network interfaces and instances, which may forward traffic."""

from collections.abc import Mapping
from dataclasses import replace

from express_path.domain.network.resources import NetworkInterface
from express_path_cli.sources.change.changed_network import ChangedNetwork, Effect, add_nothing
from express_path_cli.sources.change.resource import Resource

_CHECK = "source_dest_check"


def _add(network: ChangedNetwork, resource: Resource) -> None:
    """Add an interface."""
    network.put(
        network.records.interfaces,
        resource,
        NetworkInterface(resource.id, resource.after.one("subnet_id"), _checks(resource), resource.id),
        subnet_id="subnet_id",
        source_dest_check="source_dest_check",
    )


def _checks(resource: Resource) -> bool:
    """Return whether the source and the destination are checked, which AWS does by default."""
    return resource.after.is_unknown(_CHECK) or resource.after.known(_CHECK) is not False


def _add_instance(network: ChangedNetwork, resource: Resource) -> None:
    """Add the primary interface of an instance, which may be a resource of its own."""
    records, primary_id = network.records.interfaces, resource.made("primary_network_interface_id")
    interfaces = [*resource.after.blocks("network_interface"), *resource.after.blocks("primary_network_interface")]
    if not interfaces and not resource.after.has_unknown_blocks("network_interface"):
        interface = NetworkInterface(primary_id, resource.after.one("subnet_id"), _checks(resource), resource.id)
        known = records.get(primary_id)
        if known is None:
            records[primary_id] = interface
        elif resource.changes(_CHECK):
            records[primary_id] = replace(known, source_dest_check=interface.source_dest_check)
        return
    for arguments in interfaces:
        interface_id = arguments.named("network_interface_id").certain
        if interface_id in records and str(arguments.known("device_index") or 0) == "0":
            records[interface_id] = replace(records[interface_id], instance_id=resource.id, device_index=0)
            network.same[primary_id] = interface_id


ADD = {
    "aws_network_interface": _add,
    "aws_instance": _add_instance,
    # What decides is the subnet, and whether the source and destination are checked.
    "aws_network_interface_attachment": add_nothing,
}
REMOVE: Mapping[str, Effect] = {}

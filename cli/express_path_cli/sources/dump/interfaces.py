"""Read the network interfaces of a dump. EC2 lists all those of the account, and a scan needs only a few of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from express_path.adapters.ec2_records import network_interface
from express_path.adapters.fields import Description
from express_path.domain.network.resources import NetworkInterface, target_ids
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.network.targets import TargetKind
from express_path.errors import DumpError, RecordError
from express_path_cli.sources.dump import files


@dataclass(frozen=True, slots=True)
class Incomplete:
    """A network interface that cannot be read, and why. An ID is None if it cannot be read either."""

    interface_id: str | None
    instance_id: str | None
    fault: DumpError


@dataclass(frozen=True, slots=True)
class DumpedInterfaces:
    """The network interfaces of one folder by ID, or None if unknown, and the incomplete ones."""

    complete: Mapping[str, NetworkInterface] | None
    incomplete: Sequence[Incomplete] = ()


def read_interfaces(folder: Path) -> DumpedInterfaces:
    """Read the network interfaces of one folder. Raise DumpError if the file is malformed."""
    described = files.read_optional(folder, files.NETWORK_INTERFACES)
    if described is None:
        return DumpedInterfaces(None)
    path = folder / files.NETWORK_INTERFACES.name
    complete, incomplete = [], []
    for description in described:
        try:
            complete.append(network_interface(description))
        except RecordError as error:
            incomplete.append(_incomplete(description, files.record_fault(path, error)))
    return DumpedInterfaces(files.by_id(path, complete), incomplete)


def _incomplete(description: Description, fault: DumpError) -> Incomplete:
    attachment = description.get("Attachment")
    instance_id = attachment.get("InstanceId") if isinstance(attachment, Mapping) else None
    interface_id = description.get("NetworkInterfaceId")
    return Incomplete(
        interface_id if isinstance(interface_id, str) else None,
        instance_id if isinstance(instance_id, str) else None,
        fault,
    )


def check_used(network: Snapshot, incomplete: Iterable[Incomplete]) -> None:
    """Raise DumpError for an incomplete interface that a route uses and that no folder describes completely.

    One without an ID may be any interface that a route uses and that no folder describes.
    """
    tables = network.route_tables.values()
    used = {*target_ids(tables, TargetKind.NETWORK_INTERFACE), *target_ids(tables, TargetKind.INSTANCE)}
    complete = network.network_interfaces or {}
    missing = used - {*complete, *(interface.instance_id for interface in complete.values())}
    for interface in incomplete:
        if interface.interface_id is None and missing:
            raise interface.fault
        if interface.interface_id not in complete and used & {interface.interface_id, interface.instance_id}:
            raise interface.fault

"""The network interfaces of a dump. EC2 lists every interface of the account, and a scan needs only a few of them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from express_path.adapters.ec2_records import network_interface
from express_path.adapters.fields import Description
from express_path.adapters.hop_reader import targets
from express_path.domain.network.resources import NetworkInterface
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.network.targets import TargetKind
from express_path.errors import DumpError, RecordError
from express_path_cli.dump import files


class Incomplete(NamedTuple):
    """A network interface that cannot be read, and why; an id is None where not even that is known."""

    interface_id: str | None
    instance_id: str | None
    fault: DumpError


class DumpedInterfaces(NamedTuple):
    """The network interfaces of one folder by id, None where the file is not readable, and the incomplete ones."""

    complete: Mapping[str, NetworkInterface] | None
    incomplete: Sequence[Incomplete] = ()


def read_interfaces(folder: Path) -> DumpedInterfaces:
    """The network interfaces of one folder. Raises DumpError where the file is malformed."""
    described = files.read_optional(folder, files.NETWORK_INTERFACES)
    if described is None:
        return DumpedInterfaces(None)
    path = folder / files.NETWORK_INTERFACES.name
    complete, incomplete = [], []
    for each in described:
        try:
            complete.append(network_interface(each))
        except RecordError as error:
            incomplete.append(_incomplete(each, files.record_fault(path, error)))
    return DumpedInterfaces(files.by_id(path, complete), incomplete)


def _incomplete(description: Description, fault: DumpError) -> Incomplete:
    attachment = description.get("Attachment")
    instance_id = attachment.get("InstanceId") if isinstance(attachment, Mapping) else None
    found = [each if isinstance(each, str) else None for each in (description.get("NetworkInterfaceId"), instance_id)]
    return Incomplete(found[0], found[1], fault)


def check_used(network: Snapshot, incomplete: Iterable[Incomplete]) -> None:
    """Raise DumpError for an incomplete interface that a route of the network uses and that no folder describes wholly.

    Without an id, it may be any interface that a route uses and no folder describes.
    """
    tables = network.route_tables.values()
    used = {*targets(tables, TargetKind.NETWORK_INTERFACE), *targets(tables, TargetKind.INSTANCE)}
    complete = network.network_interfaces or {}
    missing = used - {*complete, *(each.instance_id for each in complete.values())}
    for each in incomplete:
        if each.interface_id is None and missing:
            raise each.fault
        if each.interface_id not in complete and used & {each.interface_id, each.instance_id}:
            raise each.fault

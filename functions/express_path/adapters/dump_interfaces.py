"""The network interfaces of a dump. EC2 lists every interface of the account, and a scan needs only a few of them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from express_path.adapters import dump_files as files
from express_path.adapters.ec2_records import network_interface
from express_path.adapters.fields import Description
from express_path.adapters.hop_reader import targets
from express_path.domain.network import NetworkInterface
from express_path.domain.snapshot import Snapshot
from express_path.domain.targets import TargetKind
from express_path.errors import DumpError, RecordError


class Incomplete(NamedTuple):
    """A network interface that cannot be read: the ids by which a route may name it, none if unknown, and its fault."""

    ids: frozenset[str]
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
            incomplete.append(Incomplete(_ids(each), files.record_fault(path, error)))
    return DumpedInterfaces(files.by_id(path, complete), incomplete)


def _ids(description: Description) -> frozenset[str]:
    """The ids of an interface and of the instance it is attached to, as far as they are there."""
    attachment = description.get("Attachment")
    instance_id = attachment.get("InstanceId") if isinstance(attachment, Mapping) else None
    return frozenset(each for each in (description.get("NetworkInterfaceId"), instance_id) if isinstance(each, str))


def check_used(network: Snapshot, incomplete: Iterable[Incomplete]) -> None:
    """Raise DumpError for an incomplete interface that a route of the network uses and that no folder describes wholly.

    Without any id, it may be every interface that a route uses and no folder describes.
    """
    tables = network.route_tables.values()
    used = {*targets(tables, TargetKind.NETWORK_INTERFACE), *targets(tables, TargetKind.INSTANCE)}
    complete = (network.network_interfaces or {}).values()
    missing = used - {each.id for each in complete} - {each.instance_id for each in complete}
    for each in incomplete:
        if missing & each.ids or (missing and not each.ids):
            raise each.fault

"""Reading a dump: a folder for one account and Region, or such folders side by side, into snapshots."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from express_path.adapters import dump_files as files
from express_path.adapters.ec2_records import nat_gateway, network_interface, route_table, subnet, vpc, vpc_endpoint
from express_path.adapters.fields import Description, Record, text
from express_path.adapters.prefix_list_records import entry_blocks, prefix_lists
from express_path.adapters.transit_gateway_records import attachments, transit_gateway_route_table
from express_path.domain.merging import merged
from express_path.domain.network import NetworkInterface, PrefixList, TransitGatewayAttachment, TransitGatewayRouteTable
from express_path.domain.snapshot import Snapshot
from express_path.domain.verdict import Account
from express_path.errors import DumpError, RecordError


class DumpedAccount(NamedTuple):
    """One account's folder: for whom it was made, and the subnets it lists."""

    account: Account
    subnet_ids: tuple[str, ...]


class DumpedRegion(NamedTuple):
    """The whole network of one Region, as all accounts of the dump together show it, and those accounts."""

    network: Snapshot
    accounts: tuple[DumpedAccount, ...]


def read_dump(folder: Path) -> list[DumpedRegion]:
    """Read a dump of one or several accounts and Regions; the folders of one Region are one network.

    Raises DumpError naming the file and its fault.
    """
    with _collector_paused():
        return _read_regions(_folders(folder))


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Let the garbage collector alone: walking what is read, none of it garbage, takes longer than reading it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read_regions(folders: Sequence[Path]) -> list[DumpedRegion]:
    read: dict[tuple[str, str], tuple[Path, Snapshot]] = {}
    for each in folders:
        snapshot = _read_folder(each)
        region_and_account = (snapshot.region, snapshot.account_id)
        if region_and_account in read:
            other = read[region_and_account][0]
            fault = f"holds account {snapshot.account_id} in {snapshot.region}, as {other} does"
            raise DumpError(str(each), fault, "keep one of the two")
        read[region_and_account] = (each, snapshot)
    regions = sorted({region for region, _ in read})
    return [_region([read[key][1] for key in sorted(read) if key[0] == region]) for region in regions]


def _region(snapshots: Sequence[Snapshot]) -> DumpedRegion:
    accounts = (
        DumpedAccount(Account(each.account_id, each.has_directory_buckets), tuple(each.subnets)) for each in snapshots
    )
    return DumpedRegion(merged(snapshots), tuple(accounts))


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise DumpError(str(folder), "there is no such folder", "name the folder that express-path collect wrote")
    known = {files.ENTRIES_FOLDER, files.ROUTES_FOLDER}
    below = sorted(
        each for each in folder.iterdir() if each.is_dir() and each.name not in known and not each.name.startswith(".")
    )
    here = [each.name for each in (*files.REQUIRED,) if (folder / each.name).exists()]
    if not here and not (folder / files.IDENTITY).exists():
        if below:
            return below
        raise DumpError(str(folder), "holds no dump", "make one with: express-path collect " + str(folder))
    mixed = [each for each in below if (each / files.IDENTITY).exists()]
    if mixed:
        raise DumpError(str(folder), f"is a dump and also holds one, {mixed[0].name}", "keep them side by side")
    return [folder]


def _read_folder(folder: Path) -> Snapshot:
    account_id, region = _identity(folder)
    buckets = files.read_optional(folder, files.DIRECTORY_BUCKETS)
    return Snapshot(
        account_id=account_id,
        region=region,
        vpcs=_required(folder, files.VPCS, vpc),
        subnets=_required(folder, files.SUBNETS, subnet),
        route_tables=_required(folder, files.ROUTE_TABLES, route_table),
        vpc_endpoints=_required(folder, files.VPC_ENDPOINTS, vpc_endpoint),
        nat_gateways=_required(folder, files.NAT_GATEWAYS, nat_gateway),
        prefix_lists=_prefix_lists(folder),
        network_interfaces=_network_interfaces(folder),
        transit_gateway_attachments=_attachments(folder),
        transit_gateway_route_tables=_transit_gateway_route_tables(folder),
        has_directory_buckets=None if buckets is None else bool(buckets),
    )


def _identity(folder: Path) -> tuple[str, str]:
    path = folder / files.IDENTITY
    command = 'aws sts get-caller-identity, plus "Region"'
    identity = files.read_response(path, command)
    if identity is None:
        raise DumpError(str(path), "this required file is missing or empty", f"make it with: {command}")
    with _faults_of(path):
        return text(identity, "Account", files.IDENTITY), text(identity, "Region", files.IDENTITY)


def _required(folder: Path, file: files.DumpFile, reader: Callable[[Description], Record]) -> dict[str, Record]:
    with _faults_of(folder / file.name):
        return {record.id: record for record in map(reader, files.read_required(folder, file))}


@contextmanager
def _faults_of(path: Path) -> Iterator[None]:
    """Name the file beside the resource and field at fault."""
    try:
        yield
    except RecordError as error:
        raise DumpError(str(path), str(error), "dumps hold the unmodified output of the AWS CLI") from error


def _prefix_lists(folder: Path) -> dict[str, PrefixList]:
    """The lists of three calls joined; each is read by itself first, so that a fault is told of its own file."""
    plain = files.read_required(folder, files.PREFIX_LISTS)
    managed = files.read_optional(folder, files.MANAGED_PREFIX_LISTS) or []
    responses = files.read_folder(folder / files.ENTRIES_FOLDER, "Entries", files.ENTRIES_COMMAND)
    entries = {list_id: response["Entries"] for list_id, response in responses.items()}
    with _faults_of(folder / files.PREFIX_LISTS.name):
        prefix_lists(plain)
    with _faults_of(folder / files.MANAGED_PREFIX_LISTS.name):
        prefix_lists([], managed)
    for list_id, listed in entries.items():
        with _faults_of(folder / files.ENTRIES_FOLDER / f"{list_id}.json"):
            entry_blocks(listed, list_id)
    return prefix_lists(plain, managed, entries)


def _network_interfaces(folder: Path) -> dict[str, NetworkInterface] | None:
    described = files.read_optional(folder, files.NETWORK_INTERFACES)
    if described is None:
        return None
    with _faults_of(folder / files.NETWORK_INTERFACES.name):
        return {record.id: record for record in map(network_interface, described)}


def _attachments(folder: Path) -> dict[str, TransitGatewayAttachment] | None:
    described = files.read_optional(folder, files.ATTACHMENTS)
    of_vpcs = files.read_optional(folder, files.VPC_ATTACHMENTS)
    if described is None and of_vpcs is None:
        return None
    with _faults_of(folder / files.ATTACHMENTS.name):
        attachments(described or [], [])
    with _faults_of(folder / files.VPC_ATTACHMENTS.name):
        return attachments(described or [], of_vpcs or [])


def _transit_gateway_route_tables(folder: Path) -> dict[str, TransitGatewayRouteTable] | None:
    files.read_optional(folder, files.TRANSIT_GATEWAY_ROUTE_TABLES)  # tells no more than the routes, but must be sound
    responses = files.read_folder(folder / files.ROUTES_FOLDER, "Routes", files.ROUTES_COMMAND)
    tables = {}
    for table_id, response in responses.items():
        with _faults_of(folder / files.ROUTES_FOLDER / f"{table_id}.json"):
            tables[table_id] = transit_gateway_route_table(table_id, response)
    return tables or None

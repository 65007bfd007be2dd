"""One folder of a dump into the network of one account and Region."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from express_path.adapters import dump_files as files
from express_path.adapters.ec2_records import nat_gateway, network_interface, route_table, subnet, vpc, vpc_endpoint
from express_path.adapters.fields import Description, Record, text
from express_path.adapters.prefix_list_records import entry_blocks, prefix_lists
from express_path.adapters.transit_gateway_records import attachments, transit_gateway_route_table
from express_path.domain.network import NetworkInterface, PrefixList, TransitGatewayAttachment, TransitGatewayRouteTable
from express_path.domain.snapshot import Snapshot
from express_path.errors import DumpError, RecordError

_ACCOUNT = re.compile(r"[0-9]{12}")
_REGION = re.compile(r"[a-z]+(-[a-z]+)+-[0-9]+")


def read_folder(folder: Path) -> Snapshot:
    """The network of one account and Region. Raises DumpError naming the file and its fault."""
    account_id, region = _identity(folder)
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
        has_directory_buckets=_has_directory_buckets(folder),
    )


def _identity(folder: Path) -> tuple[str, str]:
    path = folder / files.IDENTITY
    command = 'aws sts get-caller-identity, plus "Region"'
    identity = files.read_response(path, command)
    if identity is None:
        raise DumpError(str(path), "this required file is missing or empty", f"make it with: {command}")
    with _faults_of(path):
        return (
            _spelt(identity, "Account", _ACCOUNT, "an account's id of 12 digits"),
            _spelt(identity, "Region", _REGION, "a Region's name such as us-east-1"),
        )


def _spelt(identity: Description, field: str, pattern: re.Pattern[str], allowed: str) -> str:
    found = text(identity, field, files.IDENTITY)
    if not pattern.fullmatch(found):
        raise RecordError(files.IDENTITY, field, found, allowed)
    return found


def _required(folder: Path, file: files.DumpFile, reader: Callable[[Description], Record]) -> dict[str, Record]:
    path = folder / file.name
    with _faults_of(path):
        return _by_id(path, map(reader, files.read_required(folder, file)))


def _by_id(path: Path, records: Iterable[Record]) -> dict[str, Record]:
    """Records by id; pages may overlap, but what is described in two ways is known in none."""
    found: dict[str, Record] = {}
    for record in records:
        if found.setdefault(record.id, record) != record:
            raise DumpError(str(path), f"describes {record.id} twice, and not alike", "make it again by one call")
    return found


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
    path = folder / files.PREFIX_LISTS.name
    with _faults_of(path):
        _by_id(path, (prefix_lists([each]).popitem()[1] for each in plain))
    path = folder / files.MANAGED_PREFIX_LISTS.name
    with _faults_of(path):
        _by_id(path, (prefix_lists([], [each]).popitem()[1] for each in managed))
    for list_id, listed in entries.items():
        with _faults_of(folder / files.ENTRIES_FOLDER / f"{list_id}.json"):
            entry_blocks(listed, list_id)
    return prefix_lists(plain, managed, entries)


def _has_directory_buckets(folder: Path) -> bool | None:
    """Whether there are any; ListBuckets has the same field for other buckets, and an Owner besides.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListBuckets.html
    """
    file = files.DIRECTORY_BUCKETS
    buckets = files.read_optional(folder, file)
    if buckets is None:
        return None
    path = folder / file.name
    if "Owner" in (files.read_response(path, file.command) or {}):
        fault = "holds an Owner, so it is the output of aws s3api list-buckets"
        raise DumpError(str(path), fault, f"make it again with: {file.command} > {file.name}")
    return bool(buckets)


def _network_interfaces(folder: Path) -> dict[str, NetworkInterface] | None:
    described = files.read_optional(folder, files.NETWORK_INTERFACES)
    if described is None:
        return None
    path = folder / files.NETWORK_INTERFACES.name
    with _faults_of(path):
        return _by_id(path, map(network_interface, described))


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

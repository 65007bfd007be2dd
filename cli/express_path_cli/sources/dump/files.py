"""The files of a dump: unmodified JSON output of the AWS CLI, one file per call, read strictly."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from express_path.adapters.fields import Description, Record, are_objects
from express_path.errors import DumpError, RecordError
from express_path_cli.terminal.files import RepeatedKeyError, without_repeated_keys


@dataclass(frozen=True, slots=True)
class DumpFile:
    """One file of a dump: its name, the list that it must contain, and the AWS CLI command that creates it."""

    name: str
    field: str
    command: str


VPCS = DumpFile("vpcs.json", "Vpcs", "aws ec2 describe-vpcs")
SUBNETS = DumpFile("subnets.json", "Subnets", "aws ec2 describe-subnets")
ROUTE_TABLES = DumpFile("route-tables.json", "RouteTables", "aws ec2 describe-route-tables")
VPC_ENDPOINTS = DumpFile("vpc-endpoints.json", "VpcEndpoints", "aws ec2 describe-vpc-endpoints")
NAT_GATEWAYS = DumpFile("nat-gateways.json", "NatGateways", "aws ec2 describe-nat-gateways")
PREFIX_LISTS = DumpFile("prefix-lists.json", "PrefixLists", "aws ec2 describe-prefix-lists")
REQUIRED = (VPCS, SUBNETS, ROUTE_TABLES, VPC_ENDPOINTS, NAT_GATEWAYS, PREFIX_LISTS)
NETWORK_INTERFACES = DumpFile("network-interfaces.json", "NetworkInterfaces", "aws ec2 describe-network-interfaces")
MANAGED_PREFIX_LISTS = DumpFile("managed-prefix-lists.json", "PrefixLists", "aws ec2 describe-managed-prefix-lists")
ATTACHMENTS = DumpFile(
    "transit-gateway-attachments.json",
    "TransitGatewayAttachments",
    "aws ec2 describe-transit-gateway-attachments",
)
VPC_ATTACHMENTS = DumpFile(
    "transit-gateway-vpc-attachments.json",
    "TransitGatewayVpcAttachments",
    "aws ec2 describe-transit-gateway-vpc-attachments",
)
TRANSIT_GATEWAY_ROUTE_TABLES = DumpFile(
    "transit-gateway-route-tables.json",
    "TransitGatewayRouteTables",
    "aws ec2 describe-transit-gateway-route-tables",
)
DIRECTORY_BUCKETS = DumpFile("directory-buckets.json", "Buckets", "aws s3api list-directory-buckets")
SHARED_SUBNETS = DumpFile(
    "shared-subnets.json",
    "resources",
    "aws ram list-resources --resource-owner SELF --resource-type ec2:Subnet",
)
ENTRIES_FOLDER = "managed-prefix-list-entries"
ENTRIES_COMMAND = "aws ec2 get-managed-prefix-list-entries --prefix-list-id "
ROUTES_FOLDER = "transit-gateway-routes"
ROUTES_COMMAND = (
    "aws ec2 search-transit-gateway-routes --filters Name=state,Values=active,blackhole "
    "--transit-gateway-route-table-id "
)
FIREWALLS_FOLDER = "firewalls"
FIREWALLS_COMMAND = "aws network-firewall describe-firewall --firewall-arn "
ASSOCIATIONS_FOLDER = "firewall-endpoint-associations"
ASSOCIATIONS_COMMAND = "aws network-firewall describe-vpc-endpoint-association --vpc-endpoint-association-arn "
FOLDERS = (ENTRIES_FOLDER, ROUTES_FOLDER, FIREWALLS_FOLDER, ASSOCIATIONS_FOLDER)
"""The folders of a dump, with one file for each call."""
IDENTITY = "identity.json"
_TOKENS = ("NextToken", "ContinuationToken", "nextToken")
"""The fields that mark an incomplete list (botocore model: paginators of ec2, ram, and s3 ListDirectoryBuckets)."""
_EMPTY = b" \t\r\n\0\xef\xbb\xbf\xff\xfe"
"""White space and byte order marks, in UTF-8 and UTF-16: PowerShell writes such files if a call is denied."""


def record_fault(path: Path, error: RecordError) -> DumpError:
    """Return the fault of a record, with its file."""
    return DumpError(str(path), str(error), "use the unmodified output of the AWS CLI")


@contextmanager
def faults_of(path: Path) -> Iterator[None]:
    """Raise each RecordError as DumpError, which names the file as well as the resource and field."""
    try:
        yield
    except RecordError as error:
        raise record_fault(path, error) from error


def by_id(path: Path, records: Iterable[Record]) -> dict[str, Record]:
    """Return records by ID; pages may overlap. Raise DumpError if two descriptions of a record differ."""
    found: dict[str, Record] = {}
    for record in records:
        known = found.setdefault(record.id, record)
        if known is not record and known != record:
            raise DumpError(
                str(path), f"describes {record.id} twice, with differences", "create it again with one command"
            )
    return found


def read_required(folder: Path, file: DumpFile) -> list[Description]:
    """Read the list of a required file. Raise DumpError if it is missing, empty, malformed or from another command."""
    path = folder / file.name
    if not path.is_file():
        raise DumpError(str(path), "this required file is missing", f"create it with: {file.command} > {file.name}")
    found = read_list(path, file.field, file.command)
    if found is None:
        raise DumpError(str(path), "this required file is empty", f"create it with: {file.command} > {file.name}")
    return found


def read_optional(folder: Path, file: DumpFile) -> list[Description] | None:
    """Read the list of an optional file, or return None, which means unknown, if it is missing or empty."""
    return read_list(folder / file.name, file.field, file.command)


def read_folder(folder: Path, field: str, command: str, *, is_list: bool = True) -> dict[str, Description]:
    """Read the responses in a folder with one file per ID, by file name. Empty files are skipped.

    field is the list, or else the object, that each response must contain.
    """
    if folder.is_file():
        raise DumpError(
            str(folder), "is a file, but must be a folder", f"create one file in it for each ID with: {command}<id>"
        )
    found = {}
    for path in sorted(folder.glob("*.json")):
        response = read_response(path, command + path.stem)
        if response is not None:
            if is_list:
                _list_of(response, field, path, command + path.stem)
            elif not isinstance(response.get(field), Mapping):
                raise _wrong_command(response, f"the object {field}", path, command + "<arn>")
            found[path.stem] = response
    return found


def read_list(path: Path, field: str, command: str) -> list[Description] | None:
    """Read the list in a field of one response, or return None if the file is missing or empty."""
    response = read_response(path, command)
    return None if response is None else _list_of(response, field, path, command)


def read_response(path: Path, command: str) -> Description | None:
    """Read one command's JSON object, or return None if the file is missing or empty. Raise DumpError otherwise."""
    content = path.read_bytes() if path.is_file() else b""
    if not content.strip(_EMPTY):
        return None
    remedy = f"create it again with: {command} > {path.name}"
    try:
        response = json.loads(content, object_pairs_hook=without_repeated_keys)
    except RepeatedKeyError as error:
        raise DumpError(str(path), f"has the key {error.key!r} twice in one object", remedy) from error
    except (ValueError, RecursionError) as error:
        raise DumpError(str(path), f"not JSON, or cut short ({error})", remedy) from error
    if not isinstance(response, Mapping):
        raise DumpError(str(path), "not the JSON object that the AWS CLI prints", remedy)
    for token in _TOKENS:
        if response.get(token):
            raise DumpError(
                str(path), f"contains a {token}, so the list is incomplete", f"{remedy} without --max-items"
            )
    return response


def _list_of(response: Description, field: str, path: Path, command: str) -> list[Description]:
    found = response.get(field)
    if not are_objects(found):
        raise _wrong_command(response, f"the list {field}", path, command)
    return found


def _wrong_command(response: Description, wanted: str, path: Path, command: str) -> DumpError:
    fields = ", ".join(sorted(map(str, response))) or "nothing"
    return DumpError(
        str(path),
        f"contains {fields}, but must contain {wanted}: it is the output of another command",
        f"create it again with: {command} > {path.name}",
    )

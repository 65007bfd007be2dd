"""Read a dump: a folder with the answers of the AWS CLI."""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from express_path.adapters.memory import gc_paused
from express_path.adapters.records import (
    PrefixLists,
    attachments,
    core_network_attachment,
    entry_blocks,
    firewalls,
    nat_gateway,
    network_interface,
    prefix_lists,
    route_table,
    shared_subnet_ids,
    shows_express_lists,
    subnet,
    transit_gateway_connects,
    transit_gateway_policy_table,
    transit_gateway_route_table,
    transit_gateways_of_tables,
    vpc,
    vpc_endpoint,
)
from express_path.domain.network.merging import merged
from express_path.domain.network.resources import (
    Firewall,
    NatGateway,
    NetworkInterface,
    PrefixList,
    Subnet,
    TargetKind,
    TransitGatewayAttachment,
    TransitGatewayPolicyTable,
    TransitGatewayRouteTable,
    VpcEndpoint,
    target_ids,
)
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.verdict.evaluator import Account
from express_path.errors import DumpError, RecordError
from express_path.fields import Description, Record, are_objects, identifier, required_rows, shown
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
REQUIRED = (VPCS, SUBNETS, VPC_ENDPOINTS, NAT_GATEWAYS, ROUTE_TABLES, PREFIX_LISTS)
"""In the order in which they are read: endpoints and NAT gateways first, because one that names a table which is not
listed shows that the list of tables is partial."""
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
TRANSIT_GATEWAY_CONNECTS = DumpFile(
    "transit-gateway-connects.json", "TransitGatewayConnects", "aws ec2 describe-transit-gateway-connects"
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
POLICIES_FOLDER = "transit-gateway-policy-table-entries"
POLICIES_COMMAND = "aws ec2 get-transit-gateway-policy-table-entries --transit-gateway-policy-table-id "
FIREWALLS_FOLDER = "firewalls"
FIREWALLS_COMMAND = "aws network-firewall describe-firewall --firewall-arn "
ASSOCIATIONS_FOLDER = "firewall-endpoint-associations"
ASSOCIATIONS_COMMAND = "aws network-firewall describe-vpc-endpoint-association --vpc-endpoint-association-arn "
CORE_NETWORKS_FOLDER = "core-network-attachments"
CORE_NETWORKS_COMMAND = "aws networkmanager get-vpc-attachment --attachment-id "
FOLDERS = (
    ENTRIES_FOLDER,
    ROUTES_FOLDER,
    POLICIES_FOLDER,
    FIREWALLS_FOLDER,
    ASSOCIATIONS_FOLDER,
    CORE_NETWORKS_FOLDER,
)
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
    listed = read_list(path, file.field, file.command)
    if listed is None:
        raise DumpError(str(path), "this required file is empty", f"create it with: {file.command} > {file.name}")
    return listed


def read_optional(folder: Path, file: DumpFile) -> list[Description] | None:
    """Read the list of an optional file, or return None, which means unknown, if it is missing or empty."""
    return read_list(folder / file.name, file.field, file.command)


def read_responses(folder: Path, field: str, command: str, *, is_list: bool = True) -> dict[str, Description]:
    """Read the responses in a folder with one file per ID, by file name. Empty files are skipped.

    field is the list, or else the object, that each response must contain.
    """
    if folder.is_file():
        raise DumpError(
            str(folder), "is a file, but must be a folder", f"create one file in it for each ID with: {command}<id>"
        )
    responses = {}
    for path in sorted(folder.glob("*.json")):
        response = read_response(path, command + path.stem)
        if response is not None:
            if is_list:
                _list_of(response, field, path, command + path.stem)
            elif not isinstance(response.get(field), Mapping):
                raise _wrong_command(response, f"the object {field}", path, command + "<arn>")
            responses[path.stem] = response
    return responses


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
    if not are_objects(response.get(field)):
        raise _wrong_command(response, f"the list {field}", path, command)
    return required_rows(response, field, str(path))


def _wrong_command(response: Description, wanted: str, path: Path, command: str) -> DumpError:
    fields = ", ".join(sorted(map(str, response))) or "nothing"
    return DumpError(
        str(path),
        f"contains {fields}, but must contain {wanted}: it is the output of another command",
        f"create it again with: {command} > {path.name}",
    )


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
    described = read_optional(folder, NETWORK_INTERFACES)
    if described is None:
        return DumpedInterfaces(None)
    path = folder / NETWORK_INTERFACES.name
    complete, incomplete = [], []
    for description in described:
        try:
            complete.append(network_interface(description))
        except RecordError as error:
            incomplete.append(_incomplete(description, record_fault(path, error)))
    return DumpedInterfaces(by_id(path, complete), incomplete)


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


def read_prefix_lists(folder: Path, region: str) -> PrefixLists:
    """Read the prefix lists of one folder. Each file is checked on its own, so that an error names the right file.

    Raise DumpError, also if a file has AWS-managed prefix lists but none of the Region.
    """
    plain = read_required(folder, PREFIX_LISTS)
    if not plain:
        raise _fault(folder, PREFIX_LISTS, "has no prefix list, but every Region has some", region)
    managed = read_optional(folder, MANAGED_PREFIX_LISTS) or []
    responses = read_responses(folder / ENTRIES_FOLDER, "Entries", ENTRIES_COMMAND)
    entries = {list_id: required_rows(response, "Entries", list_id) for list_id, response in responses.items()}
    _check(folder, PREFIX_LISTS, region, (prefix_lists([row]).popitem()[1] for row in plain))
    _check(folder, MANAGED_PREFIX_LISTS, region, (prefix_lists([], [row]).popitem()[1] for row in managed))
    for list_id, listed in entries.items():
        with faults_of(folder / ENTRIES_FOLDER / f"{list_id}.json"):
            entry_blocks(listed, list_id)
    return PrefixLists(prefix_lists(plain, managed, entries), shows_express_lists(managed, region))


def _check(folder: Path, file: DumpFile, region: str, records: Iterable[PrefixList]) -> None:
    path = folder / file.name
    with faults_of(path):
        lists = by_id(path, records).values()
    names = sorted(prefix_list.name for prefix_list in lists if prefix_list.aws_owned)
    if names and not any(_is_of_region(name, region) for name in names):
        fault = f"has {', '.join(names[:3])} and no prefix list of {region}, the Region in {IDENTITY}"
        raise _fault(folder, file, fault, region)


def _is_of_region(name: str, region: str) -> bool:
    """Return whether an AWS-managed prefix list belongs to a Region, such as com.amazonaws.us-east-1.s3.

    Global prefix lists belong to no Region
    (https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html).
    """
    return region in name.split(".")


def check_express_lists(folder: Path, snapshot: Snapshot) -> None:
    """Raise DumpError if there is no prefix list of S3 Express, but a gateway endpoint of it or a directory bucket."""
    if snapshot.offers_express:
        return
    if snapshot.has_directory_buckets:
        fault = f"has no s3express prefix list, although {DIRECTORY_BUCKETS.name} has a directory bucket"
        raise _fault(folder, PREFIX_LISTS, fault, snapshot.region)
    for endpoint in snapshot.vpc_endpoints.values():
        if endpoint.endpoint_type == "gateway" and endpoint.service_name.endswith(".s3express"):
            fault = f"has no s3express prefix list, although {endpoint.id} is a gateway endpoint of S3 Express"
            raise _fault(folder, PREFIX_LISTS, fault, snapshot.region)


def _fault(folder: Path, file: DumpFile, fault: str, region: str) -> DumpError:
    remedy = f"create it again in {region} with: {file.command} > {file.name}; or correct the Region in {IDENTITY}"
    return DumpError(str(folder / file.name), fault, remedy)


_ACCOUNT = re.compile(r"[0-9]{12}")
_REGION = re.compile(r"[a-z]+(-[a-z]+)+-[0-9]+")


@dataclass(frozen=True, slots=True)
class Folder:
    """The contents of a folder: the network, and the network interfaces that cannot be read."""

    snapshot: Snapshot
    incomplete: Sequence[Incomplete]


def read_folder(folder: Path) -> Folder:
    """Read the network of one account and Region. Raise DumpError, which names the file and its fault."""
    identity = _identity(folder)
    interfaces = read_interfaces(folder)
    lists = read_prefix_lists(folder, identity.region)
    snapshot = Snapshot(
        account_id=identity.account_id,
        region=identity.region,
        vpcs=_required(folder, VPCS, vpc),
        subnets=_required(folder, SUBNETS, partial(_subnet, folder, identity.region)),
        route_tables=_required(folder, ROUTE_TABLES, route_table),
        vpc_endpoints=_required(folder, VPC_ENDPOINTS, vpc_endpoint),
        nat_gateways=_required(folder, NAT_GATEWAYS, nat_gateway),
        prefix_lists=lists.by_id,
        lists_ipv6_prefix_lists=lists.are_all_listed,
        network_interfaces=interfaces.complete,
        firewalls=_firewalls(folder, identity.region),
        transit_gateway_attachments=_attachments(folder),
        transit_gateway_route_tables=_transit_gateway_route_tables(folder),
        transit_gateway_policy_tables=_transit_gateway_policy_tables(folder),
        transit_gateway_of_table=_transit_gateway_of_table(folder),
        transit_gateway_connects=_transit_gateway_connects(folder),
        core_network_attachments=_core_network_attachments(folder),
        has_directory_buckets=_has_directory_buckets(folder),
        shared_subnet_ids=_shared_subnet_ids(folder),
    )
    if interfaces.complete is not None and not interfaces.incomplete:
        snapshot = replace(snapshot, interfaces_listed_in=snapshot.owned_vpcs)
    check_express_lists(folder, snapshot)
    _check_account(folder, snapshot)
    return Folder(snapshot, interfaces.incomplete)


@dataclass(frozen=True, slots=True)
class _Identity:
    """The account (12 digits) and the Region of a folder."""

    account_id: str
    region: str


def _identity(folder: Path) -> _Identity:
    path = folder / IDENTITY
    command = 'aws sts get-caller-identity, plus "Region"'
    identity = read_response(path, command)
    if identity is None:
        raise DumpError(str(path), "this required file is missing or empty", f"create it with: {command}")
    with faults_of(path):
        return _Identity(
            _matching(identity, "Account", _ACCOUNT, "an account ID of 12 digits"),
            _matching(identity, "Region", _REGION, "a Region name such as us-east-1"),
        )


def _check_account(folder: Path, snapshot: Snapshot) -> None:
    """Raise DumpError if the account cannot have made the dump.

    Only a VPC's owner can describe its NAT gateways and gateway endpoints
    (https://docs.aws.amazon.com/vpc/latest/userguide/vpc-share-limitations.html).
    """
    listed: list[NatGateway | VpcEndpoint] = [
        *snapshot.nat_gateways.values(),
        *(resource for resource in snapshot.vpc_endpoints.values() if resource.endpoint_type == "gateway"),
    ]
    for resource in listed:
        vpc = snapshot.vpcs.get(resource.vpc_id)
        if vpc and vpc.owner_id not in ("", snapshot.account_id):
            allowed = f"{vpc.owner_id}, because only the owner of {vpc.id} can describe {resource.id}"
            fault = str(RecordError(IDENTITY, "Account", snapshot.account_id, allowed))
            raise DumpError(str(folder / IDENTITY), fault, "use the Account of the credentials that made the dump")


def _subnet(folder: Path, region: str, description: Description) -> Subnet:
    """Return a subnet. Raise DumpError if the name of its zone, or its ARN, shows another Region.

    Names of zones begin with the Region's, such as us-east-1a, us-west-2-lax-1a, and us-east-1-wl1-bos-wlz-1
    (https://docs.aws.amazon.com/local-zones/latest/ug/available-local-zones.html,
    https://docs.aws.amazon.com/wavelength/latest/developerguide/available-wavelength-zones.html).
    """
    record = subnet(description)
    for field, pattern in (
        ("AvailabilityZone", rf"({_REGION.pattern})"),
        ("SubnetArn", rf"arn:[^:]*:[^:]*:({_REGION.pattern}):"),
    ):
        value = shown(description, field, record.id)
        named = re.match(pattern, value)
        if named and named[1] != region:
            error = RecordError(record.id, field, value, f"in {region}, the Region in {IDENTITY}")
            raise _fault(folder, SUBNETS, str(error), region)
    return record


def _firewalls(folder: Path, region: str) -> dict[str, Firewall] | None:
    """Return the firewalls of a dump by ARN, or None if they are unknown."""
    described = read_responses(folder / FIREWALLS_FOLDER, "Firewall", FIREWALLS_COMMAND, is_list=False)
    associations = read_responses(
        folder / ASSOCIATIONS_FOLDER, "VpcEndpointAssociation", ASSOCIATIONS_COMMAND, is_list=False
    )
    for name, response in described.items():
        path = folder / FIREWALLS_FOLDER / f"{name}.json"
        with faults_of(path):
            records = firewalls([response])
        for arn in records:
            if arn.startswith("arn:") and arn.split(":")[3:4] != [region]:
                fault = f"describes {arn}, which is not in {region}, the Region in {IDENTITY}"
                raise DumpError(str(path), fault, "remove the file, or create it again in that Region")
    for name, response in associations.items():
        with faults_of(folder / ASSOCIATIONS_FOLDER / f"{name}.json"):
            firewalls((), [response])
    return firewalls(described.values(), associations.values()) if described or associations else None


def _matching(identity: Description, field: str, pattern: re.Pattern[str], allowed: str) -> str:
    text = identifier(identity, field, IDENTITY)
    if not pattern.fullmatch(text):
        raise RecordError(IDENTITY, field, text, allowed)
    return text


def _required(folder: Path, file: DumpFile, reader: Callable[[Description], Record]) -> dict[str, Record]:
    path = folder / file.name
    with faults_of(path):
        return by_id(path, map(reader, read_required(folder, file)))


def _has_directory_buckets(folder: Path) -> bool | None:
    """Return whether there are any, or None if unknown.

    ListBuckets has the same field for other buckets, plus an Owner
    (https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListBuckets.html).
    """
    file = DIRECTORY_BUCKETS
    buckets = read_optional(folder, file)
    if buckets is None:
        return None
    path = folder / file.name
    if "Owner" in (read_response(path, file.command) or {}):
        fault = "contains an Owner, so it is the output of aws s3api list-buckets"
        raise DumpError(str(path), fault, f"create it again with: {file.command} > {file.name}")
    return bool(buckets)


def _shared_subnet_ids(folder: Path) -> frozenset[str] | None:
    """Return the subnets that the account shares with others, or None if unknown."""
    file = SHARED_SUBNETS
    resources = read_optional(folder, file)
    if resources is None:
        return None
    with faults_of(folder / file.name):
        return shared_subnet_ids(resources)


def _attachments(folder: Path) -> dict[str, TransitGatewayAttachment] | None:
    described = read_optional(folder, ATTACHMENTS)
    vpc_attachments = read_optional(folder, VPC_ATTACHMENTS)
    if described is None and vpc_attachments is None:
        return None
    with faults_of(folder / ATTACHMENTS.name):
        attachments(described or [], [])
    with faults_of(folder / VPC_ATTACHMENTS.name):
        return attachments(described or [], vpc_attachments or [])


def _transit_gateway_route_tables(folder: Path) -> dict[str, TransitGatewayRouteTable] | None:
    responses = read_responses(folder / ROUTES_FOLDER, "Routes", ROUTES_COMMAND)
    tables = {}
    for table_id, response in responses.items():
        with faults_of(folder / ROUTES_FOLDER / f"{table_id}.json"):
            tables[table_id] = transit_gateway_route_table(table_id, response)
    return tables or None


def _transit_gateway_policy_tables(folder: Path) -> dict[str, TransitGatewayPolicyTable] | None:
    field = "TransitGatewayPolicyTableEntries"
    responses = read_responses(folder / POLICIES_FOLDER, field, POLICIES_COMMAND)
    tables = {}
    for table_id, response in responses.items():
        with faults_of(folder / POLICIES_FOLDER / f"{table_id}.json"):
            tables[table_id] = transit_gateway_policy_table(table_id, response[field])
    return tables or None


def _transit_gateway_of_table(folder: Path) -> dict[str, str] | None:
    described = read_optional(folder, TRANSIT_GATEWAY_ROUTE_TABLES)
    if not described:
        return None
    with faults_of(folder / TRANSIT_GATEWAY_ROUTE_TABLES.name):
        return transit_gateways_of_tables(described)


def _transit_gateway_connects(folder: Path) -> dict[str, frozenset[str]] | None:
    described = read_optional(folder, TRANSIT_GATEWAY_CONNECTS)
    if described is None:
        return None
    with faults_of(folder / TRANSIT_GATEWAY_CONNECTS.name):
        return transit_gateway_connects(described)


def _core_network_attachments(folder: Path) -> dict[str, TransitGatewayAttachment] | None:
    responses = read_responses(folder / CORE_NETWORKS_FOLDER, "VpcAttachment", CORE_NETWORKS_COMMAND, is_list=False)
    attachments = {}
    for attachment_id, response in responses.items():
        with faults_of(folder / CORE_NETWORKS_FOLDER / f"{attachment_id}.json"):
            attachments[attachment_id] = core_network_attachment(response)
    return attachments or None


@dataclass(frozen=True, slots=True)
class DumpedAccount:
    """One account's folder: the account, and the subnets that it lists."""

    account: Account
    subnet_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DumpedRegion:
    """The network of one Region, merged from all accounts of the dump, and those accounts."""

    network: Snapshot
    accounts: tuple[DumpedAccount, ...]


@dataclass(frozen=True, slots=True)
class Dump:
    """The Regions of a dump, and the faults of its folders that are bad input, by folder. No Region contains those."""

    regions: Sequence[DumpedRegion]
    faults: Mapping[Path, DumpError]


@gc_paused()
def read_dump(folder: Path) -> Dump:
    """Read a dump of one or several accounts and Regions. The folders of one Region are one network.

    Raise DumpError, which names the file and its fault, if the only folder is bad input, if there is none, or if two
    have the same account and Region, so that it is unknown which one is right.
    """
    folders = _folders(folder)
    good: dict[Path, Folder] = {}
    faults: dict[Path, DumpError] = {}
    for path in folders:
        try:
            good[path] = read_folder(path)
        except DumpError as fault:
            faults[path] = fault
    _check_places(good)
    regions = []
    for region in sorted({folder.snapshot.region for folder in good.values()}):
        here = {path: folder for path, folder in good.items() if folder.snapshot.region == region}
        merged_region = _merged_region(here, faults)
        if merged_region:
            regions.append(merged_region)
    if len(folders) == 1 and faults:
        raise faults[folders[0]]
    return Dump(regions, faults)


def _check_places(folders: Mapping[Path, Folder]) -> None:
    paths: dict[tuple[str, str], Path] = {}
    for path, folder in folders.items():
        account_id, region = folder.snapshot.account_id, folder.snapshot.region
        first_path = paths.setdefault((account_id, region), path)
        if first_path != path:
            raise DumpError(
                str(path), f"has account {account_id} in {region}, as {first_path} does", "keep one of the two"
            )


def _merged_region(folders: Mapping[Path, Folder], faults: dict[Path, DumpError]) -> DumpedRegion | None:
    """Return the network of one Region's folders, without those with a fault that only the network shows; add the fault."""
    by_account = sorted(folders, key=lambda path: folders[path].snapshot.account_id)
    if not by_account:
        return None
    snapshots = [folders[path].snapshot for path in by_account]
    network = merged(snapshots)
    for path in by_account:
        try:
            check_used(network, folders[path].incomplete)
        except DumpError as fault:
            faults[path] = fault
            return _merged_region(
                {kept_path: folder for kept_path, folder in folders.items() if kept_path != path}, faults
            )
    accounts = (DumpedAccount(Account.of(snapshot), tuple(snapshot.subnets)) for snapshot in snapshots)
    return DumpedRegion(network, tuple(accounts))


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise DumpError(str(folder), "this folder does not exist", "use the folder that express-path collect wrote")
    subfolders = sorted(
        path
        for path in folder.iterdir()
        if path.is_dir() and path.name not in FOLDERS and not path.name.startswith(".")
    )
    names = (IDENTITY, *(file.name for file in REQUIRED))
    if not any((folder / name).exists() for name in names):
        if subfolders:
            return subfolders
        raise DumpError(
            str(folder), "contains no dump", f"create one with: express-path collect {shlex.quote(str(folder))}"
        )
    mixed = [subfolder for subfolder in subfolders if (subfolder / IDENTITY).exists()]
    if mixed:
        raise DumpError(str(folder), f"is a dump and contains another, {mixed[0].name}", "keep them side by side")
    return [folder]

"""Read one folder of a dump: the network of one account and Region."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from express_path.adapters.ec2_records import nat_gateway, route_table, subnet, vpc, vpc_endpoint
from express_path.adapters.fields import Description, Record, identifier
from express_path.adapters.firewall_records import firewalls
from express_path.adapters.sharing_records import shared_subnet_ids
from express_path.adapters.transit_gateway_records import attachments, transit_gateway_route_table
from express_path.domain.network.resources import Firewall, TransitGatewayAttachment, TransitGatewayRouteTable
from express_path.domain.network.snapshot import Snapshot
from express_path.errors import DumpError, RecordError
from express_path_cli.sources.dump import files
from express_path_cli.sources.dump.interfaces import Incomplete, read_interfaces
from express_path_cli.sources.dump.prefix_lists import check_express_lists, read_prefix_lists

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
        vpcs=_required(folder, files.VPCS, vpc),
        subnets=_required(folder, files.SUBNETS, subnet),
        route_tables=_required(folder, files.ROUTE_TABLES, route_table),
        vpc_endpoints=_required(folder, files.VPC_ENDPOINTS, vpc_endpoint),
        nat_gateways=_required(folder, files.NAT_GATEWAYS, nat_gateway),
        prefix_lists=lists.by_id,
        lists_ipv6_prefix_lists=lists.are_all_listed,
        network_interfaces=interfaces.complete,
        firewalls=_firewalls(folder, identity.region),
        transit_gateway_attachments=_attachments(folder),
        transit_gateway_route_tables=_transit_gateway_route_tables(folder),
        has_directory_buckets=_has_directory_buckets(folder),
        shared_subnet_ids=_shared_subnet_ids(folder),
    )
    check_express_lists(folder, snapshot)
    _check_nat_gateways(folder, snapshot)
    return Folder(snapshot, interfaces.incomplete)


@dataclass(frozen=True, slots=True)
class _Identity:
    """The account (12 digits) and the Region of a folder."""

    account_id: str
    region: str


def _identity(folder: Path) -> _Identity:
    path = folder / files.IDENTITY
    command = 'aws sts get-caller-identity, plus "Region"'
    identity = files.read_response(path, command)
    if identity is None:
        raise DumpError(str(path), "this required file is missing or empty", f"create it with: {command}")
    with files.faults_of(path):
        return _Identity(
            _matching(identity, "Account", _ACCOUNT, "an account ID of 12 digits"),
            _matching(identity, "Region", _REGION, "a Region name such as us-east-1"),
        )


def _check_nat_gateways(folder: Path, snapshot: Snapshot) -> None:
    """Raise DumpError if the account cannot have made the dump: only a VPC's owner sees its NAT gateways.

    https://docs.aws.amazon.com/vpc/latest/userguide/vpc-share-limitations.html
    """
    for gateway in snapshot.nat_gateways.values():
        vpc = snapshot.vpcs.get(gateway.vpc_id)
        if vpc and vpc.owner_id not in ("", snapshot.account_id):
            raise DumpError(
                str(folder / files.IDENTITY),
                f"has account {snapshot.account_id}, but {files.NAT_GATEWAYS.name} has {gateway.id} in {vpc.id}, which "
                f"account {vpc.owner_id} owns, and only the owner can describe it",
                f"use the Account of the credentials that made the dump, probably {vpc.owner_id}",
            )


def _firewalls(folder: Path, region: str) -> dict[str, Firewall] | None:
    """Return the firewalls of a dump by ARN, or None if they are unknown."""
    described = files.read_folder(folder / files.FIREWALLS_FOLDER, "Firewall", files.FIREWALLS_COMMAND, is_list=False)
    associations = files.read_folder(
        folder / files.ASSOCIATIONS_FOLDER, "VpcEndpointAssociation", files.ASSOCIATIONS_COMMAND, is_list=False
    )
    for name, response in described.items():
        path = folder / files.FIREWALLS_FOLDER / f"{name}.json"
        with files.faults_of(path):
            [record] = firewalls([response]).values()
        if record.arn.split(":")[3:4] != [region]:
            fault = f"describes {record.arn}, which is not in {region}, the Region in {files.IDENTITY}"
            raise DumpError(str(path), fault, "remove the file, or create it again in that Region")
    for name, response in associations.items():
        with files.faults_of(folder / files.ASSOCIATIONS_FOLDER / f"{name}.json"):
            firewalls((), [response])
    return firewalls(described.values(), associations.values()) if described or associations else None


def _matching(identity: Description, field: str, pattern: re.Pattern[str], allowed: str) -> str:
    found = identifier(identity, field, files.IDENTITY)
    if not pattern.fullmatch(found):
        raise RecordError(files.IDENTITY, field, found, allowed)
    return found


def _required(folder: Path, file: files.DumpFile, reader: Callable[[Description], Record]) -> dict[str, Record]:
    path = folder / file.name
    with files.faults_of(path):
        return files.by_id(path, map(reader, files.read_required(folder, file)))


def _has_directory_buckets(folder: Path) -> bool | None:
    """Return whether there are any, or None if unknown.

    ListBuckets has the same field for other buckets, plus an Owner
    (https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListBuckets.html).
    """
    file = files.DIRECTORY_BUCKETS
    buckets = files.read_optional(folder, file)
    if buckets is None:
        return None
    path = folder / file.name
    if "Owner" in (files.read_response(path, file.command) or {}):
        fault = "contains an Owner, so it is the output of aws s3api list-buckets"
        raise DumpError(str(path), fault, f"create it again with: {file.command} > {file.name}")
    return bool(buckets)


def _shared_subnet_ids(folder: Path) -> frozenset[str] | None:
    """Return the subnets that the account shares with others, or None if unknown."""
    file = files.SHARED_SUBNETS
    resources = files.read_optional(folder, file)
    if resources is None:
        return None
    with files.faults_of(folder / file.name):
        return shared_subnet_ids(resources)


def _attachments(folder: Path) -> dict[str, TransitGatewayAttachment] | None:
    described = files.read_optional(folder, files.ATTACHMENTS)
    vpc_attachments = files.read_optional(folder, files.VPC_ATTACHMENTS)
    if described is None and vpc_attachments is None:
        return None
    with files.faults_of(folder / files.ATTACHMENTS.name):
        attachments(described or [], [])
    with files.faults_of(folder / files.VPC_ATTACHMENTS.name):
        return attachments(described or [], vpc_attachments or [])


def _transit_gateway_route_tables(folder: Path) -> dict[str, TransitGatewayRouteTable] | None:
    files.read_optional(folder, files.TRANSIT_GATEWAY_ROUTE_TABLES)  # adds nothing to the routes, but must be valid
    responses = files.read_folder(folder / files.ROUTES_FOLDER, "Routes", files.ROUTES_COMMAND)
    tables = {}
    for table_id, response in responses.items():
        with files.faults_of(folder / files.ROUTES_FOLDER / f"{table_id}.json"):
            tables[table_id] = transit_gateway_route_table(table_id, response)
    return tables or None

"""Write a dump from the live APIs: the output of the AWS CLI, one file per command."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from errno import EACCES
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from express_path.adapters.aws import Aws, OptionalReads, calling, pages, unless_denied
from express_path.adapters.entrances import describe_core_network_attachments
from express_path.adapters.network_reader import (
    describe_endpoint_associations,
    describe_firewalls,
    read_policy_table_entries,
    read_transit_gateway_routes,
)
from express_path.adapters.records import OWN_SUBNETS, attachments, is_gone, route_table
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import DumpError
from express_path_cli.aws import options
from express_path_cli.aws.account_options import OneAccount, taking
from express_path_cli.aws.sessions import connect
from express_path_cli.sources import dump
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import locating_errors
from express_path_cli.terminal.files import write_new_file

Rows = Sequence[Mapping[str, Any]]

_OPTIONAL = (
    dump.NETWORK_INTERFACES,
    dump.ATTACHMENTS,
    dump.VPC_ATTACHMENTS,
    dump.TRANSIT_GATEWAY_CONNECTS,
)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file of a dump and its number of rows, or None if the read was denied and no file was written."""

    path: Path
    rows: int | None


def write_dump(aws: Aws, folder: Path) -> Iterator[WrittenFile]:
    """Write the dump of one account and Region, and yield each file when it is written.

    identity.json is written last, so that an unfinished dump lacks it and is rejected. Raise ApiError if a required
    read fails, and DumpError if the folder is not empty or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DumpError(str(folder), "is not empty", "use a new or empty folder")
    _make(folder)
    if not os.access(folder, os.W_OK):
        raise DumpError(str(folder), os.strerror(EACCES), "use a folder that you can write to")
    required: dict[dump.DumpFile, Rows] = {}
    for file in dump.REQUIRED:
        required[file] = _rows(aws, file)
        yield _write(folder / file.name, file.field, required[file])
    names = (str(row.get("PrefixListName")) for row in required[dump.PREFIX_LISTS])
    is_offered = any(is_express_service(name, aws.region) for name in names)
    # The host that lists directory buckets exists only in Regions that offer the service.
    optional: dict[dump.DumpFile, Rows | None] = {}
    for file in (*_OPTIONAL, dump.DIRECTORY_BUCKETS, dump.SHARED_SUBNETS) if is_offered else _OPTIONAL:
        optional[file] = unless_denied(partial(_rows, aws, file))
        yield _write(folder / file.name, file.field, optional[file])
    yield from _write_prefix_lists(aws, folder)
    yield from _write_transit_gateway_routes(aws, folder)
    yield from _write_policy_table_entries(aws, folder, optional[dump.ATTACHMENTS] or ())
    yield from _write_core_network_attachments(aws, folder, required[dump.ROUTE_TABLES])
    yield from _write_firewalls(aws, folder, required[dump.VPC_ENDPOINTS])
    yield _write_identity(aws, folder)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DumpError(str(folder), str(error.strerror), "use a folder that can be created") from error


def _write_prefix_lists(aws: Aws, folder: Path) -> Iterator[WrittenFile]:
    """Write the entries that DescribePrefixLists leaves out: of customer lists, and of the IPv6 list of S3 Express."""
    file = dump.MANAGED_PREFIX_LISTS
    lists = unless_denied(partial(_rows, aws, file))
    yield _write(folder / file.name, file.field, lists)
    for row in lists or []:
        if row.get("OwnerId") != "AWS" or is_express_service(row["PrefixListName"], aws.region):
            list_id = row["PrefixListId"]
            read = partial(pages, aws.ec2, "ec2", "get_managed_prefix_list_entries", "Entries", PrefixListId=list_id)
            yield _write(folder / dump.ENTRIES_FOLDER / f"{list_id}.json", "Entries", unless_denied(read))


def _write_transit_gateway_routes(aws: Aws, folder: Path) -> Iterator[WrittenFile]:
    file = dump.TRANSIT_GATEWAY_ROUTE_TABLES
    tables = unless_denied(partial(_rows, aws, file))
    yield _write(folder / file.name, file.field, tables)
    for row in tables or []:
        table_id = row["TransitGatewayRouteTableId"]
        if is_gone(row):
            continue
        path = folder / dump.ROUTES_FOLDER / f"{table_id}.json"
        response = unless_denied(partial(read_transit_gateway_routes, aws, table_id))
        yield WrittenFile(path, None) if response is None else _write_response(path, response, len(response["Routes"]))


def _write_policy_table_entries(aws: Aws, folder: Path, described: Rows) -> Iterator[WrittenFile]:
    """Write the entries of the policy tables that attachments are associated with."""
    policy_table_ids = {attachment.policy_table_id for attachment in attachments(described, []).values()}
    for table_id in sorted(filter(None, policy_table_ids)):
        entries = unless_denied(partial(read_policy_table_entries, aws, table_id))
        yield _write(folder / dump.POLICIES_FOLDER / f"{table_id}.json", "TransitGatewayPolicyTableEntries", entries)


def _write_core_network_attachments(aws: Aws, folder: Path, tables: Rows) -> Iterator[WrittenFile]:
    """Write the VPC attachments of the Cloud WAN core networks that route tables lead to."""
    answers = unless_denied(partial(describe_core_network_attachments, aws, list(map(route_table, tables))))
    if answers is None:
        yield WrittenFile(folder / dump.CORE_NETWORKS_FOLDER, None)
    for answer in answers or ():
        attachment_id = answer["VpcAttachment"]["Attachment"]["AttachmentId"]
        yield _write_answer(folder / dump.CORE_NETWORKS_FOLDER / f"{attachment_id}.json", answer)


def _write_firewalls(aws: Aws, folder: Path, endpoints: Rows) -> Iterator[WrittenFile]:
    """Write the firewalls and their endpoint associations, if there are Gateway Load Balancer endpoints."""
    if not any(row.get("VpcEndpointType") == "GatewayLoadBalancer" for row in endpoints):
        return
    for name, describe, object_field, arn_field in (
        (dump.FIREWALLS_FOLDER, describe_firewalls, "Firewall", "FirewallArn"),
        (
            dump.ASSOCIATIONS_FOLDER,
            describe_endpoint_associations,
            "VpcEndpointAssociation",
            "VpcEndpointAssociationArn",
        ),
    ):
        optional = OptionalReads()
        answers = describe(aws, optional)
        if optional.denied:
            yield WrittenFile(folder / name, None)
        for answer in answers or ():
            yield _write_answer(folder / name / f"{answer[object_field][arn_field].rpartition('/')[2]}.json", answer)


def _write_answer(path: Path, answer: Mapping[str, object]) -> WrittenFile:
    """Write an answer that describes one resource, as the AWS CLI prints it."""
    return _write_response(path, {key: value for key, value in answer.items() if key != "ResponseMetadata"}, 1)


def _write_identity(aws: Aws, folder: Path) -> WrittenFile:
    with calling("sts:GetCallerIdentity"):
        caller = aws.sts.get_caller_identity()
    identity = {field: caller[field] for field in ("UserId", "Account", "Arn")} | {"Region": aws.region}
    return _write_response(folder / dump.IDENTITY, identity, 1)


def _rows(aws: Aws, file: dump.DumpFile) -> Rows:
    if file is dump.SHARED_SUBNETS:
        return pages(aws.ram, "ram", "list_resources", file.field, **OWN_SUBNETS)
    _, service, operation = file.command.split()
    client = aws.s3 if service == "s3api" else aws.ec2
    return pages(client, service, operation.replace("-", "_"), file.field)


def _write(path: Path, field: str, rows: Rows | None) -> WrittenFile:
    return WrittenFile(path, None) if rows is None else _write_response(path, {field: rows}, len(rows))


def _write_response(path: Path, response: Mapping[str, object], rows: int) -> WrittenFile:
    try:
        path.parent.mkdir(exist_ok=True)
        write_new_file(path, [_json(response).encode()])
    except OSError as error:
        raise DumpError(str(path), str(error.strerror), "free some space, and collect into a new folder") from error
    return WrittenFile(path, rows)


def _json(response: Mapping[str, object]) -> str:
    """Return JSON as the AWS CLI prints it: indented by four spaces, times in ISO 8601."""

    def time(value: object) -> str:
        """Return a time as the AWS CLI prints it. Raise TypeError for anything else."""
        if isinstance(value, datetime):
            return value.isoformat()
        raise TypeError(f"{value!r} has no JSON form")

    return json.dumps(response, indent=4, default=time) + "\n"


EXAMPLES = """
express-path collect dump --region eu-west-1  # a folder of JSON files
express-path scan --from-dump dump  # anywhere, without AWS
"""


@taking(account=OneAccount)
def collect(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    account: OneAccount,
) -> None:
    """Save the network as a dump: a folder of JSON files. It changes nothing in AWS.

    Exit status: 0 done, 2 a required read failed. Optional reads that are denied are skipped and named.
    """
    aws = connect(account.region, account.profile)
    with locating_errors(aws.region):
        for written in write_dump(aws, folder):
            if written.rows is None:
                echo(f"{written.path}: skipped, because the read was denied", err=True)
            else:
                echo(f"{written.path}: {written.rows}")
    echo(f"next: express-path scan{options.as_command_line({'--from-dump': str(folder)})}")

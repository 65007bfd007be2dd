"""Writing a dump from the live APIs: what the AWS CLI would print, one file per call."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from express_path.adapters.aws import Aws, calling, pages, unless_denied
from express_path.adapters.hop_reader import read_transit_gateway_routes
from express_path.adapters.sharing_records import OWN_SUBNETS
from express_path.domain.network.snapshot import is_express_service
from express_path.errors import DumpError
from express_path_cli.dump import files

Rows = Sequence[Mapping[str, Any]]

_OPTIONAL = (
    files.NETWORK_INTERFACES,
    files.ATTACHMENTS,
    files.VPC_ATTACHMENTS,
)


class Written(NamedTuple):
    """One file of a dump and how many rows it holds; None where the read was denied, and no file was written."""

    path: Path
    rows: int | None


def write_dump(aws: Aws, folder: Path) -> Iterator[Written]:
    """Write the dump of one account and Region, yielding each file when it is done; identity.json comes last.

    A dump that was cut short therefore lacks its identity and is refused. Raises ApiError where a required read fails,
    DumpError where the folder already holds something or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DumpError(str(folder), "already holds something", "name a folder that is new or empty")
    _make(folder)
    is_offered = False
    for file in files.REQUIRED:
        rows = _rows(aws, file)
        is_offered |= any(is_express_service(str(each.get("PrefixListName")), aws.region) for each in rows)
        yield _write(folder / file.name, file.field, rows)
    # Where the service is not offered, its host, which lists directory buckets, does not exist.
    for file in (*_OPTIONAL, files.DIRECTORY_BUCKETS, files.SHARED_SUBNETS) if is_offered else _OPTIONAL:
        yield _write(folder / file.name, file.field, unless_denied(partial(_rows, aws, file)))
    yield from _write_prefix_lists(aws, folder)
    yield from _write_transit_gateway_routes(aws, folder)
    yield _write_identity(aws, folder)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DumpError(str(folder), str(error.strerror), "name a folder that can be made") from error


def _write_prefix_lists(aws: Aws, folder: Path) -> Iterator[Written]:
    """The entries of the lists whose blocks DescribePrefixLists leaves out: customers', and S3 Express's own."""
    file = files.MANAGED_PREFIX_LISTS
    lists = unless_denied(partial(_rows, aws, file))
    yield _write(folder / file.name, file.field, lists)
    for each in lists or []:
        if each.get("OwnerId") != "AWS" or is_express_service(each["PrefixListName"], aws.region):
            list_id = each["PrefixListId"]
            read = partial(pages, aws.ec2, "ec2", "get_managed_prefix_list_entries", "Entries", PrefixListId=list_id)
            yield _write(folder / files.ENTRIES_FOLDER / f"{list_id}.json", "Entries", unless_denied(read))


def _write_transit_gateway_routes(aws: Aws, folder: Path) -> Iterator[Written]:
    file = files.TRANSIT_GATEWAY_ROUTE_TABLES
    tables = unless_denied(partial(_rows, aws, file))
    yield _write(folder / file.name, file.field, tables)
    for each in tables or []:
        table_id = each["TransitGatewayRouteTableId"]
        path = folder / files.ROUTES_FOLDER / f"{table_id}.json"
        response = unless_denied(partial(read_transit_gateway_routes, aws, table_id))
        yield Written(path, None) if response is None else _write_response(path, response, len(response["Routes"]))


def _write_identity(aws: Aws, folder: Path) -> Written:
    with calling("sts:GetCallerIdentity"):
        caller = aws.sts.get_caller_identity()
    identity = {field: caller[field] for field in ("UserId", "Account", "Arn")} | {"Region": aws.region}
    return _write_response(folder / files.IDENTITY, identity, 1)


def _rows(aws: Aws, file: files.DumpFile) -> Rows:
    if file is files.SHARED_SUBNETS:
        return pages(aws.ram, "ram", "list_resources", file.field, **OWN_SUBNETS)
    _, service, operation = file.command.split()
    client = aws.s3 if service == "s3api" else aws.ec2
    return pages(client, service, operation.replace("-", "_"), file.field)


def _write(path: Path, field: str, rows: Rows | None) -> Written:
    return Written(path, None) if rows is None else _write_response(path, {field: rows}, len(rows))


def _write_response(path: Path, response: Mapping[str, object], rows: int) -> Written:
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(_json(response), encoding="utf-8")
    except OSError as error:
        raise DumpError(
            str(path), str(error.strerror), "collect again, into a new folder, once there is room"
        ) from error
    return Written(path, rows)


def _json(response: Mapping[str, object]) -> str:
    """As the AWS CLI prints it: four spaces, times in ISO 8601."""

    def time(value: object) -> str:
        """A time as the AWS CLI prints it. Raises TypeError for anything else."""
        if isinstance(value, datetime):
            return value.isoformat()
        raise TypeError(f"{value!r} has no JSON form")

    return json.dumps(response, indent=4, default=time) + "\n"

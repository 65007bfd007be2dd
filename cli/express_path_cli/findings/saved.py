"""Read all of the JSON document of an earlier scan: the same result that was written, for every other format.

A file may come from somebody else. What is missing, damaged, or contradictory is an error that names the field, and the
commands are derived again or have a known form.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import astuple

from express_path.adapters.memory import gc_paused
from express_path.domain.heal.endpoints import NEW_ENDPOINT
from express_path.domain.network.ids import wrong_form
from express_path.domain.network.resources import TargetKind, VpcEndpoint
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason, Unknown
from express_path.domain.remedy.texts import NAT64_PAGE, PAGES, Remedy
from express_path.domain.verdict.parameters import PARAMETERS, RuleParameters, parse_parameters
from express_path.errors import ParameterError, RecordError
from express_path.fields import time
from express_path_cli.aws.options import LiveOptions
from express_path_cli.findings.baseline import (
    PAST,
    Cause,
    Comparison,
    EarlierScan,
    NotRead,
    PastFinding,
    PastRow,
    parameter_words,
)
from express_path_cli.findings.change import ChangeFindings, TableChange
from express_path_cli.findings.hubs import Hub
from express_path_cli.findings.options import ScanOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Mark, Row, SetParameter, TrafficPath, combined
from express_path_cli.findings.scan_file import (
    DOCUMENT,
    WRITTEN_BY,
    AccountId,
    OptionalVpcId,
    Region,
    SubnetId,
    read_part,
)
from express_path_cli.findings.selection import Selection
from express_path_cli.sources.change.resource import NewId
from express_path_cli.sources.source import Source
from express_path_cli.terminal.documents import Count, OptionalWord, Text, Word, id_of, one_of
from express_path_cli.terminal.errors import Failure, OptionError
from express_path_cli.terminal.files import faults_in, read_json

_COMMANDS = ("delete-route", "modify-subnet-attribute")
"""The operations of EC2 that commands of changes without an endpoint call."""
_ZoneId = Annotated[str, id_of("availabilityZoneId", or_empty=True)]
_RouteTableId = Annotated[str, id_of("routeTableId")]


class _Hop(Struct):
    kind: TargetKind
    id: OptionalWord = ""
    destination: OptionalWord = ""


class _OtherPath(Struct):
    reason: Reason
    path: tuple[_Hop, ...] = ()


class _SetParameter(Struct):
    name: Annotated[str, one_of(tuple(PARAMETERS))]
    value: Word
    why: Word
    expires: date
    subnets: Count


class _Names(Struct, rename="camel"):
    subnet: str = ""
    route_table: str = ""
    vpc: str = ""


class _RowFields(Struct, rename="camel", kw_only=True):
    region: Region
    availability_zone_id: _ZoneId = ""
    route_table_id: _RouteTableId | None = None
    compliance: Compliance
    reason: Reason
    annotation: Text
    path: tuple[_Hop, ...] = ()
    names: _Names
    tags: dict[str, str] = {}
    table_tags: dict[str, str] = {}
    change: Count | None = None
    note: str = ""
    lacks: str = ""
    unknown: Unknown | UnsetType = UNSET
    excluded_by: str = ""
    set_by: OptionalWord = ""
    other_paths: tuple[_OtherPath, ...] = ()
    baseline: Mark | None = None
    before: Reason | None = None
    address: Word | None = None
    route_table_address: Word | None = None
    changed_by: tuple[Word, ...] = ()
    file: OptionalWord = ""
    line: Count = 0


class _Row(_RowFields, kw_only=True):
    account_id: AccountId
    vpc_id: OptionalVpcId = ""
    subnet_id: SubnetId


class _Endpoint(Struct, rename="camel", kw_only=True):
    id: Annotated[str, id_of("vpcEndpointId")] | None = None
    vpc_id: Annotated[str, id_of("vpcId")]
    service_name: Annotated[str, id_of("serviceName")]
    ip_address_type: Annotated[str, one_of(("ipv4", "ipv6", "dualstack"))]
    route_table_ids: tuple[_RouteTableId, ...]
    tags: dict[str, str]


class _SavedFix(Struct, kw_only=True):
    text: Text
    note: str = ""
    command: str = ""
    url: Annotated[str, one_of({*PAGES.values(), NAT64_PAGE})]
    endpoint: _Endpoint | None = None
    owner: str = ""


class _Hub(Struct, rename="camel", kw_only=True):
    account_id: AccountId
    region: Region
    vpc_id: Annotated[str, id_of("vpcId")]
    route_table_ids: tuple[_RouteTableId, ...]
    endpoint_id: Annotated[str, id_of("vpcEndpointId")]
    gateway_id: Annotated[str, id_of("gatewayId")]
    attachment_id: OptionalWord = ""
    certain: bool
    subnets: Count


class _NotSelected(Struct, rename="camel"):
    account_id: AccountId
    region: Region
    subnet_ids: tuple[SubnetId, ...]


class _Failure(NotRead, kw_only=True):
    message: Text
    hint: str = ""


class _Source(Struct, rename="camel"):
    from_dump: str = ""
    example: bool = False
    aggregator: OptionalWord = ""
    regions: tuple[Region, ...] = ()
    all_regions: bool = False
    profile: OptionalWord = ""
    organization: bool = False
    role_name: OptionalWord = ""
    external_id: OptionalWord = ""


class _Scan(EarlierScan, kw_only=True):
    """The document of a scan, in the order of schema/scan.schema.json. fixed: not set without a baseline."""

    made_at: str
    source: _Source
    not_read: tuple[_Failure, ...]
    notes: tuple[str, ...]
    not_selected: tuple[_NotSelected, ...]
    changes: tuple[_SavedFix, ...]
    subnets: tuple[_Row, ...]
    set_parameters: tuple[_SetParameter, ...] = ()
    account_names: dict[str, str] = msgspec.field(default_factory=dict)
    hubs: tuple[_Hub, ...] = ()
    fixed: tuple[PastRow, ...] | UnsetType = UNSET
    unknown: tuple[PastRow, ...] = ()
    replaced: tuple[PastRow, ...] = ()


class _ChangedRow(_RowFields, kw_only=True):
    """A subnet as a change leaves it. It has an address, or AWS has given it an id."""

    account_id: Word
    vpc_id: OptionalWord = ""
    subnet_id: SubnetId | None = None


class _ChangedEndpoint(_Endpoint, kw_only=True):
    id: Word | None = None
    address: OptionalWord = ""
    vpc_id: Word
    route_table_ids: tuple[Word, ...]


class _ChangedFix(_SavedFix, kw_only=True):
    endpoint: _ChangedEndpoint | None = None


class _ChangedHub(_Hub, kw_only=True):
    account_id: Word
    vpc_id: Word
    route_table_ids: tuple[Word, ...]
    endpoint_id: Word
    gateway_id: Word


class _ChangedNotSelected(_NotSelected, kw_only=True):
    account_id: Word
    region: Word
    subnet_ids: tuple[Word, ...]


class _ChangedPastRow(PastRow, kw_only=True):
    account_id: Word
    region: Word
    subnet_id: Word
    vpc_id: OptionalWord = ""


class _TableChange(Struct, rename="camel"):
    before: dict[Reason, Count]
    after: dict[Reason, Count]
    route_table_id: _RouteTableId | None = None
    address: Word | None = None


class _ChangedScan(_Scan, kw_only=True):
    """The document of the scan of a change. Instead of an id that AWS has not given yet, it has an address."""

    not_selected: tuple[_ChangedNotSelected, ...]
    hubs: tuple[_ChangedHub, ...] = ()
    changes: tuple[_ChangedFix, ...]
    subnets: tuple[_ChangedRow, ...]  # type: ignore[assignment]
    fixed: tuple[_ChangedPastRow, ...] | UnsetType = UNSET
    unknown: tuple[_ChangedPastRow, ...] = ()
    replaced: tuple[_ChangedPastRow, ...] = ()
    plan: tuple[str, ...]
    undecided: tuple[str, ...]
    route_tables: tuple[_TableChange, ...]


@gc_paused()
def read_saved(file: Path) -> tuple[Result, ScanOptions]:
    """Return the result of an earlier scan, and the options that it was made with.

    Raise OptionError if the file cannot be read, is not the JSON output of a scan, or does not hold a whole one.
    """
    document = read_json(file, WRITTEN_BY)
    with faults_in(file, WRITTEN_BY):
        earlier = read_part(_ChangedScan if "plan" in document else _Scan, document)
        del document  # of an organization, it is large
        result = _result(earlier)
    totals = earlier.totals
    flagged = sum(row.is_flagged for row in result.rows)
    if (totals.evaluated, totals.compliances.flagged) != (len(result.rows), flagged):
        raise OptionError(f"{file} does not list all subnets that its scan evaluated", "make it without --show")
    options = ScanOptions(
        _source(earlier.source),
        parameter_words(result.parameters),
        _selection(result.filters),
        is_plan=result.change is not None,
    )
    return result, options


def _result(earlier: _Scan) -> Result:
    coverage = earlier.coverage
    remedies = [_remedy(fix, f"changes[{place}]") for place, fix in enumerate(earlier.changes)]
    set_parameters = {parameter.name: SetParameter(*astuple(parameter)) for parameter in earlier.set_parameters}
    found = (
        replace(
            _row(row, remedies),
            set_by=_set_by(row, set_parameters),
            endpoint_address=_endpoint_address(row, earlier.changes),
        )
        for row in earlier.subnets
    )
    rows = combined(sorted(found, key=lambda row: row.key))
    listed: dict[tuple[str, str], set[str]] = {_place(name): set() for name in coverage.accounts}
    for row in rows:
        _list(listed, row.account_id, row.region, [row.subnet_id])
    for others in earlier.not_selected:
        _list(listed, others.account_id, others.region, others.subnet_ids)
    return Result(
        rows,
        time({"madeAt": earlier.made_at}, "madeAt", DOCUMENT),
        [Failure(found.where, OptionError(found.message, found.hint)) for found in earlier.not_read],
        earlier.notes,
        _parameters(coverage.parameters),
        filters=coverage.filters,
        comparison=None if earlier.fixed is UNSET else _comparison(earlier, rows),
        listed=listed,
        change=_change_findings(earlier, rows) if isinstance(earlier, _ChangedScan) else None,
        account_names=earlier.account_names,
        hubs=list(map(_hub, earlier.hubs)),
        set_parameters=list(set_parameters.values()),
    )


def _set_by(row: _Row | _ChangedRow, set_parameters: Mapping[str, SetParameter]) -> SetParameter | None:
    """Return the parameter of the configuration file that sets the compliance of a subnet. Raise RecordError if there is none."""
    if row.set_by and row.set_by not in set_parameters:
        raise RecordError(str(row.subnet_id), "setBy", row.set_by, "the name of one of setParameters")
    return set_parameters.get(row.set_by)


def _endpoint_address(row: _Row | _ChangedRow, fixes: Sequence[_SavedFix]) -> str:
    """Return the address of the endpoint that a row needs, if it is in the configuration of a plan."""
    endpoint = None if row.change is None else fixes[row.change].endpoint
    return endpoint.address if isinstance(endpoint, _ChangedEndpoint) else ""


def _hub(hub: _Hub) -> Hub:
    return Hub(
        _id(hub.account_id, "accountId"),
        hub.region,
        _id(hub.vpc_id, "vpcId"),
        tuple(_id(table_id, "routeTableId") for table_id in hub.route_table_ids),
        _id(hub.endpoint_id, "vpcEndpointId"),
        _id(hub.gateway_id, "gatewayId"),
        hub.attachment_id,
        hub.certain,
        hub.subnets,
    )


def _id(text: str, field: str) -> str:
    """Return an id, or what the scan of a plan has in place of one that AWS has not given yet."""
    return NewId(text) if wrong_form(text, field) else text


def _change_findings(earlier: _ChangedScan, rows: Sequence[Row]) -> ChangeFindings:
    """Return what the plan changes. Its findings are compared with those before it already."""
    tables = [
        TableChange(table.route_table_id, table.address or "", table.before, table.after)
        for table in earlier.route_tables
    ]
    return ChangeFindings(rows, None, tables, earlier.plan, earlier.undecided)


def _list(listed: Mapping[tuple[str, str], set[str]], account_id: str, region: str, subnet_ids: Iterable[str]) -> None:
    """Add subnets to those of their account and Region. Raise RecordError for one that is listed twice."""
    place = listed.get((account_id, region))
    for subnet_id in subnet_ids:
        if place is None or subnet_id in place:
            allowed = f"a subnet that is listed once, in an account and Region of {DOCUMENT}"
            raise RecordError(subnet_id, "subnetId", f"{account_id} {region} {subnet_id}", allowed)
        place.add(subnet_id)


def _place(name: str) -> tuple[str, str]:
    account_id, _, region = name.partition(" ")
    return account_id, region


def _parameters(values: Mapping[str, str]) -> RuleParameters:
    try:
        return parse_parameters(values)
    except ParameterError as error:
        raise RecordError("parameters", error.name, error.value, error.allowed) from error


def _row(row: _Row | _ChangedRow, remedies: Sequence[Remedy]) -> Row:
    subnet_id = row.subnet_id or NewId(row.address or "")
    if not subnet_id:
        raise RecordError(DOCUMENT, "address", row.address, "the address of a subnet without an id")
    if row.change is not None and row.change >= len(remedies):
        raise RecordError(subnet_id, "change", row.change, "the place of one of the changes")
    return Row(
        account_id=_id(row.account_id, "accountId"),
        region=row.region,
        vpc_id=_id(row.vpc_id, "vpcId") if row.vpc_id else "",
        subnet_id=subnet_id,
        availability_zone_id=row.availability_zone_id,
        route_table_id=row.route_table_id or (NewId(row.route_table_address) if row.route_table_address else None),
        compliance=row.compliance,
        reason=row.reason,
        annotation=row.annotation,
        path=_hops(row.path),
        note=row.note,
        lacks=row.lacks,
        unknown=row.unknown or None,
        excluded_by=row.excluded_by,
        subnet_name=row.names.subnet,
        route_table_name=row.names.route_table,
        vpc_name=row.names.vpc,
        tags=row.tags,
        table_tags=row.table_tags,
        other_paths=tuple(TrafficPath(other_path.reason, _hops(other_path.path)) for other_path in row.other_paths),
        remedy=None if row.change is None else remedies[row.change],
        baseline=row.baseline,
        before=row.before,
        table_address=(row.route_table_address or "") if row.route_table_id else "",
        address=row.address or "",
        changed_by=row.changed_by,
        file=row.file,
        line=row.line,
    )


def _hops(path: Iterable[_Hop]) -> tuple[Hop, ...]:
    return tuple(Hop(hop.kind, hop.id, hop.destination) for hop in path)


def _remedy(fix: _SavedFix, place: str) -> Remedy:
    """Return what to do. With an endpoint, the text, the commands, and the patches are made from it again."""
    return Remedy(
        fix.text,
        "" if fix.endpoint else _command(fix.command, place),
        fix.url,
        note=fix.note,
        endpoint=_endpoint(fix.endpoint) if fix.endpoint else None,
        owner=fix.owner,
    )


def _command(command: str, place: str) -> str:
    """Return a command. Raise RecordError unless it is one call of EC2, quoted as express-path quotes it."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if command and (
        shlex.join(words) != command or words[:2] != ["aws", "ec2"] or words[2:3] not in ([name] for name in _COMMANDS)
    ):
        raise RecordError(place, "command", command, f"a command of the AWS CLI: {' or '.join(_COMMANDS)}")
    return command


def _endpoint(endpoint: _Endpoint) -> VpcEndpoint:
    return VpcEndpoint(
        NEW_ENDPOINT if endpoint.id is None else _id(endpoint.id, "vpcEndpointId"),
        _id(endpoint.vpc_id, "vpcId"),
        "gateway",
        endpoint.service_name,
        "available",
        endpoint.ip_address_type,
        route_table_ids=tuple(_id(table_id, "routeTableId") for table_id in endpoint.route_table_ids),
        tags=endpoint.tags,
    )


def _cause(name: str | None) -> Cause | None:
    return Cause[name] if name else None


def _comparison(earlier: _Scan, rows: Sequence[Row]) -> Comparison:
    """Return the comparison with the baseline of the earlier scan."""
    by_key = {row.key: row for row in rows}
    past = [
        PastFinding(row.finding, row.vpc_id, mark, by_key.get(row.finding[:3]), _cause(row.cause))
        for mark, past_rows in zip(PAST, (earlier.fixed or (), earlier.unknown, earlier.replaced), strict=True)
        for row in past_rows
    ]
    return Comparison(
        [row for row in rows if row.baseline is Mark.NEW],
        [row for row in rows if row.baseline is Mark.UNCHANGED],
        sorted(past, key=lambda one: one.finding),
        {row.key: row.baseline for row in rows if row.baseline},
    )


def _selection(filters: Iterable[str]) -> Selection:
    """Return the selection that these options make, such as "--vpc vpc-1"."""
    given = [option.partition(" ") for option in filters]
    return Selection(
        frozenset(value for name, _, value in given if name == "--vpc"),
        tuple(value for name, _, value in given if name == "--tag"),
    )


def _source(source: _Source) -> Source:
    live = LiveOptions(
        source.regions,
        source.all_regions,
        source.profile or None,
        source.organization,
        source.role_name or None,
        source.external_id,
    )
    folder = Path(source.from_dump) if source.from_dump else None
    return Source(folder, source.aggregator or None, live, source.example)

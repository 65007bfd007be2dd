"""Read all of the JSON document of an earlier scan: the same result that was written, for every other format.

A file may come from somebody else. What is missing, damaged, or contradictory is an error that names the field, and the
commands are derived again or have a known form.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from express_path.domain.heal.endpoints import NEW_ENDPOINT
from express_path.domain.network.ids import wrong_form
from express_path.domain.network.resources import TargetKind, VpcEndpoint
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason, Unknown
from express_path.domain.remedy.texts import NAT64_PAGE, PAGES, Remedy
from express_path.domain.verdict.parameters import RuleParameters, parse_parameters
from express_path.errors import ParameterError, RecordError
from express_path.fields import (
    Description,
    count,
    flag,
    free_text,
    identifier,
    ids,
    member,
    number,
    optional_free_text,
    optional_identifier,
    required_object,
    required_rows,
    rows,
    time,
    word,
)
from express_path_cli.aws.options import LiveOptions
from express_path_cli.findings.baseline import (
    PAST,
    Cause,
    Comparison,
    PastFinding,
    coverage_in,
    flagged_in,
    parameter_words,
)
from express_path_cli.findings.options import ScanOptions
from express_path_cli.findings.proposed import ProposedFindings, TableChange
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Mark, Row, TrafficPath, combined
from express_path_cli.findings.scan_file import DOCUMENT, ReadId, faults_in, finding_in, read_scan
from express_path_cli.findings.selection import Selection
from express_path_cli.sources.proposal.resource import NewId
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import Failure, OptionError

_COMMANDS = ("delete-route", "modify-subnet-attribute")
"""The operations of EC2 that commands of changes without an endpoint call."""


def read_saved(file: Path) -> tuple[Result, ScanOptions]:
    """Return the result of an earlier scan, and the options that it was made with.

    Raise OptionError if the file cannot be read, is not the JSON output of a scan, or does not hold a whole one.
    """
    document = read_scan(file)
    with faults_in(file):
        result = _result(document)
        evaluated = number(required_object(document, "totals", DOCUMENT), "evaluated", "totals")
        if evaluated != len(result.rows) or flagged_in(document) != sum(row.is_flagged for row in result.rows):
            raise OptionError(f"{file} does not list all subnets that its scan evaluated", "make it without --show")
        options = ScanOptions(
            _source(required_object(document, "source", DOCUMENT)),
            parameter_words(result.parameters),
            _selection(result.filters),
            is_plan=result.plan is not None,
        )
    return result, options


def _result(document: Description) -> Result:
    coverage = coverage_in(document)
    an_id = _id_or_address if "plan" in document else identifier
    changes = enumerate(_objects(document, "changes"))
    remedies = [_remedy(change, f"changes[{place}]", an_id) for place, change in changes]
    found = combined(sorted((_row(row, remedies, an_id) for row in document["subnets"]), key=lambda row: row.key))
    listed: dict[tuple[str, str], set[str]] = {_place(name): set() for name in coverage.accounts}
    for row in found:
        _list(listed, row.account_id, row.region, [row.subnet_id])
    for others in _objects(document, "notSelected"):
        account_id, region = (an_id(others, name, "notSelected") for name in ("accountId", "region"))
        _list(listed, account_id, region, _ids(others, "subnetIds", "notSelected", an_id))
    return Result(
        found,
        time(document, "madeAt", DOCUMENT),
        [_failure(failure) for failure in _objects(document, "notRead")],
        _texts(document, "notes"),
        _parameters(coverage.parameters),
        filters=coverage.filters,
        comparison=_comparison(document, found, an_id) if "fixed" in document else None,
        listed=listed,
        plan=_plan(document, found) if "plan" in document else None,
        account_names=_tags(document, "accountNames", DOCUMENT) if "accountNames" in document else {},
    )


def _id_or_address(found: Description, field: str, resource: str) -> str:
    """Return an id, or what the scan of a plan has in place of one that AWS has not given yet."""
    text = free_text(found, field, resource)
    return NewId(identifier({"address": text}, "address", resource)) if wrong_form(text, field) else text


def _ids(found: Description, field: str, resource: str, an_id: ReadId) -> tuple[str, ...]:
    """Return a list of ids."""
    return tuple(
        an_id({field.removesuffix("s"): one}, field.removesuffix("s"), resource) for one in _texts(found, field)
    )


def _plan(document: Description, found: Sequence[Row]) -> ProposedFindings:
    """Return what the plan changes. Its findings are compared with those before it already."""
    tables = [
        TableChange(
            optional_identifier(table, "routeTableId", "routeTables") or None,
            optional_identifier(table, "address", "routeTables"),
            _counts(table, "before"),
            _counts(table, "after"),
        )
        for table in _objects(document, "routeTables")
    ]
    return ProposedFindings(found, None, tables, _texts(document, "plan"), _texts(document, "undecided"))


def _counts(table: Description, field: str) -> dict[Reason, int]:
    """Return how many subnets have each reason."""
    found = required_object(table, field, "routeTables")
    return {member({field: reason}, field, "routeTables", Reason): count(found, reason, field) for reason in found}


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


def _objects(document: Description, field: str) -> list[Description]:
    return required_rows(document, field, DOCUMENT) if document.get(field) != [] else []


def _texts(document: Description, field: str) -> tuple[str, ...]:
    """Return a field that must be a list of strings with any content."""
    found = document.get(field)
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise RecordError(DOCUMENT, field, found, "a list of strings")
    return tuple(found)


def _tags(description: Description, field: str, resource: str) -> dict[str, str]:
    """Return a field that must be an object whose values are strings."""
    found = required_object(description, field, resource)
    return {key: optional_free_text(found, key, f"{resource}: {field}") for key in found}


def _parameters(values: Mapping[str, str]) -> RuleParameters:
    try:
        return parse_parameters(values)
    except ParameterError as error:
        raise RecordError("parameters", error.name, error.value, error.allowed) from error


def _failure(found: Description) -> Failure:
    where = free_text(found, "where", "notRead")
    return Failure(where, OptionError(free_text(found, "message", where), optional_free_text(found, "hint", where)))


def _row(found: Description, remedies: Sequence[Remedy], an_id: ReadId) -> Row:
    is_new = an_id is _id_or_address and found.get("subnetId") is None
    subnet_id = NewId(identifier(found, "address", DOCUMENT)) if is_new else identifier(found, "subnetId", DOCUMENT)
    table_id = optional_identifier(found, "routeTableId", subnet_id)
    table_address = optional_identifier(found, "routeTableAddress", subnet_id)
    names = required_object(found, "names", subnet_id)
    change = number(found, "change", subnet_id)
    if change is not None and not 0 <= change < len(remedies):
        raise RecordError(subnet_id, "change", change, "the place of one of the changes")
    return Row(
        account_id=an_id(found, "accountId", subnet_id),
        region=identifier(found, "region", subnet_id),
        vpc_id=an_id(found, "vpcId", subnet_id) if found.get("vpcId") else "",
        subnet_id=subnet_id,
        availability_zone_id=optional_identifier(found, "availabilityZoneId", subnet_id),
        route_table_id=table_id or (NewId(table_address) if table_address else None),
        compliance=member(found, "compliance", subnet_id, Compliance),
        reason=member(found, "reason", subnet_id, Reason),
        annotation=free_text(found, "annotation", subnet_id),
        path=_hops(found, subnet_id),
        note=optional_free_text(found, "note", subnet_id),
        lacks=optional_free_text(found, "lacks", subnet_id),
        unknown=member(found, "unknown", subnet_id, Unknown) if "unknown" in found else None,
        excluded_by=optional_free_text(found, "excludedBy", subnet_id),
        subnet_name=optional_free_text(names, "subnet", subnet_id),
        route_table_name=optional_free_text(names, "routeTable", subnet_id),
        vpc_name=optional_free_text(names, "vpc", subnet_id),
        tags=_tags(found, "tags", subnet_id),
        table_tags=_tags(found, "tableTags", subnet_id) if "tableTags" in found else {},
        other_paths=tuple(
            TrafficPath(member(path, "reason", subnet_id, Reason), _hops(path, subnet_id))
            for path in rows(found, "otherPaths", subnet_id)
        ),
        remedy=None if change is None else remedies[change],
        baseline=member(found, "baseline", subnet_id, Mark) if found.get("baseline") is not None else None,
        address=optional_identifier(found, "address", subnet_id),
        changed_by=ids(found, "changedBy", subnet_id),
        file=optional_identifier(found, "file", subnet_id),
        line=number(found, "line", subnet_id) or 0,
    )


def _hops(found: Description, subnet_id: str) -> tuple[Hop, ...]:
    return tuple(
        Hop(
            member(hop, "kind", subnet_id, TargetKind),
            optional_identifier(hop, "id", subnet_id),
            optional_identifier(hop, "destination", subnet_id),
        )
        for hop in rows(found, "path", subnet_id)
    )


def _remedy(change: Description, place: str, an_id: ReadId) -> Remedy:
    """Return what to do. With an endpoint, the text, the commands, and the patches are made from it again."""
    endpoint = change.get("endpoint")
    return Remedy(
        free_text(change, "text", place),
        "" if endpoint else _command(optional_free_text(change, "command", place), place),
        word(change, "url", place, {*PAGES.values(), NAT64_PAGE}),
        note=optional_free_text(change, "note", place),
        endpoint=_endpoint(required_object(change, "endpoint", place), f"{place}: endpoint", an_id)
        if endpoint
        else None,
        owner=optional_free_text(change, "owner", place),
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


def _endpoint(found: Description, place: str, an_id: ReadId) -> VpcEndpoint:
    endpoint_id = found.get("id")
    return VpcEndpoint(
        NEW_ENDPOINT if endpoint_id is None else an_id({"vpcEndpointId": endpoint_id}, "vpcEndpointId", place),
        an_id(found, "vpcId", place),
        "gateway",
        identifier(found, "serviceName", place),
        "available",
        word(found, "ipAddressType", place, ("ipv4", "ipv6", "dualstack")),
        route_table_ids=_ids(found, "routeTableIds", place, an_id),
        tags=_tags(found, "tags", place),
    )


def _comparison(document: Description, found: Sequence[Row], an_id: ReadId) -> Comparison:
    """Return the comparison with the baseline of the earlier scan."""
    by_key = {row.key: row for row in found}
    past = []
    for mark in PAST:
        for row in rows(document, mark, DOCUMENT):
            finding, vpc_id = finding_in(row, an_id)
            cause = row.get("cause")
            named = Cause[word(row, "cause", finding.subnet_id, Cause.__members__)] if cause is not None else None
            past.append(PastFinding(finding, vpc_id, mark, by_key.get(finding[:3]), named))
    return Comparison(
        [row for row in found if row.baseline is Mark.NEW],
        [row for row in found if row.baseline is Mark.UNCHANGED],
        sorted(past, key=lambda one: one.finding),
        {row.key: row.baseline for row in found if row.baseline},
    )


def _selection(filters: Iterable[str]) -> Selection:
    """Return the selection that these options make, such as "--vpc vpc-1"."""
    given = [option.partition(" ") for option in filters]
    return Selection(
        frozenset(value for name, _, value in given if name == "--vpc"),
        tuple(value for name, _, value in given if name == "--tag"),
    )


def _source(found: Description) -> Source:
    place = "source"
    folder = optional_free_text(found, "fromDump", place)
    flags = {name: flag(found, name, place) for name in ("example", "allRegions", "organization")}
    text = {
        name: optional_identifier(found, name, place) for name in ("aggregator", "profile", "roleName", "externalId")
    }
    return Source(
        Path(folder) if folder else None,
        text["aggregator"] or None,
        LiveOptions(
            ids(found, "regions", place),
            flags["allRegions"],
            text["profile"] or None,
            flags["organization"],
            text["roleName"] or None,
            text["externalId"],
        ),
        flags["example"],
    )

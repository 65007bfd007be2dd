"""A whole scan is read from its JSON document: every format made from it is the one made from the scan itself."""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.parameters import parse_parameters
from express_path_cli.aws.options import LiveOptions
from express_path_cli.findings.baseline import parameter_words
from express_path_cli.findings.formats import Format
from express_path_cli.findings.options import RenderOptions, ScanOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.saved import read_saved
from express_path_cli.findings.selection import Selection
from express_path_cli.sources.source import Source
from express_path_cli.terminal.errors import OptionError, one_line
from tests.cli.findings.formats.test_json import SCHEMA
from tests.cli.findings.results import ACCOUNT, DENIED, HUB, REGION, compared, rendered
from tests.cli.report.results import owned_organization, result_of, views_of

PARAMETERS = parse_parameters({"publicSubnets": "NON_COMPLIANT", "vpcIds": "vpc-2,vpc-1", "excludeTag": "NONE"})


def with_places(result: Result) -> Result:
    """Return a result that was made by hand, with the account and Region of its rows."""
    subnets = {row.subnet_id for row in result.rows} | {"subnet-not-selected"}
    rows = [replace(row, remedy=Remedy("Delete it.")) if row.remedy else row for row in result.rows]
    return replace(
        result,
        rows=sorted(rows, key=lambda row: row.key),
        listed={(ACCOUNT, REGION): subnets},
        filters=("--tag team=data", "--vpc vpc-1"),
    )


RESULTS: dict[str, Callable[[], Result]] = {
    "organization": lambda: replace(owned_organization(), parameters=PARAMETERS),
    "existing endpoint": lambda: result_of(views_of("transit-gateway-hijacks-part")),
    "compared": lambda: with_places(compared()),
    "nothing": lambda: result_of([]),
}
SOURCES = (
    Source(Path("my dump")),
    Source(example=True),
    Source(aggregator="all", live=LiveOptions(profile="prod eu")),
    Source(live=LiveOptions(("us-east-1", "eu-west-1"))),
    Source(live=LiveOptions(all_regions=True, organization=True, role_name="Audit", external_id="x$1")),
)


def saved(result: Result, scan: ScanOptions, folder: Path) -> Path:
    """Write the JSON document of a result, and return its file."""
    file = folder / "scan.json"
    file.write_text(rendered(Format.JSON, result, RenderOptions(scan=scan)), encoding="utf-8")
    return file


@cache
def result_named(name: str) -> Result:
    """Return one of the results."""
    return RESULTS[name]()


@pytest.mark.parametrize("chosen", [Format.JSON, Format.HTML])
@pytest.mark.parametrize("name", RESULTS)
def test_each_format_is_that_of_the_scan(name: str, chosen: Format, tmp_path: Path) -> None:
    """Not a byte differs. The document has everything, and the page all that another format shows."""
    result = result_named(name)
    scan = ScanOptions(SOURCES[-1], parameter_words(result.parameters))
    again, _ = read_saved(saved(result, scan, tmp_path))
    shown = RenderOptions(scan=scan)
    assert rendered(chosen, again, shown) == rendered(chosen, result, shown)


@pytest.mark.parametrize("source", SOURCES)
def test_the_options_are_those_of_the_scan(source: Source, tmp_path: Path) -> None:
    """The next commands name the same source, parameters, and filters."""
    selection = Selection(frozenset({"vpc-1", "vpc-2"}), ("team=data center",))
    result = replace(result_of([]), parameters=PARAMETERS, filters=selection.options)
    scan = ScanOptions(source, parameter_words(PARAMETERS), selection)
    again, options = read_saved(saved(result, scan, tmp_path))
    assert options == scan
    assert (again.made_at, again.parameters, again.coverage) == (result.made_at, PARAMETERS, result.coverage)


def changed(document: Any, path: str | tuple[str, ...], value: object) -> None:
    """Change a value inside a document, by its path."""
    words = path.split(".") if isinstance(path, str) else path
    for word in words[:-1]:
        document = document[int(word) if isinstance(document, list) else word]
    document[int(words[-1]) if isinstance(document, list) else words[-1]] = value


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("madeAt", "yesterday", "field madeAt"),
        ("accounts", [], "a subnet that is listed once, in an account and Region of the scan"),
        ("parameters.publicSubnets", "MAYBE", "field publicSubnets"),
        ("source.regions", "us-east-1", "field regions"),
        ("source.example", "yes", "field example"),
        ("notes", "a note", "field notes"),
        ("notRead", [{"where": "here"}], "here: field message"),
        ("totals.evaluated", 99, "does not list all subnets"),
        ("totals.compliances.NON_COMPLIANT", 0, "does not list all subnets"),
        ("notSelected", 1, "field notSelected"),
        ("changes", {}, "field changes"),
        ("changes.0.url", "https://example.com", "field url"),
        ("changes.0.endpoint.vpcId", "$(reboot)", "field vpcId"),
        ("changes.0.endpoint.id", "vpce-1; reboot", r"changes\[0\]: endpoint: field id"),
        ("changes.0.endpoint.ipAddressType", "ipv5", "field ipAddressType"),
        ("changes.0.endpoint", "vpce-1", "field endpoint"),
        ("subnets.0.change", 99, "field change"),
        ("subnets.0.change", -1, "field change"),
        ("subnets.0.compliance", "FINE", "field compliance"),
        ("subnets.0.reason", "LUCK", "field reason"),
        ("subnets.0.annotation", "", "field annotation"),
        ("subnets.0.path", [{"kind": "TELEPORT", "id": "x", "destination": "y"}], "field kind"),
        ("subnets.0.names", [], "field names"),
        ("subnets.0.tags", {"owner": ["<b>"]}, "field owner"),
        ("subnets.0.otherPaths", [{"reason": "LUCK"}], "field reason"),
        ("subnets.0.setBy", "vpcIds", "the name of one of setParameters"),
        (
            "setParameters",
            [{"name": "vpc", "value": "x", "why": "x", "expires": "2026-01-31", "subnets": 1}],
            "field name",
        ),
        (
            "setParameters",
            [{"name": "scope", "value": "x", "why": "x", "expires": "later", "subnets": 1}],
            "field expires",
        ),
        ("subnets.0.baseline", "better", "field baseline"),
        ("subnets.0.subnetId", "subnet-1\u001b[2J", "field subnetId"),
    ],
)
def test_a_damaged_or_forged_file_is_refused(path: str, value: object, fault: str, tmp_path: Path) -> None:
    """The error names the file and the field, whatever somebody wrote there."""
    result = result_of(views_of("nat-gateway-zonal"))
    file = saved(result, ScanOptions(), tmp_path)
    document = json.loads(file.read_text(encoding="utf-8"))
    changed(document, path, value)
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(OptionError, match=fault) as raised:
        read_saved(file)
    assert str(raised.value).startswith(str(file))


WRONG = (None, True, -1, 1.5, "", "\x1b[2J\ud800", [[]], {"a\ud800": 1})
"""Values of each type, and texts that no output may contain."""
UNUSED = re.compile(
    r"settings|notRead\.0\.error|changes\.0\.(patches|routeTableIds|subnets)|.*\.now"
    r"|totals\.(reasons|ignored|setByFile|.*\.(COMPLIANT|NOT_APPLICABLE))"
)
"""The paths of fields that are made again, or that only people read."""
WITHOUT_OTHER_KEYS = ("names", "source")
"""Objects in which the schema allows no other keys. Readers ignore those."""


def places(value: object, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield the path of each value inside a document, at every level, and of each list the first item."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, str(key))
        yield from places(inner, *path, str(key))


@pytest.mark.parametrize("name", ["compared", "existing endpoint"])
def test_a_value_of_another_type_is_refused(name: str, tmp_path: Path) -> None:
    """At each level of the document, it is an error in one line that names the file."""
    more = {"notes": ["a note"], "failures": [DENIED], "account_names": {ACCOUNT: "prod"}, "hubs": [HUB]}
    result = replace(result_named(name), **more)
    file = saved(result, ScanOptions(SOURCES[-1]), tmp_path)
    check_wrong_values(json.loads(file.read_text(encoding="utf-8")), file)


def check_wrong_values(document: Any, file: Path) -> None:
    """Check that what the schema does not allow is refused, and that no value of another type leads to a trace."""
    for path in list(places(document)):
        for value in WRONG:
            wrong = deepcopy(document)
            changed(wrong, path, value)
            file.write_text(json.dumps(wrong), encoding="utf-8")
            error = error_of(file)
            if error is None:
                is_read = not UNUSED.match(".".join(path)) and path[-1] not in WITHOUT_OTHER_KEYS
                assert not is_read or SCHEMA.is_valid(wrong), (path, value)
            else:
                assert str(error).startswith(f"{file}"), (path, value)
                assert len(one_line(error)) < 1000, (path, value)


def error_of(file: Path) -> OptionError | None:
    """Return the error of reading a file, None if it is read."""
    try:
        read_saved(file)
    except OptionError as error:
        return error
    return None


@pytest.mark.parametrize(
    "command",
    [
        "aws ec2 delete-route --route-table-id rtb-1 --destination-cidr-block 10.0.0.0/8; reboot",
        "aws ec2 delete-route $(reboot)",
        "aws ec2 delete-route 'rtb-1",
        "aws ec2 terminate-instances --instance-ids i-1",
        "reboot",
        1,
    ],
)
def test_a_command_of_a_file_has_a_known_form(command: object, tmp_path: Path) -> None:
    """Readers copy commands into a shell, so one that express-path would not print is refused."""
    result = result_of(views_of("transit-gateway-hijacks-part"))
    file = saved(result, ScanOptions(), tmp_path)
    document = json.loads(file.read_text(encoding="utf-8"))
    place = next(
        place for place, change in enumerate(document["changes"]) if change["command"] and not change["endpoint"]
    )
    document["changes"][place]["command"] = command
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(OptionError, match=rf"changes\[{place}\]: field command"):
        read_saved(file)


@pytest.mark.parametrize("field", ["subnets", "notSelected"])
def test_a_subnet_is_listed_once(field: str, tmp_path: Path) -> None:
    """With two verdicts on one subnet, it would be unclear which one counts."""
    result = result_of(views_of("nat-gateway-zonal"))
    file = saved(result, ScanOptions(), tmp_path)
    document = json.loads(file.read_text(encoding="utf-8"))
    row = document["subnets"][0]
    place = {"accountId": row["accountId"], "region": row["region"]}
    document[field].append(row if field == "subnets" else {**place, "subnetIds": [row["subnetId"]]})
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(
        OptionError, match=f"{row['subnetId']}: field subnetId is .* must be a subnet that is listed once"
    ):
        read_saved(file)


def test_commands_with_an_endpoint_are_made_again(tmp_path: Path) -> None:
    """What a file says about them does not count."""
    result = result_of(views_of("nat-gateway-zonal"))
    file = saved(result, ScanOptions(), tmp_path)
    document = json.loads(file.read_text(encoding="utf-8"))
    changed(document, "changes.0.command", "reboot")
    changed(document, "changes.0.text", "Run reboot.")
    file.write_text(json.dumps(document), encoding="utf-8")
    again, _ = read_saved(file)
    assert [row.remedy for row in again.rows] == [row.remedy for row in result.rows]

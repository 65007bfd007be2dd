"""Each output format against its published schema and against the verdicts."""

import csv
import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from fluidattacks_core.sarif import SarifLog
from junitparser import Error, Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt
from py_ocsf_models.events.findings.compliance_finding import ComplianceFinding

from express_path.domain.network.resources import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason
from express_path.errors import ApiError
from express_path_cli.findings import output
from express_path_cli.findings.formats.markdown import MAX_COMMENT
from express_path_cli.findings.output import Format
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row, rows_of
from express_path_cli.terminal.errors import Failure as NotSeen
from tests.support.command import invoke, scan
from tests.support.scenarios import dump_of

MADE_AT = datetime(2026, 2, 13, 5, 48, 51, tzinfo=UTC)
DENIED = NotSeen(
    "account 444455556666 eu-west-1", ApiError("ec2:DescribeSubnets", "UnauthorizedOperation", "no | <way>")
)
# Together they have every compliance, an unknown route table, several hops, several accounts and a Region in China.
RECORDINGS = [
    "china-partition",
    "gateway-endpoint",
    "isolated-subnet",
    "network-firewall-then-nat",
    "shared-subnet-beside-its-owner",
    "table-in-force-unreadable",
    "two-accounts",
    "vpc-without-subnets",
]


def verdicts_of(recording: str) -> list[dict[str, Any]]:
    """Return the rows of the JSON format, which other tests compare with the expected verdicts."""
    rows: list[dict[str, Any]] = json.loads(scan(dump_of(recording)).stdout)["subnets"]
    return rows


def written(recording: str, chosen: Format, *options: str) -> str:
    """Return the output of a scan in a format."""
    result = invoke(["scan", "--from-dump", str(dump_of(recording)), "--format", chosen, *options])
    assert result.exit_code in (0, 1)
    assert result.stderr == ""
    return result.stdout


def rendered(chosen: Format, result: Result) -> str:
    """Return a result in a format."""
    return b"".join(output.rendered(result, chosen)).decode()


def partly(*verdicts: Row) -> Result:
    """Return a result in which one account could not be read."""
    return Result(verdicts, MADE_AT, [DENIED])


def verdict(**changed: object) -> Row:
    """Return a verdict that crosses a NAT, with some fields changed."""
    usual = Row(
        "111122223333",
        "us-east-1",
        "vpc-1",
        "subnet-1",
        "use1-az4",
        "rtb-1",
        Compliance.NON_COMPLIANT,
        Reason.NAT_GATEWAY,
        "NAT_GATEWAY: <crosses> a | NAT",
    )
    return replace(usual, **changed)  # type: ignore[arg-type]


@pytest.mark.parametrize("recording", RECORDINGS)
def test_csv_has_a_row_for_each_subnet(recording: str) -> None:
    """A CSV reader gets the same values as a JSON reader, with the path in one cell."""
    rows = list(csv.DictReader(io.StringIO(written(recording, Format.CSV), newline="")))
    expected = verdicts_of(recording)
    for row, subnet in zip(rows, expected, strict=True):
        path, names, tags = (subnet.pop(field) for field in ("path", "names", "tags"))
        assert row.pop("path") == ", then ".join(f"{hop['destination']} -> {hop['id']}" for hop in path)
        assert {field: row.pop(f"{field}Name") for field in ("subnet", "routeTable", "vpc")} == {
            "subnet": "",
            "routeTable": "",
            "vpc": "",
        } | names
        assert (row, tags) == ({name: value or "" for name, value in subnet.items()}, {})


def tables_in(text: str) -> list[list[str]]:
    """Return the tables of a Markdown text: their lines."""
    parts = [part.splitlines() for part in re.split(r"\n\n+", text)]
    return [lines for lines in parts if lines and lines[0].startswith("|")]


@pytest.mark.parametrize("recording", RECORDINGS)
@pytest.mark.parametrize("words", [[], ["--show", "COMPLIANT", "--show", "NOT_APPLICABLE"]])
def test_markdown_has_a_row_for_each_subnet(recording: str, words: list[str]) -> None:
    """Subnets to fix or to look into have a row; --show lists others, too. Rows have as many cells as the header."""
    text = written(recording, Format.MARKDOWN, *words)
    *_, listed = tables_in(text) or [[]]
    subnets = [row for row in verdicts_of(recording) if row["compliance"] in words] if words else worked_on(recording)
    assert sorted(re.findall(r"`(subnet-[^`]+)`", "\n".join(listed))) == sorted(row["subnetId"] for row in subnets)
    for subnet in subnets:
        [row] = [line for line in listed if f"`{subnet['subnetId']}`" in line and f"| {subnet['accountId']} |" in line]
        assert f"| {subnet['reason']} |" in row
    for header, _, *rows in tables_in(text):
        assert {row.count(" | ") for row in rows} == {header.count("|") - 2}
    hidden = 0 if words else len(verdicts_of(recording)) - len(subnets)
    assert ("with nothing to fix" in text) is (hidden > 0)


def worked_on(recording: str) -> list[dict[str, Any]]:
    """Return the subnets that a worklist has."""
    todo = ("DROPPED", "UNRESOLVED_EGRESS")
    rows = verdicts_of(recording)
    return [row for row in rows if row["compliance"] == "NON_COMPLIANT" or row["reason"] in todo]


def test_markdown_has_the_rows_of_the_terminal_first() -> None:
    """The worklist comes before the remedies, and those before the subnets; parts without rows are left out."""
    text = written("network-firewall-then-nat", Format.MARKDOWN)
    assert re.findall(r"^### (.*)", text, re.MULTILINE) == ["What to fix", "What to do", "Subnets"]
    first, subnets = tables_in(text)
    assert [re.findall(r"`([^`]+)`", row)[0] for row in first[2:]] == ["rtb-00d73354bca140aff", "rtb-0d78d78b0be99028e"]
    assert [len(first), len(subnets)] == [4, 4]
    dropped = written("endpoint-blackhole", Format.MARKDOWN)
    assert re.findall(r"^### (.*)", dropped, re.MULTILINE) == ["Traffic that AWS drops", "Subnets"]
    assert written("gateway-endpoint", Format.MARKDOWN).endswith(
        "Not listed: 2 subnets with nothing to fix. `--show` selects what is listed.\n"
    )


@pytest.mark.parametrize(
    ("tables", "subnets", "shown"), [(5, 20, (True, 5)), (5, 200, (False, 5)), (500, 1, (False, 20))]
)
def test_markdown_fits_a_comment_on_github(tables: int, subnets: int, shown: tuple[bool, int]) -> None:
    """A longer text has no subnets, and if that is not enough, the worst rows only; it says what is left out."""
    many = [
        verdict(vpc_id=f"vpc-{table}", route_table_id=f"rtb-{table:017x}", subnet_id=f"subnet-{table}-{subnet:017x}")
        for table in range(tables)
        for subnet in range(subnets)
    ]
    text = rendered(Format.MARKDOWN, Result(rows_of(many), MADE_AT))
    assert len(text) <= MAX_COMMENT
    assert ("### Subnets" in text, len(tables_in(text)[0]) - 2) == shown
    left_out = f"Not listed: {len(many):,} subnets, because the text would be too long for a comment on GitHub."
    assert (left_out in text) is not shown[0]
    assert (f"Not listed: {tables - 20} more route tables" in text) is (tables > 20)
    assert ("More changes like these are not listed." in text) is (tables > 20)


def test_markdown_keeps_cells_whole() -> None:
    """A vertical bar in a text does not end its cell, and failures are listed."""
    text = rendered(Format.MARKDOWN, partly(verdict()))
    assert r"a \| NAT |" in text
    assert "- account 444455556666 eu-west-1: ec2:DescribeSubnets failed" in text


def test_markdown_escapes_names() -> None:
    """An account's name can contain markup characters."""
    error = ApiError("sts:AssumeRole", "AccessDenied", "no")
    text = rendered(Format.MARKDOWN, Result((), MADE_AT, [NotSeen("account 1 ([a](b) <c> | `d`)", error)]))
    assert r"- account 1 (\[a\](b) \<c\> \| \`d\`): sts:AssumeRole failed" in text


@pytest.mark.parametrize(
    "odd", ["[a](https://example.com)", "<b>c</b>", "`d`", "e|f", "*g* ~~h~~ &lt;", "\\|i", "j\nk"]
)
def test_markdown_escapes_texts_of_verdicts(odd: str) -> None:
    """A dump can contain any text, and the cell shows it unchanged."""
    path = (Hop(TargetKind.NAT_GATEWAY, odd, "0.0.0.0/0"),)
    odd_ids = verdict(account_id=odd, region=odd, vpc_id=odd, subnet_id=odd, route_table_id=odd, path=path)
    text = rendered(Format.MARKDOWN, Result([odd_ids, verdict(annotation=odd)], MADE_AT))
    page = fromstring(f"<page>{MarkdownIt('commonmark').enable(['table', 'strikethrough']).render(text)}</page>")
    *_, subnets = page.iter("table")
    _, *rows = (["".join(cell.itertext()) for cell in row] for row in subnets.iter("tr"))
    first, second = sorted(rows, key=lambda row: row[4] == "subnet-1")
    shown = " ".join(odd.split())
    assert first[1:6] == [shown] * 5
    assert (first[7], second[7]) == (f"0.0.0.0/0 -> {shown}", shown)
    assert {element.tag for body in page.iter("tbody") for element in body.iter()} <= {"tbody", "tr", "td", "code"}


@pytest.mark.parametrize("value", ["=1+1", "+1", "-1", "@sum(a1)", "\t=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201"])
def test_csv_has_no_formula(value: str) -> None:
    """Text from somebody else's dump is not a formula in a spreadsheet, also not in a later line of its cell."""
    for before in ("a\n", "a\r\n"):
        later = verdict(annotation=before + value)
        [_, row] = csv.reader(io.StringIO(rendered(Format.CSV, Result([later], MADE_AT)), newline=""))
        assert row[8] == f"{before}'{value}"
    [_, row] = csv.reader(
        io.StringIO(rendered(Format.CSV, Result([verdict(vpc_id=value, route_table_id=None)], MADE_AT)))
    )
    assert (row[2], row[5]) == (f"'{value}", "")


@pytest.mark.parametrize("recording", RECORDINGS)
def test_junit_is_read_by_a_junit_parser(recording: str) -> None:
    """Each subnet is a test: NON_COMPLIANT fails, NOT_APPLICABLE is skipped, and the counts match."""
    suites = JUnitXml.fromstring(written(recording, Format.JUNIT).encode())
    kinds = {Compliance.NON_COMPLIANT: [Failure], Compliance.COMPLIANT: [], Compliance.NOT_APPLICABLE: [Skipped]}
    cases = {(suite.name, case.name): case.result for suite in suites for case in suite}
    expected = verdicts_of(recording)
    assert {key: [type(outcome) for outcome in result] for key, result in cases.items()} == {
        (f"{subnet['accountId']}/{subnet['region']}/{subnet['vpcId']}", subnet["subnetId"]): kinds[subnet["compliance"]]
        for subnet in expected
    }
    assert (suites.tests, suites.errors) == (len(expected), 0)
    assert suites.failures == sum(subnet["compliance"] == "NON_COMPLIANT" for subnet in expected)


def test_junit_has_what_could_not_be_determined() -> None:
    """An account that could not be read is an error with its operation; markup in texts is escaped."""
    suites = JUnitXml.fromstring(rendered(Format.JUNIT, partly(verdict())).encode())
    [[error], [failure]] = [
        case.result for suite in sorted(suites, key=lambda suite: str(suite.name)[::-1]) for case in suite
    ]
    assert {type(error), type(failure)} == {Error, Failure}
    assert "<crosses>" in str(error.message) + str(failure.message)
    assert (suites.tests, suites.errors, suites.failures) == (2, 1, 1)


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\uffff", "\ud800"])
def test_junit_replaces_invalid_characters(character: str) -> None:
    """A character that XML does not allow is replaced; the rest of the text stays."""
    spoiled = verdict(annotation=f"a{character}b \U0001f680")
    [[[failure]]] = [
        [case.result for case in suite] for suite in JUnitXml.fromstring(rendered(Format.JUNIT, partly(spoiled)))
    ][:1]
    assert failure.message == "a\ufffdb \U0001f680"


@pytest.mark.parametrize("recording", RECORDINGS)
def test_sarif_fits_the_published_schema(recording: str) -> None:
    """The log is valid SARIF 2.1.0 and has a result of the right kind for each subnet."""
    text = written(recording, Format.SARIF)
    SarifLog.model_validate_json(text)
    [run] = json.loads(text)["runs"]
    kinds = {
        "NON_COMPLIANT": ("fail", "error"),
        "COMPLIANT": ("pass", "none"),
        "NOT_APPLICABLE": ("notApplicable", "none"),
    }
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result, subnet in zip(run["results"], verdicts_of(recording), strict=True):
        assert (result["kind"], result["level"]) == kinds[subnet["compliance"]]
        assert rules[result["ruleIndex"]] == result["ruleId"] == subnet["reason"]
        assert result["message"]["text"] == subnet["annotation"]
    assert run["invocations"][0]["executionSuccessful"] is True


def test_sarif_has_what_could_not_be_determined() -> None:
    """A run in which an account could not be read is not successful and names the account."""
    text = rendered(Format.SARIF, partly(verdict()))
    SarifLog.model_validate_json(text)
    [invocation] = json.loads(text)["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "444455556666" in invocation["toolExecutionNotifications"][0]["message"]["text"]


@pytest.mark.parametrize("recording", RECORDINGS)
def test_ocsf_is_a_compliance_finding(recording: str) -> None:
    """Every finding matches the OCSF models of class 2003 and the verdict."""
    findings = json.loads(written(recording, Format.OCSF))
    statuses = {"NON_COMPLIANT": "Fail", "COMPLIANT": "Pass", "NOT_APPLICABLE": "Other"}
    for finding, subnet in zip(findings, verdicts_of(recording), strict=True):
        model = ComplianceFinding.model_validate(finding)
        assert model.compliance.status_id is not None
        assert model.compliance.status_id.name == statuses[subnet["compliance"]]
        assert (model.class_uid, model.type_uid.value) == (2003, 200301)
        assert (
            model.metadata.version
            == ComplianceFinding.model_fields["metadata"].annotation.model_fields["version"].default
        )
        assert model.message == subnet["annotation"]


ODD = '100 % of "%s" \\ \n é 🐢 %(path)s'


@pytest.mark.parametrize(("chosen", "key"), [(Format.SARIF, "results"), (Format.OCSF, "")])
def test_findings_do_not_depend_on_each_other(chosen: Format, key: str) -> None:
    """A finding is the same alone and among others."""
    path = (Hop(TargetKind.NAT_GATEWAY, f"nat-{ODD}", "0.0.0.0/0"), Hop(TargetKind.NAT_GATEWAY, "nat-2", "::/0"))
    verdicts = [
        verdict(),
        verdict(subnet_id="subnet-2", annotation=ODD),
        verdict(account_id="444455556666", vpc_id=ODD, availability_zone_id="use1-az2", route_table_id="rtb-2"),
        verdict(vpc_id="", availability_zone_id="", route_table_id=None),
        verdict(region="cn-north-1", path=path),
        verdict(path=path[1:]),
        verdict(compliance=Compliance.COMPLIANT, reason=Reason.ENDPOINT),
    ]

    def findings(*of: Row) -> list[dict[str, Any]]:
        """Return the findings of some verdicts."""
        text = rendered(chosen, Result(of, MADE_AT))
        document = json.loads(text)
        found: list[dict[str, Any]] = document["runs"][0][key] if key else document
        return found

    found = findings(*verdicts, *verdicts)
    assert found == [finding for one in [*verdicts, *verdicts] for finding in findings(one)]
    written = [json.dumps(finding, ensure_ascii=False) for finding in found]
    for one, text in zip(verdicts, written, strict=False):
        texts = (one.account_id, one.subnet_id, one.annotation, one.route_table_id, *(hop.id for hop in one.path))
        assert all(json.dumps(held, ensure_ascii=False)[1:-1] in text for held in texts if held)


@pytest.mark.parametrize("chosen", [Format.JSON, Format.SARIF, Format.OCSF])
def test_each_subnet_is_one_line_of_json(chosen: Format) -> None:
    """Each subnet is one line of a document that ends with a line break, whatever its texts contain."""
    odd = '"results": [] "subnets": []\n{"'
    verdicts = [verdict(), verdict(subnet_id="subnet-2", annotation=odd)]
    text = rendered(chosen, Result(verdicts, MADE_AT, [NotSeen(odd, ApiError("ec2:DescribeSubnets", "Denied", odd))]))
    document = json.loads(text)
    rows = {Format.JSON: lambda: document["subnets"], Format.SARIF: lambda: document["runs"][0]["results"]}
    lines = [line.removesuffix(",") for line in text.splitlines() if line.startswith('{"')]
    assert [json.loads(line) for line in lines] == rows.get(chosen, lambda: document)()
    assert len(lines) == 2
    assert text.endswith("\n")


@pytest.mark.parametrize("chosen", list(Format))
def test_every_format_supports_an_empty_result(chosen: Format) -> None:
    """A scan without subnets gives a complete document."""
    text = rendered(chosen, Result((), MADE_AT))
    assert text.endswith("\n")
    if chosen in (Format.JSON, Format.SARIF, Format.OCSF):
        json.loads(text)


def test_ocsf_findings_keep_their_ids_from_scan_to_scan() -> None:
    """A healed subnet updates its existing finding."""
    healed = verdict(compliance=Compliance.COMPLIANT, reason=Reason.ENDPOINT)
    [before], [after] = (json.loads(rendered(Format.OCSF, Result([one], MADE_AT))) for one in (verdict(), healed))
    assert before["finding_info"]["uid"] == after["finding_info"]["uid"]


@pytest.mark.parametrize("odd", ["\x7f", "\x9b2J", "\u202e", "\ud83d"])
@pytest.mark.parametrize("chosen", Format)
def test_no_format_has_characters_that_control_a_terminal(chosen: Format, odd: str) -> None:
    """They are replaced in names and in what is around the rows; so is half of a surrogate pair, which UTF-8 lacks."""
    failure = NotSeen(odd, ApiError("ec2:DescribeSubnets", "Denied", odd))
    text = rendered(chosen, Result([verdict(subnet_name=f"a{odd}é")], MADE_AT, [failure], filters=[f"--tag {odd}"]))
    assert odd not in text
    assert "é" in text or chosen in (Format.TABLE, Format.JUNIT, Format.HTML)

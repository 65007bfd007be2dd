"""The report's file: what it says without a browser, and that nothing which AWS names can become part of its markup."""

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import general_remedy
from express_path.domain.verdict.parameters import parse_parameters
from express_path_cli.findings.formats.html.data import page_data
from express_path_cli.findings.options import RenderOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row
from express_path_cli.findings.worklist import CROSSES_NAT
from express_path_cli.terminal.console import without_controls
from tests.cli.report.results import DENIED, MADE_AT, NOTE, named, organization, page_of, result_of, views_of
from tests.support.command import invoke
from tests.support.scenarios import dump_of

HOSTILE = """</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>'"&amp;${alert(3)}\u2028"""


class Parsed(HTMLParser):
    """What an HTML parser makes of a report: elements in order, and the text of its scripts, styles and headings."""

    def __init__(self, text: str) -> None:
        """Parse all of it."""
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._within = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.elements.append((tag, dict(attrs)))
        self._within = tag

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002  # what html.parser declares
        """Leave an element."""
        self._within = ""

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        self.texts.setdefault(self._within, []).append(data)

    def data(self) -> dict[str, Any]:
        """What is in the data block."""
        [block] = [text for text in self.texts["script"] if text.startswith("{")]
        parsed: dict[str, Any] = json.loads(block)
        return parsed


def verdict(reason: Reason, vpc_id: str = "vpc-1", account_id: str = "111122223333") -> Row:
    """A verdict with a reason, wherever it is."""
    compliance = Compliance.NON_COMPLIANT if reason in CROSSES_NAT else Compliance.COMPLIANT
    return Row(account_id, "us-east-1", vpc_id, "subnet-1", "use1-az4", "rtb-1", compliance, reason, f"{reason}: x")


def test_policy_lets_the_pages_own_style_and_script_run_and_nothing_else() -> None:
    """The hashes in the Content-Security-Policy are those of the style and the script, and all else is forbidden."""
    page = Parsed(page_of(organization()))
    [policy] = [
        str(attributes["content"])
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    directives = {
        name: value for name, _, value in (directive.strip().partition(" ") for directive in policy.split(";"))
    }
    [style] = page.texts["style"]
    [script] = [text for text in page.texts["script"] if not text.startswith("{")]
    for directive, text in (("style-src", style), ("script-src", script)):
        assert directives[directive] == f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
    assert directives["default-src"] == directives["base-uri"] == directives["form-action"] == "'none'"
    assert "unsafe" not in policy


def test_nothing_leads_out_of_the_file() -> None:
    """No element names another file or address: what it has is in it."""
    text = page_of(organization())
    for tag, attributes in Parsed(text).elements:
        assert tag not in ("base", "form", "iframe", "img", "object")
        for name in ("src", "href", "action", "data"):
            assert str(attributes.get(name) or "#").startswith(("#", "data:")), (tag, attributes)
    assert set(re.findall(r"https?://[^\s\"'<>)]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"localStorage|sessionStorage|indexedDB|document\.cookie|fetch\(|XMLHttpRequest", text)


@pytest.mark.parametrize(
    "hostile", [HOSTILE, "<!--<script>", "</SCRIPT >", "]]>", "\x00\N{RIGHT-TO-LEFT OVERRIDE}\N{ANCHOR}"]
)
def test_names_stay_data(hostile: str) -> None:
    """Whatever a subnet, VPC, table or failure is called, a parser finds the same elements, and the name without control characters."""
    views = views_of("gateway-endpoint")
    usual = Parsed(page_of(result_of([named(view, "usual") for view in views], failures=[DENIED])))
    failure = replace(DENIED, where=hostile)
    hostile_result = result_of([named(view, hostile) for view in views], failures=[failure], notes=[])
    page = Parsed(page_of(hostile_result))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in usual.elements]
    found, shown = page.data(), without_controls(hostile)
    assert {row[1] for row in found["subnets"]} == {shown}
    assert {row[3] for row in found["vpcs"]} == {shown}
    assert {name for _, name in found["tables"]} == {shown}


def test_data_tells_every_verdict() -> None:
    """Each row, resolved with the lists, is the verdict: ids, zone, compliance, reason, hops and annotation."""
    result = organization()
    page = Parsed(page_of(result)).data()
    for row, expected in zip(page["subnets"], result.rows, strict=True):
        vpc, path = page["vpcs"][row[2]], page["paths"][row[8]]
        table_id, _ = page["tables"][row[4]]
        assert (*vpc[:3], row[0], page["zones"][row[3]], table_id or None) == (
            *(expected.account_id, expected.region, expected.vpc_id, expected.subnet_id),
            *(expected.availability_zone_id, expected.route_table_id),
        )
        assert page["compliances"][row[5]] == expected.compliance
        assert page["reasons"][row[6]][0] == page["reasons"][path[0]][0] == expected.reason
        assert page["annotations"][row[7]] == expected.annotation
        assert [(hop[1], hop[2]) for hop in path[1]] == [(hop.id, hop.destination) for hop in expected.path]


def test_a_path_that_crosses_a_nat_marks_its_nat() -> None:
    """Every path whose reason is a NAT has one hop marked as NAT, a gateway or an instance; no other path has one."""
    page = Parsed(page_of(organization())).data()
    marked = {(page["reasons"][reason][0], hop[0]) for reason, hops in page["paths"] for hop in hops if hop[4]}
    for reason, hops in page["paths"]:
        assert sum(hop[4] for hop in hops) == (page["reasons"][reason][0] in CROSSES_NAT)
    assert {kind for _, kind in marked} == {"NAT gateway", "NAT instance's interface"}
    assert {reason for reason, _ in marked} >= {"PARTLY_NAT", "NAT_GATEWAY", "NAT_INSTANCE"}


def test_partly_nat_shows_the_endpoint_beside_the_nat() -> None:
    """If some addresses use the endpoint and some a NAT, the report has both paths."""
    page = Parsed(page_of(result_of(views_of("transit-gateway-hijacks-part")))).data()
    [row] = [row for row in page["subnets"] if page["reasons"][row[6]][0] == "PARTLY_NAT"]
    others = [page["paths"][index] for index in page["otherPaths"][row[9]]]
    assert [page["reasons"][reason][0] for reason, _ in others] == ["ENDPOINT"]
    assert others[0][1][-1][0] == "gateway endpoint"


@pytest.mark.parametrize(
    ("verdicts", "says", "where"),
    [
        ([], "No subnets were found", "have no subnets"),
        ([verdict(Reason.ENDPOINT)], "0 of 1 subnet reaches S3 Express", "All are in 1 VPC, 1 account and 1 Region."),
        ([verdict(Reason.PARTLY_NAT)], "1 of 1 subnet reaches", "They are in 1 VPC, 1 account and 1 Region."),
        (
            [verdict(Reason.NAT_GATEWAY), verdict(Reason.NAT_INSTANCE), verdict(Reason.ENDPOINT, "vpc-2", "2")],
            "2 of 3 subnets reach S3 Express through a NAT",
            "They are in 1 of 2 VPCs, 1 of 2 accounts and 1 Region.",
        ),
    ],
)
def test_headline_counts_what_crosses_a_nat(verdicts: list[Row], says: str, where: str) -> None:
    """The headline counts reasons that cross a NAT, partly or wholly, of all subnets, and says where they are."""
    text = page_of(Result(verdicts, MADE_AT))
    assert f"<title>{says}" in text
    assert where in text


def test_what_could_not_be_read_stands_in_the_page_itself() -> None:
    """Failures with their hints, and notes, are plain text of the page, and the headline says that some is missing."""
    text = page_of(organization(failures=[DENIED], notes=[NOTE]))
    assert "1 place could not be read and is not counted." in text
    assert "<strong>account 444455556666 (payments) eu-west-1</strong>" in text
    assert "You are not authorized &lt;to&gt; perform" in text
    assert "allow ec2:DescribeSubnets" in text
    assert "was denied &amp; counts as unknown" in text
    sections = {
        attributes["aria-labelledby"]: "hidden" in attributes
        for tag, attributes in Parsed(text).elements
        if tag == "section" and "notice" in str(attributes.get("class"))
    }
    assert sections == {"failures-title": False, "notes-title": False}
    assert "2026-02-13 05:48 UTC" in text


def test_rule_parameters_are_shown_and_those_that_were_set_are_marked() -> None:
    """The page shows each rule parameter's value, and which of them are not the default."""
    chosen = parse_parameters({"publicSubnets": "NON_COMPLIANT", "vpcIds": "vpc-2,vpc-1"})
    page = Parsed(page_of(result_of(views_of("gateway-endpoint"), chosen))).data()
    shown = {name: (value, is_set) for name, value, is_set in page["parameters"]}
    assert shown["publicSubnets"] == ("NON_COMPLIANT", 1)
    assert shown["vpcIds"] == ("vpc-1, vpc-2", 1)
    assert shown["scope"] == ("ALL", 0)
    assert shown["networkRoleArn"] == ("", 0)


def test_every_reason_that_can_be_non_compliant_says_what_to_do() -> None:
    """A row that needs a change says which, and all others say nothing; a heal is offered where it can help."""
    assert all(general_remedy(reason) for reason in (*CROSSES_NAT, Reason.UNRESOLVED_EGRESS, Reason.INTERNET_GATEWAY))
    data = page_data(organization(), RenderOptions())
    heals = {name for name, _, _, is_healable in data["reasons"] if is_healable}
    assert heals == CROSSES_NAT - {Reason.PARTLY_NAT}
    by_reason = {data["reasons"][row[6]][0]: data["remedies"][row[10]] for row in data["subnets"]}
    assert by_reason[Reason.ENDPOINT][:2] == ("", "")
    assert by_reason[Reason.NAT_GATEWAY][1].startswith("aws ec2 ")


@pytest.mark.parametrize(
    ("scenario", "status"), [("gateway-endpoint", 0), ("nat-gateway-zonal", 1), ("vpc-without-subnets", 0)]
)
def test_report_writes_its_file_and_ends_as_a_scan_does(
    scenario: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without options the file is express-path.html here; the status is a scan's, and the file is named."""
    monkeypatch.chdir(tmp_path)
    result = invoke(["report", "--from-dump", str(dump_of(scenario))])
    assert (result.exit_code, result.stdout) == (status, "")
    assert "wrote express-path.html: " in result.stderr
    assert result.exit_code == invoke(["scan", "--from-dump", str(dump_of(scenario))]).exit_code
    assert (tmp_path / "express-path.html").read_text(encoding="utf-8").endswith("</html>\n")


def test_scan_writes_the_same_document(tmp_path: Path) -> None:
    """Scan --format html is the report, with the rule parameters of that scan."""
    dump, set_one = str(dump_of("nat-gateway-zonal")), ["--parameter", "publicSubnets=NON_COMPLIANT"]
    reported, scanned = tmp_path / "reported.html", tmp_path / "scanned.html"
    invoke(["report", "--from-dump", dump, *set_one, "--output", str(reported)])
    invoke(["scan", "--from-dump", dump, *set_one, "--format", "html", "--output", str(scanned)])
    made_at = re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d[^ \"<]*")
    both = [made_at.sub("", file.read_text(encoding="utf-8")) for file in (reported, scanned)]
    assert both[0] == both[1]
    assert '["publicSubnets","NON_COMPLIANT",1]' in both[0]


def test_bad_input_is_one_line_and_no_file(tmp_path: Path) -> None:
    """If nothing can be read, nothing is written, and the status is 2."""
    file = tmp_path / "report.html"
    result = invoke(["report", "--from-dump", str(tmp_path / "nothing"), "--output", str(file)])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert not file.exists()

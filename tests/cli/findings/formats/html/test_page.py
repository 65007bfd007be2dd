"""The page without a browser: its policy, its headline, and that nothing that AWS names can become part of its markup."""

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest

from express_path.domain.path.reasons import Reason
from express_path.domain.remedy.texts import BREAKS
from express_path_cli.findings.row import Row
from express_path_cli.terminal.console import without_controls
from tests.cli.findings import results
from tests.cli.findings.results import COMPLIANT, DROPPED, EXCLUDED, FLAGGED, IGNORED
from tests.cli.report.results import DENIED, NOTE, named, organization, page_of, result_of, views_of

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
    assert set(re.findall(r"https?://[^\s\"'<>)]+", text)) <= {
        "http://www.w3.org/2000/svg",
        BREAKS[BREAKS.index("http") : -2],
    }
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
    assert {name for _, name, _ in found["tables"]} == {shown}


PARTLY = replace(FLAGGED, reason=Reason.PARTLY_NAT)


@pytest.mark.parametrize(
    ("verdicts", "says", "where"),
    [
        ([], "No subnets were found", "have no subnets"),
        ([COMPLIANT], "0 of 1 subnet reaches S3 Express", "All are in 1 VPC, 1 account and 1 Region."),
        ([PARTLY], "1 of 1 subnet reaches", "They are in 1 VPC, 1 account and 1 Region."),
        (
            [FLAGGED, PARTLY, replace(COMPLIANT, vpc_id="vpc-2", account_id="2")],
            "2 of 3 subnets reach S3 Express through a NAT",
            "They are in 1 of 2 VPCs, 1 of 2 accounts and 1 Region.",
        ),
    ],
)
def test_headline_counts_what_crosses_a_nat(verdicts: list[Row], says: str, where: str) -> None:
    """The headline counts reasons that cross a NAT, partly or wholly, of all subnets, and says where they are."""
    text = page_of(results.result_of(*verdicts))
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
    assert sections == {"hubs-title": True, "failures-title": False, "notes-title": False}
    assert "2026-02-13 05:48 UTC" in text


def test_the_totals_are_in_words() -> None:
    """They are above the page's numbers, because NOT_APPLICABLE alone would look harmless; so is who decided."""
    result = results.result_of(DROPPED, EXCLUDED, unlisted=[IGNORED], settings=["a.toml sets x", "and why"])
    text = page_of(result)
    lead = text[text.index("<p>a.toml sets x. ") : text.index("</section>")]
    assert f"{result.summary}." in lead
    assert "1 DROPPED, 1 EXCLUDED (1 by tag key=a on b); 1 finding ignored" in result.summary
    assert "<li>and why</li>" in text

"""Rows as Markdown: its parts and tables, its length, and names that could be markup."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree.ElementTree import Element, fromstring

import pytest
from markdown_it import MarkdownIt

from express_path.errors import ApiError
from express_path_cli.findings.formats import Format
from express_path_cli.findings.formats.markdown import MAX_COMMENT
from express_path_cli.findings.options import RenderOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import rows_of
from express_path_cli.terminal.errors import Failure
from tests.cli.findings.results import (
    COMPLIANT,
    DENIED,
    DROPPED,
    EVERY,
    EXCLUDED,
    FLAGGED,
    LABELED,
    LINKING,
    LINKS,
    NAT,
    REMEDY,
    UNKNOWN,
    compared,
    labeled,
    rendered,
    result_of,
)


def page_of(text: str) -> Element:
    """Return the page that a viewer shows."""
    return fromstring(f"<page>{MarkdownIt('commonmark').enable(['table', 'strikethrough']).render(text)}</page>")


def tables_in(text: str) -> list[list[list[str]]]:
    """Return the tables of a Markdown text: the texts of their cells, in rows as long as the header."""
    tables = [
        [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]
        for table in page_of(text).iter("table")
    ]
    assert all(len(row) == len(table[0]) for table in tables for row in table)
    return tables


def markdown(*rows: object, **more: object) -> str:
    """Return rows as Markdown."""
    return rendered(Format.MARKDOWN, result_of(*rows, **more))  # type: ignore[arg-type]


def test_parts_are_in_the_order_of_work() -> None:
    """The worklist comes before the remedies, and those before the subnets; rows with nothing to fix are counted."""
    text = markdown(*EVERY, failures=[DENIED])
    assert re.findall(r"^##+ (.*)", text, re.MULTILINE) == [
        "Paths to S3 Express One Zone",
        "What to fix",
        "What to do",
        "Traffic that AWS drops",
        "Paths that could not be followed",
        "Subnets",
    ]
    fix, dropped, unresolved, subnets = tables_in(text)
    assert [table[1][0] for table in (fix, dropped, unresolved)] == ["1"] * 3
    assert FLAGGED.route_table_id in fix[1]
    assert [row[6] for row in subnets[1:]] == ["NAT_GATEWAY", "UNRESOLVED_EGRESS", "DROPPED"]
    assert subnets[1][0] == "\N{CROSS MARK} NON_COMPLIANT"
    assert f"(to fix: {DROPPED.note})" in subnets[3][7]
    assert text.endswith("Not listed: 2 subnets with nothing to fix. `--show` selects what is listed.\n")
    assert "**5 subnets: 1 NON\\_COMPLIANT, 1 COMPLIANT, 3 NOT\\_APPLICABLE: 1 DROPPED, 1 EXCLUDED (1 by tag" in text
    assert "- account 444455556666 eu-west-1: ec2:DescribeSubnets failed" in text
    assert f"- NAT_GATEWAY, 1 subnet: Associate it. `{REMEDY.command}`" in text


def test_parts_without_rows_are_left_out() -> None:
    """If every row is wanted, also those with nothing to fix are listed."""
    assert re.findall(r"^### (.*)", markdown(COMPLIANT), re.MULTILINE) == []
    text = rendered(Format.MARKDOWN, result_of(COMPLIANT, EXCLUDED), RenderOptions(lists_subnets=True))
    assert re.findall(r"^### (.*)", text, re.MULTILINE) == ["Subnets"]
    assert [row[0] for row in tables_in(text)[0][1:]] == [
        "\N{WHITE HEAVY CHECK MARK} COMPLIANT",
        "\N{MEDIUM WHITE CIRCLE} NOT_APPLICABLE",
    ]
    assert "nothing to fix" not in text


def test_names_are_beside_ids() -> None:
    """Both are in the worklist and in the list of subnets."""
    text = rendered(Format.MARKDOWN, labeled())
    fix, subnets = tables_in(text)
    [row] = [row for row in subnets if row[4].endswith(" app-a")]
    assert row[3] == f"{LABELED.vpc_id} prod"
    assert row[5] == f"{LABELED.route_table_id} {LABELED.route_table_name}"
    assert f"{LABELED.route_table_id} {LABELED.route_table_name}" in [cell for row in fix for cell in row]


def test_a_comparison_is_counted_and_listed() -> None:
    """The counts come first, then the findings that are not unchanged, and each row has its mark."""
    text = rendered(Format.MARKDOWN, compared())
    assert (
        "**Compared with the baseline: 2 new (1 NON\\_COMPLIANT before, for another reason), 1 unchanged, 1 fixed, "
        "2 unknown**\n"
    ) in text
    assert f"{FLAGGED.vpc_id} {FLAGGED.route_table_id} NAT\\_GATEWAY -> ENDPOINT: subnet-fixed\n" in text
    assert "NAT\\_GATEWAY (the subnet is no longer listed): subnet-gone\n" in text
    *_, subnets = tables_in(text)
    assert subnets[0][-1] == "Baseline"
    assert {row[4]: row[-1] for row in subnets[1:]} == {
        FLAGGED.subnet_id: "unchanged",
        "subnet-new": "new",
        "subnet-worse": "new",
        "subnet-hidden": "unknown",
    }


@pytest.mark.parametrize(
    ("tables", "subnets", "shown"), [(5, 20, (True, 5)), (5, 200, (False, 5)), (500, 1, (False, 20))]
)
def test_a_text_fits_a_comment_on_github(tables: int, subnets: int, shown: tuple[bool, int]) -> None:
    """A longer text has no subnets, and if that is not enough, the worst rows only; it says what is left out."""
    many = [
        replace(FLAGGED, vpc_id=f"vpc-{table}", route_table_id=f"rtb-{table:017x}", subnet_id=f"subnet-{subnet:017x}")
        for table in range(tables)
        for subnet in range(subnets)
    ]
    text = rendered(Format.MARKDOWN, Result(rows_of(many), result_of().made_at))
    assert len(text) <= MAX_COMMENT
    assert ("### Subnets" in text, len(tables_in(text)[0]) - 1) == shown
    left_out = f"Not listed: {len(many):,} subnets, because the text would be too long for a comment on GitHub."
    assert (left_out in text) is not shown[0]
    assert (f"Not listed: {tables - 20} more route tables" in text) is (tables > 20)
    assert ("More changes like these are not listed." in text) is (tables > 20)


@pytest.mark.parametrize(
    "odd", ["[a](https://example.com)", "<b>c</b>", "`d`", "e|f", "*g* ~~h~~ &lt;", "\\|i", "j\nk", "l  m"]
)
def test_no_text_is_markup(odd: str) -> None:
    """A dump can contain any text, and so can the name of an account; it is shown unchanged."""
    ids = {"account_id": odd, "region": odd, "vpc_id": odd, "subnet_id": odd, "route_table_id": odd}
    odd_row = replace(FLAGGED, **ids, path=(NAT._replace(id=odd),))  # type: ignore[arg-type]
    failure = Failure(f"account 1 ({odd})", ApiError("sts:AssumeRole", "AccessDenied", "no"))
    text = markdown(odd_row, replace(UNKNOWN, annotation=odd), failures=[failure])
    *_, (_, first, second) = tables_in(text)
    shown = " ".join(odd.split())
    assert first[1:6] == [shown] * 5
    assert (first[7], second[7]) == (f"0.0.0.0/0 -> {shown}", shown)
    page = page_of(text)
    assert {element.tag for body in page.iter("tbody") for element in body.iter()} <= {"tbody", "tr", "td", "code"}
    [listed, *_] = ["".join(item.itertext()).strip() for item in page.iter("li")]
    assert listed.startswith(f"account 1 ({shown}): sts:AssumeRole failed")


class _Texts(HTMLParser):
    """The texts of a page outside code. Tags and comments are between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._in_code = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002  # the parser passes it
        """Enter a tag."""
        self._in_code = self._in_code or tag == "code"

    def handle_endtag(self, tag: str) -> None:
        """Leave a tag."""
        self._in_code = self._in_code and tag != "code"

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        if not self._in_code:
            self.found.append(data)


@pytest.mark.parametrize("odd", LINKING)
def test_what_people_write_is_no_link_and_mentions_nobody(odd: str) -> None:
    """A name or a tag notifies nobody, links to nothing, and is shown as it is."""
    row = replace(FLAGGED, vpc_name=odd, subnet_name=f"{odd} {odd}", route_table_name=f"a {odd}.", account_id=odd)
    decides = f"express-path.toml sets x: {odd}"
    text = markdown(row, failures=[Failure(odd, ApiError("sts:AssumeRole", odd, "no"))], settings=[decides])
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    assert [found for found in _Texts(page).found if LINKS.search(found)] == []
    assert "<a" not in page
    *_, (_, first) = tables_in(text)
    assert first[1] == odd
    assert first[3].endswith(f" {odd}")
    assert first[4].endswith(f" {odd} {odd}")
    assert decides in "".join(page_of(text).itertext())

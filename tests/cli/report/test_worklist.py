"""What a lead reads first: what to fix, totals by account, Region and tag, and the rows to take away."""

import csv
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from express_path.domain.path.reasons import Reason
from express_path_cli.findings.formats.csv import as_csv
from express_path_cli.findings.options import RenderOptions, ScanOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row
from express_path_cli.findings.worklist import CROSSES_NAT, WorkItem, changes_of, worklist
from express_path_cli.sources.live import LiveOptions
from express_path_cli.sources.source import Source
from tests.cli.report.browser import Visit
from tests.cli.report.results import (
    OWNERS,
    costs_of,
    organization,
    result_of,
    views_of,
    with_owners,
    written,
)


@pytest.fixture(scope="module")
def result() -> Result:
    """An organization with owners."""
    return with_owners(organization())


@pytest.fixture(scope="module")
def file(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report, with links, costs, and the options of its command."""
    options = ScanOptions(Source(live=LiveOptions(profile="prod eu")), ("publicSubnets=COMPLIANT",))
    additions = RenderOptions(costs=costs_of(result), console_links=True, scan=options)
    return written(result, tmp_path_factory.mktemp("report"), additions)


def shown_rows(page: Page, kind: str) -> list[list[str]]:
    """The cells of each row of a part of the worklist, without names and costs."""
    return page.locator(f"#work-{kind} .work-row").evaluate_all(  # type: ignore[no-any-return]
        "all => all.map(row => [...row.children].map(cell => "
        "(cell.querySelector('code') ?? cell.querySelector('strong') ?? cell.querySelector('span')).textContent))"
    )


def expected_row(item: WorkItem) -> list[str]:
    """The same of a row of the command's worklist, with its first NAT."""
    row, nat, number = item.first, next(iter(item.nat_ids), "none"), str(len(item.rows))
    return [row.route_table_id or "unknown", row.reason, number, nat, row.vpc_id, row.account_id]


def test_the_worklist_is_that_of_the_command(visit: Visit, file: Path, result: Result) -> None:
    """Flagged, dropped and unresolved rows stand in the command's order, with a sentence that sums them up."""
    page = visit.open(file)
    listed = worklist(result.rows)
    for kind, items in (("flagged", listed.flagged), ("dropped", listed.dropped), ("unresolved", listed.unresolved)):
        assert items
        assert shown_rows(page, kind) == list(map(expected_row, items))
    flagged = sum(len(item.rows) for item in listed.flagged)
    tables = len({item.first.route_table_id for item in listed.flagged})
    expect(page.locator("#work-summary")).to_have_text(
        f"{flagged} of {len(result.rows)} subnets reach S3 Express through a NAT ({tables} route tables)."
    )
    total = sum(charge.upper_bound or 0 for charge in costs_of(result).by_nat.values())
    expect(page.locator("#work-cost")).to_contain_text(f"at most ${total:,.0f} a month")
    expect(page.locator("#worklist")).to_contain_text("at most $100 a month, measured at least $7.50")


def test_a_row_of_the_worklist_opens_to_its_patches(visit: Visit, file: Path, result: Result) -> None:
    """A row has the remedy, the patch for each tool, the commands, links to the console, and leads to its subnets."""
    page = visit.open(file)
    flagged = worklist(result.rows).flagged
    items = [item for item in flagged if item.first.reason is not Reason.PARTLY_NAT]
    changes = {row.key: change for change in changes_of(flagged) for row in change.rows}
    shared = next(item for item in items if len(changes[item.first.key].route_table_ids) > 1)
    for row in (items[0].first, shared.first, items[-1].first):
        remedy = changes[row.key].remedy
        assert remedy.patches
        opener = page.locator("#worklist .opener", has_text=row.route_table_id or "").first
        opener.press("Enter")
        detail = page.locator(f"#{opener.get_attribute('aria-controls')}")
        expect(detail).to_contain_text(remedy.text)
        shown = dict(
            zip(
                detail.locator(".patch summary").all_text_contents(),
                detail.locator("pre").all_text_contents(),
                strict=True,
            )
        )
        where = f"--region {row.region}"
        assert shown == {
            "AWS CLI": remedy.command,
            "CloudFormation": remedy.patches["cloudFormation"].rstrip(),
            "Terraform": remedy.patches["terraform"].rstrip(),
            "express-path": f"express-path explain {row.subnet_id} {where} --profile 'prod eu' "
            f"--parameter publicSubnets=COMPLIANT\nexpress-path heal {row.route_table_id} {where} --profile 'prod eu'",
        }
        link = detail.get_by_role("link", name=row.route_table_id).first
        assert link.get_attribute("href") == (
            f"https://{row.region}.console.aws.amazon.com/vpcconsole/home?region={row.region}"
            f"#RouteTableDetails:RouteTableId={row.route_table_id}"
        )
        assert link.get_attribute("rel") == "noopener noreferrer"
        opener.press("Enter")
        expect(detail).to_have_count(0)
    last = items[-1]
    page.locator("#worklist .opener", has_text=last.first.route_table_id or "").first.click()
    page.get_by_role("button", name=re.compile("Show its subnet")).click()
    assert sorted(page.locator("#rows tr.subnet th code").all_text_contents()) == sorted(
        row.subnet_id for row in last.rows
    )


def test_totals_by_account_region_and_tag_are_filters(visit: Visit, file: Path, result: Result) -> None:
    """Each total is that of the verdicts; pressed, the worklist and the table have only its subnets."""
    page = visit.open(file)
    values = {
        "By account": lambda row: row.account_id,
        "By Region": lambda row: row.region,
        "By tag owner": lambda row: row.tags.get("owner", "(no tag)"),
    }
    for name, value_of in values.items():
        card = page.locator("#rollups .card", has=page.get_by_role("heading", name=name, exact=True))
        if card.get_by_role("button", name="Show all").count():
            card.get_by_role("button", name="Show all").click()
        totals: dict[str, list[int]] = {}
        for row in result.rows:
            total = totals.setdefault(value_of(row), [0, 0, 0, 0])
            marks = (row.reason in CROSSES_NAT, row.reason is Reason.DROPPED)
            for place, mark in enumerate((*marks, row.reason is Reason.UNRESOLVED_EGRESS, True)):
                total[place] += mark
        numbers = "all => all.map(row => [...row.querySelectorAll('.number')].map(cell => Number(cell.textContent)))"
        names = card.locator("tbody button").all_text_contents()
        assert dict(zip(names, card.locator("tbody tr").evaluate_all(numbers), strict=True)) == totals
        assert [totals[shown][0] for shown in names] == sorted((total[0] for total in totals.values()), reverse=True)
    chosen = [row for row in result.rows if row.tags.get("owner") == OWNERS[0]]
    page.locator("#rollups").get_by_role("button", name=OWNERS[0], exact=True).click()
    expect(page.locator("#choose-tag-0")).to_have_value(OWNERS[0])
    assert shown_rows(page, "flagged") == list(map(expected_row, worklist(chosen).flagged))
    expect(page.locator("#shown")).to_contain_text(f"{len(chosen)} of {len(result.rows)} subnets shown")
    assert "tag%3Aowner=payments" in page.url
    page.locator("#choose-tag-0").select_option("(no tag)")
    untagged = [row for row in result.rows if not row.tags]
    expect(page.locator("#shown")).to_contain_text(f"{len(untagged)} of {len(result.rows)} subnets shown")


def downloaded(page: Page) -> str:
    """The file that the button of the table saves."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Download these rows as CSV").click()
    assert download.value.suggested_filename == "express-path-subnets.csv"
    return Path(download.value.path()).read_bytes().decode()


def test_the_rows_shown_are_saved_as_csv(visit: Visit, file: Path, result: Result) -> None:
    """The file has the rows, columns and quoting of --format csv, in the order of the table, with formulas disarmed."""
    page = visit.open(file)
    page.locator("th[data-column=subnet] button").click()
    expected = "".join(as_csv(replace(result, rows=sorted(result.rows, key=lambda row: row.subnet_id))))
    saved = downloaded(page)
    assert saved == expected
    assert "'=HYPERLINK" in saved
    page.locator("#choose-reason").select_option("NAT_GATEWAY")
    rows = list(csv.reader(StringIO(downloaded(page), newline="")))
    chosen: list[Row] = [row for row in result.rows if row.reason is Reason.NAT_GATEWAY]
    assert sorted(row[3] for row in rows[1:]) == sorted(row.subnet_id for row in chosen)


def test_nothing_to_fix_is_said(visit: Visit, tmp_path: Path) -> None:
    """If nothing is flagged, the worklist says so, and there is no link or cost."""
    page = visit.open(written(result_of(views_of("gateway-endpoint")), tmp_path))
    expect(page.locator("#work-summary")).to_have_text(
        "There is nothing to fix: none of these subnets is NON_COMPLIANT."
    )
    expect(page.locator("#worklist table")).to_have_count(0)
    expect(page.locator("main a")).to_have_count(0)

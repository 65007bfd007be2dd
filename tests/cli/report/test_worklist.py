"""What a lead reads first: what to fix, totals by account, Region and tag, the trend, and the rows to take away."""

import csv
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from express_path.domain.path.reasons import Reason
from express_path.domain.remedy.remedies import Remedies
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.formats.csv import as_csv
from express_path_cli.findings.formats.html.additions import Additions
from express_path_cli.findings.next_commands import ScanOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import ResourceLabels
from express_path_cli.findings.worklist import CROSSES_NAT, Tasks, WorklistRow, worklist
from express_path_cli.sources.live import LiveOptions
from express_path_cli.sources.source import Source
from tests.cli.report.browser import Visit
from tests.cli.report.results import (
    OWNERS,
    costs_of,
    organization,
    result_of,
    views_of,
    with_history,
    with_owners,
    written,
)


@pytest.fixture(scope="module")
def result() -> Result:
    """An organization with owners, and two earlier scans."""
    return with_history(with_owners(organization()))


@pytest.fixture(scope="module")
def file(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report, with links, costs, and the options of its command."""
    options = ScanOptions(Source(live=LiveOptions(profile="prod eu")), ("publicSubnets=COMPLIANT",))
    additions = Additions(costs_of(result), console_links=True, scan=options)
    return written(result, tmp_path_factory.mktemp("report"), additions)


def shown_rows(page: Page, kind: str) -> list[list[str]]:
    """The cells of each row of a part of the worklist, without names and costs."""
    return page.locator(f"#work-{kind} .work-row").evaluate_all(  # type: ignore[no-any-return]
        "all => all.map(row => [...row.children].map(cell => "
        "(cell.querySelector('code') ?? cell.querySelector('strong') ?? cell.querySelector('span')).textContent))"
    )


def expected_row(row: WorklistRow) -> list[str]:
    """The same of a row of the command's worklist, with its first NAT."""
    nat = next(iter(row.nat_ids), "none")
    number = str(len(row.verdicts))
    return [row.route_table_id or "unknown", row.reason, number, nat, row.vpc_id, row.account_id]


def test_the_worklist_is_that_of_the_command(visit: Visit, file: Path, result: Result) -> None:
    """Flagged, dropped and unresolved rows stand in the command's order, with a sentence that sums them up."""
    page = visit.open(file)
    listed = worklist(result.verdicts)
    for kind, rows in (("flagged", listed.flagged), ("dropped", listed.dropped), ("unresolved", listed.unresolved)):
        assert rows
        assert shown_rows(page, kind) == [expected_row(row) for row in rows]
    flagged = sum(len(row.verdicts) for row in listed.flagged)
    tables = len({row.route_table_id for row in listed.flagged})
    expect(page.locator("#work-summary")).to_have_text(
        f"{tables} route tables send {flagged} of {len(result.verdicts)} subnets through a NAT."
    )
    total = sum(charge.upper_bound or 0 for charge in costs_of(result).by_nat.values())
    expect(page.locator("#work-cost")).to_contain_text(f"at most ${total:,.0f} a month")
    expect(page.locator("#worklist")).to_contain_text("at most $100 a month, measured at least $7.50")


def test_a_row_of_the_worklist_opens_to_its_patches(visit: Visit, file: Path, result: Result) -> None:
    """A row has the remedy, the patch for each tool, the commands, links to the console, and leads to its subnets."""
    page = visit.open(file)
    remedies = Remedies(result.views)
    tasks = Tasks(worklist(result.verdicts).flagged, remedies)
    rows = [row for row in worklist(result.verdicts).flagged if row.reason is not Reason.PARTLY_NAT]
    shared = next(row for row in rows if len(tasks.of(row)[0].route_table_ids) > 1)
    for row in (rows[0], shared, rows[-1]):
        [task] = tasks.of(row)
        remedy = task.remedy
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
            "express-path": f"express-path explain {row.verdicts[0].subnet_id} {where} --profile 'prod eu' "
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
    last = rows[-1]
    page.locator("#worklist .opener", has_text=last.route_table_id or "").first.click()
    page.get_by_role("button", name=re.compile("Show its subnet")).click()
    assert sorted(page.locator("#rows tr.subnet th code").all_text_contents()) == sorted(
        verdict.subnet_id for verdict in last.verdicts
    )


def test_totals_by_account_region_and_tag_are_filters(visit: Visit, file: Path, result: Result) -> None:
    """Each total is that of the verdicts; pressed, the worklist and the table have only its subnets."""
    page = visit.open(file)
    labels = ResourceLabels(result.views, result.tag_keys)
    values = {
        "By account": lambda verdict: verdict.account_id,
        "By Region": lambda verdict: verdict.region,
        "By tag owner": lambda verdict: labels.tags(verdict).get("owner", "(no tag)"),
    }
    for name, value_of in values.items():
        card = page.locator("#rollups .card", has=page.get_by_role("heading", name=name, exact=True))
        if card.get_by_role("button", name="Show all").count():
            card.get_by_role("button", name="Show all").click()
        totals: dict[str, list[int]] = {}
        for verdict in result.verdicts:
            total = totals.setdefault(value_of(verdict), [0, 0, 0, 0])
            marks = (verdict.reason in CROSSES_NAT, verdict.reason is Reason.DROPPED)
            for place, mark in enumerate((*marks, verdict.reason is Reason.UNRESOLVED_EGRESS, True)):
                total[place] += mark
        numbers = "all => all.map(row => [...row.querySelectorAll('.number')].map(cell => Number(cell.textContent)))"
        names = card.locator("tbody button").all_text_contents()
        assert dict(zip(names, card.locator("tbody tr").evaluate_all(numbers), strict=True)) == totals
        assert [totals[shown][0] for shown in names] == sorted((total[0] for total in totals.values()), reverse=True)
    chosen = [verdict for verdict in result.verdicts if labels.tags(verdict).get("owner") == OWNERS[0]]
    page.locator("#rollups").get_by_role("button", name=OWNERS[0], exact=True).click()
    expect(page.locator("#choose-tag-0")).to_have_value(OWNERS[0])
    assert shown_rows(page, "flagged") == [expected_row(row) for row in worklist(chosen).flagged]
    expect(page.locator("#shown")).to_contain_text(f"{len(chosen)} of {len(result.verdicts)} subnets shown")
    assert "tag%3Aowner=payments" in page.url
    page.locator("#choose-tag-0").select_option("(no tag)")
    untagged = [verdict for verdict in result.verdicts if not labels.tags(verdict)]
    expect(page.locator("#shown")).to_contain_text(f"{len(untagged)} of {len(result.verdicts)} subnets shown")


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
    expected = as_csv(replace(result, verdicts=sorted(result.verdicts, key=lambda verdict: verdict.subnet_id)))
    saved = downloaded(page)
    assert saved == expected
    assert "'=HYPERLINK" in saved
    page.locator("#choose-reason").select_option("NAT_GATEWAY")
    rows = list(csv.reader(StringIO(downloaded(page), newline="")))
    chosen: list[Verdict] = [verdict for verdict in result.verdicts if verdict.reason is Reason.NAT_GATEWAY]
    assert sorted(row[3] for row in rows[1:]) == sorted(verdict.subnet_id for verdict in chosen)


def test_the_trend_shows_each_scan(visit: Visit, file: Path, result: Result) -> None:
    """A bar for each scan, a mark where the scope changed, and the numbers as a table; none without a history."""
    page = visit.open(file)
    section = page.get_by_role("region", name="Trend")
    crossing = [point.crossing_nat for point in result.history]
    expect(section).to_contain_text(f"then {crossing[-1]} of {len(result.verdicts)} subnets through a NAT")
    assert section.get_by_role("img").locator(".bar-all").count() == len(crossing)
    assert section.get_by_role("img").locator(".mark").count() == 1
    section.locator("summary").click()
    shown = section.locator("tbody tr").evaluate_all("all => all.map(row => Number(row.children[1].textContent))")
    assert shown == crossing[::-1]
    expect(section.locator("tbody tr").nth(1)).to_contain_text("more were added")


def test_nothing_to_fix_is_said(visit: Visit, tmp_path: Path) -> None:
    """If nothing is flagged, the worklist says so, and there is no trend, link or cost."""
    page = visit.open(written(result_of(views_of("gateway-endpoint")), tmp_path))
    expect(page.locator("#work-summary")).to_have_text(
        "There is nothing to fix: none of these subnets is NON_COMPLIANT."
    )
    expect(page.locator("#worklist table")).to_have_count(0)
    expect(page.get_by_role("region", name="Trend")).to_have_count(0)
    expect(page.locator("main a")).to_have_count(0)

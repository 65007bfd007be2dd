"""The page in a real browser: how it is filtered, sorted, opened, drawn, linked, and shown on every screen.

What its data contains is shown in tests/cli/findings/formats/html.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.aws.options import LiveOptions
from express_path_cli.findings.grouping import Grouping, owner_text, owners_of
from express_path_cli.findings.options import RenderOptions, ScanOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row
from express_path_cli.findings.worklist import CROSSES_NAT, WorkItem, fixes_of, worklist
from express_path_cli.sources.source import Source
from tests.cli.findings.formats.html.test_page import HOSTILE
from tests.cli.report.browser import NARROW, Visit
from tests.cli.report.results import (
    DENIED,
    MADE_AT,
    as_account,
    named,
    owned_organization,
    result_of,
    views_of,
    written,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def result() -> Result:
    """An organization of many kinds of network, with owners."""
    return owned_organization()


@pytest.fixture(scope="module")
def file(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its report, with the options of its command."""
    options = ScanOptions(Source(live=LiveOptions(profile="prod eu")), ("publicSubnets=COMPLIANT",))
    return written(result, tmp_path_factory.mktemp("report"), RenderOptions(scan=options))


def listed(page: Page) -> list[str]:
    """The subnets in the table, in its order."""
    return [str(subnet_id) for subnet_id in page.locator("#rows tr.subnet th code").all_text_contents()]


def ids(verdicts: list[Row]) -> list[str]:
    """The subnets of verdicts, in order of their ids."""
    return sorted(verdict.subnet_id for verdict in verdicts)


def row_of(page: Page, reason: Reason) -> Locator:
    """The first row with a reason."""
    return page.locator("tr.subnet", has=page.get_by_role("cell", name=reason, exact=True)).first


def vpc_of(row: Verdict) -> str:
    """The key of a VPC in the page."""
    return f"{row.account_id}/{row.region}/{row.vpc_id}"


def worked_on(page: Page, kind: str) -> list[list[str]]:
    """The cells of each row of a part of the worklist, without names."""
    return page.locator(f"#work-{kind} .work-row").evaluate_all(  # type: ignore[no-any-return]
        "all => all.map(row => [...row.children].map(cell => "
        "(cell.querySelector('code') ?? cell.querySelector('strong') ?? cell.querySelector('span')).textContent))"
    )


def expected_row(item: WorkItem) -> list[str]:
    """The same of an item of the command's worklist, with its first NAT."""
    row, nat, number = item.first, next(iter(item.nat_ids), "none"), str(len(item.rows))
    return [row.route_table_id or "unknown", row.reason, number, nat, row.vpc_id, row.account_id]


def test_everything_is_shown_first(visit: Visit, file: Path, result: Result) -> None:
    """The table has all subnets, worst first; the worklist, failures and notes are visible."""
    page = visit.open(file)
    crossing = [verdict for verdict in result.rows if verdict.reason in CROSSES_NAT]
    expect(page.get_by_role("heading", level=1)).to_have_text(
        f"{len(crossing)} of {len(result.rows)} subnets reach S3 Express through a NAT, "
        "and the path of 2 subnets is not known"
    )
    assert sorted(listed(page)) == ids(list(result.rows))
    flagged = ids([verdict for verdict in result.rows if verdict.is_flagged])
    assert sorted(listed(page)[: len(flagged)]) == flagged
    expect(page.get_by_role("region", name="Could not be read")).to_contain_text("You are not authorized <to> perform")
    expect(page.get_by_role("region", name="Notes")).to_contain_text("was denied & counts")
    found = worklist(result.rows)
    for kind, items in (("flagged", found.flagged), ("dropped", found.dropped), ("unresolved", found.unresolved)):
        assert items
        assert worked_on(page, kind) == list(map(expected_row, items))
    tables = len({item.first.route_table_id for item in found.flagged})
    expect(page.locator("#work-summary")).to_have_text(
        f"{len(flagged)} of {len(result.rows)} subnets reach S3 Express through a NAT ({tables} route tables)."
    )


# One call for all values, because each call passes through four processes.
CHOOSE = """([choice, values]) => values.map(value => {
    const field = document.getElementById(`choose-${choice}`);
    field.value = value;
    field.dispatchEvent(new Event("change", { bubbles: true }));
    const rows = [...document.querySelectorAll("#rows tr.subnet th code")].map(code => code.textContent);
    return [rows, document.getElementById("shown").textContent];
})"""


def test_each_filter_shows_its_subnets(visit: Visit, file: Path, result: Result) -> None:
    """Every value of every choice shows exactly its subnets, and the count that is read aloud says how many."""
    page = visit.open(file)
    choices: dict[str, Callable[[Row], str]] = {
        "compliance": lambda row: row.compliance,
        "reason": lambda row: row.reason,
        "account": lambda row: row.account_id,
        "region": lambda row: row.region,
        "vpc": vpc_of,
    }
    for choice, value_of in choices.items():
        values = sorted({value_of(row) for row in result.rows})
        page.locator(f"#choose-{choice}").select_option(values[-1])
        for value, (rows, shown) in zip(values, page.evaluate(CHOOSE, [choice, values]), strict=True):
            expected = [row for row in result.rows if value_of(row) == value]
            assert sorted(rows) == ids(expected)
            assert f"{len(expected)} of {len(result.rows)} subnets shown" in shown
        page.get_by_role("button", name="Clear").click()
        assert len(listed(page)) == len(result.rows)


def test_search_finds_ids_targets_and_words_together(visit: Visit, file: Path, result: Result) -> None:
    """Every word of a search must be in the row; a search without matches says so."""
    page = visit.open(file)
    nat = next(verdict for verdict in result.rows if verdict.reason is Reason.NAT_GATEWAY)
    search = page.get_by_role("searchbox", name="Search")
    search.fill(f"{nat.path[0].id.upper()} {nat.account_id}")
    expect(page.locator("#shown")).to_contain_text("shown")
    expected = [row for row in result.rows if row.account_id == nat.account_id and nat.path[0] in row.path]
    assert sorted(listed(page)) == ids(expected)
    search.fill("nothing-is-called-so")
    expect(page.get_by_text("No subnets match.")).to_be_visible()
    expect(page.locator("#networks")).to_be_hidden()
    assert listed(page) == []


def owner_of(result: Result) -> Callable[[Row], str]:
    """Return the function that names a row's owner."""
    owners = owners_of(result.rows, Grouping("tag:owner"))
    return lambda row: owner_text(owners[row.key])


def test_totals_are_filters(visit: Visit, file: Path, result: Result) -> None:
    """A total is a button: pressed, the worklist and the table have only its subnets; pressed again, all."""
    page = visit.open(file)
    button = page.locator("#summary").get_by_role("button", name=re.compile("^NO_ROUTE"))
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    assert sorted(listed(page)) == ids([verdict for verdict in result.rows if verdict.reason is Reason.NO_ROUTE])
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    assert len(listed(page)) == len(result.rows)
    for heading, of in (("By owner", owner_of(result)), ("By account", lambda row: row.account_id)):
        card = page.locator("#rollups .card", has=page.get_by_role("heading", name=heading, exact=True))
        totals: dict[str, list[int]] = {}
        for row in result.rows:
            total = totals.setdefault(of(row), [0, 0, 0, 0])
            marks = (
                row.reason in CROSSES_NAT,
                row.reason is Reason.DROPPED,
                row.reason is Reason.UNRESOLVED_EGRESS,
                True,
            )
            for place, mark in enumerate(marks):
                total[place] += mark
        numbers = "all => all.map(row => [...row.querySelectorAll('.number')].map(cell => Number(cell.textContent)))"
        names = card.locator("tbody button").all_text_contents()
        assert dict(zip(names, card.locator("tbody tr").evaluate_all(numbers), strict=True)) == totals
        assert [totals[shown][0] for shown in names] == sorted((total[0] for total in totals.values()), reverse=True)
    chosen = [row for row in result.rows if row.account_id == names[0]]
    card.get_by_role("button", name=names[0], exact=True).click()
    assert worked_on(page, "flagged") == list(map(expected_row, worklist(chosen).flagged))
    assert sorted(listed(page)) == ids(chosen)
    assert f"account={names[0]}" in page.url


@pytest.mark.long
def test_headings_sort_both_ways(visit: Visit, file: Path, result: Result) -> None:
    """A heading sorts by its column, then in reverse order; screen readers announce it."""
    page = visit.open(file)
    heading = page.get_by_role("columnheader", name="Subnet", exact=True)
    for order, expected in (("ascending", ids(list(result.rows))), ("descending", ids(list(result.rows))[::-1])):
        heading.get_by_role("button").click()
        expect(heading).to_have_attribute("aria-sort", order)
        assert listed(page) == expected
    page.locator("th[data-column=account]").get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "none")
    shown = page.locator("#rows .cell-account").all_inner_texts()
    assert shown == sorted(shown)


def test_a_row_opens_to_its_path(visit: Visit, file: Path, result: Result) -> None:
    """By mouse or keyboard a row opens to its annotation, every hop in order, and the commands for it."""
    page = visit.open(file)
    row = row_of(page, Reason.NAT_GATEWAY)
    subnet_id = row.locator("th code").inner_text()
    verdict = next(verdict for verdict in result.rows if verdict.subnet_id == subnet_id)
    opener = row.get_by_role("button")
    for key in (None, "Enter", "Space"):
        if key:
            opener.press(key)
        else:
            row.locator(".cell-path").click()
        expect(opener).to_have_attribute("aria-expanded", "true")
        detail = page.locator(f"#{opener.get_attribute('aria-controls')}")
        expect(detail).to_contain_text(verdict.annotation)
        hops = detail.get_by_role("listitem").all_inner_texts()
        assert [hop.id in text for hop, text in zip(verdict.path, hops[2:], strict=True)] == [True] * len(verdict.path)
        assert f"deciding route {verdict.path[0].destination}" in hops[2].replace("\n", " ")
        for command in ("explain", "heal"):
            expect(detail).to_contain_text(f"express-path {command} {subnet_id} --region {verdict.region}")
        opener.press("Enter")
        expect(detail).to_have_count(0)
    row_of(page, Reason.ENDPOINT).get_by_role("button").click()
    expect(page.locator(".detail")).to_contain_text("Nothing to do.")
    expect(page.locator(".detail")).not_to_contain_text("express-path heal")


def test_a_row_of_the_worklist_opens_to_its_patches(visit: Visit, file: Path, result: Result) -> None:
    """A row has the remedy, the patch for each tool, the commands, and leads to its subnets."""
    page = visit.open(file)
    changes = {row.key: change for change in fixes_of(worklist(result.rows).flagged) for row in change.rows}
    item = next(item for item in worklist(result.rows).flagged if len(changes[item.first.key].route_table_ids) > 1)
    row, remedy = item.first, changes[item.first.key].remedy
    opener = page.locator("#worklist .opener", has_text=row.route_table_id or "").first
    opener.press("Enter")
    detail = page.locator(f"#{opener.get_attribute('aria-controls')}")
    expect(detail).to_contain_text(remedy.text)
    tools = detail.locator(".patch summary").all_text_contents()
    where = f"--region {row.region}"
    assert dict(zip(tools, detail.locator("pre").all_text_contents(), strict=True)) == {
        "AWS CLI": remedy.command,
        "CloudFormation": remedy.patches["cloudFormation"].rstrip(),
        "Terraform": remedy.patches["terraform"].rstrip(),
        "express-path": f"express-path explain {row.subnet_id} {where} --profile 'prod eu' "
        f"--parameter publicSubnets=COMPLIANT\nexpress-path heal {row.route_table_id} {where} --profile 'prod eu'",
    }
    template = detail.locator(".patch", has_text="CloudFormation")
    template.locator("summary").click()
    assert template.locator("pre").inner_text() == remedy.patches["cloudFormation"].rstrip(), "as it is drawn"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    template.get_by_role("button", name="Copy CloudFormation").click()
    expect(template.get_by_role("button")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == remedy.patches["cloudFormation"].rstrip()
    detail.get_by_role("button", name=re.compile("Show its subnet")).click()
    assert sorted(listed(page)) == ids(list(item.rows))


@pytest.mark.long
def test_a_link_shows_the_same_again(visit: Visit, file: Path) -> None:
    """The fragment of the address keeps choices, order and opened rows; what another report had can be cleared."""
    page = visit.open(file)
    page.locator("#choose-compliance").select_option("NON_COMPLIANT")
    page.locator("th[data-column=vpc]").get_by_role("button").click()
    row_of(page, Reason.NAT_GATEWAY).get_by_role("button").click()
    shared = page.url.partition("#")[2]
    assert shared
    shown = listed(page), page.locator(".detail").all_inner_texts()
    assert all(shown)
    again = visit.open(file, f"#{shared}")
    assert (listed(again), again.locator(".detail").all_inner_texts()) == shown
    page = visit.open(file, "#vpc=gone&reason=GONE&sort=gone&open=gone&else=%00")
    expect(page.get_by_text("No subnets match.")).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#rows tr.subnet").first).to_be_visible()


DRAWN = """all => all.map(panel => {
    const pictures = [...panel.querySelectorAll("[role=img]")];
    const texts = pictures.flatMap(picture => [...picture.querySelectorAll("text")]);
    return {
        vpc: panel.dataset.vpc,
        isOpen: panel.open,
        pictures: pictures.length,
        canvases: panel.querySelectorAll(".canvas").length,
        drawn: pictures.map(picture => picture.textContent).join(),
        edges: panel.querySelectorAll("[role=img] .edge.line-nat").length,
        boxes: panel.querySelectorAll("[role=img] .box-nat").length,
        labels: texts.filter(text => text.textContent.trim() === "NAT").length,
    };
})"""


def test_drawings_show_tables_hops_and_nats(visit: Visit, file: Path, result: Result) -> None:
    """Each VPC's drawing, made when it is opened, has its tables and every hop of every path; a NAT says so."""
    page = visit.open(file)
    by_vpc: dict[str, list[Row]] = {}
    for row in result.rows:
        by_vpc.setdefault(vpc_of(row), []).append(row)
    while page.locator("#more-vpcs button").count():
        page.locator("#more-vpcs button").click()
    panels = page.locator("#vpcs details[data-vpc]")
    assert all(panel["isOpen"] or panel["canvases"] == 0 for panel in panels.evaluate_all(DRAWN))
    page.evaluate("document.querySelectorAll('#vpcs details[data-vpc]:not([open]) > summary').forEach(x => x.click())")
    expect(panels.get_by_role("img")).to_have_count(len(by_vpc))
    found = {panel["vpc"]: panel for panel in panels.evaluate_all(DRAWN)}
    assert found.keys() == by_vpc.keys()
    for key, rows in by_vpc.items():
        panel = found[key]
        assert panel["pictures"] == 1
        for row in rows:
            assert (row.route_table_id or "unknown") in panel["drawn"]
            assert all(hop.id in panel["drawn"] for hop in row.path), row
            if row.reason in CROSSES_NAT:
                assert panel["edges"] >= 2
                assert min(panel["boxes"], panel["labels"]) >= 1


@pytest.mark.long
def test_row_and_drawing_lead_to_each_other(visit: Visit, file: Path, result: Result) -> None:
    """From an opened row to its VPC's drawing, and from there to that VPC's subnets alone."""
    page = visit.open(file)
    row = row_of(page, Reason.NO_ROUTE)
    subnet_id = row.locator("th code").inner_text()
    row.get_by_role("button").click()
    page.get_by_role("button", name="Show the drawing of its VPC").click()
    [vpc] = {vpc_of(verdict) for verdict in result.rows if verdict.subnet_id == subnet_id}
    panel = page.locator(f'details[data-vpc="{vpc}"]')
    expect(panel.get_by_role("img")).to_be_visible()
    expect(panel.locator("summary")).to_be_focused()
    panel.get_by_role("button", name="Show only this VPC's subnets").click()
    assert sorted(listed(page)) == ids([verdict for verdict in result.rows if vpc_of(verdict) == vpc])


def test_hostile_names_are_shown_as_they_are(visit: Visit, tmp_path: Path) -> None:
    """A name that is markup is text in the table, in the drawing and in the filters: nothing of it runs."""
    names = [HOSTILE, "<b>bold</b>", "javascript:alert(1)", "\\u003cimg src=x>"]
    [view] = views_of("nat-gateway-zonal")
    views = [as_account(named(view, name), 111111111111 + number) for number, name in enumerate(names)]
    page = visit.open(written(result_of(views, failures=[replace(DENIED, where=name) for name in names]), tmp_path))
    for opener in page.locator(".opener").all():
        opener.click()
    shown = page.locator("#rows .called").all_text_contents()
    assert set(shown) == set(names)
    assert len(shown) > 2 * len(names)
    assert page.locator("svg desc").first.text_content()
    assert page.locator(".title strong").all_text_contents() == names
    assert page.locator("#failures-title ~ ul strong").all_text_contents() == names
    assert page.locator("main img, main script, main b").count() == 0


def test_the_first_screen_is_what_to_fix(visit: Visit, file: Path) -> None:
    """The first route tables are on it, also if something could not be read. Totals and drawings follow."""
    page = visit.open(file, size=(1400, 900))
    for place in range(5):
        expect(page.locator("#work-flagged .work-row").nth(place)).to_be_in_viewport(ratio=1)
    for below in ("#failures-title", "#summary", "#rollups", "#networks"):
        expect(page.locator(below)).not_to_be_in_viewport()
    page.get_by_role("link", name="What could not be read").click()
    expect(page.locator("#failures-title")).to_be_in_viewport()


def test_nothing_found_and_nothing_to_fix_are_said(visit: Visit, tmp_path: Path) -> None:
    """A scan without a subnet has no empty table; if nothing is flagged, there is no worklist and no link."""
    page = visit.open(written(Result((), MADE_AT), tmp_path))
    expect(page.get_by_role("heading", level=1)).to_have_text("No subnets were found")
    expect(page.get_by_text("publicSubnets")).to_be_visible()
    expect(page.get_by_role("table")).to_have_count(0)
    page = visit.open(written(result_of(views_of("gateway-endpoint")), tmp_path))
    expect(page.locator("#work-summary")).to_have_text(
        "There is nothing to fix: none of these subnets is NON_COMPLIANT."
    )
    expect(page.locator("#worklist table")).to_have_count(0)
    expect(page.locator("main a")).to_have_count(0)


def open_drawings(page: Page) -> None:
    """Open the drawing of every VPC that is listed."""
    page.evaluate("for (const element of document.querySelectorAll('details.vpc')) element.open = true")
    page.locator("#vpcs svg[role=img]").last.wait_for(state="attached")


@pytest.mark.long
def test_no_screen_scrolls_sideways(visit: Visit, file: Path) -> None:
    """From a phone to a wide screen: an id on a path is in one line on a laptop, and no drawing there is cut."""
    page = visit.open(file, size=(1400, 900))
    page.locator("#more-vpcs button").click()
    open_drawings(page)
    drawings = page.locator(".canvas > svg")
    assert (
        page.locator(".canvas").evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth).length") == 0
    )
    assert max(drawings.evaluate_all("all => all.map(one => one.querySelectorAll('.box').length)")) > 7
    drawn = page.locator(".box .mono").all_text_contents()
    assert [shown for shown in drawn if "…" in shown and not shown.startswith("arn")] == []
    for part in ("#worklist", "#rows"):
        page.locator(f"{part} .opener").first.click()
    hops = page.locator(".cell-path .step code").filter(has_text=re.compile(r"^[a-z]+-[0-9a-f]{17}$"))
    assert hops.count()
    for width in (320, NARROW[0], 768, 920, 1024, 1280, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if 920 <= width < 1920:
            assert set(hops.evaluate_all("all => all.map(element => element.getClientRects().length)")) == {1}, width


BOXES = """svg => [...svg.querySelectorAll(".box")].map(box => {
    const rect = box.querySelector("rect");
    const place = ["x", "y", "width", "height"].map(name => rect[name].baseVal.value);
    const { left, right } = rect.getBoundingClientRect();
    const texts = [...box.querySelectorAll("text")].map(text => text.getBoundingClientRect());
    return [place, texts.every(text => text.left >= left - 1 && text.right <= right + 1)];
})"""


@pytest.mark.parametrize("scenario", ["subnets-on-the-main-table-250", "firewall-then-nat-instance"])
def test_a_drawing_is_whole(visit: Visit, tmp_path: Path, scenario: str) -> None:
    """250 subnets of a table are one box; no box is cut off or overlaps another, and no long name leaves its box."""
    views = [named(view, "データ処理-" * 8 + "x" * 60) for view in views_of(scenario)]
    page = visit.open(written(result_of(views), tmp_path))
    picture = page.get_by_role("img").first
    picture.wait_for()
    assert ("249 subnets" in (picture.text_content() or "")) is ("250" in scenario)
    across, down = picture.evaluate("svg => [svg.width.baseVal.value, svg.height.baseVal.value]")
    assert down < 1200
    boxes = picture.evaluate(BOXES)
    assert all(holds_its_texts for _, holds_its_texts in boxes)
    for place, ((x, y, width, height), _) in enumerate(boxes):
        assert min(x, y) >= 0
        assert (x + width <= across, y + height <= down) == (True, True)
        for (left, top, wide, high), _ in boxes[place + 1 :]:
            assert x + width <= left or left + wide <= x or y + height <= top or top + high <= y


@pytest.mark.long
def test_a_phone_pages_the_lists(visit: Visit, file: Path, result: Result) -> None:
    """A phone begins with a few rows of each list, and has buttons for the rest."""
    page = visit.open(file, size=NARROW)
    flagged = len(worklist(result.rows).flagged)
    rows = page.locator("#work-flagged .work-row")
    expect(rows).to_have_count(5)
    page.get_by_role("button", name=f"Show {flagged - 5} more", exact=True).click()
    expect(rows).to_have_count(flagged)
    assert page.locator("#vpcs details").count() == 3
    assert len(listed(page)) == 10
    page.locator("#pager").get_by_role("button", name="Next").click()
    expect(page.locator("#range")).to_have_text(f"11 to 20 of {len(result.rows)}")
    page.set_viewport_size({"width": 1400, "height": 900})
    expect(page.locator("#rows tr.subnet")).to_have_count(len(result.rows))


@pytest.mark.long
def test_a_drawing_does_not_cut_names_where_there_is_room(visit: Visit, tmp_path: Path) -> None:
    """On a wide screen, long names of subnets and route tables are whole."""
    name = "data-processing-production-private-subnet"
    page = visit.open(written(result_of([named(view, name) for view in views_of("nat-gateway-zonal")]), tmp_path))
    texts = page.locator("#vpcs svg text").all_text_contents()
    assert texts.count(name) > 2
    assert [text for text in texts if "…" in text] == []

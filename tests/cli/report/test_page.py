"""The report as a person uses it, in a real browser: choose, sort, open, draw, print, share."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from express_path.domain.path.reasons import Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.result import Result
from express_path_cli.findings.worklist import CROSSES_NAT
from tests.cli.findings.formats.html.test_page import HOSTILE
from tests.cli.report.browser import Visit
from tests.cli.report.results import (
    DENIED,
    MADE_AT,
    NOTE,
    as_account,
    named,
    organization,
    result_of,
    views_of,
    written,
)

pytestmark = pytest.mark.slow

# One call for all values, because each call passes through four processes.
CHOOSE = """([choice, values]) => values.map(value => {
    const field = document.getElementById(`choose-${choice}`);
    field.value = value;
    field.dispatchEvent(new Event("change", { bubbles: true }));
    const rows = [...document.querySelectorAll("#rows tr.subnet th code")].map(code => code.textContent);
    return [rows, document.getElementById("shown").textContent];
})"""
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


@pytest.fixture(scope="module")
def result() -> Result:
    """An organization of many kinds of network."""
    return organization(failures=[DENIED], notes=[NOTE])


@pytest.fixture(scope="module")
def file(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its report."""
    return written(result, tmp_path_factory.mktemp("report"))


def listed(page: Page) -> list[str]:
    """The subnets in the table, in its order."""
    return [str(subnet_id) for subnet_id in page.locator("#rows tr.subnet th code").all_text_contents()]


def ids(verdicts: list[Verdict]) -> list[str]:
    """The subnets of verdicts, in order of their ids."""
    return sorted(verdict.subnet_id for verdict in verdicts)


def row_of(page: Page, reason: Reason) -> Locator:
    """The first row with a reason."""
    return page.locator("tr.subnet", has=page.get_by_role("cell", name=reason, exact=True)).first


def test_everything_is_shown_first(visit: Visit, file: Path, result: Result) -> None:
    """The table begins with all subnets, worst first; totals, failures and notes are visible."""
    page = visit.open(file)
    crossing = [verdict for verdict in result.rows if verdict.reason in CROSSES_NAT]
    expect(page.get_by_role("heading", level=1)).to_have_text(
        f"{len(crossing)} of {len(result.rows)} subnets reach S3 Express through a NAT"
    )
    assert sorted(listed(page)) == ids(list(result.rows))
    flagged = ids([verdict for verdict in result.rows if verdict.compliance == "NON_COMPLIANT"])
    assert sorted(listed(page)[: len(flagged)]) == flagged
    expect(page.get_by_role("region", name="Could not be read")).to_contain_text("You are not authorized <to> perform")
    expect(page.get_by_role("region", name="Notes")).to_contain_text("was denied & counts")
    expect(page.get_by_role("button", name=re.compile(rf"^{len(flagged)}.*NON_COMPLIANT$"))).to_be_visible()


def test_each_filter_shows_its_subnets(visit: Visit, file: Path, result: Result) -> None:
    """Every value of every choice shows exactly its subnets, and the count that is read aloud says how many."""
    page = visit.open(file)

    def value_of(verdict: Verdict, choice: str) -> str:
        vpc = f"{verdict.account_id}/{verdict.region}/{verdict.vpc_id}"
        return {"account": verdict.account_id, "vpc": vpc}.get(choice) or str(getattr(verdict, choice))

    for choice in ("compliance", "reason", "account", "region", "vpc"):
        values = sorted({value_of(verdict, choice) for verdict in result.rows})
        page.locator(f"#choose-{choice}").select_option(values[-1])
        for value, (rows, shown) in zip(values, page.evaluate(CHOOSE, [choice, values]), strict=True):
            expected = [verdict for verdict in result.rows if value_of(verdict, choice) == value]
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
    expected = [
        verdict
        for verdict in result.rows
        if verdict.account_id == nat.account_id and any(hop.id == nat.path[0].id for hop in verdict.path)
    ]
    assert sorted(listed(page)) == ids(expected)
    search.fill("nothing-is-called-so")
    expect(page.get_by_text("No subnets match.")).to_be_visible()
    expect(page.locator("#networks")).to_be_hidden()
    assert listed(page) == []


def test_totals_choose_and_let_go(visit: Visit, file: Path, result: Result) -> None:
    """A reason's total is a button: pressed, its subnets are shown; pressed again, all."""
    page = visit.open(file)
    button = page.locator("#summary").get_by_role("button", name=re.compile("^NO_ROUTE"))
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    assert sorted(listed(page)) == ids([verdict for verdict in result.rows if verdict.reason is Reason.NO_ROUTE])
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    assert len(listed(page)) == len(result.rows)


def test_headings_sort_both_ways(visit: Visit, file: Path, result: Result) -> None:
    """A heading sorts by its column, then in reverse order; screen readers announce it."""
    page = visit.open(file)
    heading = page.get_by_role("columnheader", name="Subnet", exact=True)
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    assert listed(page) == ids(list(result.rows))
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert listed(page) == ids(list(result.rows))[::-1]
    account = page.locator("th[data-column=account]")
    account.get_by_role("button").click()
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
            opener.focus()
            page.keyboard.press(key)
        else:
            row.locator(".cell-path").click()
        expect(opener).to_have_attribute("aria-expanded", "true")
        detail = page.locator(f"#{opener.get_attribute('aria-controls')}")
        expect(detail).to_contain_text(verdict.annotation)
        hops = detail.get_by_role("listitem").all_inner_texts()
        assert [hop.id in text for hop, text in zip(verdict.path, hops[2:], strict=True)] == [True] * len(verdict.path)
        assert f"deciding route {verdict.path[0].destination}" in hops[2].replace("\n", " ")
        expect(detail).to_contain_text(f"express-path explain {subnet_id} --region {verdict.region}")
        expect(detail).to_contain_text(f"express-path heal {subnet_id} --region {verdict.region}")
        opener.press("Enter")
        expect(detail).to_have_count(0)


def test_a_compliant_row_asks_for_nothing(visit: Visit, file: Path) -> None:
    """If every subnet is compliant, the page has no worklist and no command that heals."""
    page = visit.open(file)
    row_of(page, Reason.ENDPOINT).get_by_role("button").click()
    expect(page.locator(".detail")).to_contain_text("Nothing to do.")
    expect(page.locator(".detail")).not_to_contain_text("express-path heal")


def test_a_link_shows_the_same_again(visit: Visit, file: Path, result: Result) -> None:
    """The fragment of the address keeps choices, order and opened rows: another window opens to the same."""
    page = visit.open(file)
    page.locator("#choose-compliance").select_option("NON_COMPLIANT")
    page.locator("th[data-column=vpc]").get_by_role("button").click()
    row_of(page, Reason.NAT_GATEWAY).get_by_role("button").click()
    shared = page.url.partition("#")[2]
    assert shared
    shown = listed(page), page.locator(".detail").all_inner_texts()
    again = visit.open(file, f"#{shared}")
    assert (listed(again), again.locator(".detail").all_inner_texts()) == shown
    assert all(shown)
    again.get_by_role("button", name="Clear").click()
    assert len(listed(again)) == len(result.rows)


def test_a_link_of_another_report_shows_what_there_is(visit: Visit, file: Path) -> None:
    """A fragment that names what this report does not have finds nothing, and can be cleared."""
    page = visit.open(file, "#vpc=gone&reason=GONE&sort=gone&open=gone&else=%00")
    expect(page.get_by_text("No subnets match.")).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#rows tr.subnet").first).to_be_visible()


def test_drawings_show_tables_hops_and_nats(visit: Visit, file: Path, result: Result) -> None:
    """Each VPC's drawing has its subnets or their number, its tables and every hop of every path; a NAT says so."""
    page = visit.open(file)
    by_vpc: dict[str, list[Verdict]] = {}
    for verdict in result.rows:
        by_vpc.setdefault(f"{verdict.account_id}/{verdict.region}/{verdict.vpc_id}", []).append(verdict)
    while page.locator("#more-vpcs button").count():
        page.locator("#more-vpcs button").click()
    panels = page.locator("#vpcs details[data-vpc]")
    for panel in panels.evaluate_all(DRAWN):
        assert panel["isOpen"] or panel["canvases"] == 0, "drawings are made when they are opened"
    page.locator("#vpcs details[data-vpc]:not([open]) summary").first.click()
    page.evaluate("document.querySelectorAll('#vpcs details[data-vpc]:not([open]) > summary').forEach(x => x.click())")
    expect(page.locator("#vpcs details[data-vpc]").get_by_role("img")).to_have_count(len(by_vpc))
    found = {panel["vpc"]: panel for panel in panels.evaluate_all(DRAWN)}
    assert found.keys() == by_vpc.keys()
    for key, verdicts in by_vpc.items():
        panel = found[key]
        assert panel["pictures"] == 1
        for verdict in verdicts:
            assert (verdict.route_table_id or "unknown") in panel["drawn"]
            assert all(hop.id in panel["drawn"] for hop in verdict.path), verdict
            crosses = verdict.reason in CROSSES_NAT
            assert not crosses or panel["edges"] >= 2
            assert not crosses or panel["boxes"] >= 1
            assert not crosses or panel["labels"] >= 1


def test_row_and_drawing_lead_to_each_other(visit: Visit, file: Path, result: Result) -> None:
    """From an opened row to its VPC's drawing, and from there to that VPC's subnets alone."""
    page = visit.open(file)
    row = row_of(page, Reason.NO_ROUTE)
    subnet_id = row.locator("th code").inner_text()
    row.get_by_role("button").click()
    page.get_by_role("button", name="Show the drawing of its VPC").click()
    verdict = next(verdict for verdict in result.rows if verdict.subnet_id == subnet_id)
    panel = page.locator(f'details[data-vpc="{verdict.account_id}/{verdict.region}/{verdict.vpc_id}"]')
    expect(panel.get_by_role("img")).to_be_visible()
    expect(panel.locator("summary")).to_be_focused()
    panel.get_by_role("button", name="Show only this VPC's subnets").click()
    in_vpc = [
        other
        for other in result.rows
        if (other.account_id, other.region, other.vpc_id) == (verdict.account_id, verdict.region, verdict.vpc_id)
    ]
    assert sorted(listed(page)) == ids(in_vpc)


def test_theme_follows_the_system_until_it_is_chosen(visit: Visit, tmp_path: Path) -> None:
    """Light or dark as the system is; the button turns it round, without any storage."""
    file = written(result_of(views_of("nat-gateway-zonal")), tmp_path)
    ground = "getComputedStyle(document.body).backgroundColor"
    for dark in (False, True):
        page = visit.open(file, dark=dark)
        first = page.evaluate(ground)
        page.get_by_role("button", name="Light theme" if dark else "Dark theme").click()
        second = page.evaluate(ground)
        lightness = [sum(map(int, re.findall(r"\d+", color)[:3])) for color in (first, second)]
        assert (lightness[0] < lightness[1]) is dark
        expect(page.get_by_role("button", name="Dark theme" if dark else "Light theme")).to_be_visible()


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


def test_without_script_the_headline_and_failures_remain(visit: Visit, file: Path) -> None:
    """Without scripts, the page still shows the totals, what could not be read, and what to do instead."""
    page = visit.open(file, script=False)
    expect(page.get_by_role("heading", level=1)).to_contain_text("reach S3 Express through a NAT")
    expect(page.get_by_text("need JavaScript")).to_be_visible()
    expect(page.get_by_role("region", name="Could not be read")).to_be_visible()
    expect(page.get_by_role("searchbox")).to_have_count(0)


def test_nothing_found_is_a_whole_page(visit: Visit, tmp_path: Path) -> None:
    """A scan without a subnet says so, with the parameters that it had, and without an empty table."""
    page = visit.open(written(Result((), MADE_AT), tmp_path))
    expect(page.get_by_role("heading", level=1)).to_have_text("No subnets were found")
    expect(page.get_by_text("publicSubnets")).to_be_visible()
    expect(page.get_by_role("table")).to_have_count(0)

"""The report for those who do not use a mouse or do not see it: axe-core's rules, the keyboard, what is read aloud."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from express_path_cli.findings.result import Result
from tests.cli.report.browser import NARROW, WIDE, Visit
from tests.cli.report.results import (
    MADE_AT,
    owned_organization,
    written,
)

pytestmark = pytest.mark.long

AXE = Path(__file__).parents[3] / "build" / "node" / "node_modules" / "axe-core" / "axe.min.js"
"""The folder into which `npm ci` installs axe/package-lock.json. Git ignores it."""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
"""Level AA of WCAG 2.2, and what axe calls best practice (https://github.com/dequelabs/axe-core/blob/develop/doc/API.md)."""

NOTE_STOPS = """() => {
    window.stops = [];
    document.addEventListener("focusin", ({ target }) => {
        const { outlineStyle, outlineWidth } = getComputedStyle(target);
        window.stops.push([target.outerHTML.slice(0, 80), outlineStyle !== "none" && outlineWidth !== "0px"]);
    });
}"""
"""Note where the focus stops, and whether that has an outline."""


@pytest.fixture(scope="module")
def axe() -> str:
    """The checker's source, or no test."""
    if shutil.which("npm") is None:
        pytest.skip("no npm: the check of the report's accessibility needs axe-core")
    if not AXE.is_file():
        pytest.skip("no axe-core: make build/node/.ready installs it")
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with everything in it."""
    result = owned_organization()
    return written(result, tmp_path_factory.mktemp("report"))


def violations(page: Page, axe: str, rules: Sequence[str] = RULES) -> list[str]:
    """Each rule that the page breaks, and where."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe)
    found = page.evaluate("rules => axe.run(document, { runOnly: rules, resultTypes: ['violations'] })", rules)
    assert found["passes"], "the rules were applied"
    return [
        f"{violation['id']}: {json.dumps(violation['nodes'][0]['html'])[:300]}" for violation in found["violations"]
    ]


def test_no_rule_is_broken(visit: Visit, file: Path, axe: str) -> None:
    """In both themes, wide and narrow, with rows and drawings open, axe-core finds nothing: names, roles, contrast."""
    page = visit.open(file)
    page.evaluate("for (const element of document.querySelectorAll('details')) element.open = true")
    page.evaluate(
        "[...document.querySelectorAll('.opener')].filter((_, place) => place % 6 === 0).forEach(x => x.click())"
    )
    page.locator("#summary button").first.click()
    page.locator("#shown").wait_for()
    assert violations(page, axe) == []
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    assert violations(page, axe) == []
    page.emulate_media(color_scheme="dark")  # only colors depend on the theme
    assert violations(page, axe, ["color-contrast"]) == []
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    assert violations(page, axe, ["color-contrast"]) == []


def test_an_empty_page_breaks_none_either(visit: Visit, tmp_path: Path, axe: str) -> None:
    """A page without a subnet is as accessible. Text without contrast and a button without a name would be found."""
    page = visit.open(written(Result((), MADE_AT), tmp_path))
    assert violations(page, axe) == []
    page.locator("h1").evaluate("element => { element.style.color = 'rgb(240, 240, 240)'; }")
    page.locator("main").evaluate("element => { element.append(document.createElement('button')); }")
    assert {violation.partition(":")[0] for violation in violations(page, axe)} == {"color-contrast", "button-name"}


def test_keyboard_reaches_everything_in_order(visit: Visit, file: Path) -> None:
    """The first stop skips to the subnets, and keeps choices; every stop is visible, and has an outline."""
    page = visit.open(file, "#compliance=COMPLIANT")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the subnets")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to the subnets")).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#subnets') !== null")
    assert set(page.locator("#rows .cell-compliance").all_inner_texts()) == {"✓\nCOMPLIANT"}
    page = visit.open(file)
    page.evaluate(NOTE_STOPS)
    stops: list[str] = []
    while not any("canvas" in stop for stop in stops):
        assert len(stops) < 120
        for _ in range(10):
            page.keyboard.press("Tab")
        for stop, is_outlined in page.evaluate("window.stops.splice(0)"):
            assert is_outlined, stop
            stops.append(stop)
    marks = ('id="search"', "choose-vpc", "opener", "tile", 'class="reason"', 'class="value"')
    order = [
        next(place for place, stop in enumerate(stops) if mark in stop) for mark in (*marks, "<summary><span", "canvas")
    ]
    assert order == sorted(order)


def test_what_is_read_aloud(visit: Visit, file: Path) -> None:
    """The table has headings, and a drawing has its paths in words; axe-core checks names and landmarks."""
    page = visit.open(file)
    table = page.get_by_role("table", name="The subnets and their paths")
    assert table.get_by_role("columnheader").count() == 9
    assert table.get_by_role("rowheader").count() == page.locator("#rows tr.subnet").count()
    picture = page.get_by_role("img", name="Paths of").first
    words = page.locator(f"#{picture.get_attribute('aria-describedby')}").text_content() or ""
    assert "by route table rtb-" in words
    assert "then " in words


def test_meaning_is_never_by_color_or_motion_alone(visit: Visit, file: Path) -> None:
    """A NAT path differs in line style and words; a compliance has a mark and its word; motion can be turned off."""
    page = visit.open(file)
    styles = page.locator(".legend .edge").evaluate_all(
        "all => all.map(element => getComputedStyle(element).strokeDasharray)"
    )
    assert len(set(styles)) == len(styles) == 5
    marks = {"✕\nNON_COMPLIANT", "✓\nCOMPLIANT", "\N{EN DASH}\nNOT_APPLICABLE"}
    assert set(page.locator("#rows .cell-compliance").all_inner_texts()) == marks
    page.emulate_media(reduced_motion="reduce")
    assert page.locator(".chevron").first.evaluate("element => getComputedStyle(element).transitionDuration") == "0s"

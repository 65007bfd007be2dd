"""The report on a phone, on screens of several widths, and on paper."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from express_path_cli.findings.result import Result
from tests.cli.report.browser import NARROW, Visit
from tests.cli.report.paper import texts_by_page
from tests.cli.report.results import DENIED, NOTE, named, organization, result_of, views_of, written

HEADING = 12
"""More pieces of text than a heading has."""
A4, LETTER = (210, 297), (216, 279)
"""Paper, in millimeters."""
MARGINS = 28
"""The margins of the page above and below, in millimeters."""


@pytest.fixture(scope="module")
def result() -> Result:
    """An organization of many kinds of network."""
    return organization(failures=[DENIED], notes=[NOTE])


@pytest.fixture(scope="module")
def file(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its report."""
    return written(result, tmp_path_factory.mktemp("report"))


def open_drawings(page: Page) -> None:
    """Open the drawing of every VPC that is listed."""
    page.evaluate("for (const element of document.querySelectorAll('details.vpc')) element.open = true")
    page.locator("#vpcs svg[role=img]").last.wait_for(state="attached")


def test_a_table_of_long_ids_has_room(visit: Visit, file: Path) -> None:
    """On the screens that most people have, an id on a path is in one line, and nobody scrolls sideways."""
    page = visit.open(file)
    hops = page.locator(".cell-path .step code").filter(has_text=re.compile(r"^[a-z]+-[0-9a-f]{17}$"))
    assert hops.count()
    for width in (920, 1024, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        assert set(hops.evaluate_all("all => all.map(element => element.getClientRects().length)")) == {1}, width
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


def test_page_never_scrolls_sideways(visit: Visit, file: Path) -> None:
    """From a phone to a wide screen, only drawings scroll sideways, within themselves."""
    page = visit.open(file)
    page.locator("#worklist .opener").first.click()
    page.locator("#rows .opener").first.click()
    for width, height in (NARROW, (320, 600), (768, 1024), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_many_subnets_of_one_table_are_drawn_as_one_box(visit: Visit, tmp_path: Path) -> None:
    """250 subnets on one table are a box with their number; nothing in the drawing is cut off or overlaps."""
    page = visit.open(written(result_of(views_of("subnets-on-the-main-table-250")), tmp_path))
    picture = page.get_by_role("img").first
    expect(picture).to_contain_text("249 subnets")
    size = picture.evaluate("svg => [svg.width.baseVal.value, svg.height.baseVal.value]")
    boxes = picture.locator(".box > rect").evaluate_all(
        "all => all.map(element => ['x', 'y', 'width', 'height'].map(name => element[name].baseVal.value))"
    )
    assert size[1] < 1200
    for place, (x, y, width, height) in enumerate(boxes):
        assert x >= 0
        assert y >= 0
        assert x + width <= size[0]
        assert y + height <= size[1]
        for left, top, wide, high in boxes[place + 1 :]:
            assert x + width <= left or left + wide <= x or y + height <= top or top + high <= y


def test_texts_of_drawings_stay_in_their_boxes(visit: Visit, tmp_path: Path) -> None:
    """However long names are, no text of a drawing leaves its box."""
    long_names = [named(view, "データ処理-" * 8 + "x" * 60) for view in views_of("firewall-then-nat-instance")]
    page = visit.open(written(result_of(long_names), tmp_path))
    page.evaluate("for (const element of document.querySelectorAll('details')) element.open = true")
    page.get_by_role("img").first.wait_for()
    beyond = page.evaluate(
        """() => [...document.querySelectorAll('.box')].flatMap(box => {
            const { left, right } = box.querySelector('rect').getBoundingClientRect();
            return [...box.querySelectorAll('text')].filter(text => {
                const at = text.getBoundingClientRect();
                return at.left < left - 1 || at.right > right + 1;
            }).map(text => text.textContent);
        })"""
    )
    assert beyond == []


def test_paths_through_a_transit_gateway_fit_a_laptop(visit: Visit, file: Path) -> None:
    """At 1,400 pixels, no drawing scrolls sideways and no id in it is cut, however many hops a path has."""
    page = visit.open(file, size=(1400, 900))
    page.locator("#more-vpcs button").click()
    open_drawings(page)
    canvases = page.locator(".canvas")
    expect(page.locator(".canvas > svg")).to_have_count(canvases.count())
    wide = canvases.evaluate_all(
        "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.ariaLabel)"
    )
    assert wide == []
    ids = page.locator(".box .mono").all_text_contents()
    assert (
        max(page.locator(".canvas > svg").evaluate_all("all => all.map(one => one.querySelectorAll('.box').length)"))
        > 7
    )
    assert [shown for shown in ids if "…" in shown and not shown.startswith("arn")] == []


def test_a_phone_shows_paths_from_top_to_bottom(visit: Visit, tmp_path: Path) -> None:
    """On a phone each hop is below the one before, with its whole id and name, and nothing is cut off."""
    name = "data-processing-" * 4
    views = [named(view, name) for view in views_of("transit-gateway-inspection-then-egress")]
    page = visit.open(written(result_of(views), tmp_path), size=NARROW)
    journey = page.locator(".journey").first
    expect(journey).to_be_visible()
    expect(page.locator(".canvas").first).to_be_hidden()
    steps = journey.locator(".hops > li")
    [verdict] = [
        verdict
        for verdict in result_of(views).rows
        if verdict.subnet_id == journey.locator(".members code").first.text_content()
    ]
    assert steps.count() == len(verdict.path) + 1
    for hop, text in zip(verdict.path, steps.all_inner_texts()[1:], strict=True):
        assert hop.id in text
    tops = steps.evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    assert tops == sorted(set(tops))
    assert name in journey.inner_text()
    rights = journey.locator("*").evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
    assert max(rights) <= NARROW[0]


def test_print_has_every_row_that_is_shown(visit: Visit, file: Path, result: Result) -> None:
    """A print has no buttons, is light even where the screen is dark, and holds the worklist and the rows."""
    page = visit.open(file, dark=True)
    page.emulate_media(media="print", color_scheme="dark")
    for button in page.get_by_role("button").filter(has_text=re.compile("theme|CSV|Show|Clear")).all():
        expect(button).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#rows tr.subnet").count() == len(result.rows)
    expect(page.locator(".work-row").first).to_be_visible()
    expect(page.locator("#not-printed")).to_be_hidden()


def test_paper_is_a_document(visit: Visit, file: Path, tmp_path: Path) -> None:
    """On A4 and Letter, every page has more than a heading, and every drawing fits on a page and stays in one piece."""
    page = visit.open(file)
    open_drawings(page)
    for name in ("A4", "Letter"):
        page.pdf(path=tmp_path / f"{name}.pdf", format=name)
        pages = texts_by_page(tmp_path / f"{name}.pdf")
        assert len(pages) > 2
        assert min(pages) > HEADING
    page.emulate_media(media="print")
    for width, height in (A4, LETTER):
        page.set_viewport_size({"width": round((width - 24) * 96 / 25.4), "height": 900})
        drawings = page.locator(".canvas > svg").evaluate_all(
            """all => all.filter(one => one.checkVisibility()).map(one => {
                const { width, height } = one.getBoundingClientRect();
                const part = getComputedStyle(one.closest(".vpc")).breakInside;
                return [height, width / one.viewBox.baseVal.width, part];
            })"""
        )
        assert drawings
        for tall, scale, inside in drawings:
            assert tall < (height - MARGINS) * 96 / 25.4
            assert scale > 0.7
            assert inside == "avoid"
        assert page.locator(".large > .journeys").first.is_visible()
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0

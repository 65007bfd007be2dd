"""docs/troubleshoot.md says who notices when a component stops, and that is what happens."""

import pytest

from sandbox.server import Sandbox
from tests.org.silence import COMPONENTS, DOCUMENT, HEAD, HOURS, MARK, Component, deployed, row_of
from tests.support.organization import Packaged

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


def shown() -> list[str]:
    """Return the rows of the page's table."""
    table = DOCUMENT.read_text(encoding="utf-8").partition(MARK)[2].partition("<!-- end -->")[0]
    return table.strip().splitlines()


def test_the_page_has_a_row_for_each_component() -> None:
    """Run `python -m tests.org.silence` after a change, and read the difference."""
    rows = shown()
    assert tuple(rows[:2]) == HEAD
    assert [row.split(" | ")[0] for row in rows[2:]] == [f"| {component.name}" for component in COMPONENTS]


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_who_notices_is_what_the_page_says(sandbox: Sandbox, packaged: Packaged, component: Component) -> None:
    """Without the component, exactly these alarms go off in time, or the dashboard shows it; doctor names it."""
    with deployed(sandbox, packaged) as place:
        assert row_of(place, component) in shown()


def test_nothing_is_noticed_if_nothing_stops(sandbox: Sandbox, packaged: Packaged) -> None:
    """With all components, no alarm goes off in a day, no sweep finds a fault, and every check of doctor is OK."""
    with deployed(sandbox, packaged) as place:
        for number in range(HOURS):
            place.hour(number)
            assert not [name for name, alarm in place.alarms().items() if place.state(alarm, number) == "ALARM"]
        assert not place.faults(HOURS)
        assert place.doctor() == set()

"""docs/troubleshoot.md says who notices when a component stops, and that is what happens."""

from collections.abc import Iterator
from functools import partial

import pytest

from sandbox.iam import enforced
from sandbox.pytest_plugin import emptied
from sandbox.server import Sandbox
from tests.cli.doctor.test_doctor_document import actions, called, somebody
from tests.org.silence import COMPONENTS, DOCUMENT, HEAD, MARK, Component, Place, deployed, in_a_copy, row_of
from tests.support.organization import Packaged

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


@pytest.fixture(scope="module")
def place(running_sandbox: Sandbox, packaged: Packaged) -> Iterator[Place]:
    """Yield the deployed stacks, just after the first sweep. Tests change only copies of them."""
    with (
        pytest.MonkeyPatch.context() as changed,
        emptied(running_sandbox, changed) as sandbox,
        deployed(sandbox, packaged) as found,
    ):
        yield found


def shown() -> list[str]:
    """Return the rows of the page's table."""
    table = DOCUMENT.read_text(encoding="utf-8").partition(MARK)[2].partition("<!-- end -->")[0]
    return table.strip().splitlines()


def test_the_page_has_a_row_for_each_component() -> None:
    """Run `python -m tests.org.silence` after a change, and read the difference."""
    rows = shown()
    assert tuple(rows[:2]) == HEAD
    assert [row.split(" | ")[0] for row in rows[2:]] == [f"| {component.name}" for component in COMPONENTS]


@pytest.mark.long
@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_who_notices_is_what_the_page_says(place: Place, component: Component) -> None:
    """Without the component, exactly these alarms go off in time, or the dashboard shows it; doctor names it."""
    assert in_a_copy(partial(row_of, place, component)) in shown()


def test_nothing_is_noticed_if_nothing_stops(place: Place) -> None:
    """With all components, no alarm goes off in a day, no sweep finds a fault, every check of doctor is OK, and heals work."""

    def noticed() -> str:
        place.pass_day(1)
        healed = place.heal()["AutomationExecutionStatus"] == "Success"
        return str([*place.alarms(), *place.faults(), *place.doctor(), *([] if healed else ["no heal"])])

    assert in_a_copy(noticed) == "[]"


def test_the_policy_of_doctor_is_enough_for_the_integrations(place: Place) -> None:
    """With the statements of the page, the checks of the integrations are OK, and use every action for them."""

    def missing() -> str:
        credentials = somebody(place.sandbox)
        place.sandbox.calls.clear()
        with pytest.MonkeyPatch.context() as environment, enforced(place.sandbox):
            for name, value in credentials.items():
                environment.setenv(name, value)
            environment.delenv("AWS_SESSION_TOKEN")
            assert "security-hub" not in place.doctor()
        return str(actions("CheckIntegrations") - called(place.sandbox))

    found = in_a_copy(missing)
    assert found == "set()", found

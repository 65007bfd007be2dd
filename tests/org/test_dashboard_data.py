"""The dashboard shows what the functions print: every metric, every log field, and nothing that they do not print."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from sandbox.pytest_plugin import emptied
from sandbox.server import Sandbox
from tests.org.logs_insights import run
from tests.org.metric_math import evaluate
from tests.org.places import Place, Printed
from tests.org.test_dashboard import EXPRESSIONS, LOG_WIDGETS, METRIC_WIDGETS, metric_of

START = datetime(2026, 11, 20, 6, tzinfo=UTC)
GAUGES = {"NonCompliant", "Compliant", "NotApplicable", "Unresolved", "HealsFailed", "SecondsSincePreviousSweep"}


@pytest.fixture(scope="module")
def place(running_sandbox: Sandbox) -> Iterator[Printed]:
    """Return what one account and Region printed on four days: a heal, a failed evaluation, and a silent day."""
    with pytest.MonkeyPatch.context() as patches, emptied(running_sandbox, patches) as sandbox:
        place = Place(sandbox, "shop", vpcs=4, owned=1)
        place.day(START)
        place.day(START + timedelta(days=1), heals=2)
        place.day(START + timedelta(days=2), fails=True)
        place.day(START + timedelta(days=4))
        yield place.printed


def test_every_metric_of_the_rule_is_shown_and_every_shown_metric_is_emitted(place: Printed) -> None:
    """The metrics that the functions emit are exactly those of the rule in the dashboard."""
    emitted = {(point.namespace, *dict(point.dimensions), point.name) for point in place.datapoints}
    assert emitted == {metric_of(expression) for expression in EXPRESSIONS}
    ours = {name for namespace, _, name in emitted if namespace == "ExpressPath"}
    assert ours == GAUGES


def test_an_account_and_region_has_six_metrics(place: Printed) -> None:
    """Each gauge has one set of dimensions, so CloudWatch charges for six metrics."""
    series = {(point.name, point.dimensions) for point in place.datapoints if point.namespace == "ExpressPath"}
    assert series == {(name, (("service", "evaluate"),)) for name in GAUGES}


def test_each_metric_widget_has_data(place: Printed) -> None:
    """Each expression returns the account's series in its Region, and none in another."""
    for widget in METRIC_WIDGETS:
        for [row] in widget["metrics"]:
            series = evaluate(row["expression"], row["region"], widget["period"], [place])
            assert bool(series) is (row["region"] == place.region), row


def test_gauges_tell_what_happened(place: Printed) -> None:
    """A heal lowers NON_COMPLIANT, and a failed sweep leaves a gap that the time between sweeps shows."""
    [total] = evaluate(EXPRESSIONS[0], place.region, 86400, [place]).values()
    assert list(total.values()) == [4, 3, 3, 3, 3]
    sweeps = next(expression for expression in EXPRESSIONS if "SampleCount" in expression)
    assert list(evaluate(sweeps, place.region, 86400, [place])["shop"].values()) == [1, 1, 0, 1]
    gaps = [point.value for point in place.datapoints if point.name == "SecondsSincePreviousSweep"]
    assert [round(gap / 86400, 1) for gap in gaps] == [1, 3]
    [errors] = [point.value for point in place.datapoints if point.name == "Errors"]
    assert errors == 3


def test_each_log_widget_has_rows(place: Printed) -> None:
    """The queries find the outcome of heals and the reasons of the last sweep in the functions' logs."""
    logged = [{**line, "@log": f"{place.account}:evaluate"} for line in place.log]
    outcome, blockers, reasons = (run(widget["query"], logged) for widget in LOG_WIDGETS[:3])
    assert outcome == [{"outcome": "BLOCKED", "runs": 1}, {"outcome": "HEALED", "runs": 1}]
    assert blockers == [{"blocker": "OWNED_BY_IAC", "runs": 1}]
    [counts] = reasons
    assert counts["NAT_GATEWAY"] == 3

"""The dashboard for Grafana has the metric widgets of the one for CloudWatch."""

from typing import Any

from org.dashboard import REGIONS
from org.grafana import FILE, grafana, written
from tests.org.test_dashboard import EXPRESSIONS, METRIC_WIDGETS

PANELS: list[dict[str, Any]] = grafana(REGIONS)["panels"]


def test_file_is_written_by_the_module() -> None:
    """Run `python -m org.grafana` after a change of the dashboard."""
    assert FILE.read_text(encoding="utf-8") == written(REGIONS)


def test_panels_have_the_expressions_of_the_widgets() -> None:
    """Each panel has its widget's title and expressions, as metric math or as a query of Metrics Insights."""
    assert [panel["title"] for panel in PANELS] == [widget["title"] for widget in METRIC_WIDGETS]
    targets = [target for panel in PANELS for target in panel["targets"]]
    assert [target.get("expression") or target["sqlExpression"] for target in targets] == EXPRESSIONS
    for target in targets:
        assert ("sqlExpression" in target) is (target["metricQueryType"] == 1)
        assert (target["accountId"], target["queryMode"]) == ("all", "Metrics")


def test_panels_and_queries_have_unique_ids() -> None:
    """Grafana identifies panels by id, and the queries of a panel by refId."""
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    for panel in PANELS:
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])

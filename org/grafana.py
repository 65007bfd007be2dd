"""Write org/grafana/express-path.json, a dashboard for Grafana: python -m org.grafana [REGION ...].

It has the metric widgets of org/dashboard.py. The format of a query:
https://grafana.com/docs/grafana/latest/datasources/aws-cloudwatch/query-editor/
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from org.dashboard import OVERDUE, REGIONS, Widget, gauges, operation

FILE = Path(__file__).parent / "grafana" / "express-path.json"
SOURCE = {"type": "cloudwatch", "uid": "${source}"}
METRICS_QUERY, SQL_QUERY, CODE = 0, 1, 1
"""Grafana's numbers for a query of metric math, a query of Metrics Insights, and the editor of text."""


def target(number: int, row: dict[str, str], period: int) -> dict[str, Any]:
    """Return one query of a panel."""
    is_sql = row["expression"].startswith("SELECT ")
    return {
        "datasource": SOURCE,
        "queryMode": "Metrics",
        "metricQueryType": SQL_QUERY if is_sql else METRICS_QUERY,
        "metricEditorMode": CODE,
        "sqlExpression" if is_sql else "expression": row["expression"],
        "id": f"q{number}",
        "refId": chr(ord("A") + number),
        "region": row["region"],
        "accountId": "all",
        "label": row["label"],
        "period": str(period),
    }


def panel(number: int, widget: Widget) -> dict[str, Any]:
    """Return a widget as a panel: three in each line."""
    properties = widget["properties"]
    rows = [row for [row] in properties["metrics"]]
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if "annotations" in properties:
        steps.append({"color": "red", "value": OVERDUE})
    custom = {
        "fillOpacity": 30 if properties["stacked"] else 0,
        "stacking": {"mode": "normal" if properties["stacked"] else "none"},
        "thresholdsStyle": {"mode": "line" if len(steps) > 1 else "off"},
    }
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": properties["title"],
        "datasource": SOURCE,
        "gridPos": {"x": number % 3 * 8, "y": number // 3 * 8, "w": 8, "h": 8},
        "fieldConfig": {"defaults": {"min": 0, "custom": custom, "thresholds": {"mode": "absolute", "steps": steps}}},
        "targets": [target(index, row, properties["period"]) for index, row in enumerate(rows)],
    }


def grafana(regions: Sequence[str]) -> dict[str, Any]:
    """Return the dashboard, with a variable for the data source."""
    widgets = [*gauges(regions), *operation(regions)]
    source = {"type": "datasource", "name": "source", "label": "CloudWatch", "query": "cloudwatch"}
    return {
        "uid": "express-path",
        "title": "S3 Express traffic that crosses a NAT",
        "tags": ["express-path"],
        "schemaVersion": 39,
        "time": {"from": "now-14d", "to": "now"},
        "templating": {"list": [source]},
        "panels": [panel(number, widget) for number, widget in enumerate(widgets)],
    }


def written(regions: Sequence[str]) -> str:
    """Return the file's text."""
    return json.dumps(grafana(regions), indent=2) + "\n"


if __name__ == "__main__":
    FILE.write_text(written(sys.argv[1:] or REGIONS), encoding="utf-8")

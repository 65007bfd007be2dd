"""Draw the dashboard as docs/dashboards.md shows it: python -m tests.org.picture docs/dashboard.png.

The widgets, their places, and their expressions are those of org/dashboard.py. The data is what the functions of four
accounts print in a sandbox during two weeks. Only the drawing is ours.
"""

import os
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from org.dashboard import LOG_GROUPS, REGIONS, dashboard
from sandbox.server import Sandbox
from tests.cli.report.browser import Visit, launched
from tests.org.logs_insights import run
from tests.org.metric_math import Series, evaluate
from tests.org.places import Place, Printed

DAYS = 14
START = datetime(2026, 11, 9, 6, tzinfo=UTC)
DAY = 86400
TIMES = [int((START + timedelta(days=day)).timestamp()) // DAY * DAY for day in range(DAYS)]
COLUMN, LINE = 58, 38
"""The size of a place in the dashboard's grid, in pixels."""
WIDTH, HEIGHT, LEFT = 8 * COLUMN - 60, 190, 52
"""The size of a chart, and where its lines begin."""
MANY, HUGE = 1e3, 1e7
PALETTE = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#17becf")
STYLE = """
body { margin: 0; background: #f2f3f3; font: 13px system-ui, sans-serif; color: #16191f }
main { display: grid; grid-template-columns: repeat(24, 1fr); grid-auto-rows: %dpx; gap: 8px; width: %dpx;
  padding: 12px }
section { background: #fff; border: 1px solid #d5dbdb; border-radius: 4px; padding: 8px 12px; overflow: hidden }
h2 { font-size: 14px; margin: 0 0 4px } section.text h2 { font-size: 20px } p { margin: 6px 0 }
code { background: #f2f3f3; padding: 1px 3px } table { border-collapse: collapse; width: 100%% }
th, td { text-align: left; border-bottom: 1px solid #eaeded; padding: 3px 6px } td:last-child { text-align: right }
svg text { font-size: 10px; fill: #545b64 } .legend { font-size: 10px; color: #545b64; line-height: 14px }
.legend b { font-weight: normal; margin-right: 8px; white-space: nowrap }
"""


def two_weeks() -> list[Printed]:
    """Run the rule for two weeks in four accounts: heals, blocked heals, a failed evaluation, and a day of silence."""
    plans = [
        ("shop-prod", "us-east-1", 9, 1, {3: 2, 5: 3, 9: 2}, {}),
        ("payments-prod", "us-east-1", 6, 2, {4: 2, 8: 2}, {"fails": {6}}),
        ("analytics", "us-west-2", 12, 0, {2: 3, 6: 4, 10: 3}, {}),
        ("ledger-prod", "eu-west-1", 5, 0, {7: 2}, {"silent": {10, 11}}),
    ]
    printed = []
    for account, region, vpcs, owned, heals, incidents in plans:
        with Sandbox(region) as sandbox:
            os.environ.update(sandbox.environment())
            place = Place(sandbox, account, vpcs, owned)
            for number in range(DAYS):
                happens = {name: number in days for name, days in incidents.items()}
                place.day(START + timedelta(days=number), heals.get(number, 0), **happens)
            printed.append(place.printed)
    return printed


def page(places: list[Printed]) -> str:
    """Return the dashboard as HTML."""
    sections = []
    for widget in dashboard(REGIONS, LOG_GROUPS)["widgets"]:
        columns = f"{widget['x'] + 1} / span {widget['width']}"
        area = f"grid-column: {columns}; grid-row: {widget['y'] + 1} / span {widget['height']}"
        body = CONTENT[widget["type"]](widget["properties"], places)
        sections.append(f'<section class="{widget["type"]}" style="{area}">{body}</section>')
    style = STYLE % (LINE, 24 * COLUMN)
    return f'<!doctype html><meta charset="utf-8"><style>{style}</style><main>{"".join(sections)}</main>'


def text_content(properties: dict[str, Any], places: list[Printed]) -> str:  # noqa: ARG001  # like its neighbors
    """Return a text widget: headings, paragraphs, bold text, and code."""
    blocks = []
    for block in properties["markdown"].strip().split("\n\n"):
        inline = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(block))
        inline = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", inline)
        inline = re.sub(r"\*(.+?)\*", r"<i>\1</i>", inline)
        blocks.append(f"<h2>{inline[3:]}</h2>" if inline.startswith("## ") else f"<p>{inline}</p>")
    return "".join(blocks)


def log_content(properties: dict[str, Any], places: list[Printed]) -> str:
    """Return a log widget: the rows of its query as a table."""
    lines = [
        {**line, "@log": f"{place.account}:evaluate"}
        for place in places
        if place.region == properties["region"]
        for line in place.log
    ]
    rows = run(properties["query"], lines)
    if len(rows) == 1 and len(rows[0]) > len(REGIONS):  # one row of many columns reads better from top to bottom
        rows = [{"": name, " ": value} for name, value in rows[0].items()]
    names = list(rows[0]) if rows else []
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(row[name]))}</td>" for name in names) + "</tr>" for row in rows)
    return f"<h2>{escape(properties['title'])}</h2><table><tr>{head}</tr>{body}</table>"


def metric_content(properties: dict[str, Any], places: list[Printed]) -> str:
    """Return a metric widget: a chart with its legend."""
    lines: dict[str, Series] = {}
    for [row] in properties["metrics"]:
        for label, series in evaluate(row["expression"], row["region"], properties["period"], places).items():
            lines[row["label"].replace("${LABEL}", label).replace("${PROP('AccountLabel')}", label).strip()] = series
    marks = [mark["value"] for mark in properties.get("annotations", {}).get("horizontal", [])]
    legend = " ".join(
        f'<b><span style="color: {PALETTE[number % len(PALETTE)]}">■</span> {escape(label)}</b>'
        for number, label in enumerate(lines)
    )
    chart = drawn(lines, marks, stacked=properties["stacked"])
    return f"<h2>{escape(properties['title'])}</h2>{chart}<div class='legend'>{legend}</div>"


def drawn(lines: dict[str, Series], marks: list[float], *, stacked: bool) -> str:
    """Return a chart of lines over two weeks as SVG, as areas one upon the other if stacked. marks are red lines."""
    layers = list(layered([daily(series) for series in lines.values()], stacked=stacked))
    top = max([value for upper, _ in layers for value in upper.values()] + marks + [1]) * 1.1
    parts = [f'<svg width="{WIDTH}" height="{HEIGHT + 16}">', *axes(top)]
    for number, (upper, lower) in enumerate(layers):
        parts += layer(upper, lower if stacked else {}, top, PALETTE[number % len(PALETTE)])
    for value in marks:
        ends = f"{at(TIMES[0], value, top)} {at(TIMES[-1], value, top)}"
        parts.append(f'<polyline points="{ends}" stroke="#d62728" stroke-dasharray="5 3"/>')
    return "".join([*parts, "</svg>"])


def daily(series: Series) -> Series:
    """Return the highest value of each day."""
    days: Series = {}
    for time, value in series.items():
        days[time // DAY * DAY] = max(value, days.get(time // DAY * DAY, 0))
    return days


def layered(lines: list[Series], *, stacked: bool) -> Iterator[tuple[Series, Series]]:
    """Yield the upper and the lower edge of each line: each line on the ones before it if they are stacked."""
    floor = dict.fromkeys(TIMES, 0.0)
    for days in lines:
        lower = {time: floor[time] if stacked else 0 for time in TIMES if time in days}
        upper = {time: days[time] + value for time, value in lower.items()}
        floor |= upper
        yield upper, lower


def at(time: int, value: float, top: float) -> str:
    """Return the place of a value in the chart."""
    x = LEFT + (time - TIMES[0]) / (TIMES[-1] - TIMES[0]) * (WIDTH - LEFT - 4)
    return f"{x:.1f},{HEIGHT - value / top * (HEIGHT - 12):.1f}"


def axes(top: float) -> Iterator[str]:
    """Yield the lines and labels of the axes."""
    for share in (0, 0.5, 1):
        value = share * top / 1.1
        y = float(at(TIMES[0], value, top).split(",")[1])
        label = f"{value:,.3g}" if value < MANY else f"{value:,.0f}" if value < HUGE else f"{value:.1e}"
        yield f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y}" y2="{y}" stroke="#eaeded"/>'
        yield f'<text x="0" y="{y + 3}">{label}</text>'
    for time in TIMES[::3]:
        x, day = at(time, 0, top).split(",")[0], datetime.fromtimestamp(time, UTC).strftime("%m/%d")
        yield f'<text x="{x}" y="{HEIGHT + 13}" text-anchor="middle">{day}</text>'


def layer(upper: Series, lower: Series, top: float, color: str) -> Iterator[str]:
    """Yield one line with its points, and the area between it and the lower edge, if there is one."""
    points = [at(time, value, top) for time, value in upper.items()]
    if lower:
        below = [at(time, value, top) for time, value in reversed(lower.items())]
        yield f'<polygon points="{" ".join(points + below)}" fill="{color}" fill-opacity="0.35"/>'
    yield f'<polyline points="{" ".join(points)}" fill="none" stroke="{color}" stroke-width="1.5"/>'
    for point in points:
        x, y = point.split(",")
        yield f'<circle cx="{x}" cy="{y}" r="1.8" fill="{color}"/>'


CONTENT = {"text": text_content, "log": log_content, "metric": metric_content}


def take(picture: Path) -> None:
    """Draw the dashboard, and take a screenshot of the whole page."""
    places = two_weeks()
    with TemporaryDirectory() as folder, launched() as browser:
        file = Path(folder) / "dashboard.html"
        file.write_text(page(places), encoding="utf-8")
        visit = Visit(browser)
        visit.open(file, size=(24 * COLUMN + 24, 900)).screenshot(path=picture, full_page=True)
        visit.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]))

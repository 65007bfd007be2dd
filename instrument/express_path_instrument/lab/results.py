"""The results of the lab as files, which `express-path bench compare` reads too, and as charts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from express_path_instrument.bench.charts import plots_of
from express_path_instrument.bench.compare import Comparison, compare, verdict
from express_path_instrument.bench.plot import Plot, Series, write_plots
from express_path_instrument.bench.results_reader import read_bench
from express_path_instrument.lab.route_change import RouteChange

NAMES = {
    "nat": "NAT",
    "endpoint": "endpoint",
    "control": "NAT without a limit",
    "nat-again": "NAT again",
    "endpoint-again": "endpoint again",
}
"""What charts call the measurements, by the names of their files."""
CHART_FILE = "path-lab.svg"


@dataclass(frozen=True, slots=True)
class LabResult:
    """The measurements in the order of NAMES, the limit, and what a new route did to open connections."""

    comparison: Comparison
    bits_per_second: float
    route_changes: tuple[RouteChange, ...]


def write_results(printed: str, folder: Path) -> LabResult:
    """Write what express_path_instrument.lab.inside printed to the files of a folder, with a chart, and return it."""
    document: Mapping[str, Any] = json.loads(printed)
    folder.mkdir(parents=True, exist_ok=True)
    for key in NAMES:
        (folder / f"{key}.json").write_text(json.dumps(document["results"][key], indent=2) + "\n", encoding="utf-8")
    comparison = compare({name: read_bench(folder / f"{key}.json") for key, name in NAMES.items()})
    changes, limit = tuple(RouteChange(**row) for row in document["routeChanges"]), document["bitsPerSecond"]
    throughput, *others = plots_of(comparison)
    plots = [with_limit(throughput, limit), *others, route_change_plot(changes)]
    write_plots(folder / CHART_FILE, plots, "The path lab", verdict(comparison))
    return LabResult(comparison, limit, changes)


def with_limit(throughput: Plot, bits_per_second: float) -> Plot:
    """Return the plot of throughput with a line for the NAT's limit."""
    line = tuple((load, bits_per_second) for load in throughput.x_values)
    return replace(throughput, series=(*throughput.series, Series("the NAT's limit", line, is_model=True)))


def route_change_plot(changes: tuple[RouteChange, ...]) -> Plot:
    """Return the throughput in each second around the change of the route."""
    lines = tuple(
        Series(
            "resets" if change.resets else "no resets",
            tuple((second + 0.5, bits) for second, bits in enumerate(change.bits_per_second)),
        )
        for change in changes
    )
    seconds = max(len(change.bits_per_second) for change in changes)
    title = f"Downloads while the route is added, after {changes[0].changed_at:.1f} s"
    return Plot(title, "seconds", tuple(map(float, range(seconds + 1))), "bit/s", lines)

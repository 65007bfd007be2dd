"""The results of the lab as files, which `express-path bench compare` reads too, and as charts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from express_path_instrument.bench.charts import plots_of
from express_path_instrument.bench.compare import Comparison, compare, verdict
from express_path_instrument.bench.plot import Plot, PlottedSeries, write_plots
from express_path_instrument.bench.results_reader import read_bench

NAMES = {
    "nat": "NAT",
    "endpoint": "endpoint",
    "control": "NAT without a limit",
    "nat-again": "NAT again",
    "endpoint-again": "endpoint again",
}
"""What charts call the measurements, by the names of their files."""
ROUTE_CHANGES = {"route-resets": "route added, with resets", "route-silence": "route added, without resets"}
"""The same of those in which the route changes. The server answers packets of unknown connections with resets, or ignores
them."""
CHART_FILE = "path-lab.svg"


@dataclass(frozen=True, slots=True)
class LabResult:
    """The measurements in the order of NAMES, the limit, and those in which the route changes."""

    comparison: Comparison
    bits_per_second: float
    route_changes: tuple[Comparison, ...]


def write_results(printed: str, folder: Path) -> LabResult:
    """Write what express_path_instrument.lab.inside printed to the files of a folder, with a chart, and return it."""
    document: Mapping[str, Any] = json.loads(printed)
    folder.mkdir(parents=True, exist_ok=True)
    names, found = {**NAMES, **ROUTE_CHANGES}, {}
    for key, name in names.items():
        file = folder / f"{key}.json"
        file.write_text(json.dumps(document["results"][key], indent=2) + "\n", encoding="utf-8")
        found[name] = read_bench(file)
    comparison = compare({name: found[name] for name in NAMES.values()})
    changes = tuple(compare({name: found[name]}) for name in ROUTE_CHANGES.values())
    throughput, *others = plots_of(comparison)
    others += [plot for change in changes for plot in plots_of(change)]
    plots = [with_limit(throughput, document["bitsPerSecond"]), *others]
    write_plots(folder / CHART_FILE, plots, "The path lab", verdict(comparison))
    return LabResult(comparison, document["bitsPerSecond"], changes)


def with_limit(throughput: Plot, bits_per_second: float) -> Plot:
    """Return the plot of throughput with a line for the NAT's limit."""
    line = tuple((load, bits_per_second) for load in throughput.x_values)
    return replace(throughput, series=(*throughput.series, PlottedSeries("the NAT's limit", line, is_model=True)))

"""Charts of throughput as one self-contained SVG file: light and dark, with a description for screen readers."""

from collections.abc import Sequence
from dataclasses import dataclass

from express_path_cli.terminal.charts import new_document, written
from express_path_cli.traffic.chart_svg_panel import WIDTH, draw_panel
from express_path_cli.traffic.symptoms import Diagnosis


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: its title, the sentences above it, and the diagnosis to draw."""

    title: str
    sentences: tuple[str, ...]
    diagnosis: Diagnosis


def as_svg(panels: Sequence[Panel]) -> str:
    """Return one document with the charts of all panels, one below the other; texts are escaped."""
    descriptions = (" ".join((f"{panel.title}:", *panel.sentences)) for panel in panels)
    root = new_document("Throughput of the NAT gateways that S3 Express traffic crosses", "\n".join(descriptions))
    top = 0
    for panel in panels:
        top += draw_panel(root, top, panel.title, panel.sentences, panel.diagnosis)
    return written(root, WIDTH, top)

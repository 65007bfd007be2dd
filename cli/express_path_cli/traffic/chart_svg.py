"""Charts of throughput as one self-contained SVG file: light and dark, with a description for screen readers."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from express_path_cli.traffic.chart_svg_panel import WIDTH, draw_panel
from express_path_cli.traffic.symptoms import Diagnosis

_STYLE = """
svg { --back: #ffffff; --ink: #1f2328; --faint: #59636e; --grid: #d1d9e0; --line: #0969da; --mark: #bc4c00 }
@media (prefers-color-scheme: dark) {
  svg { --back: #0d1117; --ink: #f0f6fc; --faint: #9198a1; --grid: #3d444d; --line: #4493f8; --mark: #f0883e }
}
text { font: 13px system-ui, sans-serif; fill: var(--ink) }
.title { font-weight: 600; font-size: 16px }
.faint { fill: var(--faint) }
.end { text-anchor: end }
.middle { text-anchor: middle }
.back { fill: var(--back) }
.grid { stroke: var(--grid); fill: none }
.area { fill: var(--line); fill-opacity: 0.2; stroke: var(--line); stroke-width: 1.5; stroke-linejoin: round }
.peak { fill: none; stroke: var(--faint); stroke-width: 1; stroke-dasharray: 2 2 }
.band { fill: none; stroke: var(--mark); stroke-width: 1.5; stroke-dasharray: 6 3 }
.mark { fill: var(--mark) }
"""


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


def new_document(title: str, description: str, style: str = "") -> Element:
    """Return an empty document with the colors and texts of all charts. style: more rules of CSS."""
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria-labelledby": "title desc"})
    SubElement(root, "title", id="title").text = title
    SubElement(root, "desc", id="desc").text = description
    SubElement(root, "style").text = _STYLE + style
    SubElement(root, "rect", {"class": "back", "width": "100%", "height": "100%"})
    return root


def written(root: Element, width: int, height: int) -> str:
    """Return the text of a document with this size in pixels."""
    root.set("viewBox", f"0 0 {width} {height}")
    root.set("width", str(width))
    root.set("height", str(height))
    indent(root)
    return tostring(root, encoding="unicode") + "\n"

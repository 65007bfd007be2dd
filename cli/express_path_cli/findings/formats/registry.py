"""The output formats by name."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

from express_path_cli.findings.formats.asff_findings import as_asff
from express_path_cli.findings.formats.csv import as_csv
from express_path_cli.findings.formats.html.page import as_html
from express_path_cli.findings.formats.json import as_json
from express_path_cli.findings.formats.junit import as_junit
from express_path_cli.findings.formats.markdown import as_markdown
from express_path_cli.findings.formats.ocsf import as_ocsf
from express_path_cli.findings.formats.sarif import as_sarif
from express_path_cli.findings.formats.text import as_text_table
from express_path_cli.findings.result import Render, Result


class Format(StrEnum):
    """The output formats for verdicts."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"
    SARIF = "sarif"
    ASFF = "asff"
    OCSF = "ocsf"


_BY_SUFFIX = {
    ".json": Format.JSON,
    ".csv": Format.CSV,
    ".md": Format.MARKDOWN,
    ".html": Format.HTML,
    ".xml": Format.JUNIT,
    ".junit": Format.JUNIT,
    ".sarif": Format.SARIF,
}


def format_of(file: Path | None) -> Format:
    """Return the format that a file's suffix stands for; a table without a file, or for any other suffix."""
    return _BY_SUFFIX.get(file.suffix.lower(), Format.TABLE) if file else Format.TABLE


def _as_one_piece(render: Callable[[Result], str]) -> Render:
    return lambda result: [render(result)]


RENDER: Mapping[Format, Render] = {
    Format.TABLE: as_text_table,
    Format.JSON: as_json,
    Format.CSV: _as_one_piece(as_csv),
    Format.MARKDOWN: _as_one_piece(as_markdown),
    Format.HTML: _as_one_piece(as_html),
    Format.JUNIT: as_junit,
    Format.SARIF: as_sarif,
    Format.ASFF: as_asff,
    Format.OCSF: as_ocsf,
}
"""The function that renders each format."""

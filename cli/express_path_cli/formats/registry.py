"""The formats by name."""

from collections.abc import Mapping
from enum import StrEnum

from express_path_cli.formats.asff_findings import as_asff
from express_path_cli.formats.csv_rows import as_csv
from express_path_cli.formats.json_document import as_json
from express_path_cli.formats.junit_suites import as_junit
from express_path_cli.formats.markdown_table import as_markdown
from express_path_cli.formats.ocsf_findings import as_ocsf
from express_path_cli.formats.sarif_log import as_sarif
from express_path_cli.formats.terminal_table import as_text_table
from express_path_cli.report.document import as_html
from express_path_cli.result import Render


class Format(StrEnum):
    """How verdicts are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"
    SARIF = "sarif"
    ASFF = "asff"
    OCSF = "ocsf"


RENDER: Mapping[Format, Render] = {
    Format.TABLE: as_text_table,
    Format.JSON: as_json,
    Format.CSV: as_csv,
    Format.MARKDOWN: as_markdown,
    Format.HTML: as_html,
    Format.JUNIT: as_junit,
    Format.SARIF: as_sarif,
    Format.ASFF: as_asff,
    Format.OCSF: as_ocsf,
}
"""How each format is made out of a result."""

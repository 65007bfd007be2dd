"""The output formats of findings."""

from enum import StrEnum


class Format(StrEnum):
    """The output formats for rows."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    HTML = "html"
    JUNIT = "junit"
    SARIF = "sarif"
    OCSF = "ocsf"
    GITHUB = "github"


WITH_IGNORED = (Format.JSON, Format.CSV, Format.OCSF)
"""The formats that list findings which the configuration file ignores, and say so. The others count them."""

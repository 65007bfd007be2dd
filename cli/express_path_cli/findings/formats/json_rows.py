"""JSON documents with one compact row per line, which are small, fast to write, and easy to search and to diff."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from express_path_cli.findings.formats.findings import Finding
from express_path_cli.findings.formats.row_templates import RowTemplates
from express_path_cli.findings.result import Result

_encode = json.JSONEncoder().encode


def json_array(rows: Iterable[str]) -> Iterator[str]:
    """Yield a JSON array of rows, which are JSON already, one per line, without a final line break."""
    separator = "[\n"
    for row in rows:
        yield separator + row
        separator = ",\n"
    yield "[]" if separator == "[\n" else "\n]"


def json_document(document: Mapping[str, object], field: str, rows: Iterable[str]) -> Iterator[str]:
    """Yield a JSON document with the rows in `field`, which is an empty list somewhere in the document.

    json.dumps escapes quotation marks in texts, so only the field itself matches.
    """
    before, after = json.dumps(document, indent=2).split(f'"{field}": []')
    yield f'{before}"{field}": '
    yield from json_array(rows)
    yield f"{after}\n"


class JsonRows(RowTemplates):
    """Makes the rows of findings as JSON."""

    def __init__(self, result: Result, row: Callable[[Finding], object]) -> None:
        """Make rows of the findings of a result. A row contains each of a finding's own texts unchanged, or not."""
        super().__init__(result, lambda finding: _encode(row(finding)), lambda text: _encode(text)[1:-1])

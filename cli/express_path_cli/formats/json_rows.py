"""JSON documents with one compact row per line, which are small, fast to write, and easy to search and to diff."""

import json
from collections.abc import Iterable, Iterator, Mapping


def json_array(rows: Iterable[object]) -> Iterator[str]:
    """Yield a JSON array, one row per line, without a final line break."""
    separator = "[\n"
    for row in rows:
        yield separator + json.dumps(row)
        separator = ",\n"
    yield "[]" if separator == "[\n" else "\n]"


def json_document(document: Mapping[str, object], field: str, rows: Iterable[object]) -> Iterator[str]:
    """Yield a JSON document with the rows in `field`, which is an empty list somewhere in the document.

    json.dumps escapes quotation marks in texts, so only the field itself matches.
    """
    before, after = json.dumps(document, indent=2).split(f'"{field}": []')
    yield f'{before}"{field}": '
    yield from json_array(rows)
    yield f"{after}\n"

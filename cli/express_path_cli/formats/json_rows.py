"""JSON documents with one compact row per line, which are small, fast to write, and easy to search and to diff."""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from uuid import uuid4

from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.formats.findings import Finding

_SUBNET_ID, _SUBNET_NAME = f"subnet-{uuid4().hex}", f"name-{uuid4().hex}"
"""What stands for the id and the name of a subnet in a template. They are random, so that no text contains them."""
_ID_PLACE = Verdict._fields.index("subnet_id")
_MAX_TEMPLATES = 1 << 12
"""The number of templates that are kept, which bounds the memory that they take."""
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


def rows_as_json(findings: Iterable[Finding], row: Callable[[Finding], object]) -> Iterator[str]:
    """Yield the row of each finding as JSON. A row contains the id and the name of the subnet unchanged, or not at all.

    Making a row takes ten times as long as filling in a template, so findings that differ only in that id and name
    share one.
    """
    templates: dict[Hashable, str] = {}
    for finding in findings:
        verdict, names = finding.verdict, finding.names
        has_name = bool(names.subnet.strip())  # a format may leave out a blank name
        shared_names = names[1:] if has_name else names
        rest = (tuple(finding.tags.items()), finding.remedy)
        key = (verdict[:_ID_PLACE], verdict[_ID_PLACE + 1 :], shared_names, rest)
        template = templates.get(key)
        if template is None:
            if len(templates) >= _MAX_TEMPLATES:
                templates.clear()
            template = templates[key] = _encode(row(_without_identity(finding, has_name=has_name)))
        text = template.replace(_SUBNET_ID, _encode(verdict.subnet_id)[1:-1])
        yield text.replace(_SUBNET_NAME, _encode(names.subnet)[1:-1]) if has_name else text


def _without_identity(finding: Finding, *, has_name: bool) -> Finding:
    """Return a finding in which placeholders stand for the id of the subnet and, if it has one, its name."""
    names = finding.names._replace(subnet=_SUBNET_NAME) if has_name else finding.names
    return finding._replace(verdict=finding.verdict._replace(subnet_id=_SUBNET_ID), names=names)

"""JSON documents with one compact row per line, which are small, fast to write, and easy to search and to diff."""

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from uuid import uuid4

from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.formats.findings import Finding, Findings, OwnTexts
from express_path_cli.result import Result

_PLACES = OwnTexts(*[uuid4().hex for _ in OwnTexts._fields])
"""What stands for the texts in a row that becomes a template. They are random, so that no other text contains them."""
_ANY_PLACE = re.compile(f"({'|'.join(_PLACES)})")
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


class JsonRows:
    """Makes the rows of findings as JSON. Findings that differ only in their own texts share a template.

    Making a row takes ten times as long as filling in a template.
    """

    def __init__(self, result: Result, row: Callable[[Finding], object]) -> None:
        """Look up labels and remedies in a result. A row contains each of a finding's own texts unchanged, or not."""
        self._findings, self._row = Findings(result), row
        self._templates: dict[Hashable, _Template] = {}

    def of(self, verdicts: Iterable[Verdict]) -> Iterator[str]:
        """Yield the row of each verdict."""
        for verdict in verdicts:
            texts = self._findings.own_texts(verdict)
            # A format may leave out a blank text, so it is a part of the template.
            key = (self._findings.shared_key(verdict), *[None if text.strip() else text for text in texts])
            template = self._templates.get(key)
            if template is None:
                if len(self._templates) >= _MAX_TEMPLATES:
                    self._templates.clear()
                template = self._templates[key] = _template(self._findings.of(verdict), texts, self._row)
            yield template.fill([_encode(text)[1:-1] for text in texts])


class _Template:
    """The JSON of a row, in pieces. Every second one stands for one of the texts, which are given by position."""

    def __init__(self, text: str) -> None:
        """Split a row that contains _PLACES."""
        self._pieces = _ANY_PLACE.split(text)
        self._positions = [_PLACES.index(place) for place in self._pieces[1::2]]

    def fill(self, texts: Sequence[str]) -> str:
        """Return the row with these texts. Joining pieces takes a third of the time of formatting a long string."""
        self._pieces[1::2] = [texts[position] for position in self._positions]
        return "".join(self._pieces)


def _template(finding: Finding, texts: OwnTexts, row: Callable[[Finding], object]) -> _Template:
    """Return the template of a finding's row, with a place for each of its own texts that is not blank."""
    shown = OwnTexts(*[place if text.strip() else text for place, text in zip(_PLACES, texts, strict=True)])
    verdict = finding.verdict._replace(subnet_id=shown.subnet_id, availability_zone_id=shown.availability_zone_id)
    names = finding.names._replace(subnet=shown.subnet_name)
    return _Template(_encode(row(finding._replace(verdict=verdict, names=names))))

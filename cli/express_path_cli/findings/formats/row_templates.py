"""Rows of text, one for each finding. Findings that differ only in their own texts share a template."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from uuid import uuid4

from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.formats.findings import Finding, Findings, OwnTexts
from express_path_cli.findings.result import Result

_PLACES = OwnTexts(*[uuid4().hex for _ in OwnTexts._fields])
"""What stands for the texts in a row that becomes a template. They are random, so that no other text contains them."""
_ANY_PLACE = re.compile(f"({'|'.join(_PLACES)})")
_MAX_TEMPLATES = 1 << 12
"""The number of templates that are kept, which bounds the memory that they take."""


class RowTemplates:
    """Makes the rows of findings. Making a row takes ten times as long as filling in a template."""

    def __init__(self, result: Result, row: Callable[[Finding], str], escape: Callable[[str], str]) -> None:
        """Look up labels and remedies in a result.

        row: returns the text of a finding, which contains each of its own texts as `escape` returns it, or not.
        """
        self._findings, self._row, self._escape = Findings(result), row, escape
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
            yield template.fill([self._escape(text) for text in texts])


class _Template:
    """A row, in pieces. Every second one stands for one of the texts, which are given by position."""

    def __init__(self, text: str) -> None:
        """Split a row that contains _PLACES."""
        self._pieces = _ANY_PLACE.split(text)
        self._positions = [_PLACES.index(place) for place in self._pieces[1::2]]

    def fill(self, texts: Sequence[str]) -> str:
        """Return the row with these texts. Joining pieces takes a third of the time of formatting a long string."""
        self._pieces[1::2] = [texts[position] for position in self._positions]
        return "".join(self._pieces)


def _template(finding: Finding, texts: OwnTexts, row: Callable[[Finding], str]) -> _Template:
    """Return the template of a finding's row, with a place for each of its own texts that is not blank."""
    shown = OwnTexts(*[place if text.strip() else text for place, text in zip(_PLACES, texts, strict=True)])
    verdict = finding.verdict._replace(subnet_id=shown.subnet_id, availability_zone_id=shown.availability_zone_id)
    names = finding.names._replace(subnet=shown.subnet_name)
    return _Template(row(finding._replace(verdict=verdict, names=names)))

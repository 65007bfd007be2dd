"""JSON with a row for each verdict, in pieces: of 100,000 rows the encoder makes gigabytes, in half a minute."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any
from uuid import uuid4

from express_path.domain.network.targets import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.wording import path_text

_MARK = uuid4().hex
"""What no verdict holds; it stands for what is put in its place once all else is encoded."""
_NAMES = ("account_id", "vpc_id", "subnet_id", "availability_zone_id", "route_table_id", "annotation")
_named = attrgetter(*_NAMES)
_PATH = (Hop(TargetKind.NAT_GATEWAY, _MARK, _MARK),)

Row = Callable[[Verdict], dict[str, Any]]
"""One verdict's row. It may hold the verdict's ids, annotation and path_text, as they are, alone or in longer texts;
what else it holds may depend on the region, compliance and reason, and on which of the former there are."""


def in_pieces(whole: Callable[[list[Any]], object], row: Row, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The pieces of json.dumps(whole([row(each) for each in verdicts]), indent=2) and a line's end."""
    if not verdicts:
        yield json.dumps(whole([]), indent=2) + "\n"
        return
    before, after = json.dumps(whole([_MARK]), indent=2).split(f'"{_MARK}"')
    indent = "\n" + before.rpartition("\n")[2]
    templates: dict[Verdict, str] = {}
    for each in verdicts:
        alike = _marked(each)
        if alike not in templates:
            templates[alike] = _template(row(alike)).replace("\n", indent)
        yield before + templates[alike] % _texts(each)
        before = f",{indent}"
    yield after + "\n"


def _marked(verdict: Verdict) -> Verdict:
    """The verdict with marks in place of its texts: equal for all whose rows have the same template."""
    marks = {name: _MARK + name for name, text in zip(_NAMES, _named(verdict), strict=True) if text}
    return verdict._replace(**marks, path=_PATH if verdict.path else ())  # type: ignore[arg-type]  # all are texts


def _template(row: dict[str, Any]) -> str:
    """A row as a format for _texts."""
    text = json.dumps(row, indent=2).replace("%", "%%").replace(f"{_MARK} -> {_MARK}", "%(path)s")
    for name in _NAMES:
        text = text.replace(_MARK + name, f"%({name})s")
    return text


def _texts(verdict: Verdict) -> dict[str, str]:
    texts = dict(zip(_NAMES, map(_escaped, _named(verdict)), strict=True))
    return texts | {"path": _escaped(path_text(verdict))}


@lru_cache(maxsize=1 << 14)
def _escaped(text: str | None) -> str:
    return json.dumps(text or "")[1:-1]

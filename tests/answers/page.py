"""The page of what becomes of each answer of AWS: after `make answers`, python -m tests.answers.page writes its table again."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.pages import with_table
from tests.answers.customer import Outcome
from tests.answers.parts import Row, rows

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "what-aws-leaves-open.md"
PLAYED = ROOT / "build" / "answers.json"
"""The outcomes of the last `make answers`."""
NAME = "answers"


class Cells(NamedTuple):
    """The first cells of a row of the page."""

    switch: str
    answer: str
    outcome: str


def table(outcomes: dict[str, str]) -> str:
    """Return the table of the rows that do not just work, from the outcome of each row by its name."""
    parts = defaultdict(list)
    for row in rows():
        if row.answers and outcomes[str(row)] != Outcome.WORKS:
            parts[Cells(row.cells[0], row.cells[1], outcomes[str(row)])].append(row.cells[2])
    return "\n".join(_lines(parts))


def _lines(parts: dict[Cells, list[str]]) -> Iterator[str]:
    yield from ("| switch | answer | outcome | parts |", "|---|---|---|---|")
    for (switch, answer, outcome), names in parts.items():
        yield f"| {switch} | {answer} | {outcome} | {', '.join(names)} |"


def documented(text: str) -> dict[str, str]:
    """Return the outcomes that a page has, by the name of the row."""
    found = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    return {
        f"{switch}, {answer}, {part}": outcome
        for switch, answer, outcome, parts in found
        if switch not in ("switch", "---")
        for part in parts.split(", ")
    }


def expected(row: Row) -> str:
    """Return the outcome of a row that the page has; it works if the page does not name it."""
    return documented(DOCUMENT.read_text(encoding="utf-8")).get(str(row), Outcome.WORKS)


def keep(outcomes: Iterable[tuple[str, str]]) -> None:
    """Keep the outcomes of rows by their names, for `python -m tests.answers.page`."""
    PLAYED.parent.mkdir(exist_ok=True)
    PLAYED.write_text(json.dumps(dict(outcomes), indent=1), encoding="utf-8")


if __name__ == "__main__":
    page = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(with_table(page, NAME, table(json.loads(PLAYED.read_bytes()))), encoding="utf-8")

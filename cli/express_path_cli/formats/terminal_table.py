"""Verdicts as a table for a person, and in one sentence."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import StringIO
from itertools import groupby, zip_longest

from rich.cells import cell_len
from rich.console import Console
from rich.control import strip_control_codes
from rich.text import Text

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.result import Result
from express_path_cli.summary import advice, summary

STYLES = {
    Compliance.NON_COMPLIANT: "bold red",
    Compliance.COMPLIANT: "green",
    Compliance.NOT_APPLICABLE: "dim",
}


FILE_WIDTH = 120
"""How wide a table is that no terminal shows, in columns."""
_HEADER = (("Subnet", "Zone, route table"), ("Verdict", "Path to S3 Express"))
_APART = "   "


class _Screen:
    """What a table is shown on. rich's own tables, of 100,000 subnets, take half a minute."""

    def __init__(self, console: Console) -> None:
        self.width = console.width
        self.dash = "-" if console.options.ascii_only else "─"
        self.folded = lru_cache(maxsize=1 << 14)(self._fold)
        self._codes = lru_cache(maxsize=None)(self._look_up)
        self._console = console

    def paint(self, text: str, style: str) -> str:
        """A text with the codes of a style around it, if there are any."""
        return text.join(self._codes(style))

    def _fold(self, text: str, width: int) -> Sequence[str]:
        """A text in lines of so many columns, broken between words where it can be."""
        if cell_len(text) <= width and "\n" not in text:
            return (text,)
        return tuple(line.plain.rstrip() for line in Text(text).wrap(self._console, width, overflow="fold"))

    def _look_up(self, style: str) -> Sequence[str]:
        with self._console.capture() as captured:
            self._console.print(Text("|", style), end="")
        return captured.get().split("|")


def as_text_table(result: Result) -> Iterator[str]:
    """The table without colours, for a file."""
    return as_table(result.verdicts, Console(file=StringIO(), width=FILE_WIDTH, color_system=None))


def as_table(verdicts: Sequence[Verdict], console: Console) -> Iterator[str]:
    """One table for each VPC, with subnet, verdict and path, and a closing sentence, as fits what the console shows."""
    by_vpc = groupby(
        sorted(verdicts, key=lambda each: (each.account_id, each.region, each.vpc_id, each.subnet_id)),
        key=lambda each: f"{each.vpc_id}  {each.region}  account {each.account_id}",
    )
    screen = _Screen(console)
    for title, rows in by_vpc:
        titles = (screen.paint(line, "bold") for line in screen.folded(title, screen.width))
        lines = (*titles, *_vpc_table(list(rows), screen))
        yield strip_control_codes("\n".join((*lines, "", "")))
    closing = (summary(verdicts), *advice(verdicts))
    yield "\n".join((*(line for each in closing for line in screen.folded(each, screen.width)), ""))


def _vpc_table(verdicts: Sequence[Verdict], screen: _Screen) -> Iterator[str]:
    """Two lines for each subnet, so that ids and a hop of the path stay whole in 80 columns; ids are never broken."""
    ids = [_ids(each) for each in verdicts]
    width = max(cell_len(line) for lines in (_HEADER[0], *ids) for line in lines)
    room = max(screen.width - width - len(_APART), *map(len, _HEADER[1]))
    told = [[line for text in _told(each) for line in screen.folded(text, room)] for each in verdicts]
    longest = max(cell_len(line) for lines in (_HEADER[1], *told) for line in lines)
    for left, right in zip(*_HEADER, strict=True):
        yield screen.paint(f"{left:{width}}{_APART}{right}", "bold")
    yield screen.dash * (width + len(_APART) + longest)
    for verdict, lefts, rights in zip(verdicts, ids, told, strict=True):
        for number, (left, right) in enumerate(zip_longest(lefts, rights, fillvalue="")):
            gap = " " * (width - cell_len(left)) + _APART
            if number:
                yield f"{screen.paint(left, 'dim') if left else ''}{gap}{right}"
            else:
                word = screen.paint(verdict.compliance, STYLES[verdict.compliance])
                yield f"{left}{gap}{word}{right.removeprefix(verdict.compliance)}"


def _ids(verdict: Verdict) -> tuple[str, str]:
    return verdict.subnet_id, f"{verdict.availability_zone_id}  {verdict.route_table_id or 'table not seen'}"


def _told(verdict: Verdict) -> Iterator[str]:
    """The verdict, each hop of the path, and what to fix; the annotation without its reason if no hop was followed."""
    yield f"{verdict.compliance}  {verdict.reason}"
    for number, hop in enumerate(verdict.path):
        yield f"{'then ' if number else ''}{hop.destination} -> {hop.id}"
    if not verdict.path:
        yield verdict.annotation.removeprefix(f"{verdict.reason}: ")
    elif verdict.reason is Reason.DROPPED:
        yield f"to fix: {verdict.note}"

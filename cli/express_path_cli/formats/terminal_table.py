"""Verdicts as tables for the terminal, with a summary."""

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
from express_path_cli.remedies import Remedies, counted_remedies
from express_path_cli.result import Result
from express_path_cli.summary import advice, summary

STYLES = {
    Compliance.NON_COMPLIANT: "bold red",
    Compliance.COMPLIANT: "green",
    Compliance.NOT_APPLICABLE: "dim",
}


FILE_WIDTH = 120
"""The width of a table in a file, in columns."""
_HEADER = (("Subnet", "Zone, route table"), ("Verdict", "Path to S3 Express"))
_GAP = "   "


class _Screen:
    """The console that shows a table. It is used directly, since rich's own tables take 30 s for 100,000 subnets."""

    def __init__(self, console: Console) -> None:
        self.width = console.width
        self.dash = "-" if console.options.ascii_only else "─"
        self.folded = lru_cache(maxsize=1 << 14)(self._fold)
        self._codes = lru_cache(maxsize=None)(self._look_up)
        self._console = console

    def paint(self, text: str, style: str) -> str:
        """Return a text with the control codes of a style around it, if the console has colors."""
        return text.join(self._codes(style))

    def _fold(self, text: str, width: int) -> Sequence[str]:
        """Return a text in lines of at most width columns, broken between words if possible."""
        if cell_len(text) <= width and "\n" not in text:
            return (text,)
        return tuple(line.plain.rstrip() for line in Text(text).wrap(self._console, width, overflow="fold"))

    def _look_up(self, style: str) -> Sequence[str]:
        with self._console.capture() as captured:
            self._console.print(Text("|", style), end="")
        return captured.get().split("|")


def as_text_table(result: Result) -> Iterator[str]:
    """Return the tables without colors, for a file."""
    console = Console(file=StringIO(), width=FILE_WIDTH, color_system=None)
    return as_table(result.verdicts, console, Remedies(result.views), result.evaluated)


def as_table(
    verdicts: Sequence[Verdict], console: Console, remedies: Remedies | None = None, evaluated: int | None = None
) -> Iterator[str]:
    """Yield a table for each VPC, with subnet, verdict and path, the remedies, and a summary.

    All are in the console's width and colors.
    """
    by_vpc = groupby(sorted(verdicts, key=in_vpc_order), key=_vpc_title)
    screen = _Screen(console)
    for title, of_vpc in by_vpc:
        titles = (screen.paint(line, "bold") for line in screen.folded(title, screen.width))
        lines = (*titles, *_vpc_table(list(of_vpc), screen))
        yield strip_control_codes("\n".join((*lines, "", "")))
    yield from map(strip_control_codes, _remedies(verdicts, remedies or Remedies(), screen))
    closing = (summary(verdicts, evaluated), *advice(verdicts))
    yield "\n".join((*(line for paragraph in closing for line in screen.folded(paragraph, screen.width)), ""))


def _remedies(verdicts: Sequence[Verdict], remedies: Remedies, screen: _Screen) -> Iterator[str]:
    """Yield what to do about NON_COMPLIANT subnets, worst first. A command is one line that can be copied."""
    for reason, remedy, number in counted_remedies(verdicts, remedies):
        title = screen.paint(f"What to do: {reason}, {number} subnet{'' if number == 1 else 's'}", "bold")
        lines = (title, *screen.folded(remedy.text, screen.width), *filter(None, [remedy.command]))
        yield "\n".join((*lines, "", ""))


def in_vpc_order(verdict: Verdict) -> tuple[str, str, str, str]:
    """Return the key that sorts verdicts by account, Region, VPC and subnet."""
    return verdict.account_id, verdict.region, verdict.vpc_id, verdict.subnet_id


def _vpc_title(verdict: Verdict) -> str:
    return f"{verdict.vpc_id}  {verdict.region}  account {verdict.account_id}"


def _vpc_table(verdicts: Sequence[Verdict], screen: _Screen) -> Iterator[str]:
    """Yield two lines for each subnet, so that ids and hops fit 80 columns; ids are never broken."""
    ids = [_ids(verdict) for verdict in verdicts]
    width = max(cell_len(line) for lines in (_HEADER[0], *ids) for line in lines)
    room = max(screen.width - width - len(_GAP), *map(len, _HEADER[1]))
    paths = [
        [line for text in _verdict_and_path(verdict) for line in screen.folded(text, room)] for verdict in verdicts
    ]
    longest = max(cell_len(line) for lines in (_HEADER[1], *paths) for line in lines)
    for left, right in zip(*_HEADER, strict=True):
        yield screen.paint(f"{left:{width}}{_GAP}{right}", "bold")
    yield screen.dash * (width + len(_GAP) + longest)
    for verdict, lefts, rights in zip(verdicts, ids, paths, strict=True):
        for number, (left, right) in enumerate(zip_longest(lefts, rights, fillvalue="")):
            gap = " " * (width - cell_len(left)) + _GAP
            if number:
                yield f"{screen.paint(left, 'dim') if left else ''}{gap}{right}"
            else:
                compliance = screen.paint(verdict.compliance, STYLES[verdict.compliance])
                yield f"{left}{gap}{compliance}{right.removeprefix(verdict.compliance)}"


def _ids(verdict: Verdict) -> tuple[str, str]:
    return verdict.subnet_id, f"{verdict.availability_zone_id}  {verdict.route_table_id or 'unknown table'}"


def _verdict_and_path(verdict: Verdict) -> Iterator[str]:
    """Yield the verdict, each hop, and what to fix; the annotation without its reason if no hop was followed."""
    yield f"{verdict.compliance}  {verdict.reason}"
    for number, hop in enumerate(verdict.path):
        yield f"{'then ' if number else ''}{hop.destination} -> {hop.id}"
    if not verdict.path:
        yield verdict.annotation.removeprefix(f"{verdict.reason}: ")
    elif verdict.reason is Reason.DROPPED:
        yield f"to fix: {verdict.note}"

"""A scan as text: the totals, what to fix, how to fix it, and the next command."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from express_path.domain.findings.texts import path_text
from express_path.domain.path.reasons import SEVERITY_ORDER, Compliance, Reason
from express_path.domain.remedy.texts import NAME_THE_TABLE
from express_path_cli.findings.baseline import Comparison, comparison_lines, comparison_text
from express_path_cli.findings.change import ChangeFindings, table_lines
from express_path_cli.findings.grouping import ACCOUNT, TAG, Grouping, group_record, groups, owner_grouping
from express_path_cli.findings.hubs import TITLE, hub_advice, hubs_in_short
from express_path_cli.findings.options import RenderOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row
from express_path_cli.findings.summary import EXCLUDED_FIX, closing
from express_path_cli.findings.worklist import LAYOUTS, PLACE, WorkItem, fixes_of, item_record, news, worklist
from express_path_cli.terminal.tables import Record, Screen, aligned, printable, record_lines, shortened
from express_path_cli.terminal.texts import count_text

Item = TypeVar("Item")
STYLES = {
    Compliance.NON_COMPLIANT: "bold red",
    Compliance.COMPLIANT: "green",
    Compliance.NOT_APPLICABLE: "dim",
}
_MAX_FINDINGS = 20
"""How many new, fixed, and unknown findings of each kind a terminal shows."""
_MAX_TABLES = 20
"""How many rows of the worklist a terminal shows; in 80 columns, a row has two lines. Of more, it shows totals and the worst."""
_MAX_GROUPS = 8
"""How many accounts and owners a terminal shows, and how many of the worst rows after them."""
_MAX_FIXES = 3
"""How many fixes are shown. The others differ mainly in their IDs."""
_MAX_HUBS = 5
"""How many hubs a terminal shows."""
_FIRST = ("Subnets", "New", "Reason", "NAT")
"""The titles that are first in a terminal, which may cut the end of an item's second line."""
_IN_FIXES = ("To fix", "Unknown", "To find out")
"""The titles that a terminal leaves out of the rows, because the fixes say it."""


def as_text(result: Result, options: RenderOptions, screen: Screen) -> Iterator[str]:
    """Yield the table, in the width and colors of a screen."""
    return (f"{line}\n" for line in _Table(result, options, screen).lines())


class _Table:
    """A table of one result."""

    def __init__(self, result: Result, options: RenderOptions, screen: Screen) -> None:
        self._result, self._options, self._screen = result, options, screen
        self._worklist = worklist(result.rows)
        self._advised = news(result.rows) if result.comparison else self._worklist

    def lines(self) -> Iterator[str]:
        """Yield every line."""
        for line in (*self._result.settings[:1], self._result.summary):
            yield from self._screen.folded(line)
        if self._result.change:
            yield from self._change_lines(self._result.change)
        if self._result.comparison:
            yield from self._compared(self._result.comparison)
        if self._result.not_news:
            yield from self._screen.folded(self._result.not_news)
        if self._options.lists_subnets:
            yield from self._subnets()
        else:
            yield from self._totals()
            yield from self._rows()
            yield from self._fixes()
        yield from self._hubs()
        yield from self._closing()

    def _change_lines(self, change: ChangeFindings) -> Iterator[str]:
        """Yield what a plan changes, and the route tables whose subnets have other verdicts after it."""
        yield from self._screen.folded(" ".join(change.sentences))
        for line in table_lines(change):
            yield from self._screen.folded(line, "  ")

    def _compared(self, comparison: Comparison) -> Iterator[str]:
        """Yield how many findings are new, unchanged, fixed, or unknown, and which ones are not unchanged."""
        yield from self._screen.folded(comparison_text(comparison))
        for line in comparison_lines(comparison, None if self._screen.width is None else _MAX_FINDINGS):
            yield from self._screen.folded(line, "  ")

    @property
    def _is_large(self) -> bool:
        return sum(map(len, (self._worklist.flagged, self._worklist.dropped, self._worklist.unresolved))) > _MAX_TABLES

    def _totals(self) -> Iterator[str]:
        """Yield how much work each account and each owner has, if a screen cannot show all route tables."""
        if not self._is_large:
            return
        for grouping in (Grouping(ACCOUNT), owner_grouping(self._result.rows)):
            if grouping:
                yield ""
                yield self._screen.paint(f"By {grouping.by.removeprefix(TAG)}", "bold")
                yield from self._group_lines(grouping)

    def _group_lines(self, grouping: Grouping) -> Iterator[str]:
        """Yield a line for each account or owner with work, and a header."""
        records = [
            group_record(group, grouping).cells for group in groups(self._result.rows, grouping) if group.needs_work
        ]
        if grouping.by == ACCOUNT and self._result.account_names:
            records = [self._with_account_name(cells) for cells in records]
        lines = [tuple(records[0]), *(tuple(map(" ".join, cells.values())) for cells in records)]
        if self._screen.width is None:
            yield from aligned(lines)
            return
        most = _MAX_GROUPS + 1
        for line in aligned(lines[:most]):
            yield shortened(line, self._screen.width)
        if len(lines) > most:
            yield f"and {len(lines) - most} more"

    def _with_account_name(self, cells: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """Return the cells of an account with its name after its ID."""
        account_id = cells["Account"][0]
        return {"Account": [account_id], "Name": [self._result.account_names.get(account_id, "")], **cells}

    def _rows(self) -> Iterator[str]:
        """Yield the worklist."""
        to_do = self._worklist
        sections: Sequence[tuple[str, str, Sequence[WorkItem]]] = (
            (Compliance.NON_COMPLIANT, "", to_do.flagged),
            (Reason.DROPPED, ": AWS drops the traffic, so S3 Express cannot be reached", to_do.dropped),
            (Reason.UNRESOLVED_EGRESS, ": the egress path could not be determined", to_do.unresolved),
        )
        number = sum(len(items) for *_, items in sections)
        if self._screen.width is None:
            most = number
        elif self._is_large:
            most = _MAX_GROUPS
        else:
            most = _MAX_TABLES
        left = most
        for title, meaning, items in sections:
            shown = _worst_of_each(items, lambda item: item.first.account_id, left)
            if shown:
                yield from self._section(title, meaning, shown)
            left -= len(shown)
        yield from self._rest(number - most, "route table")

    def _section(self, title: str, meaning: str, items: Sequence[WorkItem]) -> Iterator[str]:
        places = {f", account {item.first.account_id} {item.first.region}" for item in items}
        hidden = [*_IN_FIXES]
        place = ""
        if self._screen.width is not None and len(places) == 1:
            [place] = places
            hidden += PLACE
        if title in list(Reason):
            hidden.append("Reason")
        style = STYLES[Compliance.NON_COMPLIANT] if title == Compliance.NON_COMPLIANT else "bold"
        yield ""
        for line in self._screen.folded(f"{title}{place}{meaning}"):
            yield self._screen.paint(line, style)
        yield from record_lines([self._record(item) for item in items], LAYOUTS, self._screen, hidden)

    def _record(self, item: WorkItem) -> Record:
        """Return an item's values. In a terminal, an item has two lines, so it has at most two values of a kind."""
        record = item_record(item, is_compared=self._result.comparison is not None)
        values = {**record.cells, **record.notes}
        if self._screen.width is None:
            return Record(values)
        first = [title for title in _FIRST if title in values]
        return Record({title: _two_of(values[title]) for title in dict.fromkeys((*first, *values))})

    def _subnets(self) -> Iterator[str]:
        """Yield the subnets."""
        if self._result.rows:
            yield ""
            yield from _subnet_lines(sorted(self._result.rows, key=in_order_of_work), self._result)

    def _fixes(self) -> Iterator[str]:
        """Yield what to do, worst first, with an example of each reason. A command is one line that can be copied."""
        to_do = self._advised
        fixes = fixes_of((*to_do.flagged, *to_do.dropped, *to_do.unresolved))
        if not fixes:
            return
        yield ""
        yield self._screen.paint("What to do", "bold")
        for fix in _worst_of_each(fixes, lambda fix: fix.rows[0].reason, _MAX_FIXES):
            reason, remedy, tables = fix.rows[0].reason, fix.remedy, fix.route_table_ids
            where = ""
            if len(tables) == 1 and reason not in NAME_THE_TABLE:
                where = f" of {tables[0]}"
            if fix.place:
                where += f", {fix.place}"
            yield from self._screen.folded(f"{reason}, {fix.counted(reason)}{where}: {remedy.text}")
            yield from map(printable, fix.code.splitlines())
        yield from self._rest(len(fixes) - _MAX_FIXES, "change")

    def _hubs(self) -> Iterator[str]:
        """Yield the hubs, and what to do about them."""
        hubs = self._result.hubs
        if not hubs:
            return
        if self._result.is_about_news:
            yield from ("", *self._screen.folded(hubs_in_short(hubs)))
            return
        most = len(hubs) if self._screen.width is None else _MAX_HUBS
        yield ""
        yield self._screen.paint(TITLE, "bold")
        for hub in hubs[:most]:
            yield from self._screen.folded(f"{hub.where}: {hub.what}", "  ")
        for sentence in hub_advice(hubs):
            yield from self._screen.folded(sentence)
        yield from self._rest(len(hubs) - most, "hub")

    def _rest(self, number: int, noun: str) -> Iterator[str]:
        """Yield how many more there are, and the command that shows them; nothing if there are none."""
        if number > 0:
            yield from self._screen.folded(f"{count_text(number, f'more {noun}')}. To see each, with what to do:")
            yield f"  {printable(self._options.scan.report())}"

    def _closing(self) -> Iterator[str]:
        """Yield what the result means, and what to run next."""
        result = self._result
        sentences = []
        if not result.not_news:
            sentences = closing(result.rows, self._worklist, result.evaluated, is_partial=bool(result.failures))
        if any(row.reason is Reason.EXCLUDED for row in result.rows):
            sentences.append(f"{Reason.EXCLUDED}: {EXCLUDED_FIX}")
        for sentence in sentences:
            yield ""
            yield from self._screen.folded(sentence)
        is_enough = self._options.lists_subnets or result.comparison is not None
        commands = [*self._options.scan.next_commands(self._advised, lists_subnets=is_enough)]
        if self._is_large and not self._result.change:
            by = owner_grouping(result.rows) or Grouping(ACCOUNT)
            commands.append(self._options.scan.handover(by.by))
        for purpose, command in commands:
            yield ""
            yield from self._screen.folded(f"{purpose}:")
            yield f"  {printable(command)}"


def _worst_of_each(items: Sequence[Item], kind: Callable[[Item], str], most: int) -> Sequence[Item]:
    """Return this many items, in their order: the worst of each kind first, so that no kind hides the others."""
    seen, ranks = Counter[str](), list[int]()
    for item in items:
        ranks.append(seen[kind(item)])
        seen[kind(item)] += 1
    chosen = sorted(range(len(items)), key=ranks.__getitem__)[:most]
    return [items[place] for place in sorted(chosen)]


_TITLES = ("Account", "Region", "VPC", "Subnet", "Route table", "Compliance", "Reason")
_NAMES = ("Subnet name", "Table name", "VPC name")


def _subnet_lines(rows: Sequence[Row], result: Result) -> Iterator[str]:
    """Yield a header and the subnets in this order, each in one line with everything that a search may look for.

    The columns up to the reason contain no spaces, so that they can be selected by their number. The path is last.
    """
    header = (*_TITLES, *_NAMES, *(["Baseline"] if result.comparison else []), "Path")
    return aligned([header, *(_cells(row, result) for row in rows)])


def in_order_of_work(row: Row) -> tuple[bool, int, str, str, str, str, str]:
    """Return the key that sorts rows like the worklist: NON_COMPLIANT first, the worst reason, then by table."""
    place = (row.account_id, row.region, row.vpc_id, row.route_table_id or "", row.subnet_id)
    return not row.is_flagged, SEVERITY_ORDER[row.reason], *place


def _cells(row: Row, result: Result) -> tuple[str, ...]:
    return (
        row.account_id,
        row.region,
        row.vpc_id,
        row.subnet_id,
        row.route_table_id or "unknown",
        row.compliance,
        row.reason,
        row.subnet_name,
        row.route_table_name,
        row.vpc_name,
        *([row.baseline or ""] if result.comparison else []),
        path_cell(row),
    )


def path_cell(row: Row) -> str:
    """Return the hops, and the fix if AWS drops the traffic there; the annotation if no hop was followed."""
    path = path_text(row) or row.annotation.removeprefix(f"{row.reason}: ")
    return f"{path} (to fix: {row.note})" if row.reason is Reason.DROPPED else path


def _two_of(values: Sequence[str]) -> Sequence[str]:
    """Return up to two values; of more, the first one and how many others there are."""
    return [values[0], f"and {len(values) - 1} more"] if values[2:] else values

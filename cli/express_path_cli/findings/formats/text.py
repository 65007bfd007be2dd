"""A scan as text: the totals, what to fix, how to fix it, and the next command."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from express_path.domain.findings.texts import path_text
from express_path.domain.path.reasons import SEVERITY_ORDER, Compliance, Reason
from express_path_cli.findings.baseline import Comparison, comparison_lines, comparison_text
from express_path_cli.findings.grouping import Grouping, group_layouts, group_record, groups
from express_path_cli.findings.options import RenderOptions
from express_path_cli.findings.planned import PlanFindings, table_lines
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row
from express_path_cli.findings.summary import EXCLUDED_FIX, closing, summary
from express_path_cli.findings.worklist import LAYOUTS, PLACE, Change, WorkItem, changes_of, item_record, worklist
from express_path_cli.terminal.tables import Screen, aligned, printable, record_lines
from express_path_cli.terminal.texts import count_text

STYLES = {
    Compliance.NON_COMPLIANT: "bold red",
    Compliance.COMPLIANT: "green",
    Compliance.NOT_APPLICABLE: "dim",
}
_MAX_FINDINGS = 20
"""How many new, fixed, and unknown findings of each kind a terminal shows."""
_MAX_REMEDIES = 3
"""How many remedies of one reason are shown. The others differ mainly in their IDs."""


def as_text(result: Result, options: RenderOptions, screen: Screen) -> Iterator[str]:
    """Yield the table, in the width and colors of a screen."""
    return (f"{line}\n" for line in _Table(result, options, screen).lines())


class _Table:
    """A table of one result."""

    def __init__(self, result: Result, options: RenderOptions, screen: Screen) -> None:
        self._result, self._options, self._screen = result, options, screen
        self._worklist = worklist(result.rows)

    def lines(self) -> Iterator[str]:
        """Yield every line."""
        details, grouping = self._options.details, self._options.grouping
        yield from self._screen.folded(summary(self._result.rows, self._result.evaluated))
        if self._result.plan:
            yield from self._planned(self._result.plan)
        if self._result.comparison:
            yield from self._compared(self._result.comparison)
        if grouping:
            yield from self._groups(grouping)
        if details:
            yield from self._subnets()
        if not grouping and not details:
            yield from self._rows()
            yield from self._remedies()
        yield from self._closing()

    def _planned(self, plan: PlanFindings) -> Iterator[str]:
        """Yield what a plan changes, and the route tables whose subnets have other verdicts after it."""
        yield from self._screen.folded(" ".join(plan.sentences))
        for line in table_lines(plan):
            yield from self._screen.folded(line, "  ")

    def _compared(self, comparison: Comparison) -> Iterator[str]:
        """Yield how many findings are new, unchanged, fixed, or unknown, and which ones are not unchanged."""
        yield from self._screen.folded(comparison_text(comparison))
        for line in comparison_lines(comparison, None if self._screen.width is None else _MAX_FINDINGS):
            yield from self._screen.folded(line, "  ")

    def _rows(self) -> Iterator[str]:
        """Yield the worklist, and if they are wanted, the subnets that need no work."""
        found = self._worklist
        yield from self._section(Compliance.NON_COMPLIANT, "", found.flagged)
        yield from self._section(
            Reason.DROPPED, ": AWS drops the traffic, so S3 Express cannot be reached", found.dropped
        )
        yield from self._section(
            Reason.UNRESOLVED_EGRESS, ": the egress path could not be determined", found.unresolved
        )
        if self._options.with_all:
            yield from self._section("Other subnets", "", found.others)

    def _section(self, title: str, meaning: str, items: Sequence[WorkItem]) -> Iterator[str]:
        if not items:
            return
        places = {f", account {item.first.account_id} {item.first.region}" for item in items}
        is_one_place = self._screen.width is not None and len(places) == 1
        hidden = (*(PLACE if is_one_place else ()), *(["Reason"] if title in list(Reason) else []))
        style = STYLES[Compliance.NON_COMPLIANT] if title == Compliance.NON_COMPLIANT else "bold"
        yield ""
        for line in self._screen.folded(f"{title}{min(places) if is_one_place else ''}{meaning}"):
            yield self._screen.paint(line, style)
        is_compared = self._result.comparison is not None
        records = [item_record(item, self._result.tag_keys, is_compared=is_compared) for item in items]
        yield from record_lines(records, LAYOUTS, self._screen, hidden)

    def _groups(self, grouping: Grouping) -> Iterator[str]:
        found = groups(self._result.rows, grouping)
        shown = [group for group in found if group.needs_work or self._options.with_all]
        if shown:
            yield ""
            records = [group_record(group, grouping) for group in shown]
            yield from record_lines(records, group_layouts(grouping), self._screen)
        hidden = len(found) - len(shown)
        if hidden:
            yield ""
            yield f"{hidden} more without a subnet that is NON_COMPLIANT, DROPPED, or UNRESOLVED_EGRESS"

    def _subnets(self) -> Iterator[str]:
        """Yield the subnets, without COMPLIANT ones unless they are wanted."""
        rows = self._result.rows
        wanted = [row for row in rows if self._options.with_all or row.compliance is not Compliance.COMPLIANT]
        if wanted:
            yield ""
            yield from _subnet_lines(sorted(wanted, key=in_order_of_work), self._result)
        hidden = len(rows) - len(wanted)
        if hidden:
            yield ""
            yield f"{hidden} COMPLIANT not listed; --show COMPLIANT lists them"

    def _remedies(self) -> Iterator[str]:
        """Yield what to do about NON_COMPLIANT subnets, worst first. A command is one line that can be copied."""
        changes, shown = changes_of(self._worklist.flagged), list[Change]()
        for reason, number in Counter(row.reason for item in self._worklist.flagged for row in item.rows).items():
            # A change that fixes several reasons is shown with the first of them that has space for it.
            found = list(islice((one for one in changes if one.subnets[reason] and one not in shown), _MAX_REMEDIES))
            shown += found
            more = number - sum(change.subnets[reason] for change in shown)
            if not found and not more:
                continue
            yield ""
            yield self._screen.paint(f"What to do: {reason}", "bold")
            for change in found:
                remedy = change.remedy
                yield from self._screen.folded(f"{change.counted(reason)}: {remedy.text}")
                yield from map(printable, filter(None, [remedy.command]))
            if more:
                others = f"{count_text(more, 'subnet')}: changes like these, in other route tables. To see each with its command:"
                yield from self._screen.folded(others)
                yield f"  {printable(self._options.scan.report())}"

    def _closing(self) -> Iterator[str]:
        """Yield what the result means, and what to run next."""
        result = self._result
        sentences = closing(result.rows, self._worklist, result.evaluated, is_partial=bool(result.failures))
        if any(row.reason is Reason.EXCLUDED for row in result.rows):
            sentences.append(f"{Reason.EXCLUDED}: {EXCLUDED_FIX}")
        for sentence in sentences:
            yield ""
            yield from self._screen.folded(sentence)
        commands = self._options.scan.next_commands(self._worklist, details=self._options.details)
        for purpose, command in commands:
            yield ""
            yield from self._screen.folded(f"{purpose}:")
            yield f"  {printable(command)}"


_TITLES = ("Account", "Region", "VPC", "Subnet", "Route table", "Compliance", "Reason")
_NAMES = ("Subnet name", "Table name", "VPC name")


def _subnet_lines(rows: Sequence[Row], result: Result) -> Iterator[str]:
    """Yield a header and the subnets in this order, each in one line with everything that a search may look for.

    The columns up to the reason contain no spaces, so that they can be selected by their number. The path is last.
    """
    header = (*_TITLES, *_NAMES, *result.tag_keys, *(["Baseline"] if result.comparison else []), "Path")
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
        *(row.tags.get(key, "") for key in result.tag_keys),
        *([row.baseline or ""] if result.comparison else []),
        _path(row),
    )


def _path(row: Row) -> str:
    """Return the hops, and the fix if AWS drops the traffic there; the annotation if no hop was followed."""
    path = path_text(row) or row.annotation.removeprefix(f"{row.reason}: ")
    return f"{path} (to fix: {row.note})" if row.reason is Reason.DROPPED else path

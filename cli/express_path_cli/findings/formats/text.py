"""A scan as text: the totals, what to fix, how to fix it, and the next command."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.remedies import Remedies
from express_path_cli.findings.baseline import Comparison
from express_path_cli.findings.formats.baseline_lines import comparison_lines, comparison_text
from express_path_cli.findings.formats.subnet_lines import in_order_of_work, subnet_lines
from express_path_cli.findings.formats.worklist_records import (
    PLACE,
    ROW_LAYOUTS,
    group_layouts,
    group_record,
    row_record,
    subnets,
    task_subnets,
)
from express_path_cli.findings.grouping import Grouping, groups
from express_path_cli.findings.next_commands import ScanOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import ResourceLabels
from express_path_cli.findings.summary import EXCLUDED_FIX, closing, summary
from express_path_cli.findings.worklist import Tasks, WorklistRow, other_rows, worklist
from express_path_cli.terminal.tables import Screen, printable, record_lines

STYLES = {
    Compliance.NON_COMPLIANT: "bold red",
    Compliance.COMPLIANT: "green",
    Compliance.NOT_APPLICABLE: "dim",
}
_MAX_FINDINGS = 20
"""How many new, fixed, and unknown findings of each kind a terminal shows."""
_MAX_REMEDIES = 3
"""How many remedies of one reason are shown. The others differ mainly in their IDs."""


@dataclass(frozen=True, slots=True)
class TableOptions:
    """What the table of a scan shows.

    details: the subnets, one per line, not the worklist. grouping: other groups than route tables.
    with_all: also the subnets that need no work. scan: the options for the next commands.
    """

    details: bool = False
    grouping: Grouping | None = None
    with_all: bool = False
    scan: ScanOptions = field(default_factory=ScanOptions)

    @property
    def tag_keys(self) -> tuple[str, ...]:
        """The keys of the tags to show."""
        grouped = (self.grouping.tag_key,) if self.grouping and self.grouping.tag_key else ()
        return tuple(dict.fromkeys((*self.scan.tag_keys, *grouped)))


_DEFAULT = TableOptions()


def as_text_table(result: Result, options: TableOptions = _DEFAULT) -> Iterator[str]:
    """Return the table for a file."""
    return as_table(result, Screen(), options)


def as_table(result: Result, screen: Screen, options: TableOptions = _DEFAULT) -> Iterator[str]:
    """Yield the table, in the width and colors of a screen."""
    return (f"{line}\n" for line in _Table(result, screen, options).lines())


class _Table:
    """A table of one result."""

    def __init__(self, result: Result, screen: Screen, options: TableOptions) -> None:
        self._result, self._screen, self._options = result, screen, options
        self._labels = ResourceLabels(result.views, result.tag_keys)
        self._worklist = worklist(result.verdicts)

    def lines(self) -> Iterator[str]:
        """Yield every line."""
        details, grouping = self._options.details, self._options.grouping
        yield from self._screen.folded(summary(self._result.verdicts, self._result.evaluated))
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
            yield from self._section("Other subnets", "", other_rows(self._result.verdicts))

    def _section(self, title: str, meaning: str, rows: Sequence[WorklistRow]) -> Iterator[str]:
        if not rows:
            return
        places = {f", account {row.account_id} {row.region}" for row in rows}
        is_one_place = self._screen.width is not None and len(places) == 1
        hidden = (*(PLACE if is_one_place else ()), *(["Reason"] if title in list(Reason) else []))
        style = STYLES[Compliance.NON_COMPLIANT] if title == Compliance.NON_COMPLIANT else "bold"
        yield ""
        for line in self._screen.folded(f"{title}{min(places) if is_one_place else ''}{meaning}"):
            yield self._screen.paint(line, style)
        records = [row_record(row, self._labels, self._result) for row in rows]
        yield from record_lines(records, ROW_LAYOUTS, self._screen, hidden)

    def _groups(self, grouping: Grouping) -> Iterator[str]:
        found = groups(self._result.verdicts, grouping, self._labels)
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
        wanted = [
            verdict
            for verdict in self._result.verdicts
            if self._options.with_all or verdict.compliance is not Compliance.COMPLIANT
        ]
        if wanted:
            yield ""
            yield from subnet_lines(sorted(wanted, key=in_order_of_work), self._labels, self._result)
        hidden = len(self._result.verdicts) - len(wanted)
        if hidden:
            yield ""
            yield f"{hidden} COMPLIANT not listed; --verdict COMPLIANT lists them"

    def _remedies(self) -> Iterator[str]:
        """Yield what to do about NON_COMPLIANT subnets, worst first. A command is one line that can be copied."""
        flagged = self._worklist.flagged
        tasks, shown = Tasks(flagged, Remedies(self._result.views)), Counter[Reason]()
        for reason, of_reason in groupby(flagged, key=lambda row: row.reason):
            rows = list(of_reason)
            found = list(islice(tasks.remaining(rows), _MAX_REMEDIES))
            for task in found:
                shown.update(dict(task.subnets))
            more = sum(len(row.verdicts) for row in rows) - shown[reason]
            if not found and not more:
                continue
            yield ""
            yield self._screen.paint(f"What to do: {reason}", "bold")
            for task in found:
                yield from self._screen.folded(f"{task_subnets(task, reason)}: {task.remedy.text}")
                yield from map(printable, filter(None, [task.remedy.command]))
            if more:
                others = f"{subnets(more)}: changes like these, in other route tables. To see each with its command:"
                yield from self._screen.folded(others)
                yield f"  {printable(self._options.scan.report())}"

    def _closing(self) -> Iterator[str]:
        """Yield what the result means, and what to run next."""
        result = self._result
        sentences = closing(result.verdicts, self._worklist, result.evaluated, is_partial=bool(result.failures))
        if any(verdict.reason is Reason.EXCLUDED for verdict in result.verdicts):
            sentences.append(f"{Reason.EXCLUDED}: {EXCLUDED_FIX}")
        for sentence in sentences:
            yield ""
            yield from self._screen.folded(sentence)
        commands = self._options.scan.next_commands(self._worklist, details=self._options.details)
        for purpose, command in commands:
            yield ""
            yield from self._screen.folded(f"{purpose}:")
            yield f"  {printable(command)}"

"""Verdicts as Markdown, for pull requests and tickets: what to fix comes first, as in the terminal."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice

from express_path.domain.findings.texts import path_text
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.remedies import Remedies
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.formats.baseline_lines import comparison_lines, comparison_text
from express_path_cli.findings.formats.subnet_lines import in_order_of_work
from express_path_cli.findings.formats.worklist_records import row_record, subnets, task_subnets
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Names, ResourceLabels
from express_path_cli.findings.summary import advice, closing, summary
from express_path_cli.findings.worklist import Tasks, WorklistRow, worklist
from express_path_cli.terminal.tables import limited

MAX_COMMENT = 65_536
"""The longest comment that GitHub accepts, in characters. Its documentation does not name the limit, its error does:
"Body is too long (maximum is 65536 characters)"."""
_MAX_ROWS = 20
"""How many rows of each kind are shown if the text would be too long for a comment with all of them."""
_MARK = {Compliance.NON_COMPLIANT: "❌", Compliance.COMPLIANT: "✅", Compliance.NOT_APPLICABLE: "⚪"}
_NAMED = {"Route table": "Table name", "VPC": "VPC name"}
"""The columns of the worklist whose resources have a name, which is shown after the ID."""
_CODES = {*_NAMED, "NAT"}
"""The columns of the worklist with IDs that readers copy."""


@dataclass(frozen=True, slots=True)
class _Length:
    """What to show: the subnets, and all rows or at most this many of each kind."""

    with_subnets: bool = True
    most: int | None = None


_LENGTHS = (_Length(), _Length(with_subnets=False), _Length(with_subnets=False, most=_MAX_ROWS))
"""From the longest to the shortest."""


def as_markdown(result: Result, *, with_all: bool = False) -> str:
    """Return a summary, the worklist with its remedies, and the subnets of the worklist, or with_all every subnet.

    If the text is too long for a comment on GitHub, the subnets are left out, and after them rows of the worklist.
    """
    text = ""
    for length in _LENGTHS:
        text = "\n".join(_Document(result, length, with_all=with_all).lines()).rstrip("\n") + "\n"
        if len(text) <= MAX_COMMENT:
            break
    return text


class _Document:
    """A text of one length."""

    def __init__(self, result: Result, length: _Length, *, with_all: bool) -> None:
        self._result, self._length, self._with_all = result, length, with_all
        self._labels = ResourceLabels(result.views, result.tag_keys)
        self._worklist = worklist(result.verdicts)

    def lines(self) -> Iterator[str]:
        """Yield every line."""
        result = self._result
        title = summary(result.verdicts, result.evaluated)
        yield from ("## Paths to S3 Express One Zone", "", f"**{_plain(title)}**", "")
        yield from self._baseline()
        for sentence in closing(
            result.verdicts, self._worklist, result.evaluated, is_partial=bool(result.failures)
        ) + advice(result.verdicts):
            yield from (_plain(sentence), "")
        if result.failures:
            yield from ("Could not be determined:", "")
            yield from self._shown([f"- {_plain(f'{failure.where}: {failure.error}')}" for failure in result.failures])
            yield ""
        yield from self._section("What to fix", self._worklist.flagged)
        yield from self._tasks()
        yield from self._section("Traffic that AWS drops", self._worklist.dropped)
        yield from self._section("Paths that could not be followed", self._worklist.unresolved)
        yield from self._subnets()

    def _shown(self, lines: Sequence[str]) -> Iterator[str]:
        """Yield these lines of a list, or the first ones and how many there are more."""
        yield from lines[: self._length.most]
        if self._length.most is not None and len(lines) > self._length.most:
            yield f"- and {len(lines) - self._length.most} more"

    def _baseline(self) -> Iterator[str]:
        """Yield how many findings are new, unchanged, fixed, or unknown, and list all but the unchanged ones."""
        comparison = self._result.comparison
        if comparison:
            yield from (f"**{_plain(comparison_text(comparison))}**", "")
            lines = [f"- {_path_in_line(line)}" for line in comparison_lines(comparison, self._length.most)]
            yield from [*lines, ""] if lines else []

    def _section(self, title: str, rows: Sequence[WorklistRow]) -> Iterator[str]:
        """Yield a table with a row for each route table and reason, as the terminal shows them."""
        if not rows:
            return
        shown = rows[: self._length.most]
        yield from (f"### {title}", "")
        cells = [_row_cells(row, self._labels, self._result) for row in shown]
        yield from _table([title for title, _ in cells[0]], ([text for _, text in row] for row in cells))
        yield ""
        if len(shown) < len(rows):
            yield from (
                f"Not listed: {len(rows) - len(shown)} more route tables, because the text would be too long.",
                "",
            )

    def _tasks(self) -> Iterator[str]:
        """Yield what to do about NON_COMPLIANT subnets as a list, worst first, with commands that can be copied."""
        rows = self._worklist.flagged
        tasks = Tasks(rows, Remedies(self._result.views)).remaining(rows)
        found = list(islice(tasks, self._length.most))
        if found:
            yield from ("### What to do", "")
            for task in found:
                reason = task.subnets[0][0]
                command = f" {_code(task.remedy.command)}" if task.remedy.command else ""
                yield f"- {reason}, {task_subnets(task, reason)}: {_plain(task.remedy.text)}{command}"
            if next(tasks, None):
                yield "- More changes like these are not listed. `express-path report` shows each of them."
            yield ""

    def _subnets(self) -> Iterator[str]:
        """Yield a row for each subnet, and say how many are left out."""
        rows = chain(self._worklist.flagged, self._worklist.dropped, self._worklist.unresolved)
        wanted = self._result.verdicts if self._with_all else [verdict for row in rows for verdict in row.verdicts]
        hidden = len(self._result.verdicts) - len(wanted)
        if not self._length.with_subnets:
            yield (
                f"Not listed: {subnets(len(wanted))}, because the text would be too long for a comment on GitHub. "
                "`express-path scan --details` lists them."
            )
            return
        if wanted:
            yield from ("### Subnets", "")
            yield from self._subnet_table(sorted(wanted, key=in_order_of_work))
        if hidden:
            yield from ("", f"Not listed: {subnets(hidden)} with nothing to fix. `--verdict` selects what is listed.")

    def _subnet_table(self, verdicts: Iterable[Verdict]) -> Iterator[str]:
        tag_keys, is_compared = self._result.tag_keys, self._result.comparison is not None
        columns = ["", "Account", "Region", "VPC", "Subnet", "Route table", "Reason", "Path", *map(_plain, tag_keys)]
        yield from _table([*columns, *(["Baseline"] if is_compared else [])], map(self._subnet_cells, verdicts))

    def _subnet_cells(self, verdict: Verdict) -> list[str]:
        tags = self._labels.tags(verdict)
        cells = [*_cells(verdict, self._labels.names(verdict))]
        cells += [_plain(tags.get(key, "")) for key in self._result.tag_keys]
        return [*cells, *([self._result.mark(verdict) or ""] if self._result.comparison else [])]


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    columns = list(header)
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _row_cells(row: WorklistRow, labels: ResourceLabels, result: Result) -> list[tuple[str, str]]:
    """Return the title and the text of each cell of a row of the worklist."""
    record = row_record(row, labels, result)
    values = [item for item in record.cells.items() if item[0] not in _NAMED.values()]
    cells = [(title, _row_cell(title, found, record.cells)) for title, found in values]
    return [*cells, *((_plain(title), _listed(found)) for title, found in record.notes.items())]


def _row_cell(title: str, values: Sequence[str], cells: Mapping[str, Sequence[str]]) -> str:
    if title not in _CODES or values == ["unknown"]:
        return _listed(values)
    return _named(", ".join(map(_code, limited(values))), *cells.get(_NAMED.get(title, ""), [""]))


def _listed(values: Sequence[str]) -> str:
    return ", ".join(map(_path_in_line, limited(values)))


def _cells(verdict: Verdict, names: Names) -> tuple[str, ...]:
    return (
        f"{_MARK[verdict.compliance]} {verdict.compliance}",
        _plain(verdict.account_id),
        _plain(verdict.region),
        _named(_plain(verdict.vpc_id), names.vpc),
        _named(_code(verdict.subnet_id), names.subnet),
        _named(_code(verdict.route_table_id), names.route_table) if verdict.route_table_id else "unknown",
        verdict.reason,
        _path_in_line(_path(verdict)),
    )


def _path_in_line(text: str) -> str:
    """Escape all Markdown in a text with arrows, which need no escape inside a line."""
    return _plain(text).replace(r"-\>", "->")


def _named(resource: str, name: str) -> str:
    """Return a resource with its name, if it has one."""
    return f"{resource} {_plain(name)}" if name else resource


def _path(verdict: Verdict) -> str:
    """Return the hops, and the fix if AWS drops the traffic there; the annotation if no hop was followed."""
    dropped = verdict.reason is Reason.DROPPED
    return (path_text(verdict) or verdict.annotation) + (f" (to fix: {verdict.note})" if dropped else "")


@lru_cache(maxsize=1 << 14)
def _plain(text: str) -> str:
    """Escape all Markdown in a text, such as the name of an account or a message from AWS."""
    return re.sub(r"([\\`*_~&\[\]<>#|])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """Return an id or a command as a code span, or escaped if it has characters that a code span cannot contain."""
    return _plain(text) if re.search(r"[`|\\]|[^\S ]", text) or text != " ".join(text.split()) else f"`{text}`"

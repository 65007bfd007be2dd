"""Rows as Markdown, for pull requests and tickets: what to fix comes first, as in the terminal."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from express_path.domain.path.reasons import Compliance
from express_path_cli.findings.baseline import comparison_lines, comparison_text
from express_path_cli.findings.change import table_lines
from express_path_cli.findings.formats.text import in_order_of_work, path_cell
from express_path_cli.findings.hubs import TITLE, hub_advice, hubs_in_short
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row
from express_path_cli.findings.summary import advice, closing
from express_path_cli.findings.worklist import Fix, WorkItem, fixes_of, item_record, news, worklist
from express_path_cli.terminal.tables import limited
from express_path_cli.terminal.texts import count_text

MAX_COMMENT = 64_000
"""The longest comment that GitHub accepts, in characters, without what `express-path comment` adds. Its documentation does
not name the limit, its error does: "Body is too long (maximum is 65536 characters)"."""
_MAX_ROWS = 20
"""How many rows of each kind are shown if the text would be too long for a comment with all of them."""
_MARK = {Compliance.NON_COMPLIANT: "❌", Compliance.COMPLIANT: "✅", Compliance.NOT_APPLICABLE: "⚪"}
_NAMED = {"Route table": "Table name", "VPC": "VPC name"}
"""The columns of the worklist whose resources have a name, which is shown after the ID."""
_CODES = {*_NAMED, "NAT"}
"""The columns of the worklist with IDs that readers copy."""


LINKING = re.compile(
    r"""@(?=[\w.\\]) | :(?=//) | (?<=ww)w(?=\.)  # mentions, addresses of e-mail, links
    | [#!$&](?=\d) | (?<=(?<![a-z\d])g[hl])-(?=\d)  # issues, requests, and the like
    | [~%](?=["\w\\])  # labels and milestones of GitLab
    | (?<=\w):(?=[^\[\]\\]+\\?\])  # what GitLab links by its kind, such as [vulnerability:3]""",
    re.IGNORECASE | re.VERBOSE,
)
"""The character without which GitHub and GitLab make no link or mention of a text, escaped or not. Letters of other alphabets
may stand before it (https://github.github.com/gfm/#autolinks-extension-,
https://docs.github.com/en/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls,
https://docs.gitlab.com/user/markdown/#gitlab-specific-references)."""
_COMMENT = "<!-- -->"
"""Ends a text in the page without being seen. A backslash does not, because links of issues are made from the page."""


@dataclass(frozen=True, slots=True)
class _Length:
    """What to show: the subnets, and all rows or at most this many of each kind."""

    with_subnets: bool = True
    most: int | None = None


_LENGTHS = (_Length(), _Length(with_subnets=False), _Length(with_subnets=False, most=_MAX_ROWS))
"""From the longest to the shortest."""


def as_markdown(result: Result, *, lists_subnets: bool = False) -> Iterator[str]:
    """Yield a summary, the worklist with its remedies, and the subnets of the worklist, or lists_subnets every subnet.

    If the text is too long for a comment on GitHub, the subnets are left out, and after them rows of the worklist.
    """
    text = ""
    for length in _LENGTHS:
        text = "\n".join(_Document(result, length, lists_subnets=lists_subnets).lines()).rstrip("\n") + "\n"
        if len(text) <= MAX_COMMENT:
            break
    yield text


class _Document:
    """A text of one length."""

    def __init__(self, result: Result, length: _Length, *, lists_subnets: bool) -> None:
        self._result, self._length, self._lists_subnets = result, length, lists_subnets
        self._worklist = worklist(result.rows)

    def lines(self) -> Iterator[str]:
        """Yield every line."""
        result = self._result
        yield from ("## Paths to S3 Express One Zone", "")
        for line in result.settings:
            yield from (plain(line), "")
        if result.change:
            yield from (f"**{plain(' '.join(result.change.sentences))}**", "", plain(result.summary), "")
            lines = [f"- {_path_in_line(line)}" for line in table_lines(result.change)]
            if lines:
                yield from (*self._shown(lines), "")
        else:
            yield from (f"**{plain(result.summary)}**", "")
        yield from self._baseline()
        if result.not_news:
            conclusion = [result.not_news]
        else:
            conclusion = closing(result.rows, self._worklist, result.evaluated, is_partial=bool(result.failures))
        for sentence in (*conclusion, *advice(result.rows)):
            yield from (plain(sentence), "")
        if result.failures:
            yield from ("Could not be determined:", "")
            yield from self._shown([f"- {plain(f'{failure.where}: {failure.message}')}" for failure in result.failures])
            yield ""
        yield from self._section("What to fix", self._worklist.flagged)
        yield from self._fixes()
        yield from self._section("Traffic that AWS drops", self._worklist.dropped)
        yield from self._section("Paths that could not be followed", self._worklist.unresolved)
        yield from self._hubs()
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
            yield from (f"**{plain(comparison_text(comparison))}**", "")
            lines = [f"- {_path_in_line(line)}" for line in comparison_lines(comparison, self._length.most)]
            if lines:
                yield from (*lines, "")

    def _section(self, title: str, items: Sequence[WorkItem]) -> Iterator[str]:
        """Yield a table with a row for each route table and reason, as the terminal shows them."""
        if not items:
            return
        shown = items[: self._length.most]
        yield from (f"### {title}", "")
        cells = [_item_cells(item, self._result) for item in shown]
        yield from table([title for title, _ in cells[0]], ([text for _, text in row] for row in cells))
        yield ""
        if len(shown) < len(items):
            yield from (
                f"Not listed: {len(items) - len(shown)} more route tables, because the text would be too long.",
                "",
            )

    def _fixes(self) -> Iterator[str]:
        """Yield what to do about NON_COMPLIANT subnets as a list, worst first, with commands that can be copied."""
        to_advise = news(self._result.rows) if self._result.comparison else self._worklist
        fixes = fixes_of(to_advise.flagged)
        if not fixes:
            return
        yield from ("### What to do", "")
        for fix in fixes[: self._length.most]:
            yield from _fix_lines(fix)
        if self._length.most is not None and len(fixes) > self._length.most:
            yield "- More changes like these are not listed. `express-path scan --format html` shows each of them."
        yield ""

    def _hubs(self) -> Iterator[str]:
        """Yield the hubs as a list, and what to do about them."""
        hubs = self._result.hubs
        if hubs and self._result.is_about_news:
            yield from (plain(hubs_in_short(hubs)), "")
        elif hubs:
            yield from (f"### {TITLE}", "", plain(" ".join(hub_advice(hubs))), "")
            yield from self._shown([f"- {plain(f'{hub.where}: {hub.what}')}" for hub in hubs])
            yield ""

    def _subnets(self) -> Iterator[str]:
        """Yield a row for each subnet, and say how many are left out."""
        items = chain(self._worklist.flagged, self._worklist.dropped, self._worklist.unresolved)
        wanted = self._result.rows if self._lists_subnets else [row for item in items for row in item.rows]
        hidden = len(self._result.rows) - len(wanted)
        if not self._length.with_subnets:
            yield (
                f"Not listed: {count_text(len(wanted), 'subnet')}, because the text would be too long for a comment on GitHub. "
                "`express-path scan --format csv` lists them."
            )
            return
        if wanted:
            yield from ("### Subnets", "")
            yield from self._subnet_table(sorted(wanted, key=in_order_of_work))
        if hidden:
            yield from (
                "",
                f"Not listed: {count_text(hidden, 'subnet')} with nothing to fix. `--show` selects what is listed.",
            )

    def _subnet_table(self, rows: Iterable[Row]) -> Iterator[str]:
        columns = ["", "Account", "Region", "VPC", "Subnet", "Route table", "Reason", "Path"]
        baseline = ["Baseline"] if self._result.comparison else []
        yield from table([*columns, *baseline], map(self._subnet_cells, rows))

    def _subnet_cells(self, row: Row) -> list[str]:
        return [*_cells(row), *([row.baseline or ""] if self._result.comparison else [])]


def _fix_lines(fix: Fix) -> Iterator[str]:
    """Yield an item of a list: what to do, with its command, or else with the code for other tools below it."""
    reason = fix.rows[0].reason
    where = f", {_code(fix.place)}" if fix.place else ""
    item = f"- {reason}, {fix.counted(reason)}{where}: {plain(fix.remedy.text)}"
    if fix.remedy.command:
        yield f"{item} {_code(fix.remedy.command)}"
        return
    yield item
    if fix.code:
        yield ""
        for line in ("```", *fix.code.splitlines(), "```"):
            yield f"  {line}".rstrip()
        yield ""


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a table; its cells are Markdown."""
    columns = list(header)
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _item_cells(item: WorkItem, result: Result) -> list[tuple[str, str]]:
    """Return the title and the text of each cell of an item of the worklist."""
    record = item_record(item, is_compared=result.comparison is not None)
    cells = []
    for title, values in record.cells.items():
        if title not in _NAMED.values():
            cells.append((title, _item_cell(title, values, record.cells)))
    cells += [(plain(title), _listed(values)) for title, values in record.notes.items()]
    return cells


def _item_cell(title: str, values: Sequence[str], cells: Mapping[str, Sequence[str]]) -> str:
    if title not in _CODES or values == ["unknown"]:
        return _listed(values)
    return _named(", ".join(map(_code, limited(values))), *cells.get(_NAMED.get(title, ""), [""]))


def _listed(values: Sequence[str]) -> str:
    return ", ".join(map(_path_in_line, limited(values)))


def _cells(row: Row) -> tuple[str, ...]:
    return (
        f"{_MARK[row.compliance]} {row.compliance}",
        plain(row.account_id),
        plain(row.region),
        _named(plain(row.vpc_id), row.vpc_name),
        _named(_code(row.subnet_id), row.subnet_name),
        _named(_code(row.route_table_id), row.route_table_name) if row.route_table_id else "unknown",
        row.reason,
        _path_in_line(path_cell(row)),
    )


def _path_in_line(text: str) -> str:
    """Escape all Markdown in a text with arrows, which need no escape inside a line."""
    return plain(text).replace(r"-\>", "->")


def _named(resource: str, name: str) -> str:
    """Return a resource with its name, if it has one."""
    return f"{resource} {plain(name)}" if name else resource


@lru_cache(maxsize=1 << 14)
def plain(text: str) -> str:
    """Escape all Markdown in a text, such as the name of an account or a message from AWS.

    It links to nothing and mentions nobody.
    """
    escaped = re.sub(r"([\\`*_~&\[\]<>#|])", r"\\\1", " ".join(text.split()))
    return LINKING.sub(rf"\g<0>{_COMMENT}", escaped)


def _code(text: str) -> str:
    """Return an id or a command as a code span, or escaped if it has characters that a code span cannot contain."""
    return plain(text) if re.search(r"[`|\\]|[^\S ]", text) or text != " ".join(text.split()) else f"`{text}`"

"""Rows as annotations of GitHub Actions: lines in the log of a job, which GitHub shows beside the changed files.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

from collections.abc import Iterator

from express_path_cli.findings.result import Result
from express_path_cli.findings.worklist import WorkItem, worklist
from express_path_cli.terminal.texts import count_text

MOST = 9
"""How many findings have an annotation: GitHub shows ten errors of a step, and the last one says how many more there are."""


def as_github(result: Result) -> Iterator[str]:
    """Yield an error for each of the worst findings and for each failure, and a notice of what a plan changes, or the totals."""
    items = worklist(result.rows).flagged
    for item in items[:MOST]:
        yield _error(item)
    if len(items) > MOST:
        yield f"::error::{len(items) - MOST} more route tables have findings.\n"
    for failure in result.failures:
        yield f"::error::{_escaped(f'{failure.where}: {failure.message}')}\n"
    sentences = result.change.sentences if result.change else [f"{result.summary}."]
    yield f"::notice::{_escaped(' '.join([*sentences, result.not_news]).strip())}\n"


def _error(item: WorkItem) -> str:
    """Return the annotation of a route table and a reason, on the line of the configuration that causes it if it is known."""
    row = next((row for row in item.rows if row.file), item.first)
    properties = {"file": row.file, "line": str(row.line)} if row.file else {}
    properties["title"] = row.reason.value
    listed = ",".join(f"{name}={_escaped(value, is_property=True)}" for name, value in properties.items())
    text = f"{row.annotation} ({count_text(len(item.rows), 'subnet')})"
    if row.remedy:
        text += f"\n{row.remedy.instruction or row.remedy.text}"
    return f"::error {listed}::{_escaped(text)}\n"


def _escaped(text: str, *, is_property: bool = False) -> str:
    """Return a text in one line, as the runner of GitHub reads it.

    https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts
    """
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    if is_property:
        escaped = escaped.replace(":", "%3A").replace(",", "%2C")
    return escaped

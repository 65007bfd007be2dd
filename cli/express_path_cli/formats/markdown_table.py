"""Verdicts as Markdown, for pull requests and tickets."""

import re
from collections.abc import Iterator
from functools import lru_cache

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.formats.baseline_lines import comparison_lines, comparison_text
from express_path_cli.remedies import Remedies, counted_remedies
from express_path_cli.resource_labels import Names, ResourceLabels
from express_path_cli.result import Result
from express_path_cli.summary import advice, summary
from express_path_cli.wording import path_text

_MARK = {Compliance.NON_COMPLIANT: "❌", Compliance.COMPLIANT: "✅", Compliance.NOT_APPLICABLE: "⚪"}


def as_markdown(result: Result) -> str:
    """Return a summary, what could not be determined, and a table with a row for each subnet."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Result) -> Iterator[str]:
    yield from ("## Paths to S3 Express One Zone", "", f"**{_plain(summary(result.verdicts, result.evaluated))}**", "")
    yield from _baseline(result)
    for paragraph in advice(result.verdicts):
        yield from (_plain(paragraph), "")
    if result.failures:
        yield from ("Could not be determined:", "")
        yield from (f"- {_plain(f'{failure.where}: {failure.error}')}" for failure in result.failures)
        yield ""
    yield from _remedies(result)
    labels = ResourceLabels(result.views, result.tag_keys)
    columns = ["", "Account", "Region", "VPC", "Subnet", "Route table", "Reason", "Path", *map(_plain, result.tag_keys)]
    columns += ["Baseline"] if result.comparison else []
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for verdict in result.verdicts:
        tags = labels.tags(verdict)
        cells = (*_cells(verdict, labels.names(verdict)), *(_plain(tags.get(key, "")) for key in result.tag_keys))
        marks = [result.mark(verdict) or ""] if result.comparison else []
        yield f"| {' | '.join([*cells, *marks])} |"


def _baseline(result: Result) -> Iterator[str]:
    """Yield how many findings are new, unchanged, fixed, or unknown, and list all but the unchanged ones."""
    if result.comparison:
        yield from (f"**{_plain(comparison_text(result.comparison))}**", "")
        lines = [f"- {_path_in_line(line)}" for line in comparison_lines(result.comparison)]
        yield from [*lines, ""] if lines else []


def _remedies(result: Result) -> Iterator[str]:
    """Yield the remedies of NON_COMPLIANT subnets as a list, worst first, with a command that can be copied."""
    listed = counted_remedies(result.verdicts, Remedies(result.views))
    if listed:
        yield from ("What to do:", "")
        for reason, remedy, number in listed:
            command = f" {_code(remedy.command)}" if remedy.command else ""
            yield f"- {reason}, {number} subnet{'' if number == 1 else 's'}: {_plain(remedy.text)}{command}"
        yield ""


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

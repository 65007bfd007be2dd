"""Verdicts as Markdown, for pull requests and tickets."""

import re
from collections.abc import Iterator
from functools import lru_cache

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.result import Result
from express_path_cli.summary import advice, summary
from express_path_cli.wording import path_text

_MARK = {Compliance.NON_COMPLIANT: "❌", Compliance.COMPLIANT: "✅", Compliance.NOT_APPLICABLE: "⚪"}


def as_markdown(result: Result) -> str:
    """A summary, what could not be determined, and one table with a row for each subnet."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: Result) -> Iterator[str]:
    yield from ("## Paths to S3 Express One Zone", "", f"**{_plain(summary(result.verdicts))}**", "")
    for each in advice(result.verdicts):
        yield from (_plain(each), "")
    if result.failures:
        yield from ("Could not tell:", "")
        yield from (f"- {_plain(f'{each.where}: {each.error}')}" for each in result.failures)
        yield ""
    yield "| | Account | Region | VPC | Subnet | Route table | Reason | Path |"
    yield "|---|---|---|---|---|---|---|---|"
    yield from map(_row, result.verdicts)


def _row(verdict: Verdict) -> str:
    cells = (
        f"{_MARK[verdict.compliance]} {verdict.compliance}",
        _plain(verdict.account_id),
        _plain(verdict.region),
        _plain(verdict.vpc_id),
        _code(verdict.subnet_id),
        _code(verdict.route_table_id) if verdict.route_table_id else "not seen",
        verdict.reason,
        _plain(_path(verdict)).replace(r"-\>", "->"),  # > alone means nothing inside a cell
    )
    return "| " + " | ".join(cells) + " |"


def _path(verdict: Verdict) -> str:
    """The hops, and what to fix if AWS drops the traffic there; the annotation if no hop was followed."""
    dropped = verdict.reason is Reason.DROPPED
    return (path_text(verdict) or verdict.annotation) + (f" (to fix: {verdict.note})" if dropped else "")


@lru_cache(maxsize=1 << 14)
def _plain(text: str) -> str:
    """Text that holds no Markdown, whatever the name of an account or a message of AWS looks like."""
    return re.sub(r"([\\`*_~&\[\]<>#|])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """An id in a code span, where backslashes mean nothing; plain where it would end the span."""
    return _plain(text) if re.search(r"[`|\s\\]", text) else f"`{text}`"

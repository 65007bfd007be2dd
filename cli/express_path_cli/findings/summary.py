"""Summarize a result: how many subnets have each compliance, and how many are dropped or excluded."""

from collections import Counter
from collections.abc import Iterator, Sequence

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import VPC_IDS
from express_path_cli.findings.row import Row
from express_path_cli.findings.worklist import CROSSES_NAT, WorkItem, Worklist
from express_path_cli.terminal.texts import count_text

COMPLIANCES = (Compliance.NON_COMPLIANT, Compliance.COMPLIANT, Compliance.NOT_APPLICABLE)
"""The compliances in the order of the summary."""
DROPPED_FIX = (
    "AWS drops the traffic, so S3 Express cannot be reached. Replace or delete the route whose target no longer "
    "exists, add a subnet in that zone to the transit gateway attachment, or exclude the subnet from VPC Block Public "
    "Access; each verdict says which."
)
"""What to do about subnets whose traffic AWS drops."""
EXCLUDED_FIX = (
    "Anyone who may tag a subnet, a route table or a VPC can exclude subnets: check that each exclusion is intended."
)
"""What to do about excluded subnets."""


def summary(
    rows: Sequence[Row],
    evaluated: int | None = None,
    ignored: int = 0,
    set_by_file: int = 0,
    *,
    is_about_news: bool = False,
) -> str:
    """Return how many subnets have each compliance, and why some are NOT_APPLICABLE, in one sentence.

    is_about_news: the rows are those that are new or that a plan changes. If more subnets were evaluated than are shown, or if the configuration file ignores findings or sets compliances, the
    sentence says so.
    """
    counts = Counter(row.compliance for row in rows)
    listed = ", ".join(f"{counts[compliance]:,} {compliance}" for compliance in COMPLIANCES)
    details = ", ".join(_details(rows))
    total = len(rows) if evaluated is None else evaluated
    shown = count_text(total, "subnet")
    if total != len(rows):
        shown = f"{len(rows):,} of {shown} shown"
    sentence = f"{shown}: {listed}"
    if details:
        sentence += f": {details}"
    if is_about_news and total and not rows:
        sentence = f"{count_text(total, 'subnet')}: nothing is new"
    if ignored:
        sentence += f"; {count_text(ignored, 'finding')} ignored"
    if set_by_file:
        sentence += f"; parameters of express-path.toml change the compliance of {count_text(set_by_file, 'subnet')}"
    return sentence


def closing(
    rows: Sequence[Row], found: Worklist, evaluated: int | None = None, *, is_partial: bool = False
) -> list[str]:
    """Return what the worklist of these rows means, in sentences; none if it cannot be said.

    If not all rows are shown, nothing is said about those that are not. is_partial: something could not be read.
    """
    total = len(rows) if evaluated is None else evaluated
    sentences = [*_through_nats(found, total), *_flagged_otherwise(found, total)]
    if sentences or total != len(rows):
        return sentences
    if not total:
        return ["No subnet was found."]
    if all(row.compliance is Compliance.NOT_APPLICABLE for row in rows):
        sentence = "No path was evaluated: every subnet is NOT_APPLICABLE."
    elif is_partial:
        sentence = "No subnet that could be read is NON_COMPLIANT."
    else:
        sentence = "No subnet is NON_COMPLIANT."
    if found.unresolved:
        sentence += f" The egress path of {_part(found.unresolved, total)} could not be determined."
    return [sentence]


def _through_nats(found: Worklist, total: int) -> Iterator[str]:
    crossing = [item for item in found.flagged if item.first.reason in CROSSES_NAT]
    if crossing:
        tables = len({(item.first.region, item.first.vpc_id, item.first.route_table_id) for item in crossing})
        reach = "reaches" if 1 in (sum(len(item.rows) for item in crossing), total) else "reach"
        yield f"{_part(crossing, total)} {reach} S3 Express through a NAT ({count_text(tables, 'route table')})."


def _flagged_otherwise(found: Worklist, total: int) -> Iterator[str]:
    items = [item for item in found.flagged if item.first.reason not in CROSSES_NAT]
    if items:
        reasons = ", ".join(dict.fromkeys(item.first.reason for item in items))
        yield f"NON_COMPLIANT for another reason ({reasons}): {_part(items, total)}."


def _part(items: Sequence[WorkItem], total: int) -> str:
    return f"{sum(len(item.rows) for item in items):,} of {count_text(total, 'subnet')}"


def _details(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the reasons of what is NOT_APPLICABLE, the most frequent first, and what excludes subnets."""
    reasons = Counter(row.reason for row in rows if row.compliance is Compliance.NOT_APPLICABLE)
    for reason, number in sorted(reasons.items(), key=lambda counted: (-counted[1], counted[0])):
        detail = f"{number:,} {reason}"
        if reason is Reason.EXCLUDED:
            by = ", ".join(f"{count:,} by {cause}" for cause, count in exclusions(rows).items())
            detail += f" ({by})"
        yield detail


def dropped(rows: Sequence[Row]) -> int:
    """Return how many subnets cannot reach S3 Express because AWS drops the traffic."""
    return sum(row.reason is Reason.DROPPED for row in rows)


def exclusions(rows: Sequence[Row]) -> dict[str, int]:
    """Return how many subnets each tag or parameter excludes, most first."""
    causes = Counter(_exclusion(row) for row in rows if row.reason is Reason.EXCLUDED)
    return dict(sorted(causes.items(), key=lambda cause: (-cause[1], cause[0])))


def _exclusion(row: Row) -> str:
    if row.excluded_by in ("", VPC_IDS):
        return "the rule's scope or vpcIds"
    return f"tag {row.excluded_by}"


def advice(rows: Sequence[Row]) -> list[str]:
    """Return what to do about subnets that are counted separately."""
    reasons = {row.reason for row in rows}
    fixes = {Reason.DROPPED: DROPPED_FIX, Reason.EXCLUDED: EXCLUDED_FIX}
    return [f"{reason}: {fix}" for reason, fix in fixes.items() if reason in reasons]

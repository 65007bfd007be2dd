"""Summarize a result: how many subnets have each compliance, and how many are dropped or excluded."""

from collections import Counter
from collections.abc import Iterator, Sequence

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.worklist import CROSSES_NAT, Worklist, WorklistRow

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


def summary(verdicts: Sequence[Verdict], evaluated: int | None = None) -> str:
    """Return how many subnets have each compliance, and how many of them are DROPPED or EXCLUDED, in one sentence.

    If more subnets were evaluated than are shown, the sentence says so.
    """
    counts = Counter(verdict.compliance for verdict in verdicts)
    listed = ", ".join(f"{counts[compliance]} {compliance}" for compliance in COMPLIANCES)
    details = "; ".join(_details(verdicts))
    total = len(verdicts) if evaluated is None else evaluated
    subnets = f"subnet{'' if total == 1 else 's'}"
    shown = f"{total} {subnets}" if total == len(verdicts) else f"{len(verdicts)} of {total} {subnets} shown"
    return f"{shown}: {listed}" + (f" ({details})" if details else "")


def closing(
    verdicts: Sequence[Verdict], rows: Worklist, evaluated: int | None = None, *, is_partial: bool = False
) -> list[str]:
    """Return what the worklist of these verdicts means, in sentences; none if it cannot be said.

    If not all verdicts are shown, nothing is said about those that are not. is_partial: something could not be read.
    """
    total = len(verdicts) if evaluated is None else evaluated
    sentences = [*_through_nats(rows, total), *_flagged_otherwise(rows, total)]
    if sentences or total != len(verdicts):
        return sentences
    if not total:
        return ["No subnet was found."]
    unknown = f" The egress path of {_part(rows.unresolved, total)} could not be determined." if rows.unresolved else ""
    return [f"No subnet {'that could be read ' if is_partial else ''}is NON_COMPLIANT.{unknown}"]


def _through_nats(rows: Worklist, total: int) -> Iterator[str]:
    crossing = [row for row in rows.flagged if row.reason in CROSSES_NAT]
    if crossing:
        tables = len({(row.region, row.vpc_id, row.route_table_id) for row in crossing})
        send = "route table sends" if tables == 1 else "route tables send"
        yield f"{tables} {send} {_part(crossing, total)} through a NAT."


def _flagged_otherwise(rows: Worklist, total: int) -> Iterator[str]:
    others = [row for row in rows.flagged if row.reason not in CROSSES_NAT]
    if others:
        reasons = ", ".join(dict.fromkeys(row.reason for row in others))
        yield f"NON_COMPLIANT for another reason ({reasons}): {_part(others, total)}."


def _part(rows: Sequence[WorklistRow], total: int) -> str:
    return f"{sum(len(row.verdicts) for row in rows)} of {total} subnet{'' if total == 1 else 's'}"


def _details(verdicts: Sequence[Verdict]) -> Iterator[str]:
    if dropped(verdicts):
        yield f"{dropped(verdicts)} DROPPED"
    excluded = exclusions(verdicts)
    if excluded:
        causes = ", ".join(f"{number} by {cause}" for cause, number in excluded.items())
        yield f"{sum(excluded.values())} EXCLUDED, {causes}"


def dropped(verdicts: Sequence[Verdict]) -> int:
    """Return how many subnets cannot reach S3 Express because AWS drops the traffic."""
    return sum(verdict.reason is Reason.DROPPED for verdict in verdicts)


def exclusions(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """Return how many subnets each tag or parameter excludes, most first."""
    notes = (verdict.note for verdict in verdicts if verdict.reason is Reason.EXCLUDED)
    causes = Counter(note.rpartition(" on ")[0] or "the rule's scope or vpcIds" for note in notes)
    return dict(sorted(causes.items(), key=lambda cause: (-cause[1], cause[0])))


def advice(verdicts: Sequence[Verdict]) -> list[str]:
    """Return what to do about subnets that are counted separately."""
    reasons = {verdict.reason for verdict in verdicts}
    fixes = {Reason.DROPPED: DROPPED_FIX, Reason.EXCLUDED: EXCLUDED_FIX}
    return [f"{reason}: {fix}" for reason, fix in fixes.items() if reason in reasons]

"""A comparison with a baseline as text: how many findings are new, and which ones are new, fixed, or unknown."""

from collections.abc import Iterator

from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.baseline import Comparison, Mark, PastFinding, subnet_of


def comparison_text(comparison: Comparison) -> str:
    """Return how many findings are new, unchanged, fixed, and unknown, in one line."""
    replaced = sum(past.mark is Mark.REPLACED for past in comparison.past)
    also = f" ({replaced} NON_COMPLIANT before, for another reason)" if replaced else ""
    return (
        f"Compared with the baseline: {len(comparison.new)} new{also}, {len(comparison.unchanged)} unchanged, "
        f"{len(comparison.fixed)} fixed, {len(comparison.unknown)} unknown"
    )


def comparison_lines(comparison: Comparison, most: int | None = None) -> Iterator[str]:
    """Yield a line for each finding that is new, fixed, or unknown, and for each kind at most this many."""
    replaced = {past.finding[:3]: past for past in comparison.past if past.mark is Mark.REPLACED}
    kinds = {
        Mark.NEW: [_new(verdict, replaced.get(subnet_of(verdict))) for verdict in comparison.new],
        Mark.FIXED: [past_text(past) for past in comparison.fixed],
        Mark.UNKNOWN: [past_text(past) for past in comparison.unknown],
    }
    for mark, lines in kinds.items():
        yield from lines[:most]
        if most is not None and len(lines) > most:
            yield f"{mark}: {len(lines) - most} more, which --format json lists"


def _new(verdict: Verdict, before: PastFinding | None) -> str:
    reason = f"{before.finding.reason} -> {verdict.reason}" if before else verdict.reason
    return f"{Mark.NEW}: {_where(verdict.account_id, verdict.region, verdict.vpc_id, verdict.subnet_id)} {reason}"


def past_text(past: PastFinding) -> str:
    """Return what happened to a finding of the baseline, in one line."""
    finding, now = past.finding, past.now
    reason = f"{finding.reason} -> {now.reason}" if now else finding.reason
    where = _where(finding.account_id, finding.region, past.vpc_id, finding.subnet_id)
    return f"{past.mark}: {where} {reason}" + (f" ({past.cause})" if past.cause else "")


def _where(*names: str) -> str:
    return " ".join(filter(None, names))

"""A comparison with a baseline as text: how many findings are new, and which findings only the baseline has."""

from collections.abc import Iterator

from express_path_cli.baseline import PAST, Comparison, Mark, PastFinding


def comparison_text(comparison: Comparison) -> str:
    """Return how many findings are new, unchanged, fixed, and unknown, in one line."""
    replaced = sum(past.mark is Mark.REPLACED for past in comparison.past)
    also = f" ({replaced} NON_COMPLIANT before, for another reason)" if replaced else ""
    return (
        f"Compared with the baseline: {len(comparison.new)} new{also}, {len(comparison.unchanged)} unchanged, "
        f"{len(comparison.fixed)} fixed, {len(comparison.unknown)} unknown"
    )


def past_lines(comparison: Comparison) -> Iterator[str]:
    """Yield a line for each finding that only the baseline has: fixed ones first, then unknown ones."""
    for mark in PAST:
        yield from (past_text(past) for past in comparison.past if past.mark is mark)


def past_text(past: PastFinding) -> str:
    """Return what happened to a finding of the baseline, in one line."""
    finding, now = past.finding, past.now
    where = " ".join(filter(None, (finding.account_id, finding.region, past.vpc_id, finding.subnet_id)))
    change = f"{finding.reason} -> {now.reason}" if now else finding.reason
    return f"{past.mark}  {where}  {change}" + (f" ({past.cause})" if past.cause else "")

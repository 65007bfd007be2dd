"""The verdicts of all subnets in numbers."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict


@dataclass(frozen=True, slots=True)
class ExcludedSubnets:
    """How many subnets a rule parameter excludes. by is a tag (key or key=value), or vpcIds."""

    by: str
    subnets: int


@dataclass(frozen=True, slots=True)
class Summary:
    """How many subnets have each compliance, each reason that occurs, and each exclusion."""

    subnets: int
    counts: Mapping[Compliance, int]
    reasons: Mapping[Reason, int]
    excluded: tuple[ExcludedSubnets, ...] = ()

    @property
    def unresolved(self) -> int:
        """How many subnets have no path that could be followed to its end: UNRESOLVED_EGRESS and DROPPED."""
        return self.reasons.get(Reason.UNRESOLVED_EGRESS, 0) + self.reasons.get(Reason.DROPPED, 0)


def summarize(verdicts: Iterable[Verdict]) -> Summary:
    """Count verdicts; reasons are in the order of severity, exclusions by name."""
    counts, reasons, excluded = Counter[Compliance](), Counter[Reason](), Counter[str]()
    for verdict in verdicts:
        counts[verdict.compliance] += 1
        reasons[verdict.reason] += 1
        if verdict.reason is Reason.EXCLUDED:
            excluded[verdict.excluded_by] += 1
    return Summary(
        counts.total(),
        {compliance: counts[compliance] for compliance in Compliance},
        {reason: reasons[reason] for reason in Reason if reasons[reason]},
        tuple(ExcludedSubnets(by, excluded[by]) for by in sorted(excluded)),
    )

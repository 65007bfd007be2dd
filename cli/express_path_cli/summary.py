"""A result in one sentence: how many subnets have each compliance, and how many are dropped or excluded."""

from collections import Counter
from collections.abc import Iterator, Sequence

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict

COMPLIANCES = (Compliance.NON_COMPLIANT, Compliance.COMPLIANT, Compliance.NOT_APPLICABLE)
"""The compliances in the order in which a summary counts them."""
DROPPED_FIX = (
    "AWS drops the traffic, so S3 Express cannot be reached. Replace or delete the route whose target is gone, add a "
    "subnet in that zone to the transit gateway attachment, or exclude the subnet from VPC Block Public Access; each "
    "verdict says which."
)
"""What to do about subnets whose traffic AWS drops."""
EXCLUDED_FIX = (
    "Anyone who may tag a subnet, a route table or a VPC can exclude subnets: check that each exclusion is intended."
)
"""What to do about excluded subnets."""


def summary(verdicts: Sequence[Verdict]) -> str:
    """How many subnets have each compliance, and how many of them are DROPPED or EXCLUDED, in one sentence."""
    counts = Counter(each.compliance for each in verdicts)
    listed = ", ".join(f"{counts[compliance]} {compliance}" for compliance in COMPLIANCES)
    apart = "; ".join(_apart(verdicts))
    return f"{len(verdicts)} subnet{'' if len(verdicts) == 1 else 's'}: {listed}" + (f" ({apart})" if apart else "")


def _apart(verdicts: Sequence[Verdict]) -> Iterator[str]:
    if dropped(verdicts):
        yield f"{dropped(verdicts)} DROPPED"
    excluded = exclusions(verdicts)
    if excluded:
        ways = ", ".join(f"{number} by {way}" for way, number in excluded.items())
        yield f"{sum(excluded.values())} EXCLUDED, {ways}"


def dropped(verdicts: Sequence[Verdict]) -> int:
    """How many subnets cannot reach S3 Express because AWS drops the traffic."""
    return sum(each.reason is Reason.DROPPED for each in verdicts)


def exclusions(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """How many subnets each tag or parameter excludes, most first."""
    notes = (each.note for each in verdicts if each.reason is Reason.EXCLUDED)
    ways = Counter(note.rpartition(" on ")[0] or "the rule's scope or vpcIds" for note in notes)
    return dict(sorted(ways.items(), key=lambda way: (-way[1], way[0])))


def advice(verdicts: Sequence[Verdict]) -> list[str]:
    """What to do about subnets that are counted separately; empty if there are none."""
    reasons = {each.reason for each in verdicts}
    fixes = {Reason.DROPPED: DROPPED_FIX, Reason.EXCLUDED: EXCLUDED_FIX}
    return [f"{reason}: {fix}" for reason, fix in fixes.items() if reason in reasons]

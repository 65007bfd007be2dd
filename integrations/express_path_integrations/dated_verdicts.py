"""What is known about a subnet at a time, and which of several dated verdicts counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from express_path.domain.path.reasons import Compliance
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict


@dataclass(frozen=True, slots=True)
class DatedVerdict:
    """The verdict on a subnet at a time; at is the ordering timestamp of the evaluation.

    verdict is None if AWS Config has no result for the subnet: it was deleted, or the rule does not apply to it.
    tags describe the subnet, and name its owner. is_complete is False if the verdict was read from AWS Config, which stores
    neither the path, nor the remedy, nor tags.
    """

    subnet_id: str
    at: datetime
    verdict: Verdict | None
    remedy: Remedy | None = None
    is_complete: bool = True
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def fails(self) -> bool:
        """Whether the subnet is NON_COMPLIANT."""
        return self.verdict is not None and self.verdict.compliance is Compliance.NON_COMPLIANT


def newer(one: DatedVerdict, other: DatedVerdict) -> DatedVerdict:
    """Return the newer of two dated verdicts of one subnet; of two with the same time, the one that says more."""
    return max(one, other, key=lambda dated: (dated.at, dated.is_complete))


def confirmed(seen: DatedVerdict, stored: DatedVerdict | None) -> DatedVerdict:
    """Return what counts after AWS Config's stored result was read. stored is None if AWS Config has no result.

    A late event can describe a subnet whose result AWS Config has removed since, so without a result it does not fail.
    If AWS Config delivers a change twice, both evaluations have the same time, but the network can have changed in
    between. So with equal times, the stored result counts.
    """
    if stored is None:
        return replace(seen, verdict=None, remedy=None) if seen.fails else seen
    if stored.at < seen.at:
        return seen
    return replace(seen, at=stored.at) if says_the_same(seen, stored) else stored


def says_the_same(one: DatedVerdict, other: DatedVerdict) -> bool:
    """Return whether two dated verdicts have the same compliance, reason, and annotation."""
    return _said(one) == _said(other)


def _said(dated: DatedVerdict) -> tuple[str, ...]:
    verdict = dated.verdict
    return (verdict.compliance, verdict.reason, verdict.annotation) if verdict else ()

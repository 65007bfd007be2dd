"""Compare a scan with an earlier one, the baseline: which findings are new, unchanged, fixed, or unknown.

A finding is a NON_COMPLIANT subnet. It is identified by account, Region, subnet, and reason.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.history import HistoryPoint, scope_changes

_FLAGGED = Compliance.NON_COMPLIANT
_WITHOUT_A_PATH = frozenset(
    {
        Reason.UNRESOLVED_EGRESS,
        Reason.NOT_OWNED,
        Reason.EXCLUDED,
        Reason.NO_DIRECTORY_BUCKETS,
        Reason.SERVICE_NOT_OFFERED,
        Reason.DELETED,
    }
)
"""The reasons of subnets whose path was not followed to its end. They do not show that a NAT is gone."""


class Mark(StrEnum):
    """What a comparison says about a finding."""

    NEW = "new"
    UNCHANGED = "unchanged"
    FIXED = "fixed"
    UNKNOWN = "unknown"
    REPLACED = "replaced"
    """The subnet is still NON_COMPLIANT, for another reason."""


PAST = (Mark.FIXED, Mark.UNKNOWN, Mark.REPLACED)
"""The marks of findings that only the baseline has."""


class Cause(StrEnum):
    """Why it is unknown whether a finding is fixed. The values are for people, the names for JSON."""

    NOT_READ = "its account and Region were not read"
    NOT_SELECTED = "the subnet was not selected"
    NOT_LISTED = "the subnet is no longer listed"
    PATH_UNKNOWN = "its path is not known"
    OTHER_PARAMETERS = "the rule parameters were different"


class FindingId(NamedTuple):
    """The identity of a finding. A tuple, because findings are sorted, and a scan has many."""

    account_id: str
    region: str
    subnet_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class PastFinding:
    """A finding of the baseline that this scan does not have: FIXED, UNKNOWN, or REPLACED.

    now: the verdict on the subnet in this scan, None if it was not evaluated. cause: why the finding is UNKNOWN.
    """

    finding: FindingId
    vpc_id: str
    mark: Mark
    now: Verdict | None
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class Baseline:
    """The findings of an earlier scan, each with its VPC, and what that scan covered, None if its file lacks that."""

    findings: Mapping[FindingId, str]
    point: HistoryPoint | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the findings of a scan differ from those of the baseline. past: sorted by account, Region and subnet."""

    new: Sequence[Verdict]
    unchanged: Sequence[Verdict]
    past: Sequence[PastFinding]
    marks: Mapping[tuple[str, str, str], Mark] = field(repr=False)

    @property
    def fixed(self) -> Sequence[PastFinding]:
        """The findings whose subnets now have a path without a NAT, or none."""
        return [past for past in self.past if past.mark is Mark.FIXED]

    @property
    def unknown(self) -> Sequence[PastFinding]:
        """The findings of subnets whose path was not decided in this scan."""
        return [past for past in self.past if past.mark is Mark.UNKNOWN]

    def mark(self, verdict: Verdict) -> Mark | None:
        """Return what happened to the finding of a subnet: new, unchanged, fixed, or unknown. None without one."""
        return self.marks.get(subnet_of(verdict))


def compare(
    baseline: Baseline,
    verdicts: Sequence[Verdict],
    listed: Mapping[tuple[str, str], Collection[str]],
    not_read: Collection[str] = (),
) -> Comparison:
    """Compare all verdicts of a scan with the baseline.

    listed: the subnets of each account and Region that was read, evaluated or not. not_read: what could not be read, as
    failures name it.
    """
    current = {_finding_of(verdict): verdict for verdict in verdicts if verdict.compliance is _FLAGGED}
    new = [current[finding] for finding in sorted(current) if finding not in baseline.findings]
    unchanged = [current[finding] for finding in sorted(current) if finding in baseline.findings]
    by_subnet = {subnet_of(verdict): verdict for verdict in verdicts}
    past = [
        _past(finding, vpc_id, by_subnet.get(finding[:3]), listed, not_read)
        for finding, vpc_id in sorted(baseline.findings.items())
        if finding not in current
    ]
    marks = {item.finding[:3]: item.mark for item in past if item.now}
    marks |= dict.fromkeys(map(subnet_of, unchanged), Mark.UNCHANGED) | dict.fromkeys(map(subnet_of, new), Mark.NEW)
    return Comparison(new, unchanged, past, marks)


def notes_on_scope(baseline: Baseline, now: HistoryPoint) -> list[str]:
    """Return how a scan and its baseline differ in what they covered; empty if the baseline does not say it."""
    if baseline.point is None:
        return []
    # What this scan could not read is an error of its own, and what the baseline lacks is named below.
    before = replace(baseline.point, not_read=now.not_read)
    changes = [f"since the baseline, {change}" for change in scope_changes(before, now)]
    return changes + [f"the baseline lacks {where}: findings there count as new" for where in baseline.point.not_read]


def _past(
    finding: FindingId,
    vpc_id: str,
    now: Verdict | None,
    listed: Mapping[tuple[str, str], Collection[str]],
    not_read: Collection[str],
) -> PastFinding:
    if now and now.compliance is _FLAGGED:
        return PastFinding(finding, vpc_id, Mark.REPLACED, now)
    cause = _cause(finding, now, listed, not_read)
    return PastFinding(finding, vpc_id, Mark.UNKNOWN if cause else Mark.FIXED, now, cause)


def _cause(
    finding: FindingId,
    now: Verdict | None,
    listed: Mapping[tuple[str, str], Collection[str]],
    not_read: Collection[str],
) -> Cause | None:
    """Return why it is unknown whether a finding is fixed, None if it is fixed.

    An aggregator may contain an outdated copy of an account that it could not read.
    """
    place = (finding.account_id, finding.region)
    if place not in listed or f"account {finding.account_id} {finding.region}" in not_read:
        return Cause.NOT_READ
    if now is None:
        return Cause.NOT_SELECTED if finding.subnet_id in listed[place] else Cause.NOT_LISTED
    if now.reason == finding.reason:
        return Cause.OTHER_PARAMETERS
    return Cause.PATH_UNKNOWN if now.reason in _WITHOUT_A_PATH else None


def _finding_of(verdict: Verdict) -> FindingId:
    return FindingId(*subnet_of(verdict), verdict.reason)


def subnet_of(verdict: Verdict) -> tuple[str, str, str]:
    """Return the account, the Region, and the ID of a verdict's subnet."""
    return verdict.account_id, verdict.region, verdict.subnet_id

"""What `org status` found in an organization."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from express_path.domain.path.reasons import SEVERITY_ORDER, Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.result import is_flagged
from express_path_cli.findings.worklist import Worklist, worklist
from express_path_cli.installation.sweeps import Sweep
from express_path_cli.org.aggregate import PlaceKey, PlaceResults
from express_path_cli.org.stack_sets import StackInstance, StackSet
from express_path_cli.terminal.errors import UNDETERMINED, Failure
from express_path_cli.terminal.texts import time_text


class Attention(StrEnum):
    """What needs attention in an account and Region, other than its verdicts, in the order in which it is shown."""

    NO_RESULTS = "NO_RESULTS"
    NOT_CURRENT = "NOT_CURRENT"
    OVERDUE_SWEEP = "OVERDUE_SWEEP"
    AGGREGATOR_DIFFERS = "AGGREGATOR_DIFFERS"


class PlaceNote(NamedTuple):
    """Why an account and Region needs attention, in a sentence."""

    code: Attention
    place: PlaceKey
    text: str


class AccountReason(NamedTuple):
    """An account, and a reason of some of its subnets."""

    account_id: str
    compliance: Compliance
    reason: Reason


@dataclass(frozen=True, slots=True)
class PlaceStatus:
    """One account and Region: its results, the stack instance, and the last sweep.

    results: None if they could not be read. instance: None if no StackSet deploys there. sweep: None if it was not
    read. excluded: how many subnets each tag excludes.
    """

    place: PlaceKey
    results: PlaceResults | None
    instance: StackInstance | None = None
    sweep: Sweep | None = None
    excluded: Mapping[str, int] = field(default_factory=dict)

    def notes(self, now: datetime) -> Iterator[PlaceNote]:
        """Yield what needs attention."""
        if self.results and not self.verdicts and not self._has_nothing_to_report(now):
            text = "the aggregator has no COMPLIANT or NON_COMPLIANT subnet"
            yield PlaceNote(Attention.NO_RESULTS, self.place, text)
        if self.instance and not self.instance.is_current:
            why = f": {self.instance.reason}" if self.instance.reason else ""
            name = self.instance.stack_set.name
            yield PlaceNote(Attention.NOT_CURRENT, self.place, f"the instance of {name} is {self.instance.status}{why}")
        if self.sweep and self.sweep.is_overdue(now):
            last = f"the last sweep was at {time_text(self.sweep.time)}" if self.sweep.time else ""
            yield PlaceNote(Attention.OVERDUE_SWEEP, self.place, last or "there was no sweep in the last three days")
        yield from self._difference()

    def _difference(self) -> Iterator[PlaceNote]:
        """Yield that the last sweep counted more NON_COMPLIANT subnets, if no newer result explains it."""
        if self.results is None or self.sweep is None or self.sweep.time is None:
            return
        counted = self.sweep.gauges.get("NonCompliant", 0)
        has_newer = self.results.newest is not None and self.results.newest > self.sweep.time
        if counted > self.flagged and not has_newer:
            text = (
                f"the last sweep counted {counted} NON_COMPLIANT, the aggregator has {self.flagged}: it is late, or "
                "subnets were deleted or excluded since"
            )
            yield PlaceNote(Attention.AGGREGATOR_DIFFERS, self.place, text)

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """The results; empty if there are none, or if they could not be read."""
        return self.results.verdicts if self.results else ()

    @property
    def flagged(self) -> int:
        """How many subnets the aggregator has as NON_COMPLIANT."""
        return sum(map(is_flagged, self.verdicts))

    def _has_nothing_to_report(self, now: datetime) -> bool:
        """Return whether the last sweep found only NOT_APPLICABLE subnets, which an aggregator does not contain."""
        if self.sweep is None or self.sweep.is_overdue(now) or not self.sweep.gauges:
            return False
        return not self.sweep.gauges.get("NonCompliant") and not self.sweep.gauges.get("Compliant")


@dataclass(frozen=True)
class OrgStatus:
    """The whole organization: every account and Region, sorted; names by account ID; and what could not be read.

    without_rule: the accounts of the organization in which no StackSet and no result is, among them perhaps the
    management account, to which StackSets do not deploy.
    """

    now: datetime
    places: Sequence[PlaceStatus]
    names: Mapping[str, str]
    stack_sets: Sequence[StackSet]
    without_rule: Sequence[str]
    management_account_id: str
    failures: Sequence[Failure]
    remarks: Sequence[str]

    @cached_property
    def verdicts(self) -> Sequence[Verdict]:
        """All results, sorted by account, Region and subnet."""
        found = [verdict for status in self.places for verdict in status.verdicts]
        return sorted(found, key=lambda verdict: (verdict.account_id, verdict.region, verdict.subnet_id))

    @cached_property
    def worklist(self) -> Worklist:
        """What to fix."""
        return worklist(self.verdicts)

    @cached_property
    def notes(self) -> Sequence[PlaceNote]:
        """What else needs attention, sorted."""
        found = [note for status in self.places for note in status.notes(self.now)]
        return sorted(found, key=lambda row: (list(Attention).index(row.code), row.place))

    @property
    def nat_ids(self) -> Sequence[str]:
        """The NATs that flagged subnets use, sorted."""
        return sorted({nat_id for row in self.worklist.flagged for nat_id in row.nat_ids})

    @property
    def by_account(self) -> Mapping[AccountReason, int]:
        """How many subnets of each account have each reason: by account, the worst reason first."""
        counts = Counter(AccountReason(row.account_id, row.compliance, row.reason) for row in self.verdicts)
        return dict(sorted(counts.items(), key=lambda item: (item[0].account_id, SEVERITY_ORDER[item[0].reason])))

    @property
    def exit_status(self) -> int:
        """Return 2 if a result is missing, 1 if something is NON_COMPLIANT or needs attention, else 0."""
        if self.failures or any(row.code is Attention.NO_RESULTS for row in self.notes):
            return UNDETERMINED
        return int(bool(self.notes) or any(map(is_flagged, self.verdicts)))

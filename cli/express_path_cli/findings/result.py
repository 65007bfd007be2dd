"""What a scan found: verdicts, and what could not be read."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain

from express_path.domain.path.reasons import Compliance
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.findings.baseline import Baseline, Comparison, Mark, compare
from express_path_cli.findings.history import HistoryPoint, parameter_values
from express_path_cli.sources.network import View
from express_path_cli.terminal.errors import Failure


@dataclass(frozen=True, slots=True)
class Result:
    """The verdicts to show, sorted by account, Region and subnet, when and how they were made, and what is missing.

    unlisted: the verdicts that were made and are not shown. filters: the --vpc and --tag options, as "--vpc vpc-1".
    comparison: with the baseline, None without one.
    history: what earlier scans and this one covered and found, the oldest first; empty without --history.
    tag_keys: the keys of the tags to show with each subnet.
    """

    verdicts: Sequence[Verdict]
    made_at: datetime
    failures: Sequence[Failure] = ()
    views: Sequence[View] = field(default=(), repr=False)
    notes: Sequence[str] = ()
    parameters: RuleParameters = field(default_factory=RuleParameters)
    unlisted: Sequence[Verdict] = field(default=(), repr=False)
    tag_keys: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    comparison: Comparison | None = None
    history: Sequence[HistoryPoint] = ()

    @property
    def evaluated(self) -> int:
        """How many subnets were evaluated, shown or not."""
        return len(self.verdicts) + len(self.unlisted)

    def mark(self, verdict: Verdict) -> Mark | None:
        """Return what happened to the finding of a subnet since the baseline, None without a baseline or a finding."""
        return self.comparison.mark(verdict) if self.comparison else None

    def compared_with(self, baseline: Baseline) -> Comparison:
        """Return how the findings, shown or not, differ from those of a baseline."""
        listed = {(view.account.id, view.region): frozenset(view.subnet_ids) for view in self.views}
        not_read = [failure.where for failure in self.failures]
        return compare(baseline, [*self.verdicts, *self.unlisted], listed, not_read)

    def as_point(self) -> HistoryPoint:
        """Return what this scan covered and found, as a point of a history."""
        return HistoryPoint(
            self.made_at.astimezone(UTC).replace(microsecond=0),
            Counter(str(verdict.compliance) for verdict in chain(self.verdicts, self.unlisted)),
            Counter(str(verdict.reason) for verdict in chain(self.verdicts, self.unlisted)),
            tuple(sorted(f"{view.account.id} {view.region}" for view in self.views)),
            tuple(failure.where for failure in self.failures),
            self.filters,
            parameter_values(self.parameters),
        )


Render = Callable[[Result], Iterable[str]]
"""A format: returns the document in pieces, because the text of many subnets takes more memory than the result."""


def is_flagged(verdict: Verdict) -> bool:
    """Return whether a verdict is NON_COMPLIANT."""
    return verdict.compliance is Compliance.NON_COMPLIANT

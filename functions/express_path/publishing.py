"""The events about an evaluation, for the event bus of the rule."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from express_path.adapters.aws import Aws
from express_path.adapters.config_rule.events import ConfigEvent
from express_path.adapters.config_rule.results import is_changed
from express_path.adapters.config_rule.stored_results import StoredResult, stored_results_of
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.remedies import Remedies, is_accepted
from express_path.domain.verdict.annotations import reason_of
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.fanout import ResourceType
from express_path.domain.verdict.summary import Summary
from express_path.evaluation import Evaluation
from express_path.events.schema import Fault, PublishedVerdict, RuleRun, SweepCompleted, VerdictChanged
from express_path.events.writer import EventEntry, changed_entry, completed_entry, snapshot_entries, timestamp

StoredResults = Mapping[str, StoredResult] | None
"""The results that AWS Config had before, by subnet; None if they could not be read."""


def rule_run(event: ConfigEvent, evaluation: Evaluation, region: str) -> RuleRun:
    """Return the invocation as events name it. A retry reads again, so its time is later, but its sweep id is the same."""
    sweep_id = f"sweep-{timestamp(event.ordering_timestamp)}" if event.item is None else None
    return RuleRun(event.account_id, region, event.rule_name, evaluation.time, sweep_id)


def results_before(aws: Aws, event: ConfigEvent, evaluation: Evaluation) -> StoredResults:
    """Return the results that AWS Config has before the evaluation is reported. Raise ApiError if they cannot be read."""
    if evaluation.stored is not None or event.is_test or not evaluation.verdicts:
        return evaluation.stored
    subnet_ids = [verdict.subnet_id for verdict in evaluation.verdicts]
    return stored_results_of(aws.config, event.rule_name, ResourceType.SUBNET.value, subnet_ids)


class Publication:
    """The events about one evaluation. stored are AWS Config's results from before the evaluation was reported.

    reported are the results that are reported to AWS Config, by subnet.
    If stored is None, every verdict may be a change, so every verdict is published.
    """

    def __init__(self, run: RuleRun, evaluation: Evaluation, stored: StoredResults) -> None:
        """Prepare; the events are made when they are needed."""
        self.run, self.evaluation, self.stored = run, evaluation, stored
        self.reported = evaluation.results
        self._remedies = Remedies([evaluation.evaluator] if evaluation.evaluator else [])
        self._parts = 0

    def changes(self, subnet_ids: Collection[str]) -> Iterator[EventEntry]:
        """Yield a VerdictChanged for each of these subnets whose compliance or reason changed."""
        wanted = set(subnet_ids)
        for verdict in self.evaluation.verdicts:
            if verdict.subnet_id in wanted and self._is_change(verdict):
                yield changed_entry(self._change(verdict))

    def replacing(self, subnet_ids: Collection[str]) -> dict[str, StoredResult]:
        """Return the reported results of these subnets that AWS Config did not have.

        An evaluation with stored results has no others. If the stored results are unknown, any result may be one of these.
        """
        known = self.stored if self.evaluation.stored is None else None
        return {
            subnet_id: self.reported[subnet_id]
            for subnet_id in subnet_ids
            if known is None or is_changed(self.reported[subnet_id], known.get(subnet_id))
        }

    def healable_since(self) -> Mapping[str, datetime]:
        """Return the subnets of a sweep that a heal can fix, and since when AWS Config has had them as NON_COMPLIANT.

        As far as the network decides: what else blocks a heal, only its plan finds out.
        """
        stored = self.stored or {}
        return {
            verdict.subnet_id: stored[verdict.subnet_id].ordering_timestamp
            for verdict in self.evaluation.everything
            if verdict.compliance is Compliance.NON_COMPLIANT
            and verdict.subnet_id in stored
            and stored[verdict.subnet_id].compliance == Compliance.NON_COMPLIANT
            and is_accepted(self._remedies.of(verdict))
        }

    def snapshot(self) -> Iterator[EventEntry]:
        """Yield the parts of the snapshot of all verdicts."""
        self._parts = 0
        for entry in snapshot_entries(self.run, map(self._published, self.evaluation.everything)):
            self._parts += 1
            yield entry

    def completed(self, summary: Summary, waiting: tuple[str, ...] | None, faults: Sequence[Fault]) -> EventEntry:
        """Return the end of the sweep, after its snapshot, with the subnets that wait for a heal."""
        return completed_entry(SweepCompleted(self.run, self._parts, summary, waiting, faults))

    def _published(self, verdict: Verdict) -> PublishedVerdict:
        snapshot = self.evaluation.snapshot
        tags = snapshot and snapshot.tags_of(verdict.subnet_id, verdict.route_table_id, verdict.vpc_id)
        return PublishedVerdict(verdict, self._remedies.of(verdict), tags.merged() if tags else {})

    def _is_change(self, verdict: Verdict) -> bool:
        """Return whether the compliance or the reason changed.

        AWS Config removes results that are NOT_APPLICABLE, so without a stored result a subnet that is NOT_APPLICABLE
        has not changed, unless it was deleted. AWS Config ignores results that are older than the stored one.
        """
        if self.stored is None:
            return True
        result = self.stored.get(verdict.subnet_id)
        if result is None:
            return verdict.compliance is not Compliance.NOT_APPLICABLE or verdict.reason is Reason.DELETED
        if result.ordering_timestamp > self.reported[verdict.subnet_id].ordering_timestamp:
            return False
        return (result.compliance, reason_of(result.annotation)) != (verdict.compliance, verdict.reason)

    def _change(self, verdict: Verdict) -> VerdictChanged:
        result = self.stored.get(verdict.subnet_id) if self.stored else None
        if result is None:
            return VerdictChanged(self.run, self._published(verdict))
        old = Compliance(result.compliance)
        return VerdictChanged(self.run, self._published(verdict), old, reason_of(result.annotation))

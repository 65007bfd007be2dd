"""Bring the findings of an integration up to date with what messages say. The handler reports the answer.

The rule's events say what changed, and are the only source of paths and remedies. If an event is lost, the next sweep's
snapshot says the same. A finding is written only after AWS Config's stored result was read, so that late, repeated, and
reordered messages cannot bring an old state back.
"""

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from express_path.adapters.aws import Aws
from express_path.adapters.config_rule.stored_results import StoredResult, stored_results, stored_results_of
from express_path.domain.path.reasons import Compliance
from express_path.domain.remedy.remedies import remedy
from express_path.domain.verdict.annotations import read_annotation
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.fanout import ResourceType
from express_path.errors import ApiError, RecordError
from express_path.fields import member
from express_path_integrations.adapters.messages import News
from express_path_integrations.dated_verdicts import DatedVerdict, confirmed, newer
from express_path_integrations.findings import Findings, Rejected, RuleScope, Written

_NOT_ENABLED = "InvalidAccessException"


@dataclass(frozen=True, slots=True)
class IntegrationServices:
    """What is needed: AWS Config's results, the findings of one rule, and the time."""

    aws: Aws
    scope: RuleScope
    findings: Findings
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


def apply_news(services: IntegrationServices, news: Sequence[News]) -> Written:
    """Bring the findings up to date with all these messages together. Raise ApiError, or RecordError for a finding.

    A stored result that cannot be read is rejected, and the findings of its subnet stay as they are.
    """
    try:
        changes = _changes(services, news)
        written = services.findings.write(changes.found) if changes.found else Written()
    except ApiError as error:
        if error.code == _NOT_ENABLED:
            return Written(note="Security Hub is not enabled in this account and Region, so there are no findings")
        raise
    return replace(written, rejected=(*changes.rejected, *written.rejected))


def _changes(services: IntegrationServices, news: Sequence[News]) -> "_Changes":
    """Return the changes that several messages lead to, at most those of one dated verdict for each subnet."""
    changes = _Changes(services)
    covers_passing = services.findings.covers_passing
    swept_rows = (row for part in news for row in part.snapshot if covers_passing or row.fails)
    changes.after_events(
        _newest([*(row for part in news for row in part.changed), *swept_rows]),
        _newest(dated for part in news for dated in part.triggers),
    )
    swept = [part.swept_at for part in news if part.swept_at]
    if swept:
        changes.after_sweep(max(swept))
    return changes


def _newest(dated: Iterable[DatedVerdict]) -> dict[str, DatedVerdict]:
    newest: dict[str, DatedVerdict] = {}
    for seen in dated:
        known = newest.get(seen.subnet_id)
        newest[seen.subnet_id] = newer(known, seen) if known else seen
    return newest


@dataclass(frozen=True, slots=True)
class _Changes:
    """The changes of findings that are found for one batch of messages."""

    services: IntegrationServices
    found: list[Any] = field(default_factory=list)
    subnet_ids: set[str] = field(default_factory=set)
    unreadable: dict[str, Rejected] = field(default_factory=dict)

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """The stored results that could not be read."""
        return tuple(self.unreadable.values())

    def after_events(self, seen: Mapping[str, DatedVerdict], triggers: Mapping[str, DatedVerdict]) -> None:
        """Find the changes that events lead to. Only subnets whose findings would change are looked up in AWS Config.

        A subnet with a trigger only is always looked up, because the trigger does not say what its result is.
        """
        findings = self.services.findings
        existing = findings.of_subnets(sorted(seen.keys() | triggers.keys()))
        to_change = {
            subnet_id: dated
            for subnet_id, dated in seen.items()
            if subnet_id in triggers or findings.changes(existing.get(subnet_id, []), dated)
        }
        stored = self._stored(to_change.keys() | triggers.keys())
        for subnet_id, result in stored.items():
            if subnet_id in to_change:
                current = confirmed(to_change[subnet_id], result)
            else:
                current = result or triggers[subnet_id]
            self._add(existing.get(subnet_id, []), current)

    def after_sweep(self, swept_at: datetime) -> None:
        """Find the changes that remain after a sweep: findings without a result, and results without a finding.

        Subnets that other messages of the batch already lead to are left for the next sweep.
        """
        existing = self.services.findings.active()
        stored = self._all_stored()
        failing = {subnet_id for subnet_id, dated in stored.items() if dated.fails}
        for subnet_id in sorted((existing.keys() | failing) - self.subnet_ids - self.unreadable.keys()):
            current = stored.get(subnet_id) or DatedVerdict(subnet_id, swept_at, None)
            self._add(existing.get(subnet_id, []), current)

    def _add(self, existing: Sequence[Any], current: DatedVerdict) -> None:
        changes = self.services.findings.changes(existing, current)
        if changes:
            self.subnet_ids.add(current.subnet_id)
            self.found.extend(changes)

    def _stored(self, subnet_ids: Collection[str]) -> dict[str, DatedVerdict | None]:
        """Return AWS Config's stored results of these subnets, None for those without a result."""
        ordered, scope = sorted(subnet_ids), self.services.scope
        results = stored_results_of(self.services.aws.config, scope.rule_name, ResourceType.SUBNET.value, ordered)
        found = {subnet_id: results.get(subnet_id) for subnet_id in ordered}
        read = self._read({subnet_id: result for subnet_id, result in found.items() if result})
        return {subnet_id: read.get(subnet_id) for subnet_id in found if subnet_id not in self.unreadable}

    def _all_stored(self) -> dict[str, DatedVerdict]:
        return self._read(stored_results(self.services.aws.config, self.services.scope.rule_name))

    def _read(self, results: Mapping[str, StoredResult]) -> dict[str, DatedVerdict]:
        """Return what these results say, and keep those that cannot be read: one of them must not stop the others."""
        read: dict[str, DatedVerdict] = {}
        for subnet_id, result in results.items():
            try:
                read[subnet_id] = _dated_verdict(self.services.scope, subnet_id, result)
            except RecordError as error:
                self.unreadable[subnet_id] = Rejected(subnet_id, type(error).__name__, str(error))
        return read


def _dated_verdict(scope: RuleScope, subnet_id: str, result: StoredResult) -> DatedVerdict:
    """Return what a stored result says. Raise RecordError if it is not one of this rule."""
    place = f"result of {subnet_id}"
    said = read_annotation(result.annotation)
    if said is None:
        raise RecordError(place, "Annotation", result.annotation, "one of this rule")
    verdict = Verdict(
        scope.account_id,
        scope.region,
        "",
        subnet_id,
        "",
        said.route_table_id,
        member(result._asdict(), "compliance", place, Compliance),
        said.reason,
        result.annotation,
    )
    what_to_do = remedy(verdict, None)
    if what_to_do:
        what_to_do = replace(
            what_to_do, command=f"express-path explain {shlex.quote(subnet_id)} --region {scope.region}"
        )
    return DatedVerdict(subnet_id, result.ordering_timestamp, verdict, what_to_do, is_complete=False)

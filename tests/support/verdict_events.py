"""Read the events that the rule publishes, strictly, as a consumer does."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TypeVar

from express_path.domain.network.resources import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.summary import ExcludedSubnets, Summary
from express_path.errors import RecordError
from express_path.events.schema import (
    SCHEMA_VERSION,
    SOURCE,
    SWEEP_COMPLETED,
    VERDICT_CHANGED,
    VERDICT_SNAPSHOT,
    PublishedVerdict,
    RuleRun,
    SweepCompleted,
    VerdictChanged,
    VerdictSnapshot,
)
from express_path.fields import (
    Description,
    count,
    identifier,
    member,
    nested,
    optional_free_text,
    optional_identifier,
    plain_json,
    required_object,
    required_rows,
    time,
    word,
)

VerdictEvent = VerdictChanged | VerdictSnapshot | SweepCompleted
_Member = TypeVar("_Member", bound=StrEnum)


def parse_verdict_event(event: object) -> VerdictEvent:
    """Read an event as EventBridge delivers it. Keys that are not known are ignored.

    Raise RecordError that names the field, the value, and what is allowed. The account and the Region of the detail must
    be those of the event, which EventBridge sets, and not whoever puts it on a bus.
    """
    found = plain_json(event, "event")
    word(found, "source", "event", [SOURCE])
    detail_type = word(found, "detail-type", "event", _READERS)
    detail = required_object(found, "detail", "event")
    if detail.get("schemaVersion") != SCHEMA_VERSION:
        raise RecordError("detail", "schemaVersion", detail.get("schemaVersion"), str(SCHEMA_VERSION))
    run = _run(detail)
    for field, named in (("account", run.account_id), ("region", run.region)):
        word(found, field, "event", [named])
    return _READERS[detail_type](detail, run)


def _changed(detail: Description, run: RuleRun) -> VerdictChanged:
    new = required_object(detail, "new", "detail")
    found = {**detail, "compliance": new.get("compliance"), "reason": new.get("reason")}
    published = _verdict(run, found, "detail", "detail.new")
    if detail.get("old") is None:
        return VerdictChanged(run, published)
    old = required_object(detail, "old", "detail")
    has_reason = bool(optional_free_text(old, "reason", "detail.old"))
    return VerdictChanged(
        run,
        published,
        member(old, "compliance", "detail.old", Compliance),
        member(old, "reason", "detail.old", Reason) if has_reason else None,
    )


def _snapshot(detail: Description, run: RuleRun) -> VerdictSnapshot:
    part, parts = count(detail, "part", "detail", least=1), count(detail, "parts", "detail", least=1)
    if part > parts:
        raise RecordError("detail", "part", part, f"at most the number of parts, {parts}")
    rows = enumerate(required_rows(detail, "verdicts", "detail"))
    return VerdictSnapshot(
        run, part, parts, tuple(_verdict(run, row, place := f"detail.verdicts[{index}]", place) for index, row in rows)
    )


def _completed(detail: Description, run: RuleRun) -> SweepCompleted:
    excluded = (
        ExcludedSubnets(identifier(row, "by", place := f"detail.excluded[{index}]"), count(row, "subnets", place))
        for index, row in enumerate(required_rows(detail, "excluded", "detail"))
    )
    summary = Summary(
        count(detail, "subnets", "detail"),
        _counts(detail, "counts", Compliance),
        _counts(detail, "reasons", Reason),
        tuple(excluded),
    )
    waiting = detail["waiting"] and tuple(detail["waiting"]["subnetIds"])
    return SweepCompleted(run, count(detail, "parts", "detail", least=1), summary, waiting)


_READERS: Mapping[str, Callable[[Description, RuleRun], VerdictEvent]] = {
    VERDICT_CHANGED: _changed,
    VERDICT_SNAPSHOT: _snapshot,
    SWEEP_COMPLETED: _completed,
}


def _run(detail: Description) -> RuleRun:
    return RuleRun(
        identifier(detail, "accountId", "detail"),
        identifier(detail, "region", "detail"),
        identifier(detail, "ruleName", "detail"),
        time(detail, "orderingTimestamp", "detail"),
        optional_free_text(detail, "sweepId", "detail") or None,
    )


def _verdict(run: RuleRun, found: Description, place: str, place_of_reason: str) -> PublishedVerdict:
    path = enumerate(required_rows(found, "path", place))
    verdict = Verdict(
        run.account_id,
        run.region,
        optional_identifier(found, "vpcId", place),
        identifier(found, "subnetId", place),
        optional_identifier(found, "availabilityZoneId", place),
        optional_identifier(found, "routeTableId", place) or None,
        member(found, "compliance", place_of_reason, Compliance),
        member(found, "reason", place_of_reason, Reason),
        identifier(found, "annotation", place),
        tuple(_hop(hop, f"{place}.path[{index}]") for index, hop in path),
    )
    tags = nested(found, "tags", place)
    return PublishedVerdict(
        verdict,
        None if found.get("remedy") is None else _remedy(required_object(found, "remedy", place), f"{place}.remedy"),
        {key: optional_free_text(tags, key, f"{place}.tags") for key in tags},
    )


def _hop(hop: Description, place: str) -> Hop:
    return Hop(
        member(hop, "kind", place, TargetKind),
        optional_free_text(hop, "id", place),
        optional_free_text(hop, "destination", place),
    )


def _remedy(remedy: Description, place: str) -> Remedy:
    return Remedy(
        identifier(remedy, "text", place),
        optional_free_text(remedy, "command", place),
        identifier(remedy, "url", place),
    )


def _counts(detail: Description, field: str, words: type[_Member]) -> dict[_Member, int]:
    """Return numbers by member of an enumeration."""
    counted = required_object(detail, field, "detail")
    for name in counted:
        if name not in list(words):
            raise RecordError("detail", field, name, "an object with any of the names " + ", ".join(words))
    return {words(name): count(counted, name, f"detail.{field}") for name in counted}

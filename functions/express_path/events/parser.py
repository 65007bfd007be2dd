"""Read the events that the rule publishes, strictly, where another function consumes them."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from express_path.domain.network.ids import wrong_form
from express_path.domain.network.resources import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.summary import ExcludedSubnets, Summary
from express_path.errors import EventError
from express_path.events.checks import checked, time_of
from express_path.events.schema import (
    SCHEMA_VERSION,
    SOURCE,
    SWEEP_COMPLETED,
    VERDICT_CHANGED,
    VERDICT_SNAPSHOT,
    EarlierResult,
    PublishedVerdict,
    RuleRun,
    SweepCompleted,
    VerdictChanged,
    VerdictEvent,
    VerdictSnapshot,
)

_Member = TypeVar("_Member", bound=StrEnum)
_Row = TypeVar("_Row")


def parse_verdict_event(event: object) -> VerdictEvent:
    """Read an event as EventBridge delivers it. Keys that are not known are ignored.

    Raise EventError that names the field, the value, and what is allowed.
    """
    found = checked(event, "event")
    if found.get("source") != SOURCE:
        raise EventError("source", found.get("source"), SOURCE)
    detail_type = found.get("detail-type")
    if not isinstance(detail_type, str) or detail_type not in _READERS:
        raise EventError("detail-type", detail_type, "one of " + ", ".join(_READERS))
    detail = _Fields(found, "").object("detail")
    if detail.values.get("schemaVersion") != SCHEMA_VERSION:
        raise EventError("detail.schemaVersion", detail.values.get("schemaVersion"), str(SCHEMA_VERSION))
    return _READERS[detail_type](detail)


def verdict_of(run: RuleRun, published: PublishedVerdict) -> Verdict:
    """Return the verdict that an event of this invocation contains."""
    return Verdict(
        run.account_id,
        run.region,
        published.vpc_id,
        published.subnet_id,
        published.availability_zone_id,
        published.route_table_id,
        published.compliance,
        published.reason,
        published.annotation,
        published.path,
    )


class _Fields:
    """The fields of one object of an event; path is its place, for errors."""

    def __init__(self, values: Mapping[str, Any], path: str) -> None:
        self.values, self.path = values, path

    def text(self, field: str) -> str:
        """Return a non-empty text; an id has its form."""
        found = self.values.get(field)
        if not isinstance(found, str) or not found:
            raise self._invalid(field, "a non-empty string")
        if allowed := wrong_form(found, field):
            raise self._invalid(field, allowed)
        return found

    def optional_text(self, field: str) -> str:
        """Return a text, empty if it is null or absent."""
        found = self.values.get(field)
        if found is not None and not isinstance(found, str):
            raise self._invalid(field, "a string or null")
        return found or ""

    def number(self, field: str, least: int = 0) -> int:
        """Return a whole number that is not smaller than the least one."""
        found = self.values.get(field)
        if not isinstance(found, int) or isinstance(found, bool) or found < least:
            raise self._invalid(field, f"a whole number of at least {least}")
        return found

    def member(self, field: str, values: type[_Member]) -> _Member:
        """Return a word that must be a member of an enumeration."""
        found = self.text(field)
        if found not in list(values):
            raise self._invalid(field, "one of " + ", ".join(values))
        return values(found)

    def time(self, field: str) -> datetime:
        """Return a time with a time zone."""
        return time_of(self.values.get(field), f"{self.path}{field}")

    def object(self, field: str) -> "_Fields":
        """Return an object."""
        found = self.values.get(field)
        if not isinstance(found, Mapping):
            raise self._invalid(field, "an object")
        return _Fields(found, f"{self.path}{field}.")

    def optional(self, field: str, read: Callable[["_Fields"], _Row]) -> _Row | None:
        """Return what is read from an object, None if it is null or absent."""
        return None if self.values.get(field) is None else read(self.object(field))

    def rows(self, field: str, read: Callable[["_Fields"], _Row]) -> tuple[_Row, ...]:
        """Return what is read from each object of a list."""
        found = self.values.get(field)
        if not isinstance(found, list) or not all(isinstance(row, Mapping) for row in found):
            raise self._invalid(field, "a list of objects")
        return tuple(read(_Fields(row, f"{self.path}{field}[{index}].")) for index, row in enumerate(found))

    def counts(self, field: str, values: type[_Member]) -> dict[_Member, int]:
        """Return numbers by member of an enumeration."""
        counted = self.object(field)
        for name in counted.values:
            if name not in list(values):
                raise EventError(self.path + field, name, "an object with any of the names " + ", ".join(values))
        return {values(name): counted.number(name) for name in counted.values}

    def _invalid(self, field: str, allowed: str) -> EventError:
        return EventError(self.path + field, self.values.get(field), allowed)


def _changed(detail: _Fields) -> VerdictChanged:
    new = detail.object("new")
    verdict = _verdict(detail, new.member("compliance", Compliance), new.member("reason", Reason))
    return VerdictChanged(_run(detail), detail.optional("old", _earlier), verdict)


def _snapshot(detail: _Fields) -> VerdictSnapshot:
    run, parts = _run(detail), detail.number("parts", least=1)
    part = detail.number("part", least=1)
    if part > parts:
        raise EventError("detail.part", part, f"at most the number of parts, {parts}")
    return VerdictSnapshot(run, part, parts, detail.rows("verdicts", _row))


def _completed(detail: _Fields) -> SweepCompleted:
    summary = Summary(
        detail.number("subnets"),
        detail.counts("counts", Compliance),
        detail.counts("reasons", Reason),
        detail.rows("excluded", lambda row: ExcludedSubnets(row.text("by"), row.number("subnets"))),
    )
    return SweepCompleted(_run(detail), detail.number("parts", least=1), summary)


_READERS: Mapping[str, Callable[[_Fields], VerdictEvent]] = {
    VERDICT_CHANGED: _changed,
    VERDICT_SNAPSHOT: _snapshot,
    SWEEP_COMPLETED: _completed,
}


def _run(detail: _Fields) -> RuleRun:
    return RuleRun(
        detail.text("accountId"),
        detail.text("region"),
        detail.text("ruleName"),
        detail.time("orderingTimestamp"),
        detail.optional_text("sweepId") or None,
    )


def _earlier(old: _Fields) -> EarlierResult:
    reason = old.member("reason", Reason) if old.optional_text("reason") else None
    return EarlierResult(old.member("compliance", Compliance), reason)


def _row(row: _Fields) -> PublishedVerdict:
    return _verdict(row, row.member("compliance", Compliance), row.member("reason", Reason))


def _verdict(fields: _Fields, compliance: Compliance, reason: Reason) -> PublishedVerdict:
    return PublishedVerdict(
        fields.optional_text("vpcId"),
        fields.text("subnetId"),
        fields.optional_text("availabilityZoneId"),
        fields.optional_text("routeTableId") or None,
        compliance,
        reason,
        fields.text("annotation"),
        fields.rows("path", _hop),
        fields.optional("remedy", _remedy),
    )


def _hop(hop: _Fields) -> Hop:
    return Hop(hop.member("kind", TargetKind), hop.optional_text("id"), hop.optional_text("destination"))


def _remedy(remedy: _Fields) -> Remedy:
    return Remedy(remedy.text("text"), remedy.optional_text("command"), remedy.text("url"))

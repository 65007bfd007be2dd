"""The events that the rule publishes on EventBridge: their records, and the entries made of them.

docs/events.md describes them, and docs/verdict-event.schema.json is their JSON Schema.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from express_path.adapters.event_bus import MAX_BYTES, Entry
from express_path.domain.network.arns import subnet_arn
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.summary import Summary

SOURCE = "express-path"
SCHEMA_VERSION = 1
VERDICT_CHANGED, VERDICT_SNAPSHOT, SWEEP_COMPLETED = "VerdictChanged", "VerdictSnapshot", "SweepCompleted"
_FRAME_BYTES = 10_000
"""Room in a snapshot's entry for everything but its verdicts."""
_ROUTE_TABLES = 10_000
"""For how many route tables paths and remedies are kept as text, about 1 KB each: their subnets share them."""


@dataclass(frozen=True, slots=True)
class RuleRun:
    """The invocation of the rule that an event is about.

    sweep_id is None unless the rule was invoked on schedule. It is the same at each retry of the invocation.
    """

    account_id: str
    region: str
    rule_name: str
    ordering_timestamp: datetime
    sweep_id: str | None = None


@dataclass(frozen=True, slots=True)
class PublishedVerdict:
    """A verdict in an event. vpc_id and availability_zone_id are empty, and route_table_id is None, if not known.

    The remedy is None if nothing has to change.
    """

    vpc_id: str
    subnet_id: str
    availability_zone_id: str
    route_table_id: str | None
    compliance: Compliance
    reason: Reason
    annotation: str
    path: tuple[Hop, ...] = ()
    remedy: Remedy | None = None

    @classmethod
    def of(cls, verdict: Verdict, remedy: Remedy | None) -> "PublishedVerdict":
        """Return what events say about a verdict."""
        return cls(
            verdict.vpc_id,
            verdict.subnet_id,
            verdict.availability_zone_id,
            verdict.route_table_id,
            verdict.compliance,
            verdict.reason,
            verdict.annotation,
            verdict.path,
            remedy and _as_published(remedy),
        )


@lru_cache(maxsize=_ROUTE_TABLES)
def _as_published(remedy: Remedy) -> Remedy:
    """Return a remedy with its note as part of the text, and without patches."""
    return Remedy(remedy.advice, remedy.command, remedy.url)


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """The result that AWS Config had before. reason is None if the annotation does not start with a known reason."""

    compliance: Compliance
    reason: Reason | None


@dataclass(frozen=True, slots=True)
class VerdictChanged:
    """The compliance or the reason of one subnet changed. old is None if AWS Config had no result."""

    run: RuleRun
    old: EarlierResult | None
    new: PublishedVerdict


@dataclass(frozen=True, slots=True)
class VerdictSnapshot:
    """A part of the verdicts of all subnets, after a sweep. Parts are counted from 1."""

    run: RuleRun
    part: int
    parts: int
    verdicts: tuple[PublishedVerdict, ...]


@dataclass(frozen=True, slots=True)
class SweepCompleted:
    """The end of a sweep: how many parts its snapshot has, and its subnets in numbers."""

    run: RuleRun
    parts: int
    summary: Summary


VerdictEvent = VerdictChanged | VerdictSnapshot | SweepCompleted


def changed_entry(event: VerdictChanged) -> Entry:
    """Return the entry of a VerdictChanged."""
    verdict = event.new
    detail = _dump(
        {
            **_common(event.run),
            **_verdict_fields(verdict),
            "old": event.old and {"compliance": event.old.compliance, "reason": event.old.reason},
            "new": {"compliance": verdict.compliance, "reason": verdict.reason},
        }
    )
    detail = f'{detail[:-1]},"path":{_path_text(verdict.path)},"remedy":{_remedy_text(verdict.remedy)}}}'
    resources = (subnet_arn(event.run.account_id, event.run.region, verdict.subnet_id),)
    return _entry(event.run, VERDICT_CHANGED, detail, resources)


def snapshot_entries(run: RuleRun, verdicts: Iterable[PublishedVerdict]) -> Iterator[Entry]:
    """Yield the VerdictSnapshot entries of all verdicts: as few as the size of an entry allows, and at least one."""
    parts = list(_filled_parts(map(_verdict_text, verdicts))) or [""]
    for number, rows in enumerate(parts, start=1):
        frame = _dump({**_common(run), "part": number, "parts": len(parts)})
        yield _entry(run, VERDICT_SNAPSHOT, f'{frame[:-1]},"verdicts":[{rows}]}}')


def completed_entry(event: SweepCompleted) -> Entry:
    """Return the entry of a SweepCompleted."""
    detail = {
        **_common(event.run),
        "parts": event.parts,
        **summary_json(event.summary),
    }
    return _entry(event.run, SWEEP_COMPLETED, _dump(detail))


def summary_json(summary: Summary) -> dict[str, Any]:
    """Return a summary as JSON, for events and the log."""
    return {
        "subnets": summary.subnets,
        "counts": dict(summary.counts),
        "reasons": dict(summary.reasons),
        "excluded": [asdict(excluded) for excluded in summary.excluded],
    }


def timestamp(time: datetime) -> str:
    """Return a time in UTC with milliseconds, such as 2026-11-22T23:14:05.123Z."""
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _filled_parts(rows: Iterable[str]) -> Iterator[str]:
    """Yield the verdicts of one entry after the other, separated by commas."""
    part: list[str] = []
    size = 0
    for row in rows:
        if part and size + len(row) + 1 > MAX_BYTES - _FRAME_BYTES:
            yield ",".join(part)
            part, size = [], 0
        part.append(row)
        size += len(row) + 1
    if part:
        yield ",".join(part)


def _common(run: RuleRun) -> dict[str, Any]:
    return {
        "schemaVersion": SCHEMA_VERSION,
        "accountId": run.account_id,
        "region": run.region,
        "ruleName": run.rule_name,
        "orderingTimestamp": timestamp(run.ordering_timestamp),
        "sweepId": run.sweep_id,
    }


def _verdict_fields(verdict: PublishedVerdict) -> dict[str, Any]:
    """Return the fields of a verdict except for those that it shares with other subnets of its route table."""
    return {
        "vpcId": verdict.vpc_id,
        "subnetId": verdict.subnet_id,
        "availabilityZoneId": verdict.availability_zone_id,
        "routeTableId": verdict.route_table_id,
        "annotation": verdict.annotation,
    }


def _verdict_text(verdict: PublishedVerdict) -> str:
    """Return a verdict of a snapshot as JSON text."""
    result = {"compliance": verdict.compliance, "reason": verdict.reason}
    fields = _dump(_verdict_fields(verdict) | result)
    return f'{fields[:-1]},"path":{_path_text(verdict.path)},"remedy":{_remedy_text(verdict.remedy)}}}'


@lru_cache(maxsize=_ROUTE_TABLES)
def _path_text(path: tuple[Hop, ...]) -> str:
    return _dump([hop._asdict() for hop in path])


@lru_cache(maxsize=_ROUTE_TABLES)
def _remedy_text(remedy: Remedy | None) -> str:
    return _dump(remedy and {"text": remedy.text, "command": remedy.command, "url": remedy.url})


def _entry(run: RuleRun, detail_type: str, detail: str, resources: tuple[str, ...] = ()) -> Entry:
    return Entry(SOURCE, detail_type, resources, run.ordering_timestamp, detail)


_dump = json.JSONEncoder(separators=(",", ":")).encode
"""Return JSON in ASCII without white space, so that its length is its size in bytes."""

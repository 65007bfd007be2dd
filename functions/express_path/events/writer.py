"""Write the rule's events as entries of an event bus."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from express_path.domain.network.resources import subnet_arn
from express_path.domain.verdict.summary import Summary
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
)

MAX_BYTES = 240_000
"""The most bytes of one request, all entries together. AWS documents two limits, 256 KB
(https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html) and, since 2026, 1 MB
(https://aws.amazon.com/blogs/compute/more-room-to-build-serverless-services-now-support-payloads-up-to-1-mb). This
is below both, with room for what EventBridge adds to an event."""
_FRAME_BYTES = 10_000
"""Room in a snapshot's entry for everything but its verdicts."""
_TIME_BYTES = 14
MAX_TAGS = 50
"""The most tags of one subnet in an event. EC2 allows 50 tags of at most 384 characters for each resource
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html#tag-restrictions), so that an event of one subnet is never too
large, whatever its tags are."""


@dataclass(frozen=True, slots=True)
class EventEntry:
    """One event to put on a bus. detail is JSON text in ASCII; time has a precision of seconds in EventBridge."""

    source: str
    detail_type: str
    resources: tuple[str, ...]
    time: datetime
    detail: str

    @property
    def size(self) -> int:
        """How many bytes EventBridge counts.

        Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
        """
        texts = (self.source, self.detail_type, self.detail, *self.resources)
        return _TIME_BYTES + sum(len(text.encode()) for text in texts)


dump = json.JSONEncoder(separators=(",", ":")).encode
"""Return JSON in ASCII without white space, so that its length is its size in bytes."""


def changed_entry(event: VerdictChanged) -> EventEntry:
    """Return the entry of a VerdictChanged."""
    verdict = event.new.verdict
    detail = {
        **_common(event.run),
        **_described(event.new),
        "old": event.old_compliance and {"compliance": event.old_compliance, "reason": event.old_reason},
        "new": {"compliance": verdict.compliance, "reason": verdict.reason},
    }
    resources = (subnet_arn(event.run.account_id, event.run.region, verdict.subnet_id),)
    return _entry(event.run, VERDICT_CHANGED, detail, resources)


def snapshot_entries(run: RuleRun, verdicts: Iterable[PublishedVerdict]) -> Iterator[EventEntry]:
    """Yield the VerdictSnapshot entries of all verdicts: as few as the size of an entry allows, and at least one."""
    parts = list(_parts(verdicts)) or [[]]
    for number, part in enumerate(parts, start=1):
        detail = {**_common(run), "part": number, "parts": len(parts), "verdicts": [_row(verdict) for verdict in part]}
        yield _entry(run, VERDICT_SNAPSHOT, detail)


def completed_entry(event: SweepCompleted) -> EventEntry:
    """Return the entry of a SweepCompleted."""
    detail = {
        **_common(event.run),
        "parts": event.parts,
        **summary_json(event.summary),
        "waiting": waiting_json(event.waiting, event.run.region),
        "faults": [asdict(fault) for fault in event.faults],
    }
    return _entry(event.run, SWEEP_COMPLETED, detail)


def waiting_json(waiting: tuple[str, ...] | None, region: str) -> dict[str, Any] | None:
    """Return the subnets that wait for a heal, and the command that starts it, as JSON, for events and the log."""
    return None if waiting is None else {"subnetIds": list(waiting), "command": start_command(region)}


def start_command(region: str) -> str:
    """Return the command that starts the heals of a Region for which AWS Config has not done so."""
    return f"express-path start --region {region}"


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


def _parts(verdicts: Iterable[PublishedVerdict]) -> Iterator[list[PublishedVerdict]]:
    """Yield the verdicts of one entry after the other. Verdicts take less memory than their JSON."""
    part: list[PublishedVerdict] = []
    size = 0
    for verdict in verdicts:
        length = len(dump(_row(verdict))) + 1
        if part and size + length > MAX_BYTES - _FRAME_BYTES:
            yield part
            part, size = [], 0
        part.append(verdict)
        size += length
    if part:
        yield part


def _common(run: RuleRun) -> dict[str, Any]:
    return {
        "schemaVersion": SCHEMA_VERSION,
        "accountId": run.account_id,
        "region": run.region,
        "ruleName": run.rule_name,
        "orderingTimestamp": timestamp(run.ordering_timestamp),
        "sweepId": run.sweep_id,
    }


def _row(published: PublishedVerdict) -> dict[str, Any]:
    """Return a verdict of a snapshot as JSON."""
    verdict = published.verdict
    return {**_described(published), "compliance": verdict.compliance, "reason": verdict.reason}


def _described(published: PublishedVerdict) -> dict[str, Any]:
    """Return what all events with a verdict say about it, except for its compliance and reason."""
    verdict, remedy = published.verdict, published.remedy
    return {
        "vpcId": verdict.vpc_id,
        "subnetId": verdict.subnet_id,
        "availabilityZoneId": verdict.availability_zone_id,
        "routeTableId": verdict.route_table_id,
        "annotation": verdict.annotation,
        "path": [hop._asdict() for hop in verdict.path],
        "remedy": remedy and {"text": remedy.advice, "command": remedy.command, "url": remedy.url},
        "tags": dict(islice(published.tags.items(), MAX_TAGS)),
    }


def _entry(run: RuleRun, detail_type: str, detail: dict[str, Any], resources: tuple[str, ...] = ()) -> EventEntry:
    return EventEntry(SOURCE, detail_type, resources, run.ordering_timestamp, dump(detail))

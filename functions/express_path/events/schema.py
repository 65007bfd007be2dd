"""The events that the rule publishes on its event bus, as records.

docs/events.md describes them, and docs/verdict-event.schema.json is their JSON Schema.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.summary import Summary

SOURCE = "express-path"
SCHEMA_VERSION = 1
VERDICT_CHANGED, VERDICT_SNAPSHOT, SWEEP_COMPLETED = "VerdictChanged", "VerdictSnapshot", "SweepCompleted"
_ROUTE_TABLES = 10_000
"""For how many route tables remedies are kept: their subnets share them."""


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

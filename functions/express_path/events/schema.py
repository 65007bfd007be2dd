"""The events that the rule publishes on its event bus, as records.

docs/integrations.md describes them, and cli/express_path_cli/schema/verdict-event.schema.json is their JSON Schema.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.summary import Summary

SOURCE = "express-path"
SCHEMA_VERSION = 1
VERDICT_CHANGED, VERDICT_SNAPSHOT, SWEEP_COMPLETED = "VerdictChanged", "VerdictSnapshot", "SweepCompleted"


@dataclass(frozen=True, slots=True)
class RuleRun:
    """The invocation of the rule that an event is about.

    ordering_timestamp is when the rule began to read EC2. sweep_id is None unless the rule was invoked on schedule. It is
    the same at each retry of the invocation.
    """

    account_id: str
    region: str
    rule_name: str
    ordering_timestamp: datetime
    sweep_id: str | None = None


@dataclass(frozen=True, slots=True)
class PublishedVerdict:
    """A verdict in an event, and what to do; None if nothing has to change.

    tags describe the subnet: its own, those of its route table, and those of its VPC. They name its owner.
    Events do not contain the verdict's note, nor the API operation that it lacks. The note of a remedy is part of its text.
    """

    verdict: Verdict
    remedy: Remedy | None = None
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class VerdictChanged:
    """The compliance or the reason of one subnet changed.

    old_compliance is None if AWS Config had no result. old_reason is None, too, if the result that it had does not start
    with a known reason.
    """

    run: RuleRun
    new: PublishedVerdict
    old_compliance: Compliance | None = None
    old_reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class VerdictSnapshot:
    """A part of the verdicts of all subnets, after a sweep. Parts are counted from 1."""

    run: RuleRun
    part: int
    parts: int
    verdicts: tuple[PublishedVerdict, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that does not work: which component, and what is wrong with it, in a sentence."""

    component: str
    problem: str


@dataclass(frozen=True, slots=True)
class SweepCompleted:
    """The end of a sweep: how many parts its snapshot has, its subnets in numbers, and what it found to be broken.

    waiting are the subnets that AWS Config should have healed and has not started for a day, None if that is not known.
    """

    run: RuleRun
    parts: int
    summary: Summary
    waiting: tuple[str, ...] | None = ()
    faults: Sequence[Fault] = ()

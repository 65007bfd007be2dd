"""What a scan found: verdicts, and what could not be looked at."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from express_path.domain.path.reasons import Compliance
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account, Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ExpressPathError
from express_path_cli.account_access import AccountAccess


class View(NamedTuple):
    """One account in one Region: for whom, in which network, and the subnets that it lists."""

    account: Account
    tracer: Tracer
    subnet_ids: tuple[str, ...]

    @property
    def region(self) -> str:
        """The Region, such as us-east-1."""
        return self.tracer.snapshot.region

    def evaluator(self, parameters: RuleParameters) -> Evaluator:
        """The evaluator of this account's subnets."""
        return Evaluator(self.tracer, parameters, self.account)


class Failure(NamedTuple):
    """What could not be looked at, such as an account or one of its Regions, and why."""

    where: str
    error: ExpressPathError


@dataclass(frozen=True)
class Seen:
    """What was looked at, what could not be, what to know of the source, and how to get back to its accounts."""

    views: Sequence[View] = ()
    failures: Sequence[Failure] = ()
    notes: Sequence[str] = ()
    reach: AccountAccess = field(default_factory=AccountAccess, repr=False)


@dataclass(frozen=True)
class Result:
    """The verdicts to show, sorted by account, Region and subnet; when and how they were made; and what is missing."""

    verdicts: Sequence[Verdict]
    made_at: datetime
    failures: Sequence[Failure] = ()
    views: Sequence[View] = field(default=(), repr=False)
    notes: Sequence[str] = ()
    parameters: RuleParameters = field(default_factory=RuleParameters)


Render = Callable[[Result], Iterable[str]]
"""A format: the whole document as text, in pieces, since of many subnets it takes more memory than the result."""


def is_flagged(verdict: Verdict) -> bool:
    """Whether a verdict says that something should change."""
    return verdict.compliance is Compliance.NON_COMPLIANT

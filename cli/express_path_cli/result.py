"""What a scan found: verdicts, and what could not be read."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from express_path.domain.path.reasons import Compliance
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account, Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ExpressPathError
from express_path_cli.account_access import AccountAccess


@dataclass(frozen=True, slots=True)
class View:
    """One account in one Region: the account, the network that its traffic is traced in, and the subnets it lists."""

    account: Account
    tracer: Tracer
    subnet_ids: tuple[str, ...]

    @property
    def region(self) -> str:
        """The Region, such as us-east-1."""
        return self.tracer.snapshot.region

    def evaluator(self, parameters: RuleParameters) -> Evaluator:
        """Return the evaluator of this account's subnets."""
        return Evaluator(self.tracer, parameters, self.account)


@dataclass(frozen=True, slots=True)
class Failure:
    """What could not be read, such as an account or one of its Regions, and why."""

    where: str
    error: ExpressPathError


@dataclass(frozen=True, slots=True)
class NetworkViews:
    """The views that were read, what could not be read, notes on the source, and access to the accounts."""

    views: Sequence[View] = ()
    failures: Sequence[Failure] = ()
    notes: Sequence[str] = ()
    account_access: AccountAccess = field(default_factory=AccountAccess, repr=False)


@dataclass(frozen=True, slots=True)
class Result:
    """The verdicts to show, sorted by account, Region and subnet, when and how they were made, and what is missing.

    evaluated: how many subnets were evaluated, if some verdicts are not shown; None if all are.
    tag_keys: the keys of the tags to show with each subnet.
    """

    verdicts: Sequence[Verdict]
    made_at: datetime
    failures: Sequence[Failure] = ()
    views: Sequence[View] = field(default=(), repr=False)
    notes: Sequence[str] = ()
    parameters: RuleParameters = field(default_factory=RuleParameters)
    evaluated: int | None = None
    tag_keys: tuple[str, ...] = ()


Render = Callable[[Result], Iterable[str]]
"""A format: returns the document in pieces, because the text of many subnets takes more memory than the result."""


def is_flagged(verdict: Verdict) -> bool:
    """Return whether a verdict is NON_COMPLIANT."""
    return verdict.compliance is Compliance.NON_COMPLIANT

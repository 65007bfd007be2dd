"""The network that a source read: what each account and Region shows of it, and what could not be read."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account, Evaluator
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.aws.account_access import AccountAccess
from express_path_cli.terminal.errors import Failure


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
class NetworkViews:
    """The views that were read, what could not be read, notes on the source, and access to the accounts."""

    views: Sequence[View] = ()
    failures: Sequence[Failure] = ()
    notes: Sequence[str] = ()
    account_access: AccountAccess = field(default_factory=AccountAccess, repr=False)

"""The network that a source read: what each account and Region shows of it, and access to the accounts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from express_path.domain.network.merging import merged
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account, Evaluator
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.terminal.errors import Failure

if TYPE_CHECKING:
    from express_path.adapters.aws import Aws


@dataclass(frozen=True, slots=True)
class AccountAccess:
    """The clients of each account that was read, by account id, and the network account's role, if there is one.

    A dump and an aggregator give access to no account.
    """

    accounts: Mapping[str, "Aws"] = field(default_factory=dict)
    network_role_arn: str = ""
    external_id: str = ""

    def clients(self, account_id: str | None, region: str) -> "Aws | None":
        """Return the clients of an account in a Region, or None without access to it.

        Raise ApiError if the role cannot be assumed.
        """
        known = self.accounts.get(account_id or "")
        if known:
            return replace(known, region=region)
        if account_id and f"::{account_id}:role/" in self.network_role_arn and self.accounts:
            from express_path.adapters.roles import assuming  # noqa: PLC0415  # dumps do not need boto3

            first = next(iter(self.accounts.values()))
            return assuming(replace(first, region=region), self.network_role_arn, self.external_id)
        return None


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
    """The views that were read, what could not be read, notes on the source, access to the accounts, and their names."""

    views: Sequence[View] = ()
    failures: Sequence[Failure] = ()
    notes: Sequence[str] = ()
    account_access: AccountAccess = field(default_factory=AccountAccess, repr=False)
    account_names: Mapping[str, str] = field(default_factory=dict)


def views_of(snapshots: Sequence[Snapshot]) -> list[View]:
    """Return a view of each snapshot. The accounts of one Region share one network: each may show parts of it."""
    ordered = sorted(snapshots, key=lambda snapshot: (snapshot.region, snapshot.account_id))
    views = []
    for region in dict.fromkeys(snapshot.region for snapshot in ordered):
        here = [snapshot for snapshot in ordered if snapshot.region == region]
        tracer = Tracer(merged(here))
        for snapshot in here:
            own_subnet_ids = tuple(subnet.id for subnet in snapshot.listed_subnets)
            views.append(View(Account.of(snapshot), tracer, own_subnet_ids))
    return views

"""The NATs on flagged paths by the account that owns them, where CloudWatch has their metrics."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from express_path.errors import ApiError
from express_path_cli.aws.sessions import AccountRegion
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.nat.crossed_nats import CrossedNat, NatKind
from express_path_cli.sources.network import AccountAccess
from express_path_cli.terminal.errors import Failure, OptionError


@dataclass(frozen=True, slots=True)
class OwnedNats:
    """The NAT gateways of one account in one Region."""

    owner: AccountRegion
    nats: tuple[CrossedNat, ...]

    def __str__(self) -> str:
        return str(self.owner)


class _Owner(NamedTuple):
    account_id: str | None
    region: str


def nats_by_owner(nats: Iterable[CrossedNat], access: AccountAccess, task_pool: TaskPool) -> list[OwnedNats]:
    """Return the NAT gateways by owner. Those whose account cannot be accessed are added to the pool's failures."""
    by_owner: dict[_Owner, list[CrossedNat]] = defaultdict(list)
    for nat in nats:
        if nat.kind is not NatKind.INSTANCE:
            by_owner[_Owner(nat.account_id, nat.region)].append(nat)
    owned = []
    for owner, gateways in by_owner.items():
        try:
            aws = access.clients(owner.account_id, owner.region)
        except ApiError as error:
            task_pool.failures += [Failure(nat.where, error) for nat in gateways]
            continue
        if aws and owner.account_id:
            owned.append(OwnedNats(AccountRegion(owner.account_id, aws), tuple(gateways)))
        else:
            task_pool.failures += [Failure(nat.where, _no_access(nat)) for nat in gateways]
    return owned


def _no_access(nat: CrossedNat) -> OptionError:
    owner = f"account {nat.account_id}" if nat.account_id else "an account that is not known here"
    return OptionError(
        f"its metrics cannot be read from here, because it belongs to {owner}",
        "use --organization --role-name, --parameter networkRoleArn=..., or that account's --profile",
    )

"""Where the metrics of NAT gateways are: in the accounts that own them."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from express_path.errors import ApiError
from express_path_cli.account_access import AccountAccess
from express_path_cli.account_region import AccountRegion
from express_path_cli.crossed_nats import CrossedNat, NatKind
from express_path_cli.problems import OptionError
from express_path_cli.result import Failure
from express_path_cli.task_pool import TaskPool


class MeteredPlace(NamedTuple):
    """NAT gateways of one account and Region, where their metrics are."""

    place: AccountRegion
    nats: tuple[CrossedNat, ...]

    def __str__(self) -> str:
        """As a person says it."""
        return str(self.place)


def places_of(nats: Iterable[CrossedNat], reach: AccountAccess, task_pool: TaskPool) -> list[MeteredPlace]:
    """The NAT gateways by account and Region; those to which no credentials lead are kept as the crew's failures."""
    by_place: dict[tuple[str | None, str], list[CrossedNat]] = defaultdict(list)
    for nat in nats:
        if nat.kind is not NatKind.INSTANCE:
            by_place[nat.account_id, nat.region].append(nat)
    found = []
    for (account_id, region), here in by_place.items():
        try:
            aws = reach.clients(account_id, region)
        except ApiError as error:
            task_pool.failures += [Failure(nat.where, error) for nat in here]
            continue
        if aws and account_id:
            found.append(MeteredPlace(AccountRegion(account_id, aws), tuple(here)))
        else:
            task_pool.failures += [Failure(nat.where, _unreachable(nat)) for nat in here]
    return found


def _unreachable(nat: CrossedNat) -> OptionError:
    owner = f"account {nat.account_id}" if nat.account_id else "an account that is not known here"
    return OptionError(
        f"its metrics are not readable from here, as it belongs to {owner}",
        "use --organization --role-name, --parameter networkRoleArn=..., or that account's --profile",
    )

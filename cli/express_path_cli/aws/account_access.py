"""Access to the accounts that a network was read from, to read more about one of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

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
            from express_path.adapters.assumed_role import assuming  # noqa: PLC0415  # dumps do not need boto3

            first = next(iter(self.accounts.values()))
            return assuming(replace(first, region=region), self.network_role_arn, self.external_id)
        return None

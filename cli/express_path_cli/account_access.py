"""Getting back to the accounts that a network was read with, for what belongs to one of them alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from express_path_cli.organization.clients import AccountClients


@dataclass(frozen=True)
class AccountAccess:
    """The clients of each account that was read, by its id; and the network account's role, if there is one.

    A dump and an aggregator reach nobody.
    """

    accounts: Mapping[str, AccountClients] = field(default_factory=dict)
    network_role_arn: str = ""
    external_id: str = ""

    def clients(self, account_id: str | None, region: str) -> AccountClients | None:
        """Clients of an account in a Region, None where nothing leads there. Raises ApiError where a role refuses."""
        known = self.accounts.get(account_id or "")
        if known:
            return known.in_region(region)
        if account_id and f"::{account_id}:role/" in self.network_role_arn and self.accounts:
            anyone = next(iter(self.accounts.values()))
            return anyone.in_region(region).assuming(self.network_role_arn, self.external_id)
        return None

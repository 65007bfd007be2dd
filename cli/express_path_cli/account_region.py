"""An account in one Region: where something is read, and where it fails."""

from typing import NamedTuple, Self

from express_path_cli.organization.clients import AccountClients


class AccountRegion(NamedTuple):
    """An account in one Region."""

    account_id: str
    aws: AccountClients

    @classmethod
    def of_caller(cls, aws: AccountClients) -> Self:
        """The account of the credentials in use. Raises ApiError."""
        return cls(aws.caller[0], aws)

    def __str__(self) -> str:
        """As a person says it."""
        return f"account {self.account_id} {self.aws.region}"

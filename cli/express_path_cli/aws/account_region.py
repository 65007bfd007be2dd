"""One account in one Region: the unit that the command reads, and that its messages name."""

from dataclasses import dataclass
from typing import Self

from express_path.adapters.aws import Aws
from express_path_cli.aws.sessions import read_caller


@dataclass(frozen=True, slots=True)
class AccountRegion:
    """An account (12 digits) in one Region, with its clients."""

    account_id: str
    aws: Aws

    @classmethod
    def of_caller(cls, aws: Aws) -> Self:
        """Return the account of the credentials in use. Raise ApiError."""
        return cls(read_caller(aws).account_id, aws)

    def __str__(self) -> str:
        return f"account {self.account_id} {self.aws.region}"

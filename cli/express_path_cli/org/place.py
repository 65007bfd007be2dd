"""One account in one Region: where StackSets deploy one stack instance."""

from dataclasses import dataclass, replace
from typing import Self

from express_path.adapters.aws import Aws
from express_path_cli.aws.organization import Member


@dataclass(frozen=True, slots=True)
class Place:
    """An account of the organization in one Region, with its clients."""

    member: Member
    aws: Aws

    @property
    def region(self) -> str:
        """The Region, such as us-east-1."""
        return self.aws.region

    def with_new_clients(self) -> Self:
        """Return the same place with clients that are freed with it: those of hundreds of places take gigabytes."""
        return replace(self, aws=replace(self.aws))

    def __str__(self) -> str:
        return f"{self.member} {self.region}"

"""The accounts of an organization, and the role that reads each of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import pages
from express_path_cli.aws.sessions import Caller

if TYPE_CHECKING:
    from mypy_boto3_organizations import OrganizationsClient


@dataclass(frozen=True, slots=True)
class Member:
    """An account of the organization: its id (12 digits), and the name that its owner gave it."""

    id: str
    name: str

    def __str__(self) -> str:
        return f"account {self.id} ({self.name})" if self.name else f"account {self.id}"


def active_members(organizations: "OrganizationsClient") -> list[Member]:
    """Read the active accounts of the organization, sorted by id. Raise ApiError.

    Only the management account and delegated administrators have access
    (https://docs.aws.amazon.com/organizations/latest/APIReference/API_ListAccounts.html).
    """
    members = active_accounts(pages(organizations, "organizations", "list_accounts", "Accounts"))
    return sorted(members, key=lambda member: member.id)


def active_accounts(rows: Iterable[Mapping[str, Any]]) -> list[Member]:
    """Return the active ones of the accounts that Organizations lists."""
    # State replaces Status, which AWS retires (botocore model: organizations Account).
    active = (row for row in rows if (row.get("State") or row.get("Status")) == "ACTIVE")
    return [Member(str(row["Id"]), str(row.get("Name") or "")) for row in active]


def member_role_arn(caller: Caller, account_id: str, role_name: str) -> str | None:
    """Return the ARN of the role that reads a member account, or None for the caller's own account.

    The caller's own account needs no role: stack sets create no roles in the management account, from which an
    organization is often read (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stacksets-concepts.html).
    """
    if account_id == caller.account_id:
        return None
    return f"arn:{caller.partition}:iam::{account_id}:role/{role_name}"

"""The accounts of an organization, and the role by which each is read."""

from typing import NamedTuple

from express_path.adapters.aws import pages
from express_path_cli.organization.clients import AccountClients


class Member(NamedTuple):
    """An account of the organization: its id (12 digits) and the name that its owner gave it."""

    id: str
    name: str


def active_members(aws: AccountClients) -> list[Member]:
    """Every active account of the organization, by id. Raises ApiError: only some accounts may ask.

    The management account and delegated administrators may
    (https://docs.aws.amazon.com/organizations/latest/APIReference/API_ListAccounts.html).
    """
    rows = pages(aws.organizations, "organizations", "list_accounts", "Accounts")
    # State replaces Status, which AWS retires (botocore model: organizations Account).
    active = (row for row in rows if (row.get("State") or row.get("Status")) == "ACTIVE")
    return sorted(Member(str(row["Id"]), str(row.get("Name") or "")) for row in active)


def member_clients(aws: AccountClients, account_id: str, role_name: str, external_id: str = "") -> AccountClients:
    """The clients of a member account, by the role of that name; the caller's own account needs no role.

    Roles of stack sets are not in the management account, from which an organization is often read
    (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stacksets-concepts.html). Raises ApiError.
    """
    own, partition = aws.caller
    if account_id == own:
        return aws
    return aws.assuming(f"arn:{partition}:iam::{account_id}:role/{role_name}", external_id)

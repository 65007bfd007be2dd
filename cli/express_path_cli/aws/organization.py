"""The accounts of an organization, and the role that reads each of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from express_path.adapters.aws import calling, pages
from express_path.adapters.roll_out import Member, all_members, members_in
from express_path.errors import ApiError
from express_path_cli.aws.sessions import Caller
from express_path_cli.terminal.errors import OptionError

if TYPE_CHECKING:
    from mypy_boto3_organizations import OrganizationsClient


def active_members(organizations: "OrganizationsClient") -> list[Member]:
    """Read the active accounts of the organization, sorted by id. Raise ApiError."""
    return [member for member in all_members(organizations) if member.is_active]


def member_role_arn(caller: Caller, account_id: str, role_name: str) -> str | None:
    """Return the ARN of the role that reads a member account, or None for the caller's own account.

    The caller's own account needs no role: stack sets create no roles in the management account, from which an
    organization is often read (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stacksets-concepts.html).
    """
    if account_id == caller.account_id:
        return None
    return f"arn:{caller.partition}:iam::{account_id}:role/{role_name}"


@dataclass(frozen=True, slots=True)
class Organization:
    """An organization: its id, such as o-a1b2c3d4e5, and the id of its management account (12 digits)."""

    id: str
    management_account_id: str


def read_organization(organizations: "OrganizationsClient") -> Organization:
    """Read the organization of the caller's account. Raise ApiError, and OptionError if it is in none."""
    try:
        with calling("organizations:DescribeOrganization"):
            organization = organizations.describe_organization()["Organization"]
    except ApiError as error:
        if error.code != "AWSOrganizationsNotInUseException":
            raise
        raise OptionError(
            "this account is not in an organization",
            "use --profile, with credentials of the management account or of a delegated administrator",
        ) from error
    return Organization(organization["Id"], organization["MasterAccountId"])


def members_of(organizations: "OrganizationsClient", ou_ids: Sequence[str]) -> list[Member]:
    """Read the active accounts of the organization or, with their nested units, of these units or roots, sorted by id.

    Raise ApiError, and OptionError if one of the units is inside another one.
    """
    if not ou_ids:
        return active_members(organizations)
    members: dict[str, Member] = {}
    for ou_id in ou_ids:
        for parent_id in _with_nested(organizations, ou_id):
            if parent_id != ou_id and parent_id in ou_ids:
                raise OptionError(
                    f"--ou {parent_id} is inside {ou_id}",
                    "name units that do not overlap: the StackSets of both would deploy to the same accounts",
                )
            members.update((member.id, member) for member in _accounts_in(organizations, parent_id))
    return sorted(members.values(), key=lambda member: member.id)


def _accounts_in(organizations: "OrganizationsClient", parent_id: str) -> Iterable[Member]:
    rows = pages(organizations, "organizations", "list_accounts_for_parent", "Accounts", ParentId=parent_id)
    return [member for member in members_in(rows) if member.is_active]


def _with_nested(organizations: "OrganizationsClient", ou_id: str) -> Iterator[str]:
    """Yield a unit and all units inside it."""
    yield ou_id
    operation = "list_organizational_units_for_parent"
    for row in pages(organizations, "organizations", operation, "OrganizationalUnits", ParentId=ou_id):
        yield from _with_nested(organizations, str(row["Id"]))

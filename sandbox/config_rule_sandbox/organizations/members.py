"""What accounts of an organization may read of it. In moto, each has an organization of its own, without accounts."""

from collections.abc import Callable
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.organizations.models import FakeDelegatedAdministrator, OrganizationsBackend, organizations_backends
from moto.organizations.responses import OrganizationsResponse

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.patching.patches import Patches

STACK_SETS = "member.org.stacksets.cloudformation.amazonaws.com"
"""The service principal of delegated administrators of StackSets.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stacksets-orgs-delegated-admin.html
"""
OF_MEMBERS = ("DescribeOrganization", "LeaveOrganization", "ListRoots")
"""What moto answers to every member account. ListRoots needs a delegated administrator at AWS."""


def apply(patches: Patches) -> None:
    """Let delegated administrators read the organization until `patches` are undone, and other members nothing."""
    services = [*FakeDelegatedAdministrator.SUPPORTED_SERVICES, STACK_SETS]
    patches.set(FakeDelegatedAdministrator, "SUPPORTED_SERVICES", services)
    original: Callable[[Moto], OrganizationsBackend] = vars(OrganizationsResponse)["organizations_backend"].fget

    def backend_of(response: Moto) -> OrganizationsBackend:
        management = organizations_backends.master_accounts.get(response.current_account)
        action = str(response._get_action())
        if management is None or action in OF_MEMBERS:
            return original(response)
        organization: Any = organizations_backends[management[0]][management[1]]
        reads = action.startswith(("List", "Describe"))
        if not reads or not is_delegated(organization, response.current_account):
            raise JsonRESTError(
                "AccessDeniedException", "You don't have permissions to access this resource."
            )  # https://docs.aws.amazon.com/organizations/latest/APIReference/API_ListAccountsForParent.html
        return organization  # type: ignore[no-any-return]

    patches.set(OrganizationsResponse, "organizations_backend", property(backend_of))


def is_delegated(organization: Moto, account_id: str, service: str = "") -> bool:
    """Return whether an account is a delegated administrator, of any service or of this one."""
    return any(
        admin.account.id == account_id and (not service or service in admin.services) for admin in organization.admins
    )

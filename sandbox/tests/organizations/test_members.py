"""What member accounts may read of their organization."""

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.organizations.members import STACK_SETS
from config_rule_sandbox.server import Sandbox


def test_only_delegated_administrators_read_the_organization(sandbox: Sandbox) -> None:
    """They read what the management account reads, and change nothing. Another member knows only the organization."""
    organizations: Client = sandbox.client("organizations")
    organizations.create_organization(FeatureSet="ALL")
    made = organizations.create_account(AccountName="a", Email="a@example.com")
    account_id = made["CreateAccountStatus"]["AccountId"]
    member: Client = sandbox.client("organizations", credentials=sandbox.credentials(account_id))
    [root] = organizations.list_roots()["Roots"]
    assert member.describe_organization()["Organization"]["MasterAccountId"] == sandbox.account_id
    with pytest.raises(ClientError, match="AccessDeniedException"):
        member.list_accounts()
    organizations.register_delegated_administrator(AccountId=account_id, ServicePrincipal=STACK_SETS)
    assert {row["Id"] for row in member.list_accounts()["Accounts"]} == {account_id, sandbox.account_id}
    assert len(member.list_accounts_for_parent(ParentId=root["Id"])["Accounts"]) == 2
    with pytest.raises(ClientError, match="AccessDeniedException"):
        member.create_organizational_unit(ParentId=root["Id"], Name="unit")

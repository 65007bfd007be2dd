"""Updates of StackSets: an operation takes time, leaves what it does not select OUTDATED, fails, and can be stopped."""

import json
from typing import Any

import pytest

from sandbox.dynamic import Client
from sandbox.server import Sandbox
from sandbox.stack_set_updates import on_update

NAME, REGIONS = "example", ("eu-north-1", "us-east-1")
TEMPLATE = json.dumps({"Parameters": {"Version": {"Type": "String"}}, "Resources": {"T": {"Type": "AWS::SNS::Topic"}}})


@pytest.fixture
def cloudformation(sandbox: Sandbox) -> Client:
    """Return a client of an account with a StackSet that deploys to one unit with two accounts, in two Regions."""
    organizations = sandbox.client("organizations")
    organizations.create_organization(FeatureSet="ALL")
    root = organizations.list_roots()["Roots"][0]["Id"]
    unit = organizations.create_organizational_unit(ParentId=root, Name="unit")["OrganizationalUnit"]["Id"]
    for name in ("one", "two"):
        made = organizations.create_account(AccountName=name, Email=f"{name}@example.com")["CreateAccountStatus"]
        organizations.move_account(AccountId=made["AccountId"], SourceParentId=root, DestinationParentId=unit)
    found: Client = sandbox.client("cloudformation")
    version = [{"ParameterKey": "Version", "ParameterValue": "1"}]
    found.create_stack_set(
        StackSetName=NAME, TemplateBody=TEMPLATE, PermissionModel="SERVICE_MANAGED", Parameters=version
    )
    targets = {"OrganizationalUnitIds": [unit]}
    found.create_stack_instances(StackSetName=NAME, DeploymentTargets=targets, Regions=list(REGIONS))
    assert found.describe_stack_set(StackSetName=NAME)["StackSet"]["OrganizationalUnitIds"] == [unit]
    return found


def update(cloudformation: Client, version: str, regions: tuple[str, ...] = REGIONS, tolerance: int = 0) -> str:
    """Start an update of the instances in some Regions, and return the ID of the operation."""
    found = cloudformation.describe_stack_set(StackSetName=NAME)["StackSet"]
    accounts = sorted({row["Account"] for row in instances(cloudformation)})
    started = cloudformation.update_stack_set(
        StackSetName=NAME,
        UsePreviousTemplate=True,
        Parameters=[{"ParameterKey": "Version", "ParameterValue": version}],
        DeploymentTargets={
            "OrganizationalUnitIds": found["OrganizationalUnitIds"],
            "Accounts": accounts,
            "AccountFilterType": "INTERSECTION",
        },
        Regions=list(regions),
        OperationPreferences={"FailureTolerancePercentage": tolerance},
    )
    return str(started["OperationId"])


def instances(cloudformation: Client) -> list[dict[str, Any]]:
    """Return the stack instances."""
    found: list[dict[str, Any]] = cloudformation.list_stack_instances(StackSetName=NAME)["Summaries"]
    return found


def statuses(cloudformation: Client) -> list[tuple[str, str]]:
    """Return the Region and the status of each stack instance."""
    return sorted((row["Region"], row["Status"]) for row in instances(cloudformation))


def look(cloudformation: Client, operation_id: str) -> str:
    """Return the status of an operation, which goes on with each look."""
    found = cloudformation.describe_stack_set_operation(StackSetName=NAME, OperationId=operation_id)
    return str(found["StackSetOperation"]["Status"])


def test_an_operation_updates_one_selected_instance_after_the_other(sandbox: Sandbox, cloudformation: Client) -> None:
    """Those in other Regions are OUTDATED."""
    updated: list[tuple[str, str]] = []
    on_update((sandbox.account_id, sandbox.region), lambda _, region, given: updated.append((region, given["Version"])))
    operation_id = update(cloudformation, "2", REGIONS[:1])
    seen = [look(cloudformation, operation_id) for _ in range(3)]
    assert (seen, updated) == (["RUNNING", "RUNNING", "SUCCEEDED"], [(REGIONS[0], "2")] * 2)
    north, home = REGIONS
    assert statuses(cloudformation) == [*[(north, "CURRENT")] * 2, *[(home, "OUTDATED")] * 2]


def test_a_stopped_operation_leaves_the_rest_as_it_is(cloudformation: Client) -> None:
    """One instance has the new version."""
    operation_id = update(cloudformation, "2", REGIONS[:1])
    look(cloudformation, operation_id)
    cloudformation.stop_stack_set_operation(StackSetName=NAME, OperationId=operation_id)
    assert look(cloudformation, operation_id) == "STOPPED"


@pytest.mark.parametrize(("tolerance", "status"), [(0, "FAILED"), (50, "SUCCEEDED")])
def test_an_operation_fails_beyond_its_tolerance(
    sandbox: Sandbox, cloudformation: Client, tolerance: int, status: str
) -> None:
    """Of two accounts in a Region, one fails."""
    failing = min(row["Account"] for row in instances(cloudformation))

    def deploy(account_id: str, _: str, __: dict[str, str]) -> None:
        if account_id == failing:
            raise RuntimeError("AccessDenied")

    on_update((sandbox.account_id, sandbox.region), deploy)
    operation_id = update(cloudformation, "2", REGIONS[:1], tolerance)
    while (seen := look(cloudformation, operation_id)) == "RUNNING":
        pass
    assert seen == status
    [failed] = [row for row in instances(cloudformation) if row.get("StatusReason")]
    assert (failed["Account"], failed["StatusReason"], failed["Status"]) == (failing, "AccessDenied", "OUTDATED")

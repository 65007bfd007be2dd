"""The roll-out of docs/organization.md with its templates: what a failing account does, and how it is repaired."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.cloudformation.kinds.stack_set import changes
from config_rule_sandbox.cloudformation.operations import CloudFormation
from config_rule_sandbox.cloudformation.rounds import Preferences, proceed
from config_rule_sandbox.cloudformation.values import Scope
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.server import Sandbox
from tests.support.organization import PREFIX, Packaged
from tests.support.roll_out import REGION, RollOut
from tests.support.template import ROOT, source


@pytest.fixture
def roll_out(sandbox: Sandbox, packaged: Packaged) -> Iterator[RollOut]:
    """Yield an organization with the ledger, in which CloudFormation deploys."""
    patches = Patches()
    CloudFormation(sandbox).apply(patches)
    made = RollOut(sandbox, packaged)
    made.deploy_ledger()
    yield made
    patches.undo()


def test_first_roll_out_with_a_failing_account_succeeds_and_is_repaired(roll_out: RollOut) -> None:
    """The good accounts keep the rule, the stack has no other update, and one call repairs the account."""
    roll_out.stop_recording("data")
    assert roll_out.deploy_rule() == "CREATE_COMPLETE"
    assert roll_out.statuses() == {"apps": "CURRENT", "data": "OUTDATED", "legacy": "CURRENT"}
    assert roll_out.deployed().keys() == {"apps", "legacy"}
    with pytest.raises(ClientError, match="No updates"):
        roll_out.deploy_rule()
    roll_out.organization.record("data", REGION)
    roll_out.repair("data")
    assert set(roll_out.statuses().values()) == {"CURRENT"}
    assert roll_out.deployed().keys() == {"apps", "data", "legacy"}


def test_a_promotion_beyond_the_tolerance_changes_nobody(roll_out: RollOut) -> None:
    """One failure of three accounts is beyond 10 %, rounded down. Report mode tolerates it, so the rollback succeeds."""
    assert roll_out.deploy_rule() == "CREATE_COMPLETE"
    roll_out.stop_recording("legacy")
    promotion = {"RemediationMode": "ON", "PublicSubnets": "NON_COMPLIANT"}
    assert roll_out.deploy_rule(**promotion) == "UPDATE_ROLLBACK_COMPLETE"
    assert roll_out.deployed() == dict.fromkeys(roll_out.accounts, "COMPLIANT")
    roll_out.organization.record("legacy", REGION)
    assert roll_out.deploy_rule(**promotion) == "UPDATE_COMPLETE"
    assert roll_out.deployed() == dict.fromkeys(roll_out.accounts, "NON_COMPLIANT")


def test_a_failed_account_does_not_stop_the_way_back_to_report_mode(roll_out: RollOut) -> None:
    """All accounts that can be reached stop healing, whichever others fail."""
    roll_out.deploy_rule(RemediationMode="ON")
    roll_out.stop_recording("apps")
    assert roll_out.deploy_rule(RemediationMode="OFF", PublicSubnets="NON_COMPLIANT") == "UPDATE_COMPLETE"
    assert roll_out.deployed() == {"apps": "COMPLIANT", "data": "NON_COMPLIANT", "legacy": "NON_COMPLIANT"}


def test_a_failed_rollback_is_continued_and_the_update_repeated(roll_out: RollOut) -> None:
    """In mode ON, an account that joined and failed then fails in both directions, also after the rollback is continued."""
    roll_out.move_out("legacy")
    roll_out.deploy_rule(RemediationMode="ON")
    roll_out.stop_recording("legacy")
    roll_out.move_in("legacy")
    assert roll_out.statuses() == {"apps": "CURRENT", "data": "CURRENT", "legacy": "OUTDATED"}
    assert roll_out.deploy_rule(PublicSubnets="NON_COMPLIANT") == "UPDATE_ROLLBACK_FAILED"
    roll_out.organization.record("legacy", REGION)
    roll_out.cloudformation.continue_update_rollback(StackName=roll_out.name)
    assert roll_out.status() == "UPDATE_ROLLBACK_COMPLETE"
    assert roll_out.deployed() == dict.fromkeys(roll_out.accounts, "COMPLIANT")
    assert roll_out.deploy_rule(PublicSubnets="NON_COMPLIANT") == "UPDATE_COMPLETE"
    assert roll_out.deployed() == dict.fromkeys(roll_out.accounts, "NON_COMPLIANT")


def test_a_rollback_that_cannot_succeed_skips_the_stack_set(roll_out: RollOut) -> None:
    """The next deployment then brings every account that works to the parameters, with a tolerance for the other one."""
    roll_out.move_out("legacy")
    roll_out.deploy_rule(RemediationMode="ON")
    roll_out.stop_recording("legacy")
    roll_out.move_in("legacy")
    assert roll_out.deploy_rule(PublicSubnets="NON_COMPLIANT") == "UPDATE_ROLLBACK_FAILED"
    roll_out.cloudformation.continue_update_rollback(StackName=roll_out.name, ResourcesToSkip=["StackSet"])
    assert roll_out.status() == "UPDATE_ROLLBACK_COMPLETE"
    tolerant = {"PublicSubnets": "NON_COMPLIANT", "FailureTolerancePercentage": "40"}
    assert roll_out.deploy_rule(**tolerant) == "UPDATE_COMPLETE"
    assert roll_out.deployed() == dict.fromkeys(("apps", "data"), "NON_COMPLIANT")


def test_integrations_are_deleted_before_the_rule(roll_out: RollOut) -> None:
    """While they have rules on its event bus, the rule's stacks cannot be deleted. After them, they can."""
    roll_out.deploy_rule()
    integrations = f"express-path-integrations-{roll_out.unit_id}"
    assert roll_out.deploy_integrations() == "CREATE_COMPLETE"
    roll_out.cloudformation.delete_stack(StackName=roll_out.name)
    assert roll_out.status() == "DELETE_FAILED"
    assert set(roll_out.statuses().values()) == {"INOPERABLE"}
    for name in (integrations, roll_out.name):
        roll_out.cloudformation.delete_stack(StackName=name)
    assert [row["StackSetName"] for row in roll_out.cloudformation.list_stack_sets(Status="ACTIVE")["Summaries"]] == [
        "express-path-ledger"
    ]
    assert roll_out.deployed() == {}


def test_an_inoperable_instance_is_deleted_and_created_again(roll_out: RollOut) -> None:
    """An account that moves out and back, with the integrations, keeps an instance that no update repairs."""
    roll_out.deploy_rule()
    roll_out.deploy_integrations()
    roll_out.move_out("apps")
    roll_out.move_in("apps")
    roll_out.repair("apps")
    assert roll_out.statuses()["apps"] == "INOPERABLE"
    targets = {"OrganizationalUnitIds": [roll_out.unit_id], "Accounts": [roll_out.accounts["apps"]]}
    given = {"DeploymentTargets": targets | {"AccountFilterType": "INTERSECTION"}, "Regions": [REGION]}
    integrations = f"express-path-integrations-{roll_out.unit_id}"
    for name in (integrations, roll_out.name):
        roll_out.cloudformation.delete_stack_instances(StackSetName=name, RetainStacks=False, **given)
    for name in (roll_out.name, integrations):
        roll_out.cloudformation.create_stack_instances(StackSetName=name, **given)
    assert set(roll_out.statuses().values()) == {"CURRENT"}
    assert roll_out.deployed().keys() == roll_out.accounts.keys()


def test_a_region_is_left_by_the_integrations_first(roll_out: RollOut) -> None:
    """In the other order, what the rule has in the Region stays, and must be deleted once more."""
    roll_out.open("eu-north-1")
    everywhere = f"{REGION},eu-north-1"
    roll_out.deploy_rule(Regions=everywhere)
    roll_out.deploy_integrations(Regions=everywhere)
    assert roll_out.deploy_rule(Regions=REGION) == "UPDATE_COMPLETE"
    rows = roll_out.cloudformation.list_stack_instances(StackSetName=roll_out.name)["Summaries"]
    assert {row["Status"] for row in rows if row["Region"] != REGION} == {"INOPERABLE"}
    roll_out.deploy_integrations(Regions=REGION)
    targets = {"OrganizationalUnitIds": [roll_out.unit_id]}
    roll_out.cloudformation.delete_stack_instances(
        StackSetName=roll_out.name, Regions=["eu-north-1"], DeploymentTargets=targets, RetainStacks=False
    )
    roll_out.deploy_rule(Regions=everywhere)
    roll_out.deploy_integrations(Regions=everywhere)
    for deploy in (roll_out.deploy_integrations, roll_out.deploy_rule):
        deploy(Regions=REGION)
    rows = roll_out.cloudformation.list_stack_instances(StackSetName=roll_out.name)["Summaries"]
    assert {(row["Region"], row["Status"]) for row in rows} == {(REGION, "CURRENT")}


def test_exclusions_are_changed_by_differences(roll_out: RollOut) -> None:
    """Only the accounts that are added to the list, or removed from it, lose or get the rule."""
    roll_out.deploy_rule()
    seen = [" ".join(roll_out.deployed())]
    for names in (["apps"], ["apps", "data"], ["data"], []):
        roll_out.deploy_rule(ExcludedAccountIds=",".join(roll_out.accounts[name] for name in names))
        seen.append(" ".join(roll_out.deployed()))
    assert seen == ["apps data legacy", "data legacy", "legacy", "apps legacy", "apps data legacy"]


def rounds(parameters: dict[str, str], earlier: dict[str, str] | None = None) -> int:
    """Return how many instances, one after the other, a deployment to 300 accounts in four Regions waits for."""
    given = {name: "r-ab12" for name, row in source("org/stackset.yaml")["Parameters"].items() if "Default" not in row}
    regions = [f"eu-west-{number}" for number in range(1, 5)]
    accounts = [f"{number:012}" for number in range(300)]
    given |= {"Regions": ",".join(regions), "ArtifactBucketPrefix": PREFIX, "TemplateKey": "express-path-0.json"}
    given |= {
        "CodeKey": f"{0:064}.zip",
        "LedgerStackSetArn": "arn:aws:cloudformation:us-east-1:111122223333:stackset/a:b",
    }

    def properties(chosen: dict[str, str]) -> dict[str, Any]:
        scope = Scope(
            source("org/stackset.yaml"), given | chosen, {"AWS::Region": REGION, "AWS::URLSuffix": "amazonaws.com"}
        )
        found: dict[str, Any] = scope.resolve(source("org/stackset.yaml")["Resources"]["StackSet"]["Properties"])
        return found

    wanted = properties(parameters)
    found = changes({} if earlier is None else properties(earlier), wanted)
    requests = [group["Regions"] for group in [*found.create, *found.update]]
    if earlier is not None:
        requests.append(regions)  # UpdateStackSet
    preferences = Preferences(wanted["OperationPreferences"])
    return sum(proceed(dict.fromkeys(named, accounts), preferences, lambda *_: "").rounds for named in requests)


EXCLUDING = {"ExcludedAccountIds": "000000000299"}
MODES: dict[str, dict[str, str]] = {"report": {}, "healing": {"RemediationMode": "ON"}}
MINUTES = 5
"""How long the page assumes that a stack takes in one account and Region."""


def test_the_page_says_how_long_a_roll_out_takes() -> None:
    """It has the minutes of 300 accounts in four Regions, from the accounts that work goes on in at the same time."""
    page = (ROOT / "docs" / "organization.md").read_text(encoding="utf-8")
    for mode, parameters in MODES.items():
        excluding = parameters | EXCLUDING
        minutes = [
            rounds(parameters) * MINUTES,
            rounds(parameters, parameters) * MINUTES,
            rounds(excluding) * MINUTES,
            rounds(excluding, excluding) * MINUTES,
        ]
        assert " | ".join(f"{number} min" for number in minutes) in page, (mode, minutes)

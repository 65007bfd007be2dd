"""What org status says about accounts that are suspended, move, or leave, about Regions, and about recorders."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from config_rule_sandbox.cloudformation.stack_sets import Instance, Place, administrator_of, set_status
from config_rule_sandbox.server import Sandbox
from express_path.domain.path.reasons import Reason
from tests.cli.org.deployed import STACK_SET, DeployedOrganization
from tests.cli.org.organizations import REGIONS, ROLE
from tests.support.command import invoke
from tests.support.config_aggregator import Aggregator, answering

HOME, NORTH = REGIONS
DISABLED = "me-nowhere-1"
RECORDER = {"component": "recorder", "problem": "the recorder is stopped"}


@pytest.fixture
def organization(sandbox: Sandbox) -> Iterator[DeployedOrganization]:
    """Yield an organization with the rule in the accounts data and web, where nothing needs attention."""
    aggregator = Aggregator(sandbox)
    with answering(aggregator):
        made = DeployedOrganization(sandbox, aggregator)
        for name in made.accounts:
            for region in REGIONS:
                made.result(name, region, f"subnet-{name}-{region}", Reason.ENDPOINT, ["vpce-1"])
                made.sweep(name, region, COMPLIANT=1)
        yield made


def administrator(organization: DeployedOrganization) -> tuple[str, str]:
    """Return the account and Region of the StackSets."""
    return organization.sandbox.account_id, organization.sandbox.region


def refuse_role(organization: DeployedOrganization) -> None:
    """Let nobody assume the role of the account data."""
    role = f"arn:aws:iam::{organization.accounts['data']}:role/{ROLE}"
    organization.sandbox.faults.deny("sts", "AssumeRole", RoleArn=role)


def suspend(organization: DeployedOrganization) -> None:
    """Close the account. AWS makes it SUSPENDED for 90 days, and its roles cannot be assumed."""
    organization.client.close_account(AccountId=organization.accounts["data"])
    refuse_role(organization)


def leave(organization: DeployedOrganization) -> None:
    """Remove the account from the organization; the aggregator still has its results."""
    organization.client.remove_account_from_organization(AccountId=organization.accounts["data"])
    found = administrator_of(*administrator(organization)).find(STACK_SET)
    assert found
    for place in [row for row in found.instances if row.account_id == organization.accounts["data"]]:
        del found.instances[place]
    refuse_role(organization)


def move_without_rule(organization: DeployedOrganization) -> None:
    """Move the account to a unit without a StackSet: StackSets deleted the rule; the aggregator still has results."""
    for region in REGIONS:
        organization.aggregation.lag(organization.accounts["data"], region)
        organization.aws("data", "config", region).delete_config_rule(ConfigRuleName="s3express-no-nat-path")
    targets = {"OrganizationalUnitIds": [organization.workloads], "Accounts": [organization.accounts["data"]]}
    organization.cloudformation.delete_stack_instances(
        StackSetName=STACK_SET,
        DeploymentTargets={**targets, "AccountFilterType": "INTERSECTION"},
        Regions=list(REGIONS),
        RetainStacks=False,
    )


def collide(organization: DeployedOrganization) -> None:
    """Move the account to a unit whose StackSet creates its stack before the old one is deleted."""
    set_status(
        administrator(organization),
        STACK_SET,
        (organization.accounts["data"], HOME),
        "OUTDATED",
        "AlreadyExistsException",
    )


def keep_the_bus(organization: DeployedOrganization) -> None:
    """Move the account out and back with integrations, whose event bus could not be deleted."""
    place = (organization.accounts["data"], HOME)
    set_status(administrator(organization), STACK_SET, place, "INOPERABLE", "EventBus can't be deleted")


def instance_where_disabled(organization: DeployedOrganization) -> None:
    """Deploy to a Region that is disabled in the account, where AWS refuses its credentials."""
    place = Place(organization.accounts["data"], DISABLED)
    found = administrator_of(*administrator(organization)).find(STACK_SET)
    assert found
    found.instances[place] = Instance(place, organization.workloads, reason="the Region is not enabled")
    organization.sandbox.faults.fail(
        "config", "DescribeConfigRules", "UnrecognizedClientException", 400, region=DISABLED
    )


def refuse_where_enabled(organization: DeployedOrganization) -> None:
    """Let AWS refuse the credentials in a Region that is enabled."""
    organization.sandbox.faults.fail("config", "DescribeConfigRules", "UnrecognizedClientException", 400, region=NORTH)


def stop_recorder(organization: DeployedOrganization) -> None:
    """Let the check after the last sweep find a recorder that is off."""
    organization.sweep("data", HOME, timedelta(minutes=5), faults=[RECORDER], COMPLIANT=1)


def never_had_recorder(organization: DeployedOrganization) -> None:
    """Let the deployment fail for lack of a recorder: there is no rule and no result."""
    data = organization.accounts["data"]
    organization.aws("data", "config").delete_config_rule(ConfigRuleName="s3express-no-nat-path")
    organization.aggregation.places.remove((data, HOME))
    set_status(administrator(organization), STACK_SET, (data, HOME), "OUTDATED", "NoAvailableConfigurationRecorder")


class Row(NamedTuple):
    """What happens to the account data, the attention by Region, the exit status, and a part of what is printed."""

    happens: Callable[[DeployedOrganization], None]
    attention: dict[str, list[str]]
    exit_status: int
    says: str


ROWS = [
    Row(suspend, {}, 0, "SKIPPED_SUSPENDED_ACCOUNT"),
    Row(leave, {HOME: ["NOT_A_MEMBER"], NORTH: ["NOT_A_MEMBER"]}, 1, "is not in the organization, or left it"),
    Row(move_without_rule, {HOME: ["NO_INSTANCE"], NORTH: ["NO_INSTANCE"]}, 1, "the account moved or left the OU"),
    Row(collide, {HOME: ["NOT_CURRENT"]}, 1, "AlreadyExistsException"),
    Row(keep_the_bus, {HOME: ["NOT_CURRENT"]}, 1, "No update repairs it: fix the cause, delete the instance"),
    Row(
        instance_where_disabled,
        {DISABLED: ["REGION_DISABLED", "NOT_CURRENT"]},
        1,
        "the Region is disabled in the account",
    ),
    Row(refuse_where_enabled, {}, 2, "4 deployments in 2 accounts"),
    Row(stop_recorder, {HOME: ["UNHEALTHY"]}, 1, "recorder: the recorder is stopped"),
    Row(
        never_had_recorder,
        {HOME: ["NO_RESULTS", "NOT_CURRENT", "OVERDUE_SWEEP"]},
        2,
        "NoAvailableConfigurationRecorder",
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.happens.__name__)
def test_status_says_what_happened(row: Row, organization: DeployedOrganization) -> None:
    """The account and Region is named with its cause, and only what could not be read makes the status 2."""
    data = organization.accounts["data"]
    row.happens(organization)
    command = ["org", "status", "--aggregator", "organization", "--role-name", ROLE]
    found = invoke([*command, "--format", "json"])
    document: dict[str, Any] = json.loads(found.stdout)
    assert found.exit_code == row.exit_status, found.stderr
    attention = {
        (place["accountId"], place["region"]): [line["code"] for line in place["attention"]]
        for place in document["places"]
        if place["attention"]
    }
    assert attention == {(data, region): codes for region, codes in row.attention.items()}
    assert row.says in " ".join(invoke(command).stdout.split())


def test_a_suspended_account_is_listed_and_its_results_are_not(organization: DeployedOrganization) -> None:
    """It has a state and a name of its own in JSON; its stale results are neither counted nor to fix."""
    organization.result("data", HOME, "subnet-old", Reason.NAT_GATEWAY, ["nat-1"])
    suspend(organization)
    found = invoke(["org", "status", "--aggregator", "organization", "--role-name", ROLE, "--format", "json"])
    document = json.loads(found.stdout)
    data = organization.accounts["data"]
    assert document["inactiveAccounts"] == [{"accountId": data, "accountName": "data", "state": "SUSPENDED"}]
    assert {place["accountName"] for place in document["places"]} == {"web"}
    assert (document["worklist"], data in json.dumps(document["accountsWithoutRule"])) == ([], False)

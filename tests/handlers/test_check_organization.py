"""The function of the monitoring account: which accounts are silent, which are not expected to work, and when it fails."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

import pytest

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.rounds import Result
from config_rule_sandbox.cloudformation.stack_sets import Instance, Operation, Place, StackSet, administrator_of
from config_rule_sandbox.cloudformation.stacks import Stack
from config_rule_sandbox.cloudwatch.printed import Datapoint
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import direct_client
from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws
from express_path.adapters.silence import FINDINGS_FUNCTION, HEALTH_FUNCTION
from express_path.errors import ApiError, RecordError, SettingError, SilenceError
from express_path.handlers.check_organization import (
    CHECKED_ORGANIZATION,
    OrganizationServices,
    compose_services,
    handler,
)
from tests.support.rule import Context

HOME, NORTH = "us-east-1", "eu-north-1"
TEMPLATE = '{"Parameters": {"%s": {"Type": "String"}}, "Resources": {"T": {"Type": "AWS::SNS::Topic"}}}'
RULE, INTEGRATIONS = "express-path-ou-1", "express-path-integrations-ou-1"


class RollOut:
    """An organization with the rule in accounts, as StackSets and metrics show it. `accounts` are IDs."""

    def __init__(self, sandbox: Sandbox, number: int = 3, regions: Iterable[str] = (HOME,)) -> None:
        """Create the accounts and their instances, all linked, and deployed long ago."""
        self.sandbox = sandbox
        self.organizations: Client = direct_client(sandbox, "organizations")
        self.organizations.create_organization(FeatureSet="ALL")
        self.accounts = [self.add(f"a{index}") for index in range(number)]
        self.stack_set = self._created(RULE, "RemediationMode")
        for account_id in self.accounts:
            for region in regions:
                self.deploy(account_id, region)

    def add(self, name: str) -> str:
        """Create an account, and return its ID."""
        made = self.organizations.create_account(AccountName=name, Email=f"{name}@example.com")
        return str(made["CreateAccountStatus"]["AccountId"])

    def _created(self, name: str, parameter: str) -> StackSet:
        cloudformation: Client = direct_client(self.sandbox, "cloudformation")
        cloudformation.create_stack_set(
            StackSetName=name,
            TemplateBody=TEMPLATE % parameter,
            PermissionModel="SERVICE_MANAGED",
            Parameters=[{"ParameterKey": parameter, "ParameterValue": "any"}],
        )
        found = administrator_of(self.sandbox.account_id, self.sandbox.region).find(name)
        assert found
        return found

    def deploy(self, account_id: str, region: str = HOME) -> None:
        """Create an instance of the rule."""
        place = Place(account_id, region)
        self.stack_set.instances[place] = Instance(place, "ou-1", status="CURRENT")
        self.sandbox.metrics.links.add(place)

    def integrate(self) -> None:
        """Deploy the integrations where the rule is."""
        made = self._created(INTEGRATIONS, "CodeKey")
        for place in self.stack_set.instances:
            stack = Stack("integrations", Account(self.sandbox, *place))
            made.instances[place] = Instance(place, "ou-1", stack=stack, status="CURRENT")

    def operate(self, action: str, age: timedelta, *account_ids: str) -> None:
        """Let an operation on instances have ended so long ago."""
        results = [Result(account_id, HOME, "SUCCEEDED") for account_id in account_ids]
        ended, operation_id = monotonic() - age.total_seconds(), str(len(self.stack_set.operations))
        made = Operation(action, {}, {}, results, failed=False, rounds=1, until=ended, id=operation_id)
        self.stack_set.operations.append(made)

    def check(
        self,
        account_id: str,
        errors: float = 0,
        age: timedelta = timedelta(hours=3),
        region: str = HOME,
        function: str = HEALTH_FUNCTION,
    ) -> None:
        """Record a check of the health function of an account, or a run of another function."""
        point = Datapoint("AWS/Lambda", "Errors", (("FunctionName", function),), errors, datetime.now(UTC) - age)
        self.sandbox.metrics.add([point], (account_id, region))

    def silent(self) -> list[str]:
        """Run the function in the monitoring account, and return where it says that the rule is silent."""
        try:
            handler({}, Context(), OrganizationServices(Aws.connect(HOME), HOME, "SELF"))
        except SilenceError as error:
            return list(error.silent)
        return []


def test_an_account_is_silent_without_a_success_in_25_hours(sandbox: Sandbox) -> None:
    """A check that succeeds counts, also after one that failed. Failures, old successes, and no check do not."""
    roll_out = RollOut(sandbox, 5)
    works, retried, fails, old, never = roll_out.accounts
    roll_out.check(works)
    for errors in (1, 0):
        roll_out.check(retried, errors)
    roll_out.check(fails, 1)
    roll_out.check(old, age=timedelta(hours=27))
    assert sorted(line.split()[1] for line in roll_out.silent()) == sorted([fails, old, never])
    roll_out.check(never, region=NORTH)  # another Region is another rule
    assert len(roll_out.silent()) == 3
    for account_id in (fails, old, never):
        roll_out.check(account_id)
    assert roll_out.silent() == []


@pytest.mark.parametrize("broken", [1, 300])
def test_one_failure_says_all(broken: int, sandbox: Sandbox, logged: Callable[[], list[dict[str, Any]]]) -> None:
    """Of 300 accounts in two Regions, one is silent, or all at once: one invocation fails, and its line names them."""
    roll_out = RollOut(sandbox, 300, (HOME, NORTH))
    for account_id in roll_out.accounts[broken:]:
        roll_out.check(account_id)
    for account_id in roll_out.accounts:
        roll_out.check(account_id, region=NORTH)
    with pytest.raises(SilenceError, match=f"is silent in {broken} of 600 accounts and Regions") as raised:
        handler({}, Context(), OrganizationServices(Aws.connect(HOME), HOME, "SELF"))
    assert len(raised.value.silent) == broken
    [line] = [row for row in logged() if row["message"] == CHECKED_ORGANIZATION]
    named = {(row["account_id"], row["region"]) for row in line["places"]}
    assert named == {(account_id, HOME) for account_id in roll_out.accounts[:broken]}


def test_integrations_are_silent_if_they_update_no_findings(sandbox: Sandbox) -> None:
    """Where the rule is silent, so are they, which is one silence. Without the integrations, nothing is expected of them."""
    roll_out = RollOut(sandbox, 4)
    works, denied, never, silent = roll_out.accounts
    for account_id in (works, denied, never):
        roll_out.check(account_id)
    assert [line.split()[1] for line in roll_out.silent()] == [silent]
    roll_out.integrate()
    roll_out.check(works, function=FINDINGS_FUNCTION)
    roll_out.check(denied, 1, function=FINDINGS_FUNCTION)
    found = {line.split()[1]: line for line in roll_out.silent()}
    assert found.keys() == {denied, never, silent}
    assert all("updated no findings in the last 25 hours" in found[account_id] for account_id in (denied, never))
    assert "findings" not in found[silent]
    for account_id in (denied, never):
        roll_out.check(account_id, function=FINDINGS_FUNCTION)
    roll_out.check(silent)
    assert [line.split()[1] for line in roll_out.silent()] == [silent]


def test_nothing_is_expected_before_the_first_sweep(sandbox: Sandbox) -> None:
    """Instances that were created in the last 26 hours are new, whichever operation created them. Updates change nothing."""
    roll_out = RollOut(sandbox, 3)
    first, new, running = roll_out.accounts
    roll_out.operate("CREATE", timedelta(hours=27), first)
    roll_out.operate("CREATE", timedelta(hours=25), new)
    roll_out.operate("UPDATE", timedelta(hours=1), first, new)
    roll_out.operate("CREATE", -timedelta(hours=1), running)
    assert [line.split()[1] for line in roll_out.silent()] == [first]


def test_accounts_that_are_not_active_are_not_expected(sandbox: Sandbox) -> None:
    """StackSets skips a suspended account and keeps its instance; nothing runs there."""
    roll_out = RollOut(sandbox, 2)
    roll_out.check(roll_out.accounts[0])
    assert len(roll_out.silent()) == 1
    roll_out.organizations.close_account(AccountId=roll_out.accounts[1])
    assert roll_out.silent() == []


def test_a_failed_deployment_and_a_missing_link_are_named(sandbox: Sandbox) -> None:
    """Without a stack there is no sweep. Without a link, the successes are not seen, so nothing is known to work."""
    roll_out = RollOut(sandbox, 2)
    failed, unlinked = roll_out.accounts
    instance = roll_out.stack_set.instances[Place(failed, HOME)]
    instance.status, instance.reason = "OUTDATED", "NoAvailableConfigurationRecorder"
    roll_out.check(unlinked)
    roll_out.sandbox.metrics.links.clear()
    found = {line.split()[1]: line for line in roll_out.silent()}
    assert found.keys() == {failed, unlinked}
    assert "the stack does not exist (OUTDATED): NoAvailableConfigurationRecorder" in found[failed]


def test_what_cannot_be_read_fails_the_check(sandbox: Sandbox) -> None:
    """Without instances, or without metrics, nothing is known to work."""
    roll_out = RollOut(sandbox, 1)
    roll_out.check(roll_out.accounts[0])
    sandbox.faults.deny("organizations", "ListAccounts")
    with pytest.raises(ApiError, match="ListAccounts"):
        roll_out.silent()
    sandbox.faults.clear()
    roll_out.stack_set.instances.clear()
    with pytest.raises(RecordError, match="StackSets with instances"):
        roll_out.silent()


@pytest.mark.parametrize("environment", [{}, {"STACK_SETS_REGION": HOME, "CALL_AS": "ROOT"}, {"CALL_AS": "SELF"}])
def test_settings_are_checked(environment: dict[str, str]) -> None:
    """A setting that is missing or unknown fails the invocation."""
    with pytest.raises(SettingError):
        compose_services({"AWS_REGION": HOME, **environment})

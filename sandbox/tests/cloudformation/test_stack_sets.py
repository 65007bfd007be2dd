"""StackSets in a stack, case by case as AWS's resource handler and AWS's guide have them."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.cloudformation.kinds.stack_set import Changes, changes
from config_rule_sandbox.cloudformation.operations import CloudFormation
from config_rule_sandbox.cloudformation.rounds import Preferences, Progress, proceed
from config_rule_sandbox.cloudformation.stack_sets import administrator_of
from config_rule_sandbox.dynamic import Client
from config_rule_sandbox.http.direct import acting_in, direct_client
from config_rule_sandbox.organizations.members import STACK_SETS
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.server import Sandbox

EAST, NORTH = "us-east-1", "eu-north-1"
BUS = {"Type": "AWS::Events::EventBus", "Properties": {"Name": {"Ref": "Name"}}}
INNER = json.dumps({"Parameters": {"Name": {"Type": "String"}}, "Resources": {"Bus": BUS}})
"""What instances deploy: an event bus, whose creation fails where a bus has the name."""
TARGETS: dict[str, Any] = {"OrganizationalUnitIds": ["ou-ab12-11111111"]}
HANDLER = "https://github.com/aws-cloudformation/aws-cloudformation-resource-providers-cloudformation"


def among(kind: str = "", *accounts: str, regions: Sequence[str] = (EAST,)) -> dict[str, Any]:
    """Return properties whose targets have a filter; without a kind, none."""
    filtered: dict[str, Any] = {"AccountFilterType": kind} if kind else {}
    if accounts:
        filtered["Accounts"] = list(accounts)
    return {"StackInstancesGroup": [{"DeploymentTargets": TARGETS | filtered, "Regions": list(regions)}]}


def requests(found: Changes) -> list[str]:
    """Return the requests of an update in words: what, in which Regions, for which accounts."""
    words = []
    for name, groups in (("delete", found.delete), ("create", found.create), ("update", found.update)):
        for group in groups:
            targets = group["DeploymentTargets"]
            kind, accounts = targets.get("AccountFilterType", "all"), " ".join(targets.get("Accounts", ()))
            words.append(" ".join(filter(None, [name, "+".join(group["Regions"]), kind, accounts])))
    return words


# Earlier properties, new ones, and the requests. Each names the handler's method that decides it.
CASES = {
    # InstancesAnalyzer.analyzeForCreate
    "create without a filter: one request for all Regions": (
        {},
        among(regions=[EAST, NORTH]),
        ["create eu-north-1+us-east-1 all"],
    ),
    # Comparator.isAccountLevelTargetingEnabled, AltResourceModelAnalyzer.regroupStackInstancesByRegion
    "create with NONE: one Region after the other": (
        {},
        among("NONE", regions=[EAST, NORTH]),
        ["create us-east-1 NONE", "create eu-north-1 NONE"],
    ),
    "create with exclusions: one Region after the other": (
        {},
        among("DIFFERENCE", "1", regions=[EAST, NORTH]),
        ["create us-east-1 DIFFERENCE 1", "create eu-north-1 DIFFERENCE 1"],
    ),
    # InstancesAnalyzer.analyzeForUpdate
    "update without a filter: only UpdateStackSet": (among(), among(), []),
    "a new Region without a filter": (among(), among(regions=[EAST, NORTH]), ["create eu-north-1 all"]),
    "a Region less without a filter": (among(regions=[EAST, NORTH]), among(), ["delete eu-north-1 all"]),
    # AltResourceModelAnalyzer.analyze
    "a new Region with a filter": (
        among("DIFFERENCE", "1"),
        among("DIFFERENCE", "1", regions=[EAST, NORTH]),
        ["create eu-north-1 DIFFERENCE 1", "update us-east-1 DIFFERENCE 1"],
    ),
    "a Region less with a filter": (
        among("DIFFERENCE", "1", regions=[EAST, NORTH]),
        among("DIFFERENCE", "1"),
        ["delete eu-north-1 DIFFERENCE 1", "update us-east-1 DIFFERENCE 1"],
    ),
    # AltStackInstancesCalculator.constructTargetSetForSharedOu, its nine cases
    "NONE to NONE": (among("NONE"), among("NONE"), ["update us-east-1 NONE"]),
    "the first exclusion": (
        among(),
        among("DIFFERENCE", "1"),
        ["delete us-east-1 INTERSECTION 1", "update us-east-1 DIFFERENCE 1"],
    ),
    "NONE to INTERSECTION": (
        among("NONE"),
        among("INTERSECTION", "1"),
        ["delete us-east-1 DIFFERENCE 1", "update us-east-1 INTERSECTION 1"],
    ),
    "INTERSECTION to NONE": (
        among("INTERSECTION", "1"),
        among("NONE"),
        ["create us-east-1 DIFFERENCE 1", "update us-east-1 INTERSECTION 1"],
    ),
    "INTERSECTION to INTERSECTION": (
        among("INTERSECTION", "1", "2"),
        among("INTERSECTION", "2", "3"),
        ["delete us-east-1 INTERSECTION 1", "create us-east-1 INTERSECTION 3", "update us-east-1 INTERSECTION 2"],
    ),
    "INTERSECTION to DIFFERENCE": (
        among("INTERSECTION", "1", "2"),
        among("DIFFERENCE", "2", "3"),
        ["delete us-east-1 INTERSECTION 2", "create us-east-1 DIFFERENCE 1 2 3", "update us-east-1 INTERSECTION 1"],
    ),
    "the last exclusion removed": (
        among("DIFFERENCE", "1"),
        among(),
        ["create us-east-1 INTERSECTION 1", "update us-east-1 DIFFERENCE 1"],
    ),
    "DIFFERENCE to INTERSECTION": (
        among("DIFFERENCE", "1", "2"),
        among("INTERSECTION", "2", "3"),
        ["delete us-east-1 DIFFERENCE 1 2 3", "create us-east-1 INTERSECTION 2", "update us-east-1 INTERSECTION 3"],
    ),
    "one exclusion replaced by another": (
        among("DIFFERENCE", "1", "2"),
        among("DIFFERENCE", "2", "3"),
        ["delete us-east-1 INTERSECTION 3", "create us-east-1 INTERSECTION 1", "update us-east-1 DIFFERENCE 1 2 3"],
    ),
    # AltStackInstancesCalculator.addToInstancesSet: nobody is no request
    "exclusions that stay": (among("DIFFERENCE", "1"), among("DIFFERENCE", "1"), ["update us-east-1 DIFFERENCE 1"]),
}


@pytest.mark.parametrize("case", CASES)
def test_changes_of_targets_are_those_of_the_handler(case: str) -> None:
    """The requests about instances that an update of the resource makes, by AWS's handler (HANDLER)."""
    earlier, later, expected = CASES[case]
    assert requests(changes(earlier, later)) == expected


# Accounts, how many of them fail first, preferences, and then: rounds, failed, cancelled, whether the operation is FAILED.
STRICT = {"ConcurrencyMode": "STRICT_FAILURE_TOLERANCE", "MaxConcurrentPercentage": 25}
SOFT = {"ConcurrencyMode": "SOFT_FAILURE_TOLERANCE", "MaxConcurrentPercentage": 25}
OPERATIONS = {
    # https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_StackSetOperationPreferences.html
    "percentages are rounded down: one failure of nine stops": (
        9,
        1,
        STRICT | {"FailureTolerancePercentage": 10},
        (1, 1, 8, True),
    ),
    "one failure of ten does not": (10, 1, STRICT | {"FailureTolerancePercentage": 10}, (9, 1, 0, False)),
    "by default, the first failure stops, and one account follows another": (3, 1, {}, (1, 1, 2, True)),
    "by default, without a failure": (3, 0, {}, (3, 0, 0, False)),
    # https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/concurrency-mode.html
    "strict: at most one account more than may fail is begun": (
        100,
        100,
        STRICT | {"FailureTolerancePercentage": 10},
        (1, 11, 89, True),
    ),
    "soft: as many as wanted are begun": (100, 100, SOFT | {"FailureTolerancePercentage": 10}, (1, 25, 75, True)),
    "soft, 100 %: whatever fails, the operation succeeds": (
        100,
        100,
        SOFT | {"FailureTolerancePercentage": 100},
        (4, 100, 0, False),
    ),
}


@pytest.mark.parametrize("case", OPERATIONS)
def test_operations_stop_and_proceed_as_documented(case: str) -> None:
    """How many accounts are begun at the same time, and when an operation fails."""
    number, failing, preferences, expected = OPERATIONS[case]
    accounts = [f"{account:03}" for account in range(number)]
    progress = proceed({EAST: accounts}, Preferences(preferences), failing_in(accounts[:failing]))
    assert (progress.rounds, *counted(progress), progress.exceeded) == expected


def failing_in(accounts: Sequence[str]) -> Any:
    """Return work that fails in accounts."""
    return lambda account_id, _region: "no" if account_id in accounts else ""


def counted(progress: Progress) -> tuple[int, int]:
    """Return how many failed, and how many were cancelled."""
    statuses = [str(result.status) for result in progress.results]
    return statuses.count("FAILED"), statuses.count("CANCELLED")


def test_regions_follow_each_other_or_run_at_the_same_time() -> None:
    """A Region that fails cancels those that have not begun."""
    accounts = {EAST: ["1", "2"], NORTH: ["1", "2"]}
    parallel = proceed(accounts, Preferences({"RegionConcurrencyType": "PARALLEL"}), failing_in([]))
    assert parallel.rounds == 2
    ordered = proceed(accounts, Preferences({"RegionOrder": [NORTH]}), failing_in(["1"]))
    assert [(result.region, str(result.status)) for result in ordered.results] == [
        (NORTH, "FAILED"),
        (EAST, "CANCELLED"),
        (EAST, "CANCELLED"),
        (NORTH, "CANCELLED"),
    ]


class Organization:
    """Accounts a, b, and c in one unit, and a stack with a StackSet for it in the management account."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Create the accounts."""
        self.sandbox = sandbox
        self.organizations: Client = sandbox.client("organizations")
        self.organizations.create_organization(FeatureSet="ALL")
        self.root_id = self.organizations.list_roots()["Roots"][0]["Id"]
        self.unit_id = self.unit("workloads")
        self.accounts = {name: self.join(name) for name in "abc"}
        self.cloudformation: Client = sandbox.client("cloudformation")

    def unit(self, name: str) -> str:
        """Create an organizational unit."""
        made = self.organizations.create_organizational_unit(ParentId=self.root_id, Name=name)
        return str(made["OrganizationalUnit"]["Id"])

    def join(self, name: str) -> str:
        """Create an account, and move it to the unit."""
        made = self.organizations.create_account(AccountName=name, Email=f"{name}@example.com")
        account_id = str(made["CreateAccountStatus"]["AccountId"])
        self.move(account_id, self.root_id, self.unit_id)
        return account_id

    def move(self, account_id: str, source: str, destination: str) -> None:
        """Move an account."""
        given = {"AccountId": account_id, "SourceParentId": source, "DestinationParentId": destination}
        self.organizations.move_account(**given)

    def template(self, *excluded: str, regions: Sequence[str] = (EAST,), name: str = "bus", **preferences: Any) -> str:
        """Return a template with the StackSet."""
        targets: dict[str, Any] = {"OrganizationalUnitIds": [self.unit_id]}
        if excluded:
            accounts = [self.accounts.get(account, account) for account in excluded]
            targets |= {"AccountFilterType": "DIFFERENCE", "Accounts": accounts}
        properties = {
            "StackSetName": "buses",
            "PermissionModel": "SERVICE_MANAGED",
            "AutoDeployment": {"Enabled": True, "RetainStacksOnAccountRemoval": False},
            "TemplateBody": INNER,
            "Parameters": [{"ParameterKey": "Name", "ParameterValue": name}],
            "OperationPreferences": preferences,
            "StackInstancesGroup": [{"DeploymentTargets": targets, "Regions": list(regions)}],
        }
        resource = {"Type": "AWS::CloudFormation::StackSet", "Properties": properties}
        return json.dumps({"Resources": {"StackSet": resource}})

    def block(self, account: str, name: str = "bus") -> Client:
        """Create a bus of that name in an account, so that a deployment fails there; return a client of the account."""
        events: Client = direct_client(self.sandbox, "events", EAST)
        with acting_in(self.accounts[account]):
            events.create_event_bus(Name=name)
        return events

    def unblock(self, account: str, name: str = "bus") -> None:
        """Delete that bus."""
        events: Client = direct_client(self.sandbox, "events", EAST)
        with acting_in(self.accounts[account]):
            events.delete_event_bus(Name=name)

    def status(self) -> str:
        """Return the status of the stack."""
        return str(self.cloudformation.describe_stacks(StackName="outer")["Stacks"][0]["StackStatus"])

    def instances(self) -> dict[str, str]:
        """Return the status of each instance, by the account's name and Region."""
        rows = self.cloudformation.list_stack_instances(StackSetName="buses")["Summaries"]
        names = {account_id: name for name, account_id in self.accounts.items()}
        return {f"{names[row['Account']]} {row['Region']}": row["Status"] for row in rows}

    def buses(self, region: str = EAST) -> str:
        """Return the accounts that have a bus of a StackSet, each with its name unless that is "bus"."""
        events: Client = direct_client(self.sandbox, "events", region)
        found = []
        for name, account_id in self.accounts.items():
            with acting_in(account_id):
                rows = [row["Name"] for row in events.list_event_buses()["EventBuses"] if row["Name"] != "default"]
            found += [name if row == "bus" else f"{name}:{row}" for row in rows]
        return " ".join(found)


@pytest.fixture
def organization(sandbox: Sandbox) -> Iterator[Organization]:
    """Yield an organization in which CloudFormation deploys."""
    patches = Patches()
    CloudFormation(sandbox).apply(patches)
    yield Organization(sandbox)
    patches.undo()


SOFT_100 = {
    "ConcurrencyMode": "SOFT_FAILURE_TOLERANCE",
    "FailureTolerancePercentage": 100,
    "MaxConcurrentPercentage": 100,
}


def test_beyond_the_tolerance_the_stack_rolls_back_with_the_good_instances(organization: Organization) -> None:
    """CreateHandler.handleRequest, BaseHandlerStd.isStackSetOperationDone: the resource does not stabilize, and is deleted."""
    organization.block("c")
    organization.cloudformation.create_stack(StackName="outer", TemplateBody=organization.template())
    assert organization.status() == "ROLLBACK_COMPLETE"
    [stack] = organization.cloudformation.describe_stacks(StackName="outer")["Stacks"]
    assert "was unexpectedly stopped or failed. status reason(s): [ResourceLogicalId:Bus" in stack["StackStatusReason"]
    events = organization.cloudformation.describe_stack_events(StackName="outer")["StackEvents"]
    assert [(row["LogicalResourceId"], row["ResourceStatus"]) for row in events] == [
        ("outer", "ROLLBACK_COMPLETE"),
        ("StackSet", "CREATE_FAILED"),
    ]
    assert organization.buses() == "c"  # the one that was there before
    with pytest.raises(ClientError, match="StackSetNotFound"):
        organization.instances()


def test_a_stack_in_rollback_complete_can_only_be_deleted(organization: Organization) -> None:
    """https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html."""
    cloudformation = organization.cloudformation
    organization.block("c")
    cloudformation.create_stack(StackName="outer", TemplateBody=organization.template())
    organization.unblock("c")
    with pytest.raises(ClientError, match="is in ROLLBACK_COMPLETE state and can not be updated"):
        cloudformation.update_stack(StackName="outer", TemplateBody=organization.template(name="other"))
    with pytest.raises(ClientError, match="already exists"):
        cloudformation.create_stack(StackName="outer", TemplateBody=organization.template())
    cloudformation.delete_stack(StackName="outer")
    cloudformation.create_stack(StackName="outer", TemplateBody=organization.template())
    assert (organization.status(), organization.buses()) == ("CREATE_COMPLETE", "a b c")


def test_soft_tolerance_of_all_succeeds_and_is_repaired_by_instances(organization: Organization) -> None:
    """The stack succeeds, an unchanged stack has no update, and updating the instance that failed creates its stack."""
    cloudformation, template = organization.cloudformation, organization.template(**SOFT_100)
    organization.block("b")
    cloudformation.create_stack(StackName="outer", TemplateBody=template)
    assert organization.status() == "CREATE_COMPLETE"
    assert organization.instances() == {"a us-east-1": "CURRENT", "b us-east-1": "OUTDATED", "c us-east-1": "CURRENT"}
    organization.unblock("b")
    with pytest.raises(ClientError, match="No updates are to be performed"):
        cloudformation.update_stack(StackName="outer", TemplateBody=template)
    targets = {"OrganizationalUnitIds": [organization.unit_id], "Accounts": [organization.accounts["b"]]}
    given = {"StackSetName": "buses", "Regions": [EAST]}
    cloudformation.update_stack_instances(**given, DeploymentTargets=targets | {"AccountFilterType": "INTERSECTION"})
    assert (set(organization.instances().values()), organization.buses()) == ({"CURRENT"}, "a b c")


def test_a_failed_update_puts_every_instance_back(organization: Organization) -> None:
    """UpdateHandler.handleRequest for the rollback: the earlier properties, with the earlier preferences."""
    cloudformation = organization.cloudformation
    cloudformation.create_stack(StackName="outer", TemplateBody=organization.template(**SOFT_100))
    organization.block("c", "new")
    cloudformation.update_stack(StackName="outer", TemplateBody=organization.template(name="new"))
    assert (organization.status(), organization.buses()) == ("UPDATE_ROLLBACK_COMPLETE", "a b c c:new")
    assert set(organization.instances().values()) == {"CURRENT"}
    organization.unblock("c", "new")
    cloudformation.update_stack(StackName="outer", TemplateBody=organization.template(name="new"))
    assert (organization.status(), organization.buses()) == ("UPDATE_COMPLETE", "a:new b:new c:new")


def test_a_rollback_that_fails_is_continued(organization: Organization) -> None:
    """https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_ContinueUpdateRollback.html."""
    cloudformation, accounts = organization.cloudformation, organization.accounts
    organization.move(accounts["c"], organization.unit_id, organization.root_id)
    cloudformation.create_stack(StackName="outer", TemplateBody=organization.template())
    for name in ("bus", "new"):
        organization.block("c", name)
    organization.move(accounts["c"], organization.root_id, organization.unit_id)  # fails, without touching the others
    assert organization.instances() == {"a us-east-1": "CURRENT", "b us-east-1": "CURRENT", "c us-east-1": "OUTDATED"}
    update = {"StackName": "outer", "TemplateBody": organization.template(name="new")}
    cloudformation.update_stack(**update)
    assert organization.status() == "UPDATE_ROLLBACK_FAILED"
    with pytest.raises(ClientError, match="is in UPDATE_ROLLBACK_FAILED state and can not be updated"):
        cloudformation.update_stack(**update)
    cloudformation.continue_update_rollback(StackName="outer")
    assert organization.status() == "UPDATE_ROLLBACK_FAILED"  # the cause is still there
    cloudformation.continue_update_rollback(StackName="outer", ResourcesToSkip=["StackSet"])
    assert organization.status() == "UPDATE_ROLLBACK_COMPLETE"
    for name in ("bus", "new"):
        organization.unblock("c", name)
    cloudformation.update_stack(**update)
    assert (organization.status(), organization.buses()) == ("UPDATE_COMPLETE", "a:new b:new c:new")


def test_changed_exclusions_touch_only_those_accounts(organization: Organization) -> None:
    """The first exclusion deletes one instance, another one deletes and creates one each, and none creates the last."""
    cloudformation = organization.cloudformation
    cloudformation.create_stack(StackName="outer", TemplateBody=organization.template())
    seen = [organization.buses()]
    for excluded in (["a"], ["a", "b"], ["b"], []):
        cloudformation.update_stack(StackName="outer", TemplateBody=organization.template(*excluded))
        seen.append(organization.buses())
    assert seen == ["a b c", "b c", "c", "a c", "a b c"]
    assert organization.status() == "UPDATE_COMPLETE"


def test_automatic_deployment_ignores_the_filter(organization: Organization) -> None:
    """An account that is excluded before it joins gets a stack, and the StackSet can then not be deleted with its stack.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stacksets-orgs-manage-auto-deployment.html, and
    DeleteHandler.handleRequest, which deletes the instances of the targets only.
    """
    made = organization.organizations.create_account(AccountName="d", Email="d@example.com")
    joining = str(made["CreateAccountStatus"]["AccountId"])
    organization.accounts["d"] = joining
    cloudformation = organization.cloudformation
    cloudformation.create_stack(StackName="outer", TemplateBody=organization.template("c", "d"))
    assert organization.buses() == "a b"
    organization.move(joining, organization.root_id, organization.unit_id)
    assert organization.buses() == "a b d"
    cloudformation.delete_stack(StackName="outer")
    assert (organization.status(), organization.buses()) == ("DELETE_FAILED", "d")
    targets = {
        "OrganizationalUnitIds": [organization.unit_id],
        "Accounts": [joining],
        "AccountFilterType": "INTERSECTION",
    }
    given = {"StackSetName": "buses", "Regions": [EAST], "RetainStacks": False}
    cloudformation.delete_stack_instances(**given, DeploymentTargets=targets)
    cloudformation.delete_stack(StackName="outer")
    assert organization.buses() == ""


def test_an_account_that_moves_loses_one_stack_and_gets_another(organization: Organization) -> None:
    """Also if it leaves the organization. Suspended accounts are skipped, and keep what they have."""
    organization.cloudformation.create_stack(StackName="outer", TemplateBody=organization.template())
    organization.move(organization.accounts["a"], organization.unit_id, organization.root_id)
    assert organization.buses() == "b c"
    organization.move(organization.accounts["a"], organization.root_id, organization.unit_id)
    assert organization.buses() == "a b c"
    organization.organizations.close_account(AccountId=organization.accounts["b"])
    organization.cloudformation.update_stack(StackName="outer", TemplateBody=organization.template(name="new"))
    assert organization.buses() == "a:new b c:new"
    rows = organization.cloudformation.list_stack_instances(StackSetName="buses")["Summaries"]
    assert sorted(row["StackInstanceStatus"]["DetailedStatus"] for row in rows) == [
        "SKIPPED_SUSPENDED_ACCOUNT",
        "SUCCEEDED",
        "SUCCEEDED",
    ]


def test_a_stack_is_busy_for_as_long_as_its_instances(organization: Organization) -> None:
    """Without a filter, all Regions at once; with one, one after the other; a busy stack cannot be updated."""
    administrator = administrator_of(organization.sandbox.account_id, organization.sandbox.region)
    administrator.instance_seconds = 60
    template = organization.template(regions=[EAST, NORTH], **SOFT_100, RegionConcurrencyType="PARALLEL")
    organization.cloudformation.create_stack(StackName="outer", TemplateBody=template)
    assert (organization.status(), administrator.seconds) == ("CREATE_IN_PROGRESS", 60)
    with pytest.raises(ClientError, match="CREATE_IN_PROGRESS state and can not be updated"):
        organization.cloudformation.update_stack(StackName="outer", TemplateBody=organization.template())


def test_a_stack_is_deployed_by_change_sets(organization: Organization) -> None:
    """As `aws cloudformation deploy` does it: what a change set would not change is a failed change set."""
    cloudformation, given = organization.cloudformation, {"StackName": "outer", "ChangeSetName": "deploy"}
    template = {"TemplateBody": organization.template()}
    cloudformation.create_change_set(**given, **template, ChangeSetType="CREATE")
    cloudformation.execute_change_set(**given)
    assert (organization.status(), organization.buses()) == ("CREATE_COMPLETE", "a b c")
    cloudformation.create_change_set(**given, **template, ChangeSetType="UPDATE")
    described = cloudformation.describe_change_set(**given)
    assert (described["Status"], described["ExecutionStatus"]) == ("FAILED", "UNAVAILABLE")
    assert "didn't contain changes" in described["StatusReason"]
    cloudformation.delete_change_set(**given)
    cloudformation.create_change_set(**given, TemplateBody=organization.template("a"), ChangeSetType="UPDATE")
    assert organization.buses() == "a b c"
    cloudformation.execute_change_set(**given)
    assert (organization.status(), organization.buses()) == ("UPDATE_COMPLETE", "b c")


def test_a_delegated_administrator_says_so(organization: Organization) -> None:
    """What it creates belongs to the management account, and without CallAs, it is not found.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stacksets-orgs-delegated-admin.html
    """
    credentials = organization.sandbox.credentials(organization.accounts["a"])
    delegated: Client = organization.sandbox.client("cloudformation", credentials=credentials)
    with pytest.raises(ClientError, match="must be the management account or delegated admin"):
        delegated.list_stack_sets(CallAs="DELEGATED_ADMIN")
    organization.sandbox.client("organizations").register_delegated_administrator(
        AccountId=organization.accounts["a"], ServicePrincipal=STACK_SETS
    )
    properties = json.loads(organization.template(**SOFT_100))["Resources"]["StackSet"]["Properties"]
    properties["CallAs"] = "DELEGATED_ADMIN"
    resource = {"Type": "AWS::CloudFormation::StackSet", "Properties": properties}
    delegated.create_stack(StackName="outer", TemplateBody=json.dumps({"Resources": {"StackSet": resource}}))
    assert organization.buses() == "a b c"
    assert set(organization.instances().values()) == {"CURRENT"}
    assert len(delegated.list_stack_instances(StackSetName="buses", CallAs="DELEGATED_ADMIN")["Summaries"]) == 3
    with pytest.raises(ClientError, match="StackSetNotFound"):
        delegated.list_stack_instances(StackSetName="buses")

"""StackSets with service-managed permissions: the same template in the accounts and Regions of organizational units.

Each instance is a stack of its own. One that fails leaves the others as they are, until more of them fail than the
operation tolerates: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stacksets-concepts.html
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, NamedTuple

from moto.cloudformation.exceptions import (
    StackInstanceNotFound,
    StackSetNotEmpty,
    ValidationError,
)
from moto.cloudformation.models import cloudformation_backends
from moto.core.utils import utcnow
from moto.moto_api._internal import mock_random
from moto.organizations.models import organizations_backends
from moto.utilities.utils import get_partition

from config_rule_sandbox.cloudformation.account import Account
from config_rule_sandbox.cloudformation.rounds import Preferences, Progress, Result, ResultStatus, proceed
from config_rule_sandbox.cloudformation.stacks import FAILURES, Stack, create_stack, update_stack
from config_rule_sandbox.cloudformation.text import read
from config_rule_sandbox.cloudformation.values import TemplateError
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.server import Sandbox

REFUSED = ("Fn::Transform", "Transform")
"""What service-managed StackSets refuse with their default role, whatever the capabilities.

https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStackSet.html
"""


def deploy(
    sandbox: Sandbox,
    template: str,
    parameters: Mapping[str, str],
    account_id: str,
    region: str,
    stack_name: str = "StackSet-rule",
) -> Stack:
    """Create a stack in an account and Region from the text of a template; `failure` says why it failed, if it did.

    TemplateError if the template has a transform, or if it or its parameters are refused.
    """
    return create_stack(Account(sandbox, account_id, region), stack_name, accepted(template), parameters)


def accepted(text: str) -> dict[str, Any]:
    """Return the template of a StackSet. TemplateError if StackSets refuse it."""
    template = read(text)
    if transform := next(filter(None, (_found(template, name) for name in REFUSED)), None):
        raise TemplateError(f"service-managed StackSets do not accept {transform}")
    return template


def _found(node: Any, name: str) -> str | None:  # noqa: ANN401  # JSON
    """Return the name if a key of a template has it."""
    if isinstance(node, list):
        return next(filter(None, (_found(item, name) for item in node)), None)
    if not isinstance(node, dict):
        return None
    return name if name in node else next(filter(None, (_found(value, name) for value in node.values())), None)


class Place(NamedTuple):
    """An account (12 digits) and a Region."""

    account_id: str
    region: str


@dataclass(slots=True)
class Instance:
    """The stack of a StackSet in an account and Region; `stack` is None if it could not be created.

    `status` is CURRENT, OUTDATED, or INOPERABLE; `detailed_status` is what the last operation did here.
    """

    place: Place
    unit_id: str
    overrides: dict[str, str] = field(default_factory=dict)
    stack: Stack | None = None
    status: str = "OUTDATED"
    detailed_status: str = "PENDING"
    reason: str = ""
    operation_id: str = ""


@dataclass(slots=True)
class Operation:
    """One operation of a StackSet; it ends, as far as callers see, at `until` on the monotonic clock."""

    action: str
    preferences: Mapping[str, Any]
    targets: Mapping[str, Any]
    results: Sequence[Result]
    failed: bool
    rounds: int
    until: float
    id: str
    created: datetime = field(default_factory=utcnow)

    @property
    def status(self) -> str:
        """RUNNING, SUCCEEDED, or FAILED."""
        if monotonic() < self.until:
            return "RUNNING"
        return "FAILED" if self.failed else "SUCCEEDED"

    @property
    def ended(self) -> datetime | None:
        """When it ended; None while it runs."""
        since = monotonic() - self.until
        return None if since < 0 else utcnow() - timedelta(seconds=since)


@dataclass(slots=True)
class StackSet:
    """A StackSet; `units` are the OUs and Regions to which accounts that join are deployed."""

    name: str
    arn: str
    template: str
    parameters: dict[str, str]
    settings: dict[str, Any]
    instances: dict[Place, Instance] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    units: dict[str, set[str]] = field(default_factory=dict)
    is_deleted: bool = False

    @property
    def id(self) -> str:
        """The name, a colon, and a UUID."""
        return self.arn.rpartition("/")[2]

    @property
    def deploys_automatically(self) -> bool:
        """Whether accounts that join a target get a stack, and those that leave lose it."""
        return bool(self.settings.get("AutoDeployment", {}).get("Enabled"))

    @property
    def depends_on(self) -> Sequence[str]:
        """The ARNs of the StackSets that are deployed to a joining account before this one."""
        found: Sequence[str] = self.settings.get("AutoDeployment", {}).get("DependsOn", ())
        return found


@dataclass(slots=True)
class Administrator:
    """The StackSets of an account and Region.

    `instance_seconds` is how long a stack of an instance takes, as callers see it; `seconds` is the sum of all operations.
    While a stack that contains a StackSet waits for it, operations end at once, and that stack takes the time.
    """

    stack_sets: list[StackSet] = field(default_factory=list)
    instance_seconds: float = 0.0
    seconds: float = 0.0
    is_waited_for: bool = False

    def find(self, name: str) -> StackSet | None:
        """Return the StackSet with a name, an ID, or an ARN; by its name only if it is not deleted."""
        for stack_set in reversed(self.stack_sets):
            if name in (stack_set.id, stack_set.arn) or (name == stack_set.name and not stack_set.is_deleted):
                return stack_set
        return None


def administrator_of(account_id: str, region: str) -> Administrator:
    """Return the StackSets of an account and Region. A reset of moto's backend removes them."""
    found: Administrator = vars(cloudformation_backends[account_id][region]).setdefault(
        "sandbox_stack_sets", Administrator()
    )
    return found


def set_status(
    administrator: tuple[str, str], stack_set: str, place: tuple[str, str], status: str, reason: str = ""
) -> None:
    """Set the status (CURRENT, OUTDATED or INOPERABLE) of the instance of a StackSet in an account and Region.

    `administrator` is the account and Region of the StackSet.
    """
    found = administrator_of(*administrator).find(stack_set)
    assert found
    instance = found.instances[Place(*place)]
    instance.status, instance.reason = status, reason


def organization_of(account_id: str) -> Moto:
    """Return moto's backend with the organization of an account."""
    partition = get_partition("us-east-1")
    management = organizations_backends.master_accounts.get(account_id, (account_id, partition))
    return organizations_backends[management[0]][management[1]]


def accounts_in(organization: Moto, unit_id: str) -> list[Moto]:
    """Return the accounts of a unit or root and of all units below it, without the management account, sorted by ID.

    https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DeploymentTargets.html
    """
    parents = {unit.id: unit.parent_id for unit in organization.ou}
    if organization.org is None or unit_id not in {*parents, organization.org.root_id}:
        raise ValidationError(message=f"Organizational unit {unit_id} does not exist")

    def is_below(parent_id: str | None) -> bool:
        return parent_id == unit_id or (parent_id in parents and is_below(parents[parent_id]))

    found = [account for account in organization.accounts if is_below(account.parent_id)]
    management = organization.org.master_account_id
    return sorted((account for account in found if account.id != management), key=lambda account: str(account.id))


@dataclass(frozen=True, slots=True)
class Targets:
    """DeploymentTargets and Regions of a request."""

    given: Mapping[str, Any]
    regions: Sequence[str]

    @property
    def filter(self) -> str:
        """The AccountFilterType, which is NONE if none is given: UNION with no accounts is the same."""
        return str(self.given.get("AccountFilterType", "NONE"))

    @property
    def unit_ids(self) -> Sequence[str]:
        """The IDs of the units."""
        found: Sequence[str] = self.given.get("OrganizationalUnitIds", ())
        return found

    def check(self) -> None:
        """Raise ValidationError for targets that CreateStackInstances does not accept."""
        if not self.unit_ids:
            raise ValidationError(message="OrganizationalUnitIds are required")
        if self.filter == "UNION":
            raise ValidationError(message="UNION is not supported for CreateStackInstances")
        if bool(self.given.get("Accounts")) != (self.filter != "NONE"):
            raise ValidationError(message="Accounts and AccountFilterType must be given together")

    def accounts(self, organization: Moto) -> dict[str, str]:
        """Return the unit of each account that the targets contain now, by account ID."""
        named = set(self.given.get("Accounts", ()))
        found: dict[str, str] = {}
        for unit_id in self.unit_ids:
            for account in accounts_in(organization, unit_id):
                if self._contains(account.id, named):
                    found[account.id] = unit_id
        return dict(sorted(found.items()))

    def contains(self, instance: Instance) -> bool:
        """Return whether an instance is among the targets."""
        named = set(self.given.get("Accounts", ()))
        is_in_unit = not self.unit_ids or instance.unit_id in self.unit_ids
        return instance.place.region in self.regions and is_in_unit and self._contains(instance.place.account_id, named)

    def _contains(self, account_id: str, named: set[str]) -> bool:
        if self.filter == "INTERSECTION" or (named and not self.unit_ids):
            return account_id in named
        return self.filter != "DIFFERENCE" or account_id not in named


class Deployment:
    """Operations of the StackSets of one administrator account and Region."""

    def __init__(self, sandbox: Sandbox, account_id: str, region: str) -> None:
        """Deploy nothing yet."""
        self._sandbox = sandbox
        self._administrator = administrator_of(account_id, region)
        self._organization = organization_of(account_id)

    def create_instances(
        self, stack_set: StackSet, targets: Targets, overrides: Mapping[str, str], preferences: Mapping[str, Any]
    ) -> Operation:
        """Create the instances of targets; those that exist are updated.

        Accounts that join a unit are deployed to, whatever the filter: automatic deployments do not consider it
        (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/stacksets-orgs-manage-auto-deployment.html).
        """
        targets.check()
        unit_of = targets.accounts(self._organization)
        for unit_id in targets.unit_ids:
            stack_set.units.setdefault(unit_id, set()).update(targets.regions)
        places = [Place(account_id, region) for region in targets.regions for account_id in unit_of]
        for place in places:
            instance = stack_set.instances.setdefault(place, Instance(place, unit_of[place.account_id]))
            instance.overrides = dict(overrides)
        return self._operate(stack_set, "CREATE", places, preferences, self._deploy, targets.given)

    def update_instances(
        self,
        stack_set: StackSet,
        targets: Targets | None,
        overrides: Mapping[str, str] | None,
        preferences: Mapping[str, Any],
    ) -> Operation:
        """Update the instances of targets, or all of them. INOPERABLE ones are left alone."""
        found = [row for row in stack_set.instances.values() if targets is None or targets.contains(row)]
        if targets is not None and not found:
            raise StackInstanceNotFound
        for instance in found:
            instance.overrides = instance.overrides if overrides is None else dict(overrides)
        places = [instance.place for instance in found if instance.status != "INOPERABLE"]
        given = targets.given if targets else {}
        return self._operate(stack_set, "UPDATE", places, preferences, self._deploy, given)

    def delete_instances(
        self, stack_set: StackSet, targets: Targets, preferences: Mapping[str, Any], *, retain: bool
    ) -> Operation:
        """Delete the instances of targets, with their stacks unless these are retained."""
        places = [row.place for row in stack_set.instances.values() if targets.contains(row)]
        if not places:
            raise StackInstanceNotFound

        def delete(stack_set: StackSet, instance: Instance) -> str:
            return "" if retain else self._delete(stack_set, instance)

        operation = self._operate(stack_set, "DELETE", places, preferences, delete, targets.given)
        for unit_id in targets.unit_ids:
            used = {row.place.region for row in stack_set.instances.values() if row.unit_id == unit_id}
            stack_set.units.get(unit_id, set()).difference_update(set(targets.regions) - used)
        return operation

    def delete(self, stack_set: StackSet) -> None:
        """Delete a StackSet without instances."""
        if stack_set.instances:
            raise StackSetNotEmpty
        stack_set.is_deleted = True

    def account_changed(self, account_id: str) -> None:
        """Deploy automatically to an account that was created or moved, or delete from one that is not in a target now."""
        automatic = [row for row in self._administrator.stack_sets if row.deploys_automatically and not row.is_deleted]
        for stack_set in automatic:
            units = self._units_of(stack_set, account_id)
            gone = [
                row.place
                for row in stack_set.instances.values()
                if row.place.account_id == account_id and row.place.region not in units
            ]
            if gone:
                retain = bool(stack_set.settings["AutoDeployment"].get("RetainStacksOnAccountRemoval"))
                self._operate(stack_set, "DELETE", gone, {}, _nothing if retain else self._delete, {})
        for stack_set in _in_order(automatic):
            joined = [
                Instance(Place(account_id, region), unit_id)
                for region, unit_id in self._units_of(stack_set, account_id).items()
                if Place(account_id, region) not in stack_set.instances
            ]
            stack_set.instances.update({row.place: row for row in joined})
            if joined:
                preferences = {"FailureTolerancePercentage": 100}  # none of the StackSet's apply here
                places = [row.place for row in joined]
                self._operate(stack_set, "CREATE", places, preferences, self._deploy, {})

    def _units_of(self, stack_set: StackSet, account_id: str) -> dict[str, str]:
        """Return the unit through which an account is a target now, by Region."""
        return {
            region: unit_id
            for unit_id, regions in stack_set.units.items()
            for region in regions
            if account_id in {account.id for account in accounts_in(self._organization, unit_id)}
        }

    def _operate(
        self,
        stack_set: StackSet,
        action: str,
        places: Iterable[Place],
        preferences: Mapping[str, Any],
        work: Callable[[StackSet, Instance], str],
        targets: Mapping[str, Any],
    ) -> Operation:
        accounts: dict[str, list[str]] = {}
        for place in places:
            accounts.setdefault(place.region, []).append(place.account_id)
        progress = proceed(
            accounts,
            Preferences(preferences),
            lambda account_id, region: work(stack_set, stack_set.instances[Place(account_id, region)]),
        )
        seconds = progress.rounds * self._administrator.instance_seconds
        self._administrator.seconds += seconds
        operation = Operation(
            action,
            preferences,
            targets,
            progress.results,
            progress.exceeded,
            progress.rounds,
            monotonic() + (0.0 if self._administrator.is_waited_for else seconds),
            str(mock_random.uuid4()),
        )
        self._note(stack_set, operation, progress)
        stack_set.operations.append(operation)
        return operation

    def _note(self, stack_set: StackSet, operation: Operation, progress: Progress) -> None:
        """Keep in each instance what the operation did; deleted ones are gone."""
        for result in progress.results:
            instance = stack_set.instances[Place(result.account_id, result.region)]
            instance.operation_id, instance.reason = operation.id, result.reason
            is_skipped = instance.detailed_status == SKIPPED and not result.reason
            instance.detailed_status = SKIPPED if is_skipped else str(result.status)
            if operation.action == "DELETE":
                if result.status is ResultStatus.SUCCEEDED:
                    del stack_set.instances[instance.place]
                elif result.status is ResultStatus.FAILED:
                    instance.status = instance.detailed_status = "INOPERABLE"
            elif not is_skipped:
                instance.status = "CURRENT" if result.status is ResultStatus.SUCCEEDED else "OUTDATED"

    def _deploy(self, stack_set: StackSet, instance: Instance) -> str:
        """Create or update the stack of an instance, and return why that failed, or an empty text."""
        if self._is_suspended(instance.place.account_id):
            instance.detailed_status = SKIPPED
            return ""
        instance.detailed_status = "RUNNING"
        template, parameters = read(stack_set.template), stack_set.parameters | instance.overrides
        try:
            if instance.stack:
                return str(update_stack(instance.stack, template, parameters) or "")
            name = f"StackSet-{stack_set.name}-{mock_random.uuid4()}"
            made = create_stack(Account(self._sandbox, *instance.place), name, template, parameters)
        except (TemplateError, *FAILURES) as error:
            return str(error)
        instance.stack = None if made.failure else made
        return str(made.failure or "")

    def _delete(self, _stack_set: StackSet, instance: Instance) -> str:
        try:
            if instance.stack:
                instance.stack.delete()
                instance.stack.status = "DELETE_COMPLETE"
        except FAILURES as error:
            return str(error)
        return ""

    def _is_suspended(self, account_id: str) -> bool:
        return any(row.id == account_id and row.status == "SUSPENDED" for row in self._organization.accounts)


SKIPPED = "SKIPPED_SUSPENDED_ACCOUNT"


def _nothing(_stack_set: StackSet, _instance: Instance) -> str:
    return ""


def _in_order(stack_sets: Sequence[StackSet]) -> Iterator[StackSet]:
    """Yield StackSets, each after those that it depends on."""
    waiting = list(stack_sets)
    while waiting:
        arns = {row.arn for row in waiting}
        ready = [row for row in waiting if not arns & set(row.depends_on)] or waiting
        yield from ready
        waiting = [row for row in waiting if row not in ready]

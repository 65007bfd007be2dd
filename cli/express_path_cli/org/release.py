"""Deploy a version of the rule in rings. On trouble, stop, and put the previous version back.

StackSets have no rollback triggers: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStackSet.html
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from express_path.adapters.aws import Aws, calling, pages
from express_path.errors import ApiError, ExpressPathError
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.organization import Member
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.org.stack_sets import VERSION, Deployed, StackSet, read_deployed
from express_path_cli.sources.live import Home, clients_of, find_home
from express_path_cli.terminal.errors import Failure, OptionError, one_line
from express_path_cli.terminal.progress import Silent
from express_path_cli.terminal.texts import count_text

POLL_SECONDS = 30
"""How often the operations and the alarms are read."""
TOLERANCE_PERCENT = 10
"""How many of the accounts in a Region may fail before an operation stops. In the canary, none may."""
BLIND_LOOKS = 5
"""After how many failed looks in a row a release that cannot be watched is stopped."""
_RUNNING = ("QUEUED", "RUNNING", "STOPPING")
_TEMPLATE = "TemplateKey"


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the rule: the keys of its template and of its functions' code in the artifact buckets."""

    template_key: str
    code_key: str


def read_version(file: Path, option: str) -> Version:
    """Read the file `parameters` that make org-package writes. Raise OptionError."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{option} {file}: {error}", "give the file build/org/parameters of that version") from error
    keys = dict(line.split("=", 1) for line in lines if "=" in line)
    for name in (_TEMPLATE, VERSION):
        if not keys.get(name):
            raise OptionError(
                f"{option} {file}: {name} is missing", "give the file build/org/parameters of that version"
            )
    return Version(keys[_TEMPLATE], keys[VERSION])


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """What to release: the StackSet that is the canary, the versions, how many Regions a batch has, and how long to watch."""

    live: LiveOptions
    canary: str
    previous: Version
    new: Version
    stack_set_prefix: str
    batch: int
    watch_seconds: float


class Target(NamedTuple):
    """The instances of a StackSet in some Regions."""

    stack_set: StackSet
    account_ids: tuple[str, ...]
    regions: tuple[str, ...]


class Ring(NamedTuple):
    """What is deployed together. In the canary, no account may fail."""

    name: str
    targets: Sequence[Target]
    tolerance: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The rings, in order, and where the StackSets are."""

    request: ReleaseRequest
    home: Home
    call_as: str
    rings: Sequence[Ring]


def plan_release(request: ReleaseRequest) -> Plan:
    """Read the StackSets and the accounts of their instances. Raise OptionError, ApiError."""
    request.live.check()
    home = find_home(request.live)
    with TaskPool(request.live.workers, Silent()) as task_pool:
        deployed = read_deployed(home, request.stack_set_prefix, task_pool)
        _raise_first(task_pool.failures)
    return Plan(request, home, deployed.call_as, list(_rings(request, deployed)))


def _raise_first(failures: Sequence[Failure]) -> None:
    for failure in failures:
        raise OptionError(
            f"{failure.where}: {one_line(failure.error)}", "fix it first: a release must see every account"
        )


def _rings(request: ReleaseRequest, deployed: Deployed) -> Iterator[Ring]:
    """Yield the canary in all of its Regions, and then the other StackSets in batches of Regions. Raise OptionError."""
    stack_sets = [row for row in deployed.stack_sets if row.deploys_rule]
    canaries = [row for row in stack_sets if row.name == request.canary]
    if not canaries:
        named = ", ".join(row.name for row in stack_sets) or "none"
        raise OptionError(f"--canary {request.canary}: no such StackSet of the rule", f"there are: {named}")
    for row in stack_sets:
        if row.version not in (request.previous.code_key, request.new.code_key):
            hint = "give the file of the version that is deployed, so that it can be put back"
            raise OptionError(f"--previous: {row.name} has the code {row.version or 'of an unknown version'}", hint)
    regions = list(dict.fromkeys(place.region for place in sorted(deployed.instances, key=lambda place: place.region)))
    targets = _targets(canaries, regions, deployed)
    if not targets:
        raise OptionError(f"--canary {request.canary}: it has no stack instances", "choose a StackSet that has some")
    yield Ring(f"canary {request.canary}", targets, 0)
    others = [row for row in stack_sets if row.name != request.canary]
    for start in range(0, len(regions), request.batch):
        batch = regions[start : start + request.batch]
        if targets := _targets(others, batch, deployed):
            yield Ring(", ".join(batch), targets, TOLERANCE_PERCENT)


def _targets(stack_sets: Sequence[StackSet], regions: Sequence[str], deployed: Deployed) -> list[Target]:
    targets = []
    for stack_set in stack_sets:
        places = [place for place, row in deployed.instances.items() if row.stack_set == stack_set]
        here = [place for place in places if place.region in regions]
        if here:
            accounts = tuple(sorted({place.account_id for place in here}))
            targets.append(Target(stack_set, accounts, tuple(sorted({place.region for place in here}))))
    return targets


class Release:
    """A release that runs. What happens is a line for `say`."""

    def __init__(self, plan: Plan, say: Callable[[str], None]) -> None:
        """Begin with nothing deployed."""
        self._plan, self._say = plan, say
        self._cloudformation: Any = plan.home.aws.client("cloudformation")
        self._begun: list[Target] = []
        self._parameters: dict[Version, frozenset[str]] = {}

    def run(self) -> bool:
        """Deploy ring after ring, and return whether all succeeded. After trouble, put the previous version back.

        Raise ApiError or OptionError before anything is deployed if a template or the alarms cannot be read, and ApiError later
        if the previous version cannot be put back.
        """
        for ring in self._plan.rings:
            self._alarms(ring)
        for version in (self._plan.request.previous, self._plan.request.new):
            self._parameters[version] = self._parameter_names(version)
        for ring in self._plan.rings:
            self._say(f"deploying ring {ring.name}")
            if trouble := self._trouble_in(ring):
                self._say(f"trouble: {trouble}")
                self._put_back()
                return False
        return True

    def _trouble_in(self, ring: Ring) -> str:
        """Deploy one ring and watch it; return what went wrong, or an empty text. What is running is stopped then."""
        running: dict[str, str] = {}
        before = self._alarms(ring)
        try:
            for target in ring.targets:
                self._begun.append(target)
                running[target.stack_set.name] = self._update(target, self._plan.request.new, ring.tolerance)
            return self._watched(ring, running, before)
        except ExpressPathError as error:
            return one_line(error)
        finally:
            self._stop(running)

    def _watched(self, ring: Ring, running: dict[str, str], before: frozenset[str]) -> str:
        """Wait for the operations, and then for a time in which alarms may go off; return what went wrong.

        Raise ApiError or OptionError if too many looks in a row fail.
        """
        calm_since, blind = None, 0
        while True:
            try:
                if trouble := self._look(ring, running, before):
                    return trouble
                blind = 0
            except ExpressPathError:
                blind += 1
                if blind == BLIND_LOOKS:
                    raise
            if not running and not blind:
                calm_since = calm_since or time.monotonic()
                if time.monotonic() - calm_since >= self._plan.request.watch_seconds:
                    return ""
            time.sleep(POLL_SECONDS)

    def _look(self, ring: Ring, running: dict[str, str], before: frozenset[str]) -> str:
        """Return what went wrong, or an empty text. Operations that ended are removed from `running`."""
        for name, status in {name: self._status(name, running[name]) for name in running}.items():
            if status not in _RUNNING:
                del running[name]
                if status != "SUCCEEDED":
                    return f"the operation of {name} ended with {status}"
        if alarms := sorted(self._alarms(ring) - before):
            return f"{count_text(len(alarms), 'alarm')} went off: {', '.join(alarms[:5])}"
        return ""

    def _alarms(self, ring: Ring) -> frozenset[str]:
        """Return the alarms of a ring's stacks that are in ALARM. Raise OptionError if some cannot be read.

        Roles are assumed anew for each look, because a release takes longer than a session.
        """
        live, home = self._plan.request.live, self._plan.home
        account_ids = sorted({account_id for target in ring.targets for account_id in target.account_ids})

        def read(account_id: str) -> list[str]:
            aws = clients_of(live, home, Member(account_id, ""))
            of_account = [target for target in ring.targets if account_id in target.account_ids]
            return [
                alarm for target in of_account for region in target.regions for alarm in _alarms_of(target, aws, region)
            ]

        with TaskPool(live.workers, Silent()) as task_pool:
            found = list(task_pool.run(account_ids, read, lambda account_id: f"account {account_id}"))
        _raise_first(task_pool.failures)
        return frozenset(f"{alarm} in account {account_id}" for account_id, alarms in found for alarm in alarms)

    def _update(self, target: Target, version: Version, tolerance: int) -> str:
        """Start to deploy a version to a target, and return the ID of the operation. Raise ApiError."""
        parameters = self._parameters[version]
        values = {**target.stack_set.parameters, VERSION: version.code_key}
        with calling("cloudformation:UpdateStackSet"):
            started = self._cloudformation.update_stack_set(
                StackSetName=target.stack_set.name,
                TemplateURL=self._url(version),
                Parameters=[
                    {"ParameterKey": name, "ParameterValue": value}
                    for name, value in values.items()
                    if name in parameters
                ],
                Capabilities=["CAPABILITY_IAM"],
                CallAs=self._plan.call_as,
                DeploymentTargets={
                    "OrganizationalUnitIds": list(target.stack_set.ou_ids),
                    "Accounts": list(target.account_ids),
                    "AccountFilterType": "INTERSECTION",
                },
                Regions=list(target.regions),
                OperationPreferences={
                    "RegionConcurrencyType": "PARALLEL",
                    "MaxConcurrentPercentage": 100,
                    "FailureTolerancePercentage": tolerance,
                    "ConcurrencyMode": "STRICT_FAILURE_TOLERANCE",
                },
            )
        return str(started["OperationId"])

    def _status(self, name: str, operation_id: str) -> str:
        given = {"StackSetName": name, "OperationId": operation_id, "CallAs": self._plan.call_as}
        with calling("cloudformation:DescribeStackSetOperation"):
            return str(self._cloudformation.describe_stack_set_operation(**given)["StackSetOperation"]["Status"])

    def _stop(self, running: Mapping[str, str]) -> None:
        """Stop operations that run, and wait for their ends: stacks that are being updated finish first."""
        for name, operation_id in running.items():
            self._say(f"stopping the operation of {name}")
            try:
                with calling("cloudformation:StopStackSetOperation"):
                    self._cloudformation.stop_stack_set_operation(
                        StackSetName=name, OperationId=operation_id, CallAs=self._plan.call_as
                    )
            except ApiError as error:
                if error.code != "InvalidOperationException":  # it has just ended
                    raise
        self._wait(running)

    def _wait(self, running: Mapping[str, str]) -> dict[str, str]:
        """Return the statuses with which operations ended."""
        ended: dict[str, str] = {}
        while len(ended) < len(running):
            for name in running.keys() - ended.keys():
                if (status := self._status(name, running[name])) not in _RUNNING:
                    ended[name] = status
            if len(ended) < len(running):
                time.sleep(POLL_SECONDS)
        return ended

    def _put_back(self) -> None:
        """Deploy the previous version wherever the new one was begun. An account that fails stops no other."""
        previous = self._plan.request.previous
        for target in reversed(_joined(self._begun)):
            self._say(f"putting {previous.code_key} back: {described([target])}")
            operation = {target.stack_set.name: self._update(target, previous, 100)}
            for name, status in self._wait(operation).items():
                self._say(f"{name}: {status}")

    def _parameter_names(self, version: Version) -> frozenset[str]:
        """Return the parameters of a version's template, so that none is passed that it does not have. Raise ApiError."""
        with calling("cloudformation:GetTemplateSummary"):
            found = self._cloudformation.get_template_summary(TemplateURL=self._url(version))
        return frozenset(row["ParameterKey"] for row in found["Parameters"])

    def _url(self, version: Version) -> str:
        """Return the URL of a version's template, in the artifact bucket of the Region of the StackSets."""
        aws, [first, *_] = self._plan.home.aws, self._plan.rings
        bucket = f"{first.targets[0].stack_set.parameters['ArtifactBucketPrefix']}-{aws.region}"
        suffix = "amazonaws.com.cn" if aws.region.startswith("cn-") else "amazonaws.com"
        return f"https://{bucket}.s3.{aws.region}.{suffix}/{version.template_key}"


def _alarms_of(target: Target, aws: Aws, region: str) -> list[str]:
    """Return the alarms of a stack that are in ALARM. StackSets name stacks StackSet-NAME-ID, and alarms get that name."""
    cloudwatch, prefix = replace(aws, region=region).client("cloudwatch"), f"StackSet-{target.stack_set.name}-"
    alarms = pages(cloudwatch, "cloudwatch", "describe_alarms", "MetricAlarms", AlarmNamePrefix=prefix)
    return [f"{alarm['AlarmName']} in {region}" for alarm in alarms if alarm["StateValue"] == "ALARM"]


def _joined(targets: Sequence[Target]) -> list[Target]:
    """Return one target for each StackSet, with all of its accounts and Regions."""
    joined: dict[str, Target] = {}
    for target in targets:
        known = joined.get(target.stack_set.name, target)
        accounts, regions = {*known.account_ids, *target.account_ids}, {*known.regions, *target.regions}
        joined[target.stack_set.name] = Target(target.stack_set, tuple(sorted(accounts)), tuple(sorted(regions)))
    return list(joined.values())


def described(targets: Sequence[Target]) -> str:
    """Return the StackSets, how many accounts each has, and their Regions."""
    return "; ".join(
        f"{target.stack_set.name}, {count_text(len(target.account_ids), 'account')}, {', '.join(target.regions)}"
        for target in targets
    )

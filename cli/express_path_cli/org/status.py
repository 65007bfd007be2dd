"""What the rule found in an organization after a roll-out: its results, the StackSets, and the last sweeps."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from functools import cached_property, partial
from typing import NamedTuple

from express_path.adapters.aws import Aws
from express_path.adapters.roll_out import STACK_SETS, Member, Place, StackInstance, StackSet
from express_path.domain.path.reasons import SEVERITY_ORDER, Compliance, Reason
from express_path.domain.verdict.parameters import RULE_NAME
from express_path.errors import ApiError
from express_path_cli.automation.stack_sets import Deployed, read_deployed
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.sessions import connect, enabled_regions, read_caller
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.findings.row import Row
from express_path_cli.findings.worklist import WorkItem, worklist
from express_path_cli.installation.rule import Sweep, read_sweep
from express_path_cli.org.aggregate import PlaceResults, read_places, read_results
from express_path_cli.org.exclusions import ignored_text, notes, read_exclusions, with_rule
from express_path_cli.sources.aggregator import Aggregator, failed_sources, outdated_sources
from express_path_cli.sources.live import Home, clients_of
from express_path_cli.terminal.errors import UNDETERMINED, Failure, locating_errors, without_region
from express_path_cli.terminal.progress import Watch
from express_path_cli.terminal.texts import time_text


class Attention(Enum):
    """What needs attention in an account and Region, other than its verdicts, in the order in which it is shown."""

    NO_RESULTS = "No results: not evaluated, not aggregated yet, or without a subnet to evaluate"
    NOT_A_MEMBER = "Accounts that are not in the organization, whose results may be old"
    REGION_DISABLED = "Regions that are disabled in the account"
    NO_INSTANCE = "Results where no StackSet deploys the rule: the account may have moved"
    NOT_CURRENT = "Stacks that do not have the current version of their StackSet"
    EXCLUDED = "Accounts that are excluded, but have the rule"
    OVERDUE_SWEEP = "Overdue sweeps: no sweep in the last 25 hours"
    UNHEALTHY = "What does not work, as the last sweep found"
    AGGREGATOR_DIFFERS = "The aggregator does not have what the last sweep counted"


class PlaceAttention(NamedTuple):
    """Why an account and Region needs attention, in a sentence."""

    code: Attention
    place: Place
    text: str


class AccountReason(NamedTuple):
    """An account, and a reason of some of its subnets."""

    account_id: str
    compliance: Compliance
    reason: Reason


@dataclass(frozen=True, slots=True)
class PlaceStatus:
    """One account and Region: its results, the stack instance, and the last sweep.

    results: None if they could not be read. instance: None if no StackSet deploys there. sweep: None if it was not
    read. is_excluded: whether the StackSet of the instance excludes the account. is_member: whether the account is in the
    organization. is_disabled: whether the Region is known to be disabled in the account. needs_instance: whether a
    StackSet should deploy to the account, as it does to all but the management account.
    """

    place: Place
    results: PlaceResults | None
    instance: StackInstance | None = None
    sweep: Sweep | None = None
    is_excluded: bool = False
    is_member: bool = True
    is_disabled: bool = False
    needs_instance: bool = False

    def attention(self, now: datetime) -> Iterator[PlaceAttention]:
        """Yield what needs attention."""
        if not self.is_member:
            text = "the account is not in the organization, or left it: its sweeps cannot be read"
            yield PlaceAttention(Attention.NOT_A_MEMBER, self.place, text)
        if self.is_disabled:
            text = "the Region is disabled in the account: enable it, or leave it out of Regions of the StackSet"
            yield PlaceAttention(Attention.REGION_DISABLED, self.place, text)
        if self._is_abandoned:
            text = (
                "the aggregator has the rule, but no StackSet has an instance here: the account moved or left the OU, or the "
                "rule was deployed in another way. The results may be old"
            )
            yield PlaceAttention(Attention.NO_INSTANCE, self.place, text)
        if self.results and not self.rows and not self.is_disabled and not self._has_nothing_to_report(now):
            text = "the aggregator has no COMPLIANT or NON_COMPLIANT subnet"
            yield PlaceAttention(Attention.NO_RESULTS, self.place, text)
        if self.instance and self.instance.status != "CURRENT":
            why = f": {self.instance.reason}" if self.instance.reason else ""
            if self.instance.status == "INOPERABLE":  # a deletion failed, and updates leave it out
                why += (
                    ". No update repairs it: fix the cause, delete the instance, and create it again if it is to stay"
                )
            name = self.instance.stack_set.name
            yield PlaceAttention(
                Attention.NOT_CURRENT, self.place, f"the instance of {name} is {self.instance.status}{why}"
            )
        if self.instance and self.is_excluded:
            yield PlaceAttention(Attention.EXCLUDED, self.place, ignored_text(self.instance.stack_set.name))
        if self.sweep and self.sweep.is_overdue(now) and not self._is_abandoned:
            last = self.sweep.time
            text = f"the last sweep was at {time_text(last)}" if last else "there was no sweep in the last three days"
            yield PlaceAttention(Attention.OVERDUE_SWEEP, self.place, text)
        for fault in self.sweep.faults if self.sweep else ():
            yield PlaceAttention(Attention.UNHEALTHY, self.place, fault)
        yield from self._difference()

    def _difference(self) -> Iterator[PlaceAttention]:
        """Yield that the last sweep counted more NON_COMPLIANT subnets, if no newer result explains it."""
        if self.results is None or self.sweep is None or self.sweep.time is None:
            return
        counted = self.sweep.counts["NON_COMPLIANT"]
        has_newer = self.results.newest is not None and self.results.newest > self.sweep.time
        if counted > self.flagged and not has_newer:
            text = (
                f"the last sweep counted {counted} NON_COMPLIANT, the aggregator has {self.flagged}: it is late, or "
                "subnets were deleted or excluded since"
            )
            yield PlaceAttention(Attention.AGGREGATOR_DIFFERS, self.place, text)

    @property
    def rows(self) -> Sequence[Row]:
        """The results; empty if there are none, or if they could not be read."""
        return self.results.rows if self.results else ()

    @property
    def flagged(self) -> int:
        """How many subnets the aggregator has as NON_COMPLIANT."""
        return sum(row.is_flagged for row in self.rows)

    @property
    def _is_abandoned(self) -> bool:
        """Whether no StackSet deploys the rule there, and no sweep shows that it was deployed in another way."""
        was_swept = self.sweep is not None and self.sweep.time is not None
        return self.needs_instance and self.instance is None and not was_swept

    def _has_nothing_to_report(self, now: datetime) -> bool:
        """Return whether the last sweep found only NOT_APPLICABLE subnets, which an aggregator does not contain."""
        if self.sweep is None or self.sweep.is_overdue(now):
            return False
        return not self.sweep.counts["NON_COMPLIANT"] and not self.sweep.counts["COMPLIANT"]


@dataclass(frozen=True)
class OrgStatus:
    """The whole organization: every account and Region, sorted; names by account ID; and what could not be read.

    without_rule: the active accounts of the organization in which no StackSet and no result is, among them perhaps the
    management account, to which StackSets do not deploy. inactive: the states, such as SUSPENDED, of accounts that cannot
    be used. They are skipped: AWS Config evaluates nothing there, and StackSets skips them, too.
    """

    now: datetime
    places: Sequence[PlaceStatus]
    names: Mapping[str, str]
    stack_sets: Sequence[StackSet]
    without_rule: Sequence[str]
    management_account_id: str
    failures: Sequence[Failure]
    notes: Sequence[str]
    inactive: Mapping[str, str]

    @cached_property
    def rows(self) -> Sequence[Row]:
        """All results, sorted by account, Region and subnet."""
        return sorted((row for status in self.places for row in status.rows), key=lambda row: row.key)

    @cached_property
    def to_fix(self) -> Sequence[WorkItem]:
        """What to fix: the NON_COMPLIANT subnets, by route table and reason."""
        return worklist(self.rows).flagged

    @cached_property
    def attention(self) -> Sequence[PlaceAttention]:
        """What else needs attention, sorted."""
        found = [row for status in self.places for row in status.attention(self.now)]
        return sorted(found, key=lambda row: (list(Attention).index(row.code), row.place))

    @property
    def nat_ids(self) -> Sequence[str]:
        """The NATs that flagged subnets use, sorted."""
        return sorted({nat_id for item in self.to_fix for nat_id in item.nat_ids})

    @property
    def by_account(self) -> Mapping[AccountReason, int]:
        """How many subnets of each account have each reason: by account, the worst reason first."""
        counts = Counter(AccountReason(row.account_id, row.compliance, row.reason) for row in self.rows)
        return dict(sorted(counts.items(), key=lambda item: (item[0].account_id, SEVERITY_ORDER[item[0].reason])))

    @property
    def exit_status(self) -> int:
        """Return 2 if a result is missing, 1 if something is NON_COMPLIANT or needs attention, else 0."""
        if self.failures or any(row.code is Attention.NO_RESULTS for row in self.attention):
            return UNDETERMINED
        return int(bool(self.attention) or any(row.is_flagged for row in self.rows))


def read_status(aggregator: str, live: LiveOptions, watch: Watch) -> OrgStatus:
    """Read the results in an aggregator and the stacks; with a role in `live`, also the sweeps.

    What fails is kept with the rest. Raise ApiError if the aggregator cannot be read.
    """

    def is_selected(region: str) -> bool:
        return not live.regions or region in live.regions

    with without_region("set AWS_REGION to the aggregator's Region; --region selects which of its results are read"):
        aws = connect(None, live.profile)
    home = Home(read_caller(aws), aws)
    with locating_errors(f"aggregator {aggregator} in {aws.region}"):
        sources = [row for row in Aggregator(aws, aggregator).bad_sources() if is_selected(row.region)]
        aggregated = [place for place in read_places(aws, aggregator) if is_selected(place.region)]
    with TaskPool(live.workers, watch) as task_pool:
        deployed = read_deployed(home, task_pool)
        exclusions = read_exclusions(home, deployed, task_pool)
        excluded = with_rule(deployed, exclusions)
        aggregated = [place for place in aggregated if place.account_id not in deployed.inactive]
        instances = {
            place: row
            for place, row in deployed.instances.items()
            if is_selected(place.region) and place.account_id not in deployed.inactive
        }
        results = _results_of(aggregated, aws, aggregator, task_pool)
        places = sorted({*aggregated, *instances})
        # If the organization could not be read, every account may be in it.
        of_members = [place for place in places if not deployed.names or place.account_id in deployed.names]
        sweeps = _Sweeps(deployed.names, live, home, task_pool)
        swept = sweeps.read(of_members) if live.role_name else {}
        has_stack_sets = any(row.deploys_rule for row in deployed.stack_sets)
    failures = [*task_pool.failures, *failed_sources(sources)]
    return OrgStatus(
        now=datetime.now(UTC),
        places=[
            PlaceStatus(
                place,
                results.get(place) if place in aggregated else PlaceResults(),
                instances.get(place),
                swept.get(place),
                place in excluded,
                is_member=place in of_members,
                is_disabled=place in sweeps.disabled,
                needs_instance=has_stack_sets
                and place in of_members
                and place.account_id != deployed.management_account_id,
            )
            for place in places
        ],
        names=deployed.names,
        stack_sets=deployed.stack_sets,
        without_rule=sorted(deployed.names.keys() - deployed.inactive.keys() - {place.account_id for place in places}),
        management_account_id=deployed.management_account_id,
        failures=sorted(failures, key=lambda failure: failure.where),
        notes=[*outdated_sources(sources), *notes(exclusions), *_not_read(live, deployed, aws.region)],
        inactive=deployed.inactive,
    )


def _not_read(live: LiveOptions, deployed: Deployed, region: str) -> Iterator[str]:
    """Yield what was not read, and the option that reads it."""
    if not live.role_name:
        yield "sweeps and excluded subnets were not read: set --role-name to a role that can be assumed in each account"
    if deployed.is_complete and not deployed.stack_sets:
        yield (
            f"no StackSet in {region} has a name that begins with {STACK_SETS}, so it is not known where results are "
            "missing: set AWS_REGION to the Region of the StackSets"
        )


def _results_of(places: Sequence[Place], aws: Aws, aggregator: str, task_pool: TaskPool) -> dict[Place, PlaceResults]:
    """Read the results of each account and Region, then the VPCs of the subnets to fix.

    A result does not contain the VPC. The VPC of a subnet never changes, so it does not matter that items are late; it
    is empty if the aggregator has no item of the subnet.
    """
    found = dict(task_pool.run(places, partial(read_results, aws, aggregator)))
    flagged = [row.subnet_id for results in found.values() for row in results.rows if row.is_flagged]
    read_vpcs = Aggregator(aws, aggregator).vpc_ids
    read = task_pool.run([flagged], read_vpcs, lambda _: "the VPCs of NON_COMPLIANT subnets")
    vpc_ids = {subnet_id: vpc_id for _, by_subnet in read for subnet_id, vpc_id in by_subnet.items()}
    return {
        place: replace(results, rows=[replace(row, vpc_id=vpc_ids.get(row.subnet_id, "")) for row in results.rows])
        for place, results in found.items()
    }


_NOT_ENABLED = frozenset({"AuthFailure", "InvalidClientTokenId", "OptInRequired", "UnrecognizedClientException"})
"""What services answer in a Region that is disabled in the account, among other reasons.

https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_temp_enable-regions.html
"""


class _Sweeps:
    """Reads the last sweep of accounts and Regions, each with the role of the account.

    disabled: the places whose Region is disabled in the account, which have no sweep.
    """

    def __init__(self, names: Mapping[str, str], live: LiveOptions, home: Home, task_pool: TaskPool) -> None:
        self.disabled: set[Place] = set()
        self._names, self._live, self._home, self._task_pool = names, live, home, task_pool

    def read(self, places: Sequence[Place]) -> dict[Place, Sweep]:
        """Read those that can be read. What fails is added to the failures of the pool."""
        members = [
            Member(account_id, self._names.get(account_id, "")) for account_id in {row.account_id for row in places}
        ]
        clients = {
            member.id: aws for member, aws in self._task_pool.run(members, partial(clients_of, self._live, self._home))
        }
        readable = [place for place in places if place.account_id in clients]
        found = self._task_pool.run(readable, lambda place: self._read_place(place, clients[place.account_id]))
        return {place: sweep for place, sweep in found if sweep is not None}

    def _read_place(self, place: Place, aws: Aws) -> Sweep | None:
        """Read a sweep; None in a Region that is disabled. Raise ApiError, RecordError."""
        try:
            return read_sweep(replace(aws, region=place.region), RULE_NAME, datetime.now(UTC))
        except ApiError as error:
            if error.code not in _NOT_ENABLED or place.region in enabled_regions(replace(aws)):
                raise
        self.disabled.add(place)
        return None

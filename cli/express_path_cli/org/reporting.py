"""What `express-path org status` does: read the results, StackSets and sweeps of an organization."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from express_path.adapters.aws import Aws
from express_path.errors import ExpressPathError
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.organization import Member
from express_path_cli.aws.sessions import connect, read_caller
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.findings.result import is_flagged
from express_path_cli.installation.sweeps import Sweep, read_exclusions, read_sweep
from express_path_cli.org.aggregate import AggregateResults, PlaceKey, PlaceResults
from express_path_cli.org.stack_sets import Deployed, read_deployed
from express_path_cli.org.status_results import OrgStatus, PlaceStatus
from express_path_cli.sources.aggregator import Aggregator, BadSource, failed_sources, outdated_sources
from express_path_cli.sources.live import Home, clients_of
from express_path_cli.terminal.errors import Failure, locating_errors, without_region
from express_path_cli.terminal.progress import Watch


@dataclass(frozen=True, slots=True)
class StatusRequest:
    """What to read: the aggregator, the rule, and the StackSets; with a role in `live`, also the sweeps."""

    aggregator: str
    rule: str
    stack_set_prefix: str
    live: LiveOptions

    def selects(self, region: str) -> bool:
        """Return whether a Region is to be read."""
        return not self.live.regions or region in self.live.regions


@dataclass(frozen=True, slots=True)
class _Swept:
    """The last sweep of an account and Region, what it excluded, and what could not be read."""

    sweep: Sweep | None = None
    excluded: Mapping[str, int] = field(default_factory=dict)
    errors: tuple[ExpressPathError, ...] = ()


_NOT_READ = _Swept()


def read_status(request: StatusRequest, watch: Watch) -> OrgStatus:
    """Read an organization; what fails is kept with the rest. Raise ApiError if the aggregator cannot be read."""
    with without_region("set AWS_REGION to the aggregator's Region; --region selects which of its results are read"):
        aws = connect(None, request.live.profile)
    caller = read_caller(aws)
    results = AggregateResults(aws, request.aggregator, request.rule)
    with locating_errors(f"aggregator {request.aggregator} in {aws.region}"):
        sources = Aggregator(aws, request.aggregator).bad_sources()
        aggregated = [place for place in results.places() if request.selects(place.region)]
    with TaskPool(request.live.workers, watch) as task_pool:
        run = _Run(request, Home(caller, aws), results, task_pool)
        return run.status(aggregated, [source for source in sources if request.selects(source.region)])


class _Run:
    """One run, whose calls share a pool of threads. What cannot be read is added to the failures of the pool."""

    def __init__(self, request: StatusRequest, home: Home, results: AggregateResults, task_pool: TaskPool) -> None:
        self._request, self._home, self._results, self._pool = request, home, results, task_pool
        self._now = datetime.now(UTC)

    def status(self, aggregated: Sequence[PlaceKey], sources: Sequence[BadSource]) -> OrgStatus:
        """Return the status of all accounts and Regions."""
        deployed = read_deployed(self._home, self._request.stack_set_prefix, self._pool)
        instances = {place: row for place, row in deployed.instances.items() if self._request.selects(place.region)}
        results = self._results_of(aggregated)
        places = sorted({*aggregated, *instances})
        swept = self._swept(places, deployed.names) if self._request.live.role_name else {}
        failures = [*self._pool.failures, *failed_sources(sources)]
        return OrgStatus(
            now=self._now,
            places=[
                PlaceStatus(
                    place,
                    results.get(place) if place in aggregated else PlaceResults(),
                    instances.get(place),
                    swept.get(place, _NOT_READ).sweep,
                    swept.get(place, _NOT_READ).excluded,
                )
                for place in places
            ],
            names=deployed.names,
            stack_sets=deployed.stack_sets,
            without_rule=sorted(deployed.names.keys() - {place.account_id for place in places}),
            management_account_id=deployed.management_account_id,
            failures=sorted(failures, key=lambda failure: failure.where),
            remarks=[*outdated_sources(sources), *self._not_read(deployed)],
        )

    def _not_read(self, deployed: Deployed) -> Iterator[str]:
        """Yield what was not read, and the option that reads it."""
        if not self._request.live.role_name:
            yield "sweeps and excluded subnets were not read: --role-name names the role that reads each account"
        if deployed.is_complete and not deployed.stack_sets:
            prefix = self._request.stack_set_prefix
            yield (
                f"no StackSet in {self._home.aws.region} has a name that begins with {prefix}, so it is not known "
                "where results are missing: --stack-set-prefix names another one"
            )

    def _results_of(self, places: Sequence[PlaceKey]) -> dict[PlaceKey, PlaceResults]:
        """Read the results of each account and Region, then the VPCs of the subnets to fix."""
        found = dict(self._pool.run(places, self._results.of))
        flagged = [verdict for results in found.values() for verdict in results.verdicts if is_flagged(verdict)]
        read = self._pool.run([flagged], self._results.with_vpcs, lambda _: "the VPCs of NON_COMPLIANT subnets")
        named = {verdict.subnet_id: verdict for _, verdicts in read for verdict in verdicts}
        return {
            place: replace(results, verdicts=[named.get(verdict.subnet_id, verdict) for verdict in results.verdicts])
            for place, results in found.items()
        }

    def _swept(self, places: Sequence[PlaceKey], names: Mapping[str, str]) -> dict[PlaceKey, _Swept]:
        """Read the last sweep of each account and Region, with the role of the account."""
        members = [Member(account_id, names.get(account_id, "")) for account_id in {row.account_id for row in places}]
        clients = dict(self._pool.run(members, partial(clients_of, self._request.live, self._home)))
        by_id = {member.id: aws for member, aws in clients.items()}
        readable = [place for place in places if place.account_id in by_id]
        swept = dict(
            self._pool.run(readable, lambda place: self._read(replace(by_id[place.account_id], region=place.region)))
        )
        for place, read in swept.items():
            self._pool.failures.extend(Failure(str(place), error) for error in read.errors)
        return swept

    def _read(self, aws: Aws) -> _Swept:
        """Read the last sweep, and what it excluded if it found subnets that are NOT_APPLICABLE. Raise ApiError."""
        sweep = read_sweep(aws, self._now)
        if not sweep.gauges.get("NotApplicable"):
            return _Swept(sweep)
        try:
            return _Swept(sweep, read_exclusions(aws, self._request.rule, self._now))
        except ExpressPathError as error:
            return _Swept(sweep, errors=(error,))

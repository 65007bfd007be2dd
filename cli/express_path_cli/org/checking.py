"""What `express-path org check` does: read every account and Region, and collect what would make a roll-out fail."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from express_path.adapters.aws import Aws
from express_path.errors import ExpressPathError
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.organization import Member
from express_path_cli.aws.sessions import enabled_regions, offers_s3_express
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.org.artifact import Artifact
from express_path_cli.org.check_results import OrgCheck, PlaceCheck
from express_path_cli.org.members import Organization, members_of, read_organization
from express_path_cli.org.names import Names
from express_path_cli.org.network_role import NetworkRole, Trust, read_trust
from express_path_cli.org.place import Place
from express_path_cli.org.reasons import CheckReason, Problem
from express_path_cli.org.recorder import recorder_problems
from express_path_cli.sources.live import Home, clients_of, find_home
from express_path_cli.terminal.errors import Failure, OptionError, locating_errors
from express_path_cli.terminal.progress import Watch


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What to check: the accounts and Regions, and what the StackSets will deploy. None is not checked."""

    live: LiveOptions
    ou_ids: tuple[str, ...]
    names: Names
    artifact: Artifact | None
    network_role: NetworkRole | None

    @property
    def notes(self) -> Iterator[str]:
        """What is not checked, and the option that checks it."""
        if self.artifact is None:
            yield "artifact buckets were not checked: --artifact-bucket-prefix names them"
        elif not self.artifact.key:
            yield "the function's code in the artifact buckets was not checked: --artifact-key names it"
        if self.network_role is None:
            yield "the network account's role was not checked: --network-role-arn names it"

    def problems(self, place: Place) -> Iterator[Problem | ExpressPathError]:
        """Yield the problems of an account and Region, and the error of each question that could not be answered."""
        for question in (recorder_problems, self.names.problems, self.artifact.problems if self.artifact else None):
            try:
                yield from question(place) if question else ()
            except ExpressPathError as error:
                yield error


def check_organization(request: CheckRequest, watch: Watch) -> OrgCheck:
    """Check every selected account and Region; what fails is kept with the rest.

    Raise OptionError, and ApiError if the organization cannot be read.
    """
    request.live.check()
    home = find_home(request.live)
    with locating_errors(home.account_region):
        organizations = home.aws.client("organizations")
        organization, members = read_organization(organizations), members_of(organizations, request.ou_ids)
    targets = [member for member in members if member.id != organization.management_account_id]
    if not targets:
        raise OptionError("no active account was found to which StackSets deploy", "name other units with --ou")
    with TaskPool(request.live.workers, watch) as task_pool:
        run = _Run(request, home, organization, task_pool)
        checks = sorted(run.checks(targets), key=lambda check: (check.member.id, check.region))
    failures = [*task_pool.failures, *(failure for check in checks for failure in check.failures)]
    management = [member for member in members if member.id == organization.management_account_id]
    return OrgCheck(
        checks,
        sorted(failures, key=lambda failure: failure.where),
        list(request.notes),
        next(iter(management), None),
    )


class _Run:
    """One run of a check, whose calls share a pool of threads."""

    def __init__(self, request: CheckRequest, home: Home, organization: Organization, task_pool: TaskPool) -> None:
        self._request, self._home, self._organization, self._pool = request, home, organization, task_pool

    def checks(self, members: Sequence[Member]) -> Iterator[PlaceCheck]:
        """Yield the check of each account and Region. What cannot be read is added to the failures of the pool."""
        clients = partial(clients_of, self._request.live, self._home)
        accounts = [Place(member, aws) for member, aws in self._pool.run(members, clients)]
        enabled = {
            account.member.id: regions
            for account, regions in self._pool.run(accounts, lambda account: enabled_regions(account.aws))
        }
        readable = [account for account in accounts if account.member.id in enabled]
        not_offered = self._not_offered(readable, enabled)
        untrusted = self._untrusted(readable)
        places: list[Place] = []
        for account in readable:
            for region in self._selected(enabled[account.member.id], not_offered):
                if region in enabled[account.member.id]:
                    places.append(Place(account.member, replace(account.aws, region=region)))
                else:
                    yield _disabled(account.member, region)
        for place, found in self._pool.run(
            places, lambda place: list(self._request.problems(place.with_new_clients()))
        ):
            problems = [problem for problem in found if isinstance(problem, Problem)]
            problems += not_offered.get(place.region, []) + untrusted.get(place.member.id, [])
            errors = [error for error in found if isinstance(error, ExpressPathError)]
            yield PlaceCheck(
                place.member,
                place.region,
                sorted(problems, key=lambda problem: problem.rank),
                [Failure(str(place), error) for error in errors],
            )

    def _selected(self, enabled: Sequence[str], not_offered: Mapping[str, object]) -> Sequence[str]:
        """Return the Regions to check in an account."""
        if self._request.live.all_regions:
            return [region for region in enabled if region not in not_offered]
        return self._request.live.regions or [self._home.aws.region]

    def _not_offered(
        self, accounts: Iterable[Place], enabled: Mapping[str, Sequence[str]]
    ) -> Mapping[str, list[Problem]]:
        """Return the problem of each Region that does not offer S3 Express, which is the same for every account."""
        first: dict[str, Place] = {}
        for account in accounts:
            for region in self._selected(enabled[account.member.id], {}):
                if region in enabled[account.member.id]:
                    first.setdefault(region, Place(account.member, replace(account.aws, region=region)))
        answers = self._pool.run(list(first.values()), lambda place: offers_s3_express(place.aws))
        return {
            place.region: [Problem(CheckReason.SERVICE_NOT_OFFERED, f"{place.region} does not offer S3 Express")]
            for place, is_offered in answers
            if not is_offered
        }

    def _untrusted(self, accounts: Sequence[Place]) -> Mapping[str, list[Problem]]:
        """Return the problem of each account whose roles the network role does not trust."""
        role = self._request.network_role
        if role is None:
            return {}
        problems: dict[str, list[Problem]] = {}
        try:
            trust = self._trust(role, accounts)
            for account in accounts:
                found = trust(account.member.id)
                problems[account.member.id] = [found] if found else []
        except ExpressPathError as error:
            self._pool.failures.append(Failure(f"network role {role.arn}", error))
        return problems

    def _trust(self, role: NetworkRole, accounts: Iterable[Place]) -> Trust:
        known = [account.aws for account in accounts if account.member.id == role.account_id]
        aws: Aws = known[0] if known else clients_of(self._request.live, self._home, Member(role.account_id, ""))
        return read_trust(role, self._organization, aws)


def _disabled(member: Member, region: str) -> PlaceCheck:
    return PlaceCheck(member, region, [Problem(CheckReason.REGION_DISABLED, f"{region} is disabled in the account")])

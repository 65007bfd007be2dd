"""Reading live accounts: some Regions or all, one account or an organization's, several at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from express_path.adapters.ec2_snapshot import SnapshotReader
from express_path.adapters.organization import Member, active_members, member_clients
from express_path.adapters.organization_clients import MovingAws
from express_path.domain.parameters import RuleParameters
from express_path.domain.snapshot import Snapshot
from express_path_cli.crew import Crew
from express_path_cli.problems import OptionError
from express_path_cli.progress import Watch
from express_path_cli.reach import Reach
from express_path_cli.result import Failure


@dataclass(frozen=True)
class LiveOptions:
    """Which accounts and Regions are read, and how many of them at once; no Region means that of the AWS settings."""

    regions: tuple[str, ...] = ()
    all_regions: bool = False
    profile: str | None = None
    organization: bool = False
    role_name: str | None = None
    external_id: str = ""
    workers: int = 8

    def given(self) -> list[str]:
        """The options that only make sense live."""
        said = {
            "--all-regions": self.all_regions,
            "--profile": self.profile,
            "--organization": self.organization,
            "--role-name": self.role_name,
        }
        return [name for name, value in said.items() if value]

    def check(self) -> None:
        """Raise OptionError where options do not go together."""
        if self.regions and self.all_regions:
            raise OptionError("--region and --all-regions exclude each other", "leave one of them out")
        if self.organization and not self.role_name:
            raise OptionError("--organization needs a role to read each account with", "add --role-name NAME")
        if self.role_name and not self.organization:
            raise OptionError("--role-name is for --organization", "add it, or use a --profile that assumes the role")


class Place(NamedTuple):
    """An account in one Region."""

    account_id: str
    aws: MovingAws

    def __str__(self) -> str:
        """As a person says it."""
        return f"account {self.account_id} {self.aws.region}"


class Read(NamedTuple):
    """What was read, what could not be, what is to be known about it, and how its accounts are reached again."""

    snapshots: list[Snapshot]
    failures: list[Failure]
    notes: list[str]
    reach: Reach


def read_live(options: LiveOptions, parameters: RuleParameters, watch: Watch) -> Read:
    """Read every account and Region asked for; what fails is kept beside the rest.

    Raises OptionError, and ApiError where not even the caller is known.
    """
    options.check()
    home = _home(options)
    own_account, _ = home.caller

    def read(place: Place) -> Snapshot:
        return SnapshotReader(place.aws, options.external_id).read(place.account_id, None, parameters)

    with Crew(options.workers, watch) as crew:
        accounts = _accounts(options, home, crew) if options.organization else [Place(own_account, home)]
        places = (
            _offering(accounts, crew) if options.all_regions else _chosen(accounts, options.regions or (home.region,))
        )
        snapshots = [snapshot for _, snapshot in crew.each(places, read)]
    by_id = {each.account_id: each.aws for each in accounts}
    reach = Reach(by_id, parameters.network_role_arn or "", options.external_id)
    return Read(snapshots, sorted(crew.failures, key=lambda each: each.where), _notes(snapshots), reach)


def _home(options: LiveOptions) -> MovingAws:
    if options.all_regions:
        return MovingAws.anywhere(options.profile)
    return MovingAws.connect(options.regions[0] if options.regions else None, options.profile)


def _accounts(options: LiveOptions, home: MovingAws, crew: Crew) -> list[Place]:
    """Each account of the organization that lets itself be read, in the home Region."""

    def enter(member: Member) -> MovingAws:
        return member_clients(home, member.id, str(options.role_name), options.external_id)

    members = active_members(home)
    if not members:
        raise OptionError("organizations:ListAccounts names no active account", "leave --organization out")
    return [Place(member.id, aws) for member, aws in crew.each(members, enter, _name_of)]


def _name_of(member: Member) -> str:
    return f"account {member.id} ({member.name})" if member.name else f"account {member.id}"


def _chosen(accounts: Sequence[Place], regions: Sequence[str]) -> list[Place]:
    return [Place(each.account_id, each.aws.in_region(region)) for each in accounts for region in regions]


def _offering(accounts: Sequence[Place], crew: Crew) -> list[Place]:
    """Each account in each Region that is in force there and offers S3 Express."""
    enabled = crew.each(accounts, lambda place: place.aws.enabled_regions())
    possible = [here for place, regions in enabled for here in _chosen([place], regions)]
    return [place for place, offers in crew.each(possible, lambda place: place.aws.offers_s3_express()) if offers]


def _notes(snapshots: Sequence[Snapshot]) -> list[str]:
    return sorted(
        f"account {each.account_id} {each.region}: {operation} was denied; what it would tell counts as unknown"
        for each in snapshots
        for operation in each.denied
    )

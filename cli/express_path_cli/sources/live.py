"""Reading live accounts: some Regions or all, one account or an organization's, several at once."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from express_path.adapters.ec2_snapshot import SnapshotReader
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ApiError
from express_path_cli.account_access import AccountAccess
from express_path_cli.account_region import AccountRegion
from express_path_cli.organization.accounts import Member, active_members, member_clients
from express_path_cli.organization.clients import FALLBACK_REGION, AccountClients
from express_path_cli.problems import OptionError, naming, without_region
from express_path_cli.progress import Watch
from express_path_cli.result import Failure
from express_path_cli.task_pool import TaskPool

_ROLE_NAME = re.compile(r"(?!arn:)([!-.0-~]+/)*[\w+=,.@-]{1,64}", re.ASCII)
"""https://docs.aws.amazon.com/IAM/latest/APIReference/API_Role.html: a path, if there is one, and a name."""


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
            "--external-id": self.external_id,
        }
        return [name for name, value in said.items() if value]

    def check(self) -> None:
        """Raise OptionError where options do not go together."""
        if self.regions and self.all_regions:
            raise OptionError("--region and --all-regions cannot be used together", "leave one of them out")
        if self.organization and not self.role_name:
            raise OptionError("--organization needs a role to read each account with", "add --role-name NAME")
        if self.role_name and not self.organization:
            raise OptionError("--role-name is for --organization", "add it, or use a --profile that assumes the role")
        if self.role_name and not _ROLE_NAME.fullmatch(self.role_name):
            raise OptionError(
                f"--role-name {self.role_name}: no role has such a name",
                "the same name in every account, such as Audit, no ARN; after its path, if it has one: audit/Reader",
            )


class Read(NamedTuple):
    """What was read, what could not be, what is to be known about it, and how its accounts are reached again."""

    snapshots: list[Snapshot]
    failures: list[Failure]
    notes: list[str]
    reach: AccountAccess


def read_live(options: LiveOptions, parameters: RuleParameters, watch: Watch) -> Read:
    """Read every account and Region asked for; what fails is kept beside the rest.

    Raises OptionError, and ApiError where not even the caller is known.
    """
    options.check()
    home = _home(options)

    def read(place: AccountRegion) -> Snapshot:
        return SnapshotReader(place.aws, options.external_id).read(place.account_id, None, parameters)

    with TaskPool(options.workers, watch) as task_pool:
        accounts = _accounts(options, home, task_pool) if options.organization else [home]
        places = (
            _offering(accounts, task_pool)
            if options.all_regions
            else _chosen(accounts, options.regions or (home.aws.region,))
        )
        snapshots = [snapshot for _, snapshot in task_pool.each(places, read)]
    by_id = {each.account_id: each.aws for each in accounts}
    reach = AccountAccess(by_id, parameters.network_role_arn or "", options.external_id)
    return Read(snapshots, sorted(task_pool.failures, key=lambda each: each.where), _notes(snapshots), reach)


def _home(options: LiveOptions) -> AccountRegion:
    """Who asks, in the first Region that tells: one that is off for the account, or misspelt, must not hide the others.

    Raises ApiError where none tells: what the first one answered.
    """
    if options.all_regions:
        first = AccountClients.anywhere(options.profile)
    else:
        with without_region("use --region or --all-regions, or set AWS_REGION"):
            first = AccountClients.connect(options.regions[0] if options.regions else None, options.profile)
    try:
        return AccountRegion.of_caller(first)
    except ApiError:
        for region in (FALLBACK_REGION,) if options.all_regions else options.regions[1:]:
            with suppress(ApiError):
                return AccountRegion.of_caller(first.in_region(region))
        raise


def _accounts(options: LiveOptions, home: AccountRegion, task_pool: TaskPool) -> list[AccountRegion]:
    """Each account of the organization that lets itself be read, in the home Region."""

    def enter(member: Member) -> AccountClients:
        return member_clients(home.aws, member.id, str(options.role_name), options.external_id)

    with naming(home):
        members = active_members(home.aws)
    if not members:
        raise OptionError("organizations:ListAccounts names no active account", "leave --organization out")
    return [AccountRegion(member.id, aws) for member, aws in task_pool.each(members, enter, _name_of)]


def _name_of(member: Member) -> str:
    return f"account {member.id} ({member.name})" if member.name else f"account {member.id}"


def _chosen(accounts: Sequence[AccountRegion], regions: Sequence[str]) -> list[AccountRegion]:
    return [AccountRegion(each.account_id, each.aws.in_region(region)) for each in accounts for region in regions]


def _offering(accounts: Sequence[AccountRegion], task_pool: TaskPool) -> list[AccountRegion]:
    """Each account in each Region that is in force there and offers S3 Express."""
    enabled = task_pool.each(accounts, lambda place: place.aws.enabled_regions())
    possible = [here for place, regions in enabled for here in _chosen([place], regions)]
    return [place for place, offers in task_pool.each(possible, lambda place: place.aws.offers_s3_express()) if offers]


def _notes(snapshots: Sequence[Snapshot]) -> list[str]:
    return sorted(
        f"account {each.account_id} {each.region}: {operation} was denied; what it would tell counts as unknown"
        for each in snapshots
        for operation in each.denied
    )

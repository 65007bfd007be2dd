"""Read live accounts: one account or an organization, in some Regions or all, in parallel."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from express_path.adapters.aws import Aws, OptionalReads
from express_path.adapters.entrances import with_entrances
from express_path.adapters.network_reader import (
    PrefixListReader,
    SnapshotReader,
    read_transit_gateways,
)
from express_path.adapters.roles import assuming
from express_path.adapters.roll_out import Member
from express_path.domain.network.addresses import Family
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.verdict.parameters import RuleParameters
from express_path.errors import ApiError
from express_path_cli.aws.options import LiveOptions
from express_path_cli.aws.organization import active_members, member_role_arn
from express_path_cli.aws.sessions import (
    FALLBACK_REGION,
    AccountRegion,
    Caller,
    connect,
    connect_anywhere,
    enabled_regions,
    offers_s3_express,
    read_caller,
)
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.sources.network import AccountAccess, NetworkViews, views_of
from express_path_cli.terminal.errors import Failure, OptionError, locating_errors, without_region
from express_path_cli.terminal.progress import Watch


@dataclass(frozen=True, slots=True)
class Home:
    """The caller's account, in the first Region that answers."""

    caller: Caller
    aws: Aws

    @property
    def account_region(self) -> AccountRegion:
        """The account and Region, as messages name it."""
        return AccountRegion(self.caller.account_id, self.aws)


def read_live(
    options: LiveOptions, parameters: RuleParameters, watch: Watch, *, for_plan: bool = False
) -> NetworkViews:
    """Read every selected account and Region; what fails is kept with the rest.

    for_plan: also read what no path leads to now, because the paths of a plan may lead there. Raise OptionError, and ApiError if the caller's identity cannot be read.
    """
    options.check()
    home = find_home(options)
    with TaskPool(options.workers, watch) as task_pool:
        accounts = _member_accounts(options, home, task_pool) if options.organization else [home.account_region]
        selected = (
            _where_offered(accounts, task_pool)
            if options.all_regions
            else _in_regions(accounts, options.regions or (home.aws.region,))
        )
        read = partial(_read_snapshot, options, parameters, for_plan=for_plan)
        snapshots = [snapshot for _, snapshot in task_pool.run(selected, read)]
    clients = {account.account_id: account.aws for account in accounts}
    access = AccountAccess(clients, parameters.network_role_arn or "", options.external_id)
    failures = sorted([*task_pool.failures, *_role_failures(snapshots)], key=lambda failure: failure.where)
    names = {account.account_id: account.name for account in accounts if account.name}
    return NetworkViews(views_of(snapshots), failures, _denials(snapshots), access, names)


def _read_snapshot(
    options: LiveOptions, parameters: RuleParameters, account_region: AccountRegion, *, for_plan: bool
) -> Snapshot:
    reader = SnapshotReader(account_region.aws, options.external_id)
    snapshot = reader.read(account_region.account_id, None, parameters)
    snapshot = with_entrances(account_region.aws, reader, snapshot, None, parameters.network_role_arn or "")
    return _with_unused(account_region.aws, snapshot) if for_plan else snapshot


def _with_unused(aws: Aws, snapshot: Snapshot) -> Snapshot:
    """Add the prefix lists and transit gateways that the network does not use yet."""
    optional = OptionalReads()
    routes = (route for table in snapshot.route_tables.values() for route in table.routes)
    wanted = {route.destination for route in routes if isinstance(route.destination, str)}
    lists = PrefixListReader(aws.ec2, aws.region).read(wanted, list(Family), optional)
    if snapshot.transit_gateway_attachments is None:
        gateways = read_transit_gateways(aws, optional)
        snapshot = replace(
            snapshot,
            transit_gateway_attachments=gateways.attachments,
            transit_gateway_route_tables=gateways.route_tables,
            transit_gateway_policy_tables=gateways.policy_tables,
        )
    return replace(
        snapshot,
        prefix_lists=lists.by_id,
        lists_ipv6_prefix_lists=lists.are_all_listed,
        denied=tuple(dict.fromkeys((*snapshot.denied, *optional.denied))),
    )


def find_home(options: LiveOptions) -> Home:
    """Return the caller in the first Region that answers, because one that is disabled must not hide the others.

    Raise ApiError, that of the first Region, if none answers.
    """
    if options.all_regions:
        first = connect_anywhere(options.profile)
    else:
        with without_region("use --region or --all-regions, or set AWS_REGION"):
            first = connect(options.regions[0] if options.regions else None, options.profile)
    try:
        return Home(read_caller(first), first)
    except ApiError:
        for region in (FALLBACK_REGION,) if options.all_regions else options.regions[1:]:
            with suppress(ApiError):
                aws = replace(first, region=region)
                return Home(read_caller(aws), aws)
        raise


def _member_accounts(options: LiveOptions, home: Home, task_pool: TaskPool) -> list[AccountRegion]:
    """Return each account of the organization whose role can be assumed, in the home Region."""
    with locating_errors(home.account_region):
        members = active_members(home.aws.client("organizations"))
    if not members:
        raise OptionError("organizations:ListAccounts returned no active account", "remove --organization")
    connected = task_pool.run(members, partial(clients_of, options, home))
    return [AccountRegion(member.id, aws, member.name) for member, aws in connected]


def clients_of(options: LiveOptions, home: Home, member: Member) -> Aws:
    """Return a member account's clients in the home Region. Raise ApiError if its role cannot be assumed."""
    role_arn = member_role_arn(home.caller, member.id, str(options.role_name))
    return assuming(home.aws, role_arn, options.external_id) if role_arn else home.aws


def _in_regions(accounts: Sequence[AccountRegion], regions: Sequence[str]) -> list[AccountRegion]:
    return [account.in_region(region) for account in accounts for region in regions]


def _where_offered(accounts: Sequence[AccountRegion], task_pool: TaskPool) -> list[AccountRegion]:
    """Return each account in each Region that is enabled there and offers S3 Express."""
    enabled = task_pool.run(accounts, lambda account: enabled_regions(account.aws))
    possible = [here for account, regions in enabled for here in _in_regions([account], regions)]
    offers = task_pool.run(possible, lambda account_region: offers_s3_express(account_region.aws))
    return [account_region for account_region, is_offered in offers if is_offered]


def _role_failures(snapshots: Sequence[Snapshot]) -> list[Failure]:
    """Return what networkRoleArn was refused: paths beyond a transit gateway could not be determined."""
    return [
        Failure(
            f"account {snapshot.account_id} {snapshot.region}",
            ApiError(
                snapshot.denied_to_role[0], "AccessDenied", "networkRoleArn; paths beyond a transit gateway are unknown"
            ),
        )
        for snapshot in snapshots
        if snapshot.denied_to_role
    ]


def _denials(snapshots: Sequence[Snapshot]) -> list[str]:
    return sorted(
        f"account {snapshot.account_id} {snapshot.region}: {operation} was denied; what it returns counts as unknown"
        for snapshot in snapshots
        for operation in snapshot.denied
    )

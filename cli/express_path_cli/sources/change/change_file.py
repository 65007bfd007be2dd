"""The file of a change, and the network that it changes: which account and Region each resource is in, before, and after."""

import os
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.resources import AnyRouteTable, PrefixList
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.routing import AddressSet, contains
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account
from express_path_cli.sources.change.changed_network import NOT_PUBLIC, ChangedNetwork, Noted, check_cidrs
from express_path_cli.sources.change.cloudformation import (
    SUFFIXES,
    ChangeSet,
    Template,
    is_change_set,
    read_change_set,
)
from express_path_cli.sources.change.document import REMEDY, faults_in, read_json
from express_path_cli.sources.change.families import MODELLED, lay
from express_path_cli.sources.change.references import block_of
from express_path_cli.sources.change.resolving import NotResolvedError, resolve
from express_path_cli.sources.change.resource import WITH_PATHS, Action, Resource
from express_path_cli.sources.change.source_lines import Location, has_configuration, lines_of
from express_path_cli.sources.change.terraform import TerraformPlan
from express_path_cli.sources.network import View
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.progress import Watch

UNKNOWN_ACCOUNT = "unknown"
"""The account of resources if neither the change nor a network shows it."""
EXPRESS_LIST = "pl-s3express"
"""The id of the prefix list of S3 Express where its real id and addresses are not known."""
INCOMPLETE = "the plan leaves out a part of the configuration (-target, or deferred changes), which counts as unchanged"


@dataclass(slots=True)
class ChangedViews(Noted):
    """The views before and after the change, and what a reader should know of it.

    others: the views if S3 Express had its addresses where routes lead that are more specific than the default routes,
    without a network, and if endpoints had every route that is possible. unaffected and unaffected_others: both, without what
    resources may change whose effect is not modelled; none if there are no such resources. notes: what a reader should know of all of it.
    locate: returns where the first of some addresses is whose block is in the configuration. has_source: there is no folder that
    the user could name to learn more. has_network: the change is judged over a network, not alone.
    """

    before: list[View] = field(default_factory=list)
    after: list[View] = field(default_factory=list)
    others: list[View] = field(default_factory=list)
    unaffected: list[View] = field(default_factory=list)
    unaffected_others: list[View] = field(default_factory=list)
    notes: Sequence[str] = ()
    locate: Callable[[Iterable[str]], Location | None] = field(default=lambda _: None)
    has_source: bool = True
    has_network: bool = True


class ChangeFile:
    """A plan of Terraform, or a template or change set of CloudFormation, that was read from a file."""

    def __init__(
        self,
        file: Path,
        regions: Sequence[str] = (),
        source: Path | None = None,
        terraform: str | None = None,
        *,
        is_alone: bool = False,
    ) -> None:
        """Read the file. Raise ChangeError, and OptionError if source is given and has no configuration.

        regions: those of --region, of which one is for resources whose Region the change does not say. source: the folder
        in which the plan was made; without it, the folder of the file is used if it has a configuration. Its files are read,
        but its programs are run only if it is source or the current folder, because the plan may be from somebody else. For a
        change set, source is the file with the template. terraform: the program to ask, empty for that on PATH, None for none.
        is_alone: whether the change is judged without a network.
        """
        self._file, self.is_alone, self._terraform = file, is_alone, terraform
        self._region = regions[0] if len(regions) == 1 else ""
        document = {} if file.suffix.lower() in SUFFIXES else read_json(file)
        self._template: Template | None = None
        self._folder: Path | None = None
        self._may_run = False
        self._plan: TerraformPlan | None = None
        self._change_set: ChangeSet | None = None
        is_template = not document or ("Resources" in document and not {"Changes", "format_version"} & document.keys())
        if is_template and source:
            raise OptionError(f"--source does nothing for {file}", "leave it out")
        if is_change_set(document):
            self._change_set = read_change_set(str(file), document)
            self._region = self._change_set.region or self._region
            if source:
                self._template = Template(source, self._region, self._change_set.parameters)
        elif not is_template:
            self._plan = TerraformPlan(str(file), document)
            if source and not has_configuration(source):
                raise OptionError(
                    f"--source {source} contains no .tf or .tofu file", "use the folder in which the plan was made"
                )
            self._folder = source or (file.parent if has_configuration(file.parent) else None)
            self._may_run = self._folder is not None and (source is not None or self._folder.samefile(os.curdir))

    @property
    def regions(self) -> tuple[str, ...]:
        """The Regions of the change that have paths, as far as it says them."""
        if self._plan:
            return tuple(sorted(self._plan.regions - {""}))
        return (self._region,) if self._region else ()

    def lay(self, views: Sequence[View] | None, watch: Watch) -> ChangedViews:
        """Lay the change over the network that was read, None without one.

        Raise OptionError if the change is for another account or Region than the network.
        """
        here = sorted({view.region for view in views or ()})
        settings = self._region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
        region = here[0] if len(here) == 1 else settings
        notes, resources = self._resources(region, watch)
        with faults_in(str(self._file), REMEDY):
            for resource in resources:
                if resource.type in MODELLED:
                    check_cidrs(resource)
        by_region = self._by_region(resources, region)
        if views is not None:
            self._check_regions(by_region, here)
        has_source = self._plan is None or self._may_run
        changed = ChangedViews(notes=notes, locate=self._locate, has_source=has_source, has_network=views is not None)
        for name in sorted(by_region) if views is None else here:
            mine = [view for view in views or () if view.region == name]
            self._lay_region(changed, name, mine, by_region.get(name, []))
        return changed

    # --- resources ---------------------------------------------------------------------------------------------------

    def _resources(self, region: str, watch: Watch) -> tuple[list[str], Sequence[Resource]]:
        """Return notes, and the resources of the change."""
        if self._change_set:
            return [], self._change_set.resources(self._template)
        if self._plan is None:
            self._template = Template(self._file, _required(region), {})
            return [], self._template.resources()
        notes = [] if self._plan.document.is_complete else [INCOMPLETE]
        if self._terraform is not None and self._plan.lacks_ids:
            notes.append(self._ask_terraform(self._plan, self._terraform, watch))
        return notes, self._plan.resources

    def _ask_terraform(self, plan: TerraformPlan, program: str, watch: Watch) -> str:
        """Let Terraform plan once more, and return what came of it."""
        if self._folder is None or not self._may_run:
            named = f"--source {shlex.quote(str(self._folder or 'DIR'))}"
            return (
                f"Terraform was not asked for ids that the plan does not have: add {named}, the folder of the plan, if its "
                "providers may run"
            )
        watch.expect(1)
        try:
            resolved = resolve(plan.document, plan.overrides(), self._folder, program)
            plan.believe(resolved)
        except NotResolvedError as error:
            return f"ids that the plan does not have are what its references allow: {error}"
        finally:
            watch.done("Terraform's second plan")
        return f"Terraform planned once more in {self._folder}, with ids in place of those that the plan does not have"

    def _by_region(self, resources: Iterable[Resource], region: str) -> Mapping[str, list[Resource]]:
        """Return the resources of each Region. What belongs to none, such as a provisioner, may change any of them."""
        found: defaultdict[str, list[Resource]] = defaultdict(list)
        rest = []
        for resource in resources:
            if resource.region or resource.type in MODELLED:
                found[resource.region].append(resource)
            elif resource.action is not Action.KEEP:
                rest.append(resource)
        unplaced = found.pop("", [])
        if unplaced:
            found[_required(region)].extend(unplaced)
        if rest and not found and region:
            found[region] = []
        for rows in found.values():
            rows.extend(rest)
        return dict(found)

    def _locate(self, addresses: Iterable[str]) -> Location | None:
        blocks = map(block_of, addresses)
        return next((self._lines[block] for block in blocks if block in self._lines), None)

    @cached_property
    def _lines(self) -> Mapping[str, Location]:
        return self._template.lines if self._template else lines_of(self._folder) if self._folder else {}

    # --- laying ------------------------------------------------------------------------------------------------------

    def _check_regions(self, by_region: Mapping[str, Sequence[Resource]], regions: Sequence[str]) -> None:
        with_paths = {name for name, rows in by_region.items() if any(row.type in WITH_PATHS for row in rows)}
        missing = sorted(with_paths - {*regions})
        if missing:
            raise OptionError(
                f"{self._file} has resources in {missing[0]}, and the network that was read is in {', '.join(regions)}",
                f"add --region {missing[0]}",
            )

    def _lay_region(
        self, changed: ChangedViews, region: str, views: Sequence[View], resources: Sequence[Resource]
    ) -> None:
        """Lay the change over the network of a Region that was read, or without views, over what the change contains of it.

        Then the addresses of S3 Express are not known. They are public, so the views have them where only default routes
        lead, and the others have them where more specific routes lead.
        """
        if views:
            self._check_account(resources, views)
            base = views[0].tracer.snapshot
            changed.before.extend(views)
        else:
            base = self._existing(region, resources)
            changed.before.extend(_views_after((), _with_addresses(base)[0], ()))
        accounts = {view.account.id for view in views}
        network = self._laid(changed, base, accounts.pop() if len(accounts) == 1 else "", resources)
        _add_views(changed.after, changed.others, views, network.networks(), resources)
        if network.undecided:
            networks = network.networks(with_undecided=False)
            _add_views(changed.unaffected, changed.unaffected_others, views, networks, resources)

    def _check_account(self, resources: Iterable[Resource], views: Sequence[View]) -> None:
        known = sorted({view.account.id for view in views})
        for resource in resources:
            if resource.account_id not in ("", *known) and resource.type in WITH_PATHS:
                raise OptionError(
                    f"{self._file} is for account {resource.account_id}, and the network that was read is of {', '.join(known)}",
                    "use the credentials that made the plan, or a dump of that account",
                )

    def _existing(self, region: str, resources: Iterable[Resource]) -> Snapshot:
        """Return the network of the resources that exist before the change."""
        express = PrefixList(EXPRESS_LIST, f"com.amazonaws.{region}.s3express", Family.IPV4, ())
        existing = [
            replace(row, action=Action.KEEP, after=row.before, id=row.id_before) for row in resources if row.id_before
        ]
        empty = Snapshot("", region, prefix_lists={EXPRESS_LIST: express})
        return self._laid(Noted(), empty, "", existing, has_base=False).networks()[0]

    def _laid(
        self, noted: Noted, base: Snapshot, account: str, resources: Sequence[Resource], *, has_base: bool = True
    ) -> ChangedNetwork:
        """Return a network with resources laid over it."""
        other = account or (self._plan.account if self._plan else "") or UNKNOWN_ACCOUNT
        zones = self._plan.zone_ids if self._plan else {}
        network = ChangedNetwork(base, noted, other, zones, has_base=has_base)
        lay(network, resources)
        return network


def _required(region: str) -> str:
    """Return a Region. Raise OptionError if nothing says it."""
    if not region:
        raise OptionError("the plan does not say which Region it is for", "add --region, such as --region us-east-1")
    return region


def _add_views(
    after: list[View],
    others: list[View],
    views: Sequence[View],
    networks: Iterable[Snapshot],
    resources: Sequence[Resource],
) -> None:
    """Add the views after the change of a network, and of the others that are possible."""
    if not views:
        networks = [network for possible in networks for network in _with_addresses(possible)]
    usual, *more = networks
    after.extend(_views_after(views, usual, resources))
    for network in more:
        others.extend(_views_after(views, network, resources))


def _views_after(views: Sequence[View], network: Snapshot, resources: Sequence[Resource]) -> Iterator[View]:
    """Yield the views after the change: each account with the subnets that it lists, and with those that are new."""
    tracer = Tracer(network)
    accounts = {view.account.id: view.account for view in views}
    listed = {view.account.id: [one for one in view.subnet_ids if one in network.subnets] for view in views}
    known = {*network.foreign_subnet_ids, *(one for view in views for one in view.subnet_ids)}
    for subnet in network.subnets.values():
        if subnet.id not in known:
            listed.setdefault(subnet.owner_id, []).append(subnet.id)
    for account_id, subnet_ids in listed.items():
        account = _in_scope(accounts.get(account_id) or Account(account_id), resources)
        yield View(account, tracer, tuple(subnet_ids))


def _in_scope(account: Account, resources: Iterable[Resource]) -> Account:
    """Return an account with what a change does to the scope DIRECTORY_BUCKETS: new buckets, and subnets that it shares."""
    made = {resource.type for resource in resources if resource.action is not Action.DELETE}
    if made & {"aws_s3_directory_bucket", "AWS::S3Express::DirectoryBucket"}:
        account = replace(account, has_directory_buckets=True)
    if made & {"aws_ram_resource_association", "AWS::RAM::ResourceShare"}:
        account = replace(account, shared_subnet_ids=None)
    return account


# --- without a network -----------------------------------------------------------------------------------------------


def _with_addresses(network: Snapshot) -> list[Snapshot]:
    """Return the network with S3 Express where only default routes lead, and where more specific ones lead, if any."""
    specific, express = _specific_destinations(network), network.prefix_lists[EXPRESS_LIST]
    lists = [replace(express, cidrs=cidrs) for cidrs in (_other_than(specific), specific) if cidrs]
    return [replace(network, prefix_lists={**network.prefix_lists, EXPRESS_LIST: one}) for one in lists]


def _specific_destinations(network: Snapshot) -> tuple[Cidr, ...]:
    """Return the public IPv4 destinations of routes that are more specific than a default route, without local ones."""
    tables: tuple[AnyRouteTable, ...] = (
        *network.route_tables.values(),
        *(network.transit_gateway_route_tables or {}).values(),
    )
    found: dict[Cidr, None] = {}
    for destination in {one.destination: None for table in tables for one in table.routes if one.target_id != "local"}:
        if isinstance(destination, Cidr):
            found[destination] = None
        elif destination in network.prefix_lists:
            found |= dict.fromkeys(network.prefix_lists[destination].cidrs or ())
    return tuple(
        cidr
        for cidr in found
        if cidr.family is Family.IPV4 and cidr.length > 0 and not any(contains(private, cidr) for private in NOT_PUBLIC)
    )


def _other_than(specific: Sequence[Cidr]) -> tuple[Cidr, ...]:
    """Return a block of public addresses to which none of these routes leads, if there is one."""
    taken = {*specific, *NOT_PUBLIC}
    outer = tuple(one for one in taken if not any(other != one and contains(other, one) for other in taken))
    return tuple(islice(AddressSet(Cidr(Family.IPV4, 0, 0), outer).blocks(), 1))

"""A proposed change and the network that it changes: which account and Region each resource is in, before, and after."""

import os
from collections import ChainMap, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.resources import AnyRouteTable, PrefixList
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.routing import AddressSet, contains
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account
from express_path_cli.sources.network import View
from express_path_cli.sources.proposal.cloudformation import (
    SUFFIXES,
    Template,
    is_change_set,
    parameters_of_change_set,
    read_change_set,
    stack_of,
)
from express_path_cli.sources.proposal.document import read_json
from express_path_cli.sources.proposal.draft import NOT_PUBLIC, Draft
from express_path_cli.sources.proposal.families import MODELLED, lay
from express_path_cli.sources.proposal.references import block_of
from express_path_cli.sources.proposal.resolving import NotResolvedError, resolve
from express_path_cli.sources.proposal.resource import WITH_PATHS, Action, Resource, UnknownId
from express_path_cli.sources.proposal.source_lines import Location, has_configuration, lines_of
from express_path_cli.sources.proposal.terraform import TerraformPlan
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.progress import Watch

UNKNOWN_ACCOUNT = "unknown"
"""The account of resources if neither the change nor a network shows it."""
EXPRESS_LIST = "pl-s3express"
"""The id of the prefix list of S3 Express where its real id and addresses are not known."""
INCOMPLETE = "the plan leaves out a part of the configuration (-target, or deferred changes), which counts as unchanged"


@dataclass(frozen=True, slots=True)
class TerraformOptions:
    """Whether Terraform is asked for values that a plan does not have, and which program it is; None for that on PATH."""

    is_asked: bool = True
    program: str | None = None


@dataclass(frozen=True, slots=True)
class Proposed:
    """The views before and after the change.

    others: the views if S3 Express had its addresses where routes lead that are more specific than the default routes,
    without a network, and if endpoints had every route that is possible. with_routes, addresses, changed_by, undecided: see `Draft`. notes: what a reader should know. locate: returns
    where the first of some addresses is whose block is in the configuration. has_source: the folder of the configuration
    is known.
    """

    before: Sequence[View]
    after: Sequence[View]
    others: Sequence[View]
    with_routes: Mapping[str, UnknownId]
    addresses: Mapping[str, str]
    changed_by: Mapping[str, dict[str, None]]
    undecided: Mapping[str, str]
    notes: Sequence[str] = ()
    locate: Callable[[Iterable[str]], Location | None] = field(default=lambda _: None)
    has_source: bool = True


class Proposal:
    """A plan of Terraform, or a template or change set of CloudFormation, that was read from a file."""

    def __init__(
        self,
        file: Path,
        regions: Sequence[str] = (),
        source: Path | None = None,
        terraform: TerraformOptions | None = None,
        *,
        is_alone: bool = False,
    ) -> None:
        """Read the file. Raise ChangeError, and OptionError if source is given and has no configuration.

        regions: those of --region, of which one is for resources whose Region the change does not say. source: the folder
        in which the plan was made; without it, the folder of the file is used if it has a configuration. For a change
        set, it is the file with the template. terraform: None if it is not asked. is_alone: whether the change is judged
        without a network.
        """
        self._file, self.is_alone, self._terraform = file, is_alone, terraform or TerraformOptions()
        self._region = regions[0] if len(regions) == 1 else ""
        self._document = {} if file.suffix.lower() in SUFFIXES else read_json(file)
        self._template: Template | None = None
        self._folder: Path | None = None
        self._plan: TerraformPlan | None = None
        self._is_template = not self._document or (
            "Resources" in self._document and not {"Changes", "format_version"} & self._document.keys()
        )
        if self._is_template and source:
            raise OptionError(f"--source does nothing for {file}", "leave it out")
        if is_change_set(self._document):
            self._region = stack_of(self._document)[1] or self._region
            if source:
                self._template = Template(source, self._region, parameters_of_change_set(self._document))
        elif not self._is_template:
            self._plan = TerraformPlan(str(file), self._document)
            if source and not has_configuration(source):
                raise OptionError(
                    f"--source {source} contains no .tf or .tofu file", "use the folder in which the plan was made"
                )
            self._folder = source or (file.parent if has_configuration(file.parent) else None)

    @property
    def regions(self) -> tuple[str, ...]:
        """The Regions of the change that have paths, as far as it says them."""
        if self._plan:
            return tuple(sorted(self._plan.regions - {""}))
        return (self._region,) if self._region else ()

    def lay(self, views: Sequence[View] | None, watch: Watch) -> Proposed:
        """Lay the change over the network that was read, None without one.

        Raise OptionError if the change is for another account or Region than the network.
        """
        here = {view.region for view in views or ()}
        settings = self._region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
        region = here.pop() if len(here) == 1 else settings
        notes, resources = self._resources(region, watch)
        by_region = self._by_region(resources, region)
        found = self._over(views, by_region) if views is not None else self._alone(by_region)
        has_source = self._plan is None or self._folder is not None
        return replace(found, notes=notes, locate=self._locate, has_source=has_source)

    # --- resources ---------------------------------------------------------------------------------------------------

    def _resources(self, region: str, watch: Watch) -> tuple[list[str], Sequence[Resource]]:
        """Return notes, and the resources of the change."""
        if self._is_template:
            self._template = Template(self._file, _required(region), {})
            return [], self._template.resources()
        if self._plan is None:
            return [], read_change_set(str(self._file), self._document, self._template)
        notes = [] if self._plan.is_complete else [INCOMPLETE]
        if self._terraform.is_asked and self._plan.lacks_ids:
            notes.append(self._ask_terraform(self._plan, watch))
        return notes, self._plan.resources

    def _ask_terraform(self, plan: TerraformPlan, watch: Watch) -> str:
        """Let Terraform plan once more, and return what came of it."""
        if self._folder is None:
            return (
                "Terraform was not asked for ids that the plan does not have: add --source DIR, the folder of the plan"
            )
        watch.expect(1)
        try:
            plan.resolved = resolve(self._document, self._folder, self._terraform.program)
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

    def _over(self, views: Sequence[View], by_region: Mapping[str, Sequence[Resource]]) -> Proposed:
        """Return the network that was read, with the change laid over it."""
        regions = sorted({view.region for view in views})
        with_paths = [name for name, rows in by_region.items() if any(row.type in WITH_PATHS for row in rows)]
        missing = [region for region in sorted(with_paths) if region not in regions]
        if missing:
            raise OptionError(
                f"{self._file} has resources in {missing[0]}, and the network that was read is in {', '.join(regions)}",
                f"add --region {missing[0]}",
            )
        after, others, drafts = list[View](), list[View](), list[Draft]()
        for region in regions:
            mine = [view for view in views if view.region == region]
            resources = by_region.get(region, [])
            self._check_account(resources, mine)
            known = [view.account.id for view in mine]
            base = mine[0].tracer.snapshot
            drafts.append(self._laid(base, known[0] if len(known) == 1 else "", resources))
            for network, into in zip(drafts[-1].networks(), (after, others), strict=False):
                into.extend(_in_scope(view, resources) for view in _views_after(mine, network))
        return _proposed(views, after, others, drafts)

    def _check_account(self, resources: Iterable[Resource], views: Sequence[View]) -> None:
        known = sorted({view.account.id for view in views})
        for resource in resources:
            if resource.account_id not in ("", *known) and resource.type in WITH_PATHS:
                raise OptionError(
                    f"{self._file} is for account {resource.account_id}, and the network that was read is of {', '.join(known)}",
                    "use the credentials that made the plan, or a dump of that account",
                )

    def _laid(self, base: Snapshot, account: str, resources: Sequence[Resource], *, has_base: bool = True) -> Draft:
        """Return a network with resources laid over it."""
        other = account or (self._plan.account if self._plan else "") or UNKNOWN_ACCOUNT
        zones = self._plan.zone_ids if self._plan else {}
        draft = Draft(base, lambda resource: resource.account_id or other, zones, has_base=has_base)
        lay(draft, resources)
        return draft

    def _alone(self, by_region: Mapping[str, Sequence[Resource]]) -> Proposed:
        """Return the network that the change itself contains.

        The addresses of S3 Express are not known. They are public, so the views have them where only default routes
        lead, and the views elsewhere have them where more specific routes lead.
        """
        before, after, others, drafts = list[View](), list[View](), list[View](), list[Draft]()
        for region, resources in sorted(by_region.items()):
            express = PrefixList(EXPRESS_LIST, f"com.amazonaws.{region}.s3express", Family.IPV4, ())
            base = Snapshot("", region, prefix_lists={EXPRESS_LIST: express})
            existing = [
                replace(row, action=Action.KEEP, after=row.before, id=row.id_before)
                for row in resources
                if row.id_before
            ]
            now, *_ = self._laid(base, "", existing, has_base=False).networks()
            drafts.append(self._laid(now, "", resources))
            before.extend(_views_after((), _with_addresses(now, express)[0]))
            usual, *rest = [one for network in drafts[-1].networks() for one in _with_addresses(network, express)]
            after.extend(_views_after((), usual))
            others.extend(view for other in rest for view in _views_after((), other))
        return _proposed(before, after, others, drafts)


def _required(region: str) -> str:
    """Return a Region. Raise OptionError if nothing says it."""
    if not region:
        raise OptionError("the plan does not say which Region it is for", "add --region, such as --region us-east-1")
    return region


def _proposed(
    before: Sequence[View], after: Sequence[View], others: Sequence[View], drafts: Sequence[Draft]
) -> Proposed:
    return Proposed(
        before,
        after,
        others,
        ChainMap(*(one.with_routes for one in drafts)),
        ChainMap(*(one.addresses for one in drafts)),
        ChainMap(*(one.changed_by for one in drafts)),
        ChainMap(*(one.undecided for one in drafts)),
    )


def _views_after(views: Sequence[View], network: Snapshot) -> Iterator[View]:
    """Yield the views after the change: each account with the subnets that it lists, and with those that are new."""
    tracer = Tracer(network)
    accounts = {view.account.id: view.account for view in views}
    listed = {view.account.id: [one for one in view.subnet_ids if one in network.subnets] for view in views}
    known = {*network.foreign_subnet_ids, *(one for view in views for one in view.subnet_ids)}
    for subnet in network.subnets.values():
        if subnet.id not in known:
            listed.setdefault(subnet.owner_id, []).append(subnet.id)
    for account_id, subnet_ids in listed.items():
        yield View(accounts.get(account_id) or Account(account_id), tracer, tuple(subnet_ids))


def _in_scope(view: View, resources: Iterable[Resource]) -> View:
    """Return a view with what a change does to the scope DIRECTORY_BUCKETS: new buckets, and subnets that it shares."""
    made = {resource.type for resource in resources if resource.action is not Action.DELETE}
    account = view.account
    if made & {"aws_s3_directory_bucket", "AWS::S3Express::DirectoryBucket"}:
        account = replace(account, has_directory_buckets=True)
    if made & {"aws_ram_resource_association", "AWS::RAM::ResourceShare"}:
        account = replace(account, shared_subnet_ids=None)
    return replace(view, account=account)


# --- without a network -----------------------------------------------------------------------------------------------


def _with_addresses(network: Snapshot, express: PrefixList) -> list[Snapshot]:
    """Return the network with S3 Express where only default routes lead, and where more specific ones lead, if any."""
    specific = _specific_destinations(network)
    generic = _other_than(specific)
    worlds: list[tuple[Cidr, ...]] = [*([(generic,)] if generic else []), *([specific] if specific else [])]
    lists = [{**network.prefix_lists, EXPRESS_LIST: replace(express, cidrs=cidrs)} for cidrs in worlds]
    return [replace(network, prefix_lists=one) for one in lists]


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


def _other_than(specific: Sequence[Cidr]) -> Cidr | None:
    """Return a block of public addresses to which none of these routes leads, None if there is none."""
    taken = {*specific, *NOT_PUBLIC}
    outer = tuple(one for one in taken if not any(other != one and contains(other, one) for other in taken))
    return next(AddressSet(Cidr(Family.IPV4, 0, 0), outer).blocks(), None)

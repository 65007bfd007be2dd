"""A plan and the network that it changes: which account and Region each resource is in, before, and after."""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from express_path.domain.network.addresses import Cidr, Family
from express_path.domain.network.resources import AnyRouteTable, PrefixList, Route
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.routing import AddressSet, contains
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Account
from express_path_cli.sources.network import View
from express_path_cli.sources.plan.cloudformation import (
    SUFFIXES,
    Template,
    is_change_set,
    parameters_of_change_set,
    read_change_set,
    region_of_change_set,
)
from express_path_cli.sources.plan.configuration import Configuration, has_configuration, literal_text
from express_path_cli.sources.plan.overlay import NOT_PUBLIC, Overlaid, overlay
from express_path_cli.sources.plan.terraform import (
    Action,
    Block,
    Plan,
    PlanError,
    Resource,
    call_path,
    read_document,
    references,
)
from express_path_cli.terminal.errors import OptionError

UNKNOWN_ACCOUNT = "unknown"
"""The account of resources if neither the plan nor a network shows it."""
_ARN = re.compile(r"arn:[\w-]+:[\w-]*:([\w-]*):([0-9]{12}|):")
_REGION = re.compile(r"[a-z]{2,}(-[a-z]+)+-[0-9]+")
EXPRESS_LIST = "pl-s3express"
"""The id of the prefix list of S3 Express where its real id and addresses are not known."""
WITH_PATHS = frozenset({"aws_subnet", "aws_default_subnet", "aws_route_table", "aws_route", "aws_vpc_endpoint"})
"""The types of resources without which a plan changes no path in a Region."""
INCOMPLETE = "the plan leaves out a part of the configuration (-target, or deferred changes), which counts as unchanged"


@dataclass(frozen=True, slots=True)
class Location:
    """Where the block of a resource is: the file, relative to the folder of the configuration, and its line."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Planned:
    """The views before and after the apply.

    addresses: the address of each subnet and route table of the plan, by its id in the views. copies: see `Overlaid`.
    changed_by: see `Overlaid`. elsewhere: without a network, the views if S3 Express had its addresses where routes lead that are more specific than
    the default routes. notes: what a reader should know. locate: returns where the first of some addresses is whose
    block is in the configuration. has_source: the configuration was read.
    """

    before: Sequence[View]
    after: Sequence[View]
    elsewhere: Sequence[View] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)
    probable: Mapping[str, str] = field(default_factory=dict)
    unknown: Mapping[str, Sequence[str]] = field(default_factory=dict)
    changed_by: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    locate: Callable[[Iterable[str]], Location | None] = lambda _: None
    has_source: bool = False


class PlanFile:
    """A plan, or the template of a new stack, that was read from a file."""

    def __init__(
        self, file: Path, regions: Sequence[str] = (), source: Path | None = None, *, is_alone: bool = False
    ) -> None:
        """Read the plan. Raise PlanError, and OptionError if source is given and has no configuration.

        regions: those of --region, of which one is for resources whose Region the plan does not say. source: the folder
        in which the plan was made; without it, the folder of the file is used if it has a configuration. For a change
        set, it is the file with the template. is_alone: whether the plan is judged without a network.
        """
        self._file, self.is_alone = file, is_alone
        self._given = regions[0] if len(regions) == 1 else ""
        document = {} if file.suffix.lower() in SUFFIXES else read_document(file)
        self._is_template = not document or not (
            {"Changes", "format_version"} & document.keys() or "Resources" not in document
        )
        self._template: Template | None = None
        self._configuration: Configuration | None = None
        if self._is_template and source:
            raise OptionError(f"--source does nothing for {file}", "leave it out")
        if is_change_set(document):
            if source:
                region = region_of_change_set(document) or self._given
                self._template = Template(source, region, parameters_of_change_set(document))
            self._use(read_change_set(str(file), document, self._template))
        elif not self._is_template:
            folder = source or file.parent
            self._configuration = Configuration(folder) if source or has_configuration(folder) else None
            self._use(Plan(str(file), document))

    def _use(self, plan: Plan) -> None:
        self._plan = plan
        self._places = _Places(plan, self._given, self._configuration)
        self._by_region: defaultdict[str, list[Resource]] = defaultdict(list)
        for resource in plan.resources:
            if resource.type.startswith("aws_"):
                self._by_region[self._places.region(resource)].append(resource)

    @property
    def regions(self) -> tuple[str, ...]:
        """The Regions of the plan that have paths, as far as it says them."""
        if self._is_template and self._template is None:
            return (self._given,) if self._given else ()
        return tuple(
            sorted(
                name for name, rows in self._by_region.items() if name and any(row.type in WITH_PATHS for row in rows)
            )
        )

    def lay(self, views: Sequence[View] | None) -> Planned:
        """Lay the plan over the network that was read, None without one.

        Raise OptionError if the plan is for another account or Region than the network.
        """
        here = {view.region for view in views or ()}
        settings = self._given or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""
        region = here.pop() if len(here) == 1 else settings
        if self._is_template:
            self._template = Template(self._file, _required(region), {})
            self._use(self._template.plan())
        notes = [] if self._plan.is_complete else [INCOMPLETE]
        self._default_to(region)
        if views is None:
            found = _alone(self._plan, self._by_region, self._places, self._configuration, notes)
            return self._with_source(found)
        after, overlaid = list[View](), list[Overlaid]()
        regions = sorted({view.region for view in views})
        missing = [region for region in self.regions if region not in regions]
        if missing:
            raise OptionError(
                f"{self._file} has resources in {missing[0]}, and the network that was read is in {', '.join(regions)}",
                f"add --region {missing[0]}",
            )
        for region in regions:
            mine = [view for view in views if view.region == region]
            resources = self._by_region.get(region, [])
            self._check_account(resources, mine)
            owner = self._places.owner([view.account.id for view in mine])
            laid = overlay(self._plan, mine[0].tracer.snapshot, resources, owner, self._configuration, has_base=True)
            overlaid.append(laid)
            after.extend(_in_scope(view, resources) for view in _views_after(mine, laid))
        return self._with_source(_planned(views, after, (), overlaid, notes))

    def _with_source(self, found: Planned) -> Planned:
        has_source = self._configuration is not None or self._template is not None
        return replace(found, locate=self._locate, has_source=has_source)

    def _locate(self, addresses: Iterable[str]) -> Location | None:
        if self._template:
            lines = self._template.lines
            file = self._template.file.as_posix()
            return next((Location(file, lines[one]) for one in addresses if one in lines), None)
        if self._configuration is None:
            return None
        for address in addresses:
            block = self._blocks.get(address)
            if block:
                module = self._configuration.module(call_path(block.module))
                found = module.blocks.get(("resource", block.type, block.name))
                if found:
                    return Location(found.file, found.line)
        return None

    @cached_property
    def _blocks(self) -> Mapping[str, Block]:
        return {resource.address: resource.block for resource in self._plan.resources}

    def _default_to(self, region: str) -> None:
        """Use a Region for the resources of which the plan does not say it. Raise OptionError without one."""
        unplaced = self._by_region.pop("", [])
        if unplaced and not region:
            raise OptionError(
                "the plan does not say which Region it is for", "add --region, such as --region us-east-1"
            )
        if unplaced:
            self._by_region[region].extend(unplaced)

    def _check_account(self, resources: Iterable[Resource], views: Sequence[View]) -> None:
        known = sorted({view.account.id for view in views})
        for resource in resources:
            account = self._places.account(resource)
            if account and account not in known and resource.type in WITH_PATHS:
                raise OptionError(
                    f"{self._file} is for account {account}, and the network that was read is of {', '.join(known)}",
                    "use the credentials that made the plan, or a dump of that account",
                )


def _required(region: str) -> str:
    """Return a Region. Raise OptionError if nothing says it."""
    if not region:
        raise OptionError("the plan does not say which Region it is for", "add --region, such as --region us-east-1")
    return region


def _planned(
    before: Sequence[View],
    after: Sequence[View],
    elsewhere: Sequence[View],
    overlaid: Sequence[Overlaid],
    notes: Sequence[str],
) -> Planned:
    addresses = {key: address for found in overlaid for key, address in found.addresses.items()}
    copies = {key: subnet_id for found in overlaid for key, subnet_id in found.copies.items()}
    probable = {key: copy for found in overlaid for key, copy in found.probable.items()}
    unknown = {key: names for found in overlaid for key, names in found.unknown.items()}
    changed_by = {key: found_by for found in overlaid for key, found_by in found.changed_by.items()}
    return Planned(before, after, elsewhere, addresses, copies, probable, unknown, changed_by, notes)


def _views_after(views: Sequence[View], found: Overlaid) -> Iterator[View]:
    """Yield the views after the apply: each account with the subnets that it lists, and with those that are new."""
    network, tracer = found.network, Tracer(found.network)
    listed = {subnet_id for view in views for subnet_id in view.subnet_ids}
    new = [subnet for subnet in network.subnets.values() if subnet.id not in listed]
    new = [subnet for subnet in new if subnet.id not in network.foreign_subnet_ids]
    accounts = {view.account.id: view for view in views}
    for account_id in dict.fromkeys((*accounts, *(subnet.owner_id for subnet in new))):
        view = accounts.get(account_id)
        kept = [one for one in view.subnet_ids if one in network.subnets] if view else []
        added = [subnet.id for subnet in new if subnet.owner_id == account_id]
        account = view.account if view else Account(account_id)
        yield View(account, tracer, (*kept, *added))


def _in_scope(view: View, resources: Iterable[Resource]) -> View:
    """Return a view with what a plan changes for the scope DIRECTORY_BUCKETS: new buckets, and subnets that it shares."""
    made = {resource.type for resource in resources if resource.after is not None}
    account = view.account
    if "aws_s3_directory_bucket" in made:
        account = replace(account, has_directory_buckets=True)
    if "aws_ram_resource_association" in made:
        account = replace(account, shared_subnet_ids=None)
    return replace(view, account=account)


class _Places:
    """The accounts and Regions of the resources of a plan."""

    def __init__(self, plan: Plan, default: str, configuration: Configuration | None) -> None:
        """Collect what existing resources, data sources, and the configuration say of each provider."""
        self._plan, self._default = plan, default
        self._local_values = configuration.module(()).local_values if configuration else {}
        self._with_paths = {resource.provider for resource in plan.resources if resource.type in WITH_PATHS}
        self._regions: dict[str, str] = {}
        self._accounts: dict[str, str] = {}
        for data in plan.data:
            if data.type == "aws_region":
                found = data.values.get("region") or data.values.get("name")
                self._keep(self._regions, data.provider, found, _REGION)
            if data.type == "aws_caller_identity":
                self._keep(self._accounts, data.provider, data.values.get("account_id"), re.compile("[0-9]{12}"))
        for resource in plan.resources:
            arn = _ARN.match(str((resource.before or {}).get("arn")))
            if arn:
                self._keep(self._regions, resource.provider, arn[1], _REGION)
                self._keep(self._accounts, resource.provider, arn[2], re.compile("[0-9]{12}"))

    @staticmethod
    def _keep(found: dict[str, str], provider: str, text: object, form: re.Pattern[str]) -> None:
        if isinstance(text, str) and form.fullmatch(text):
            found.setdefault(provider, text)

    def region(self, resource: Resource) -> str:
        """Return the Region of a resource, empty if nothing says it. Raise PlanError if it may be one of several.

        A provider of OpenTofu may have for_each, and a plan does not say which instance of it a resource uses:
        https://opentofu.org/docs/language/providers/configuration/.
        """
        own = (resource.after or resource.before or {}).get("region")
        if isinstance(own, str) and _REGION.fullmatch(own):
            return own
        names = references(self._plan.region_expression(resource.provider))
        is_repeated = any(name.startswith("each.") for name in names)
        found = self._configured(resource.provider) or (None if is_repeated else self._regions.get(resource.provider))
        is_one_of_several = is_repeated or len(self._with_paths) > 1
        if not found and names and is_one_of_several and resource.provider in self._with_paths:
            raise PlanError(
                self._plan.path,
                f"{resource.address} has a provider whose Region the plan does not say",
                "use a constant or a variable for `region` of each provider, without `for_each`",
            )
        return found or self._default or self._configured("aws") or next(iter(self._regions.values()), "")

    def _configured(self, provider: str) -> str | None:
        expression = self._plan.region_expression(provider)
        value = expression.get("constant_value") if isinstance(expression, Mapping) else None
        names = references(expression)
        if len(names) == 1:  # with several, nothing says which of them decides
            kind, _, rest = names[0].partition(".")
            if kind == "var":
                value = self._plan.root_variable(rest)
            elif kind == "local" and rest in self._local_values:
                value = literal_text(self._local_values[rest])
        return value if isinstance(value, str) and _REGION.fullmatch(value) else None

    def account(self, resource: Resource) -> str | None:
        """Return the account of a resource, None if the plan does not say it."""
        return self._accounts.get(resource.provider)

    def owner(self, known: Sequence[str]) -> Callable[[Resource], str]:
        """Return a function that returns the account of a resource; where the plan does not say it, the only known one."""
        only = known[0] if len(known) == 1 else next(iter(self._accounts.values()), UNKNOWN_ACCOUNT)
        return lambda resource: self.account(resource) or only


# --- without a network -----------------------------------------------------------------------------------------------


def _alone(
    plan: Plan,
    by_region: Mapping[str, Sequence[Resource]],
    places: _Places,
    configuration: Configuration | None,
    notes: Sequence[str],
) -> Planned:
    """Return the network that the plan itself contains.

    The addresses of S3 Express are not known. They are public, so the views have them where only default routes lead,
    and the views elsewhere have them where more specific routes lead.
    """
    before, after, elsewhere, overlaid = list[View](), list[View](), list[View](), list[Overlaid]()
    for region, resources in sorted(by_region.items()):
        owner = places.owner([])
        express = PrefixList(EXPRESS_LIST, f"com.amazonaws.{region}.s3express", Family.IPV4, ())
        base = Snapshot("", region, prefix_lists={EXPRESS_LIST: express})
        existing = [
            replace(row, action=Action.KEEP, after=row.before, unknown={})
            for row in resources
            if row.before is not None
        ]
        now = overlay(plan, base, existing, owner, configuration, has_base=False)
        found = overlay(plan, now.network, resources, owner, configuration, has_base=True)
        overlaid.append(found)
        before.extend(_views_after((), _with_addresses(now, express)[0]))
        usual, *others = _with_addresses(found, express)
        after.extend(_views_after((), usual))
        elsewhere.extend(view for other in others for view in _views_after((), other))
    return _planned(before, after, elsewhere, overlaid, notes)


def _with_addresses(found: Overlaid, express: PrefixList) -> list[Overlaid]:
    """Return the network with S3 Express where only default routes lead, and where more specific ones lead, if any."""
    specific = _specific_destinations(found.network)
    generic = _other_than(specific)
    worlds: list[tuple[Cidr, ...]] = [*([(generic,)] if generic else []), *([specific] if specific else [])]
    lists = [{**found.network.prefix_lists, EXPRESS_LIST: replace(express, cidrs=cidrs)} for cidrs in worlds]
    return [replace(found, network=replace(found.network, prefix_lists=one)) for one in lists]


def _specific_destinations(network: Snapshot) -> tuple[Cidr, ...]:
    """Return the public IPv4 destinations of routes that are more specific than a default route, without local ones."""
    transit = network.transit_gateway_route_tables or {}
    tables: list[AnyRouteTable] = [*network.route_tables.values(), *transit.values()]
    routes: Iterable[Route] = (route for table in tables for route in table.routes if route.target_id != "local")
    found: dict[Cidr, None] = {}
    for destination in dict.fromkeys(route.destination for route in routes):
        if isinstance(destination, Cidr):
            found[destination] = None
        elif destination != EXPRESS_LIST and destination in network.prefix_lists:
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

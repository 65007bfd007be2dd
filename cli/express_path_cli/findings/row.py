"""The row: everything that people and files see of a subnet. Formats, worklist, report, and baseline are made from rows."""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from datetime import date
from enum import StrEnum
from itertools import chain, count
from operator import attrgetter
from typing import NamedTuple

from express_path.domain.heal.endpoints import NEW_ENDPOINT
from express_path.domain.heal.patches import LOGICAL_ID, join_patches
from express_path.domain.network.resources import VpcEndpoint
from express_path.domain.network.snapshot import SubnetTags
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import SEVERITY_ORDER, Reason, Unknown
from express_path.domain.path.tracing import Tracer
from express_path.domain.remedy.remedies import Remedies, association
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path_cli.sources.change.resource import NewId, UnknownId
from express_path_cli.terminal.texts import count_text

_FIELDS_OF = attrgetter(*(verdict_field.name for verdict_field in fields(Verdict)))
"""Return the values of a verdict's fields, with which those of a row begin."""
_WITHOUT_TAGS = SubnetTags({}, {}, {})


class Mark(StrEnum):
    """What a comparison with a baseline says about a finding."""

    NEW = "new"
    UNCHANGED = "unchanged"
    FIXED = "fixed"
    UNKNOWN = "unknown"
    REPLACED = "replaced"
    """The subnet is still NON_COMPLIANT, for another reason."""


class Ignored(NamedTuple):
    """Why a finding is ignored, and the last day on which it is, in UTC."""

    why: str
    expires: date

    def __str__(self) -> str:
        """Return both, such as "moves in March (until 2026-03-31)"."""
        return f"{self.why} (until {self.expires})"


class SetParameter(NamedTuple):
    """A rule parameter that the configuration file sets, why, and the last day on which it does, in UTC.

    subnets: how many of a scan would have another compliance without it.
    """

    name: str
    value: str
    why: str
    expires: date
    subnets: int = 0

    def __str__(self) -> str:
        """Return the parameter with its value, such as "vpcIds=vpc-1"."""
        return f"{self.name}={self.value}"

    @property
    def reason(self) -> str:
        """Return why it is set, such as "moves in March (until 2026-03-31)"."""
        return str(Ignored(self.why, self.expires))

    @property
    def effect(self) -> str:
        """Return what the parameter does to a scan, and why it is set."""
        return f"changes the compliance of {count_text(self.subnets, 'subnet')}: {self.reason}"


class TrafficPath(NamedTuple):
    """The hops of some of a subnet's traffic, and the reason that they lead to; a tuple, since a scan has many."""

    reason: Reason
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Row(Verdict):
    """A verdict with what else is shown of its subnet. `schema/scan.schema.json` describes it.

    The names are Name tags, empty without one. tags: all tags that the subnet has, or else its route table, or else its
    VPC. table_tags: those that the route table has, or else the VPC. other_paths: those of its other addresses, or that AWS may choose instead, worst first. remedy: for all route
    tables that are changed together; None if nothing has to change. baseline: None without a baseline, and without a
    finding. ignored: None unless the configuration file has an entry for the finding. set_by: the parameter of that file without
    which the compliance would be another one, None without such a parameter.

    before: in a plan, the reason before it, also of a subnet that this one replaces, None if it is new. table_address and
    endpoint_address: in a plan, those of the route table and of the endpoint of the remedy, if they exist already and are
    in the configuration. address: in a plan, the address in the configuration; until AWS gives the subnet an id, subnet_id
    is the address too. changed_by: the addresses of the resources in a plan that change the subnet's route table, or its
    routes. file and line: where the first of them is, if the configuration was read.
    """

    _: KW_ONLY
    subnet_name: str = ""
    route_table_name: str = ""
    vpc_name: str = ""
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    table_tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    other_paths: tuple[TrafficPath, ...] = ()
    remedy: Remedy | None = None
    baseline: Mark | None = None
    ignored: Ignored | None = None
    set_by: SetParameter | None = None
    before: Reason | None = None
    table_address: str = ""
    endpoint_address: str = ""
    address: str = ""
    changed_by: tuple[str, ...] = ()
    file: str = ""
    line: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """The account, the Region, and the ID of the subnet."""
        return self.account_id, self.region, self.subnet_id

    @property
    def is_news(self) -> bool:
        """Whether a comparison finds the finding new or gone, or a plan changes the path or leaves it unknown."""
        if self.baseline not in (None, Mark.UNCHANGED):
            return True
        is_of_plan = self.before is not None or self.address != ""
        is_unknown = self.unknown in (Unknown.AFTER_APPLY, Unknown.SOURCE)
        return is_of_plan and (self.reason is not self.before or is_unknown)

    @property
    def tool(self) -> str:
        """The tool of the plan that changes the subnet's path, as patches name it; empty if no plan does."""
        address = next(iter((*self.changed_by, self.address)), "")
        if not address:
            return ""
        return "cloudFormation" if address.startswith(_RESOURCES) else "terraform"

    def names(self) -> dict[str, str]:
        """Return the names as documents have them, without those that are empty."""
        named = {"subnet": self.subnet_name, "routeTable": self.route_table_name, "vpc": self.vpc_name}
        return {resource: name for resource, name in named.items() if name}


def rows_of(verdicts: Iterable[Verdict], evaluators: Sequence[Evaluator] = ()) -> list[Row]:
    """Return the rows of verdicts, in their order. What is not in the verdict comes from the evaluators' networks."""
    remedies = Remedies(evaluators)
    tracers = {(evaluator.account.id, evaluator.snapshot.region): evaluator.tracer for evaluator in evaluators}
    rows = []
    for verdict in verdicts:
        tracer = tracers.get((verdict.account_id, verdict.region))
        tags = _tags(verdict, tracer)
        rows.append(
            Row(
                *_FIELDS_OF(verdict),
                subnet_name=tags.subnet.get("Name", ""),
                route_table_name=tags.route_table.get("Name", ""),
                vpc_name=tags.vpc.get("Name", ""),
                tags=tags.merged(),
                table_tags={**tags.vpc, **tags.route_table},
                other_paths=_other_paths(verdict, tracer),
                remedy=remedies.of(verdict),
            )
        )
    return combined(rows)


def _tags(verdict: Verdict, tracer: Tracer | None) -> SubnetTags:
    if tracer is None:
        return _WITHOUT_TAGS
    return tracer.snapshot.tags_of(verdict.subnet_id, verdict.route_table_id, verdict.vpc_id)


def _other_paths(verdict: Verdict, tracer: Tracer | None) -> tuple[TrafficPath, ...]:
    if tracer is None or verdict.route_table_id is None or not verdict.path:
        return ()
    table = tracer.snapshot.route_tables[verdict.route_table_id]
    subnet = tracer.snapshot.subnets[verdict.subnet_id]
    paths = {
        TrafficPath(outcome.reason, outcome.path)
        for traced in tracer.trace_subnet(table, subnet).results
        for outcome in traced.outcomes
        if outcome.path and outcome.path != verdict.path
    }
    return tuple(sorted(paths, key=lambda path: (SEVERITY_ORDER[path.reason], path.hops)))


def combined(rows: Sequence[Row]) -> list[Row]:
    """Return the same rows; those of one VPC that need the same endpoint get one remedy for all of their route tables.

    Otherwise, each of two commands would create an endpoint, and one VPC needs only one.
    """
    groups: defaultdict[Hashable, list[Row]] = defaultdict(list)
    for row in rows:
        if row.remedy and (row.remedy.endpoint or row.tool):
            groups[fix_key(row)].append(row)
    remedies = {key: _joint_remedy(worst_first(group)) for key, group in groups.items()}
    combined_rows = []
    for row in rows:
        key = fix_key(row)
        combined_rows.append(replace(row, remedy=remedies[key]) if key in remedies else row)
    return combined_rows


def _joint_remedy(rows: Sequence[Row]) -> Remedy | None:
    """Return the one remedy of these rows. If a plan changes their paths, it is a change in that tool, and no command."""
    remedy = rows[0].remedy
    endpoint = remedy.endpoint if remedy else None
    if remedy is None or endpoint is None:
        return remedy and replace(remedy, command="", patches={})
    owner = next((row.remedy.owner for row in rows if row.remedy and row.remedy.owner), "")
    joint = association(rows, endpoint, owner)
    tool = next((row.tool for row in rows if row.tool), "")
    if not tool:
        return joint
    addresses = {str(row.route_table_id): row.table_address for row in rows if row.table_address}
    if rows[0].endpoint_address:
        addresses[endpoint.id] = rows[0].endpoint_address
    ids = (*(row.route_table_id for row in rows), endpoint.id, endpoint.vpc_id, *endpoint.route_table_ids)
    new_ids = [resource_id for resource_id in dict.fromkeys(ids) if resource_id and not known_id(resource_id)]
    patches = _patches_by_address(rows, joint, endpoint, tool, new_ids, addresses)
    text, instruction = joint.text, joint.instruction
    for resource_id, address in addresses.items():
        text, instruction = text.replace(resource_id, address), instruction.replace(resource_id, address)
    return replace(joint, text=text, instruction=instruction, command="", patches=patches)


_RESOURCES = "Resources."
"""The beginning of an address of CloudFormation."""
_ADDRESS = re.compile(rf"({re.escape(_RESOURCES)}|(?:module\.[^.]+\.)*)(.+)")
"""The address of a resource: of a template, or the modules of Terraform's configuration; and the name inside them."""


_RESOURCE = re.compile(r"[\w-]+\.[\w-]+(\[.*\])?")
"""A resource of Terraform, not an attribute of one."""


def _module(address: str) -> str:
    """Return the modules in an address, or the beginning of one of CloudFormation."""
    match = _ADDRESS.fullmatch(address)
    return match[1] if match else ""


def _patches_by_address(
    rows: Sequence[Row],
    joint: Remedy,
    endpoint: VpcEndpoint,
    tool: str,
    new_ids: Sequence[str],
    known_addresses: Mapping[str, str],
) -> dict[str, str]:
    """Return the change as code that refers to resources by their addresses; empty if no code can.

    Terraform's code belongs into the module of the resources, and reaches none of another module. new_ids: the addresses in
    place of ids that AWS has not given yet. known_addresses: those of resources that have an id. An endpoint that is not in
    the configuration is looked up by a data source.
    """
    if any(isinstance(resource_id, UnknownId) for resource_id in new_ids):  # which of several resources is not known
        return {}
    modules = list(dict.fromkeys(map(_module, new_ids or known_addresses.values())))
    if new_ids and len(modules) > 1:
        return {}
    module = next(iter(modules), "")
    addresses = {resource_id: resource_id for resource_id in new_ids}
    addresses |= {
        resource_id: address for resource_id, address in known_addresses.items() if _module(address) == module
    }
    # The code is made with a placeholder for each address. An expression then takes the place of each placeholder.
    placeholders: dict[str, str] = {}
    expressions: dict[str, str] = {}
    for resource_id, address in addresses.items():
        expression = address.removeprefix(module)
        placeholders[resource_id] = _placeholder(expression, expressions)
        expressions[placeholders[resource_id]] = expression
    rows_with_placeholders = [
        replace(row, route_table_id=placeholders.get(str(row.route_table_id), row.route_table_id)) for row in rows
    ]
    endpoint_table_ids = tuple(placeholders.get(table_id, table_id) for table_id in endpoint.route_table_ids)
    vpc_id = placeholders.get(endpoint.vpc_id, endpoint.vpc_id)
    endpoint_id = placeholders.get(endpoint.id, endpoint.id)
    is_in_code = endpoint.id in placeholders
    tags = {**endpoint.tags, LOGICAL_ID: endpoint_id} if is_in_code else endpoint.tags
    endpoint_with_placeholders = replace(
        endpoint, id=endpoint_id, vpc_id=vpc_id, route_table_ids=endpoint_table_ids, tags=tags
    )
    code = association(rows_with_placeholders, endpoint_with_placeholders, joint.owner).patches.get(tool, "")
    if code and tool == "terraform" and not is_in_code and endpoint.id != NEW_ENDPOINT:
        table_ids = dict.fromkeys(row.route_table_id for row in rows_with_placeholders if row.route_table_id)
        code = join_patches(endpoint_with_placeholders, list(table_ids))[tool]
    for placeholder, expression in expressions.items():
        if tool == "terraform":
            attribute = ".id" if _RESOURCE.fullmatch(expression) else ""
            code = code.replace(f'"{placeholder}"', f"{expression}{attribute}")
            code = re.sub(rf" of {placeholder}\b", f" of {expression}".replace("\\", r"\\"), code)
        else:
            code = re.sub(rf"(?m)(?<= ){placeholder}$", f"!Ref {placeholder}", code)
    if not code:
        return {}
    if module.startswith("module."):
        code = f"# in {module.removesuffix('.')}\n{code}"
    return {tool: code}


def _placeholder(expression: str, taken: Mapping[str, str]) -> str:
    """Return a name for an expression that no other expression has: keys such as "a-b" and "a_b" make the same one."""
    name = re.sub(r"\W+", "_", expression).strip("_")
    numbered = (f"{name}_{number}" for number in count(2))
    return next(free for free in chain([name], numbered) if taken.get(free, expression) == expression)


def known_id(resource_id: str | None) -> str | None:
    """Return the id that AWS gave a resource, None as long as a change knows only its address."""
    return None if not resource_id or isinstance(resource_id, NewId | UnknownId) else resource_id


def worst_first(rows: Iterable[Row]) -> list[Row]:
    """Return rows in the order in which a change names them: by reason, then by route table."""
    return sorted(rows, key=lambda row: (SEVERITY_ORDER[row.reason], row.route_table_id or "", row.subnet_id))


def fix_key(row: Row) -> Hashable:
    """Return what rows have in common that are changed together; None if nothing has to change."""
    if row.remedy is None:
        return None
    endpoint = row.remedy.endpoint
    if endpoint:  # a new one has no ID yet, but a type
        return row.region, endpoint.vpc_id, endpoint.service_name, endpoint.id, endpoint.ip_address_type
    return row.account_id, row.region, row.vpc_id, row.route_table_id, row.reason, row.remedy

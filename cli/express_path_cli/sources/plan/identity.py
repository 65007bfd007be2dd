"""Which resources a value may name that is known only after the apply: what its expression refers to.

A plan does not contain the expressions, only what they refer to. So a reference to one resource is that resource, and a
reference to a resource with count or for_each may be any of its instances, unless its key is written there.
A value that is not known yet is not an id that is known: what an expression selects by is known when a plan is made.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeVar

from express_path_cli.sources.plan.configuration import Configuration
from express_path_cli.sources.plan.evaluation import Evaluator, UndecidedError
from express_path_cli.sources.plan.terraform import (
    Action,
    Block,
    Key,
    Plan,
    Reference,
    Resource,
    Values,
    module_key,
    objects,
    parent_module,
    parse_reference,
    references,
)


class Kind(StrEnum):
    """What a value can name. The value is the argument that usually names it."""

    VPC = "vpc_id"
    SUBNET = "subnet_id"
    TABLE = "route_table_id"
    ENDPOINT = "vpc_endpoint_id"
    NAT = "nat_gateway_id"
    GATEWAY = "gateway_id"
    EGRESS_ONLY = "egress_only_gateway_id"
    INTERFACE = "network_interface_id"
    TRANSIT_GATEWAY = "transit_gateway_id"
    ATTACHMENT = "transit_gateway_attachment_id"
    TRANSIT_TABLE = "transit_gateway_route_table_id"
    PREFIX_LIST = "prefix_list_id"


_OF_TYPE: Mapping[str, Kind] = {
    "aws_vpc": Kind.VPC,
    "aws_default_vpc": Kind.VPC,
    "aws_subnet": Kind.SUBNET,
    "aws_default_subnet": Kind.SUBNET,
    "aws_route_table": Kind.TABLE,
    "aws_default_route_table": Kind.TABLE,
    "aws_vpc_endpoint": Kind.ENDPOINT,
    "aws_nat_gateway": Kind.NAT,
    "aws_internet_gateway": Kind.GATEWAY,
    "aws_vpn_gateway": Kind.GATEWAY,
    "aws_egress_only_internet_gateway": Kind.EGRESS_ONLY,
    "aws_network_interface": Kind.INTERFACE,
    "aws_ec2_transit_gateway": Kind.TRANSIT_GATEWAY,
    "aws_ec2_transit_gateway_vpc_attachment": Kind.ATTACHMENT,
    "aws_ec2_transit_gateway_peering_attachment": Kind.ATTACHMENT,
    "aws_ec2_transit_gateway_connect": Kind.ATTACHMENT,
    "aws_ec2_transit_gateway_route_table": Kind.TRANSIT_TABLE,
    "aws_ec2_managed_prefix_list": Kind.PREFIX_LIST,
}
"""What the id of each type of resource names."""
_MADE_BY: Mapping[tuple[str, str], tuple[Kind, str]] = {
    ("aws_vpc", "default_route_table_id"): (Kind.TABLE, "default_route_table_id"),
    ("aws_vpc", "main_route_table_id"): (Kind.TABLE, "default_route_table_id"),
    ("aws_default_vpc", "default_route_table_id"): (Kind.TABLE, "default_route_table_id"),
    ("aws_default_vpc", "main_route_table_id"): (Kind.TABLE, "default_route_table_id"),
    ("aws_instance", "primary_network_interface_id"): (Kind.INTERFACE, "primary_network_interface_id"),
    ("aws_ec2_transit_gateway", "association_default_route_table_id"): (Kind.TRANSIT_TABLE, "default_route_table_id"),
    ("aws_ec2_transit_gateway", "propagation_default_route_table_id"): (Kind.TRANSIT_TABLE, "default_route_table_id"),
    ("aws_networkfirewall_firewall", "firewall_status"): (Kind.ENDPOINT, "endpoint"),
    ("aws_vpc_endpoint", "prefix_list_id"): (Kind.PREFIX_LIST, "prefix_list_id"),
    ("aws_vpn_connection", "transit_gateway_attachment_id"): (Kind.ATTACHMENT, "transit_gateway_attachment_id"),
}
"""What AWS makes together with a resource, by the attribute that names it, and the end of its id until that is known."""
_AWS_ID = re.compile(r"[a-z]+(-[a-z]+)?-[0-9a-f]{8,17}")
_PREFIXES: Mapping[Kind, tuple[str, ...]] = {
    Kind.VPC: ("vpc",),
    Kind.SUBNET: ("subnet",),
    Kind.TABLE: ("rtb",),
    Kind.ENDPOINT: ("vpce",),
    Kind.NAT: ("nat",),
    Kind.GATEWAY: ("igw", "vgw"),
    Kind.EGRESS_ONLY: ("eigw",),
    Kind.INTERFACE: ("eni",),
    Kind.TRANSIT_GATEWAY: ("tgw",),
    Kind.ATTACHMENT: ("tgw-attach",),
    Kind.TRANSIT_TABLE: ("tgw-rtb",),
    Kind.PREFIX_LIST: ("pl",),
}
"""What the ids of each kind begin with, before the last hyphen."""
_MAKES = frozenset((of, kind) for (of, _), (kind, _) in _MADE_BY.items())
_OF_NETWORK = frozenset(Kind)
"""The arguments that name a resource of the network, and nothing else."""
_RELAYS = frozenset({"random_shuffle", "terraform_data", "null_resource", "time_sleep"})
"""Resources outside AWS whose values are those of their arguments."""


def made_id(resource: Resource, attribute: str) -> str:
    """Return the id of what AWS makes together with a resource: the known one, or the resource's address and a word."""
    return resource.text(attribute) or f"{resource.id}.{_MADE_BY[resource.type, attribute][1]}"


def firewall_endpoints(firewall: Resource) -> tuple[str, ...]:
    """Return the ids of a firewall's endpoints: the known ones, or one for each subnet of the firewall."""
    statuses = objects(firewall.known("firewall_status"))
    if statuses:
        states = [state for status in statuses for state in objects(status.get("sync_states"))]
        attachments = [attachment for state in states for attachment in objects(state.get("attachment"))]
        return tuple(str(attachment["endpoint_id"]) for attachment in attachments if attachment.get("endpoint_id"))
    mappings = objects((firewall.after or {}).get("subnet_mapping"))
    return tuple(f"{firewall.address}.endpoint[{number}]" for number in range(len(mappings)))


def _made(resource: Resource, attribute: str) -> tuple[str, ...]:
    if attribute == "firewall_status":
        return firewall_endpoints(resource)
    return (made_id(resource, attribute),)


@dataclass(frozen=True, slots=True)
class Possible:
    """What a value may name.

    ids: all that the plan shows. same_key: the one with the key that the value's own resource has, which is probable, and
    not certain. is_open: the value may name something else.
    """

    ids: tuple[str, ...] = ()
    same_key: str | None = None
    is_open: bool = False

    @property
    def certain(self) -> str | None:
        """The only id that is possible, None if there is none or several."""
        return self.ids[0] if len(self.ids) == 1 and not self.is_open else None


def union(found: Sequence[Possible]) -> tuple[str, ...]:
    """Return all ids that any of these may be. Many resources with count share one tuple, which is not copied."""
    distinct = list({id(possible.ids): possible.ids for possible in found if possible.ids}.values())
    return distinct[0] if len(distinct) == 1 else tuple(dict.fromkeys(one for ids in distinct for one in ids))


def _any_of(found: Sequence[Possible]) -> Possible:
    """Return what a value may name that is any of these."""
    if len(found) == 1:
        return found[0]
    return Possible(union(found), is_open=any(possible.is_open for possible in found))


def ids_in(value: object, kind: Kind) -> tuple[str, ...]:
    """Return the ids of AWS of one kind that a value contains, such as that of a variable."""
    if isinstance(value, str):
        return (value,) if _AWS_ID.fullmatch(value) and value.rpartition("-")[0] in _PREFIXES[kind] else ()
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return tuple(one for part in parts for one in ids_in(part, kind))


OPEN = Possible(is_open=True)
"""What a value may name of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list of ids names: certain ids, ids that it may name, and is_open if it may name others too."""

    ids: tuple[str, ...]
    possible: tuple[str, ...] = ()
    is_open: bool = False


_K = TypeVar("_K")


class _Many(tuple[Resource, ...]):
    """All instances of a resource with count or for_each, where the plan does not say which one is meant."""

    __slots__ = ()


def _may_be(value: str, found: Possible) -> bool:
    """Return whether a text is an id of AWS, or an address that stands for one among those that are possible."""
    return value in found.ids or _AWS_ID.fullmatch(value) is not None


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where an expression stands: in which module, with which key, and how many instances it stands for.

    for_each: the expression of for_each of its block, None without one.
    """

    module: str
    key: Key = None
    instances: int = 0
    for_each: Values | None = None


class Identities:
    """Follows references in one plan. What was followed once is kept."""

    def __init__(self, plan: Plan, configuration: Configuration | None = None) -> None:
        """Start without having followed anything. configuration: also has the expressions, which a plan does not have."""
        self._plan = plan
        self._evaluator = Evaluator(plan, configuration, self) if configuration else None
        self._scopes: dict[Resource, _Scope] = {}
        self._of_blocks: dict[tuple[Block, str, Kind], Possible] = {}
        self._of_modules: dict[tuple[str, Kind], Possible] = {}
        self._following: set[object] = set()
        self._loops = 0
        self._values: dict[tuple[Resource, str], Any] = {}
        self._named: dict[tuple[Resource, str, Kind], Possible] = {}
        self._many: dict[Block, _Many] = {}
        self._by_key: dict[Block, Mapping[Key, Resource]] = {}
        self._unknown_of: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def named_by(self, resource: Resource, attribute: str, kind: Kind) -> Possible:
        """Return what a value of a resource may name after the apply; without a value, nothing."""
        return self._kept(self._named, (resource, attribute, kind), lambda: self._name(resource, attribute, kind))

    def _name(self, resource: Resource, attribute: str, kind: Kind) -> Possible:
        known = resource.known(attribute)
        if isinstance(known, str):
            return Possible((known,)) if known else Possible()
        if not resource.is_unknown(attribute):
            return Possible()
        value = self._evaluated(resource, attribute)
        found = self.referred(resource, references(self._plan.expressions(resource.block).get(attribute)), kind)
        return Possible((value,)) if isinstance(value, str) and _may_be(value, found) else found

    def _evaluated(self, resource: Resource, name: str) -> Any:  # noqa: ANN401  # any JSON
        """Return the value of an argument by its expression, None if the configuration or the plan does not say it."""
        if self._evaluator is None:
            return None
        key = (resource, name)
        if key not in self._values:
            self._values[key] = None  # while it is being evaluated
            with suppress(UndecidedError):
                self._values[key] = self._evaluator.argument(resource, name)
        return self._values[key]

    def attribute(self, resource: Resource, name: str) -> Any:  # noqa: ANN401  # any JSON
        """Return the value of an attribute of a resource; an id that is not known yet is an address."""
        if name == "id" and resource.type in _OF_TYPE:
            return self.id_of(resource)
        if not resource.is_unknown(name):
            return (resource.after or {}).get(name)
        if (resource.type, name) in _MADE_BY and name != "firewall_status":
            return made_id(resource, name)
        if name in tuple(Kind):
            certain = self.named_by(resource, name, Kind(name)).certain
            if certain:
                return certain
        raise UndecidedError

    def referred(self, resource: Resource, names: Sequence[str], kind: Kind) -> Possible:
        """Return what an unknown value may name whose expression refers to these names: no id that is known."""
        found = self._follow(self._scope_of(resource), names, kind)
        ids = self._unknown(found.ids)
        return found if ids and ids is found.ids else replace(found, ids=ids, is_open=found.is_open or not ids)

    def _unknown(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        """Return the ids that are not known yet. Many resources share one tuple, before and after."""
        if id(ids) not in self._unknown_of:
            unknown = tuple(one for one in ids if "." in one)
            self._unknown_of[id(ids)] = (ids, ids if len(unknown) == len(ids) else unknown)
        return self._unknown_of[id(ids)][1]

    def listed(self, resource: Resource, attribute: str, kind: Kind) -> Listed:
        """Return what a list of ids, or a set, names after the apply."""
        known = resource.known(attribute)
        if not resource.is_unknown(attribute):
            ids = tuple(text for text in known if isinstance(text, str)) if isinstance(known, list) else ()
            return Listed(ids)
        after = (resource.after or {}).get(attribute)
        expression = self._plan.expressions(resource.block).get(attribute)
        if isinstance(expression, Mapping) and isinstance(expression.get("constant_value"), list):
            return Listed(tuple(text for text in expression["constant_value"] if isinstance(text, str)))
        found = self._follow(self._scope_of(resource), references(expression), kind)
        value = self._evaluated(resource, attribute)
        if isinstance(value, list) and all(isinstance(one, str) and _may_be(one, found) for one in value):
            return Listed(tuple(dict.fromkeys(value)))
        some = tuple(text for text in after if isinstance(text, str)) if isinstance(after, list) else ()
        unknown = self._unknown(found.ids)
        is_open = found.is_open or not unknown
        # A list that is not known names at least one id that is not known.
        certain = unknown if len(unknown) == 1 and not is_open else ()
        ids = tuple(dict.fromkeys((*some, *certain)))
        return Listed(ids, tuple(one for one in found.ids if one not in ids), is_open=is_open)

    def id_of(self, resource: Resource) -> str:
        """Return the id of a resource. A default route table has that of the main route table of its VPC."""
        if resource.type == "aws_default_route_table" and resource.id == resource.address:
            found = self.named_by(resource, "default_route_table_id", Kind.TABLE)
            return found.certain or resource.address
        return resource.id

    # --- following ---------------------------------------------------------------------------------------------------

    def _scope_of(self, resource: Resource) -> _Scope:
        scope = self._scopes.get(resource)
        if scope is None:
            block = resource.block
            instances = len(self._plan.by_block.get(block, ()))
            scope = _Scope(block.module, resource.key, instances, self._plan.for_each(block))
            self._scopes[resource] = scope
        return scope

    def _follow(self, scope: _Scope, names: Sequence[str], kind: Kind) -> Possible:
        heads = [name for name in names if name not in ("each.key", "count.index")]
        every = [self._one(scope, name, kind) for name in heads]
        same = self._with_key(scope, heads[0], kind) if len(heads) == 1 and len(heads) < len(names) else None
        same_key = same.certain if same else every[0].same_key if len(every) == len(names) == 1 else None
        return replace(_any_of(every), same_key=same_key)

    def _one(self, scope: _Scope, name: str, kind: Kind) -> Possible:
        """Return what one reference may name; nothing if it is to something of another kind whose value is known."""
        first, _, rest = name.partition(".")
        match first:
            case "var":
                return self._variable(scope.module, re.split(r"[.[]", rest, maxsplit=1)[0], kind)
            case "local":
                return self._anything_in(scope.module, kind)
            case "each":
                return self._each_value(scope, kind) if rest.startswith("value") else Possible()
            case "count" | "path" | "terraform" | "self":
                return Possible()
            case "module":
                return self._output(scope, name, kind)
        reference = parse_reference(name)
        if reference is None:
            return OPEN
        if reference.type.startswith("data."):
            block = Block(scope.module, reference.type, reference.name)
            if self._is_deferred(block):
                return OPEN
            return Possible(
                tuple(one for data in self._plan.data_of.get(block, ()) for one in ids_in(data.values, kind))
            )
        return self._resource(scope.module, reference, kind)

    def _is_deferred(self, block: Block) -> bool:
        """Return whether a data source is read during the apply only."""
        return any(row.action is Action.READ for row in self._plan.by_block.get(block, ()))

    def _resources_of(self, module: str, reference: Reference) -> Sequence[Resource]:
        block = Block(module, reference.type, reference.name)
        rows = self._plan.by_block.get(block, ())
        if reference.key is not None:
            same = self._keys(block).get(reference.key)
            return [same] if same else []
        if all(row.key is None for row in rows[:1]):
            return rows
        if block not in self._many:
            self._many[block] = _Many(rows)
        return self._many[block]

    def _keys(self, block: Block) -> Mapping[Key, Resource]:
        """Return the instances of a block by their keys."""
        if block not in self._by_key:
            self._by_key[block] = {row.key: row for row in self._plan.by_block.get(block, ())}
        return self._by_key[block]

    def _resource(self, module: str, reference: Reference, kind: Kind) -> Possible:
        rows = self._resources_of(module, reference)
        if isinstance(rows, _Many):
            key = (rows[0].block, reference.attribute, kind)
            attribute = reference.attribute
            return self._kept(self._of_blocks, key, lambda: _any_of([self._of(row, attribute, kind) for row in rows]))
        return _any_of([self._of(row, reference.attribute, kind) for row in rows])

    def _of(self, resource: Resource, attribute: str, kind: Kind) -> Possible:
        """Return what an attribute of a resource may name, or without an attribute, any of them."""
        if _OF_TYPE.get(resource.type) is kind and attribute in ("", "id"):
            return Possible((self.id_of(resource),))
        made = _MADE_BY.get((resource.type, attribute))
        if made and made[0] is kind:
            return Possible(_made(resource, attribute))
        if not attribute:
            names = [
                name for (of, name), (made_kind, _) in _MADE_BY.items() if of == resource.type and made_kind is kind
            ]
            if names:
                return Possible(tuple(dict.fromkeys(one for name in names for one in _made(resource, name))))
        name = attribute if attribute in (kind.value, "default_route_table_id") else kind.value
        if resource.type.startswith("aws_"):
            if resource.is_unknown(name):
                return self._once((resource, name, kind), lambda: self.named_by(resource, name, kind))
            known = resource.known(name)
            if isinstance(known, str) and known:
                return Possible((known,))
            is_id = attribute in ("id", "arn", *_OF_NETWORK) if attribute else resource.type in _OF_TYPE
            return Possible() if is_id or (attribute and not resource.is_unknown(attribute)) else OPEN
        if resource.type in _RELAYS:
            names = [
                name
                for expression in self._plan.expressions(resource.block).values()
                for name in references(expression)
            ]
            return self._once((resource, kind), lambda: self.referred(resource, names, kind))
        return OPEN

    def _kept(self, kept: dict[_K, Possible], key: _K, follow: Callable[[], Possible]) -> Possible:
        """Return what was followed once; it is kept unless something was left out that is being followed already."""
        if key in kept:
            return kept[key]
        loops = self._loops
        found = follow()
        if self._loops == loops:
            kept[key] = found
        return found

    def _once(self, key: object, follow: Callable[[], Possible]) -> Possible:
        """Follow, unless this is being followed already."""
        if key in self._following:
            self._loops += 1
            return Possible()
        self._following.add(key)
        try:
            return follow()
        finally:
            self._following.discard(key)

    def _with_key(self, scope: _Scope, name: str, kind: Kind) -> Possible | None:
        """Return what the instance with the key of the scope may be, if the reference is to all of several instances.

        For count, both must have as many instances.
        """
        if scope.key is None:
            return None
        reference = parse_reference(name)
        if reference is None or reference.key is not None:
            return None
        if reference.type == "module":
            children = {module_key(child): child for child in self._calls(scope.module, reference.name, None)}
            child = children.get(scope.key)
            if child is None or (isinstance(scope.key, int) and len(children) != scope.instances):
                return None
            return self._outputs(child, reference.attribute, kind)
        rows = self._resources_of(scope.module, reference)
        if not isinstance(rows, _Many) or (isinstance(scope.key, int) and len(rows) != scope.instances):
            return None
        same = self._keys(rows[0].block).get(scope.key)
        if same is None:
            return None
        return self._of(same, reference.attribute, kind)

    def _each_value(self, scope: _Scope, kind: Kind) -> Possible:
        """Return what each.value, or an attribute of it, may name: whatever for_each refers to."""
        if scope.for_each is None:
            return OPEN
        outside = replace(scope, for_each=None)
        return _any_of([self._one(outside, name, kind) for name in references(scope.for_each)])

    def _variable(self, module: str, name: str, kind: Kind) -> Possible:
        names = references(self._plan.arguments(module).get(name)) if module else ()
        if not names:
            return Possible(ids_in(self._constant(module, name), kind))
        return self._once((module, name, kind), lambda: self._follow(self._call_scope(module), names, kind))

    def _constant(self, module: str, name: str) -> object:
        """Return the value of a variable, None if the plan does not say it."""
        if not module:
            return self._plan.root_variable(name)
        given = self._plan.arguments(module).get(name)
        if given is None:
            return self._plan.default(module, name)
        return given.get("constant_value") if isinstance(given, Mapping) else None

    def _call_scope(self, module: str) -> _Scope:
        """Return the scope of the arguments of a module's call."""
        parent = parent_module(module)
        name = parse_reference(module[len(parent) + bool(parent) :])
        instances = len(self._calls(parent, name.name, None)) if name else 0
        return _Scope(parent, module_key(module), instances, self._plan.module_for_each(module))

    def _calls(self, module: str, name: str, key: Key) -> list[str]:
        """Return the addresses of the instances of a module that a module calls."""
        prefix = f"{module}.module.{name}" if module else f"module.{name}"
        children = self._plan.modules.get(module, ())
        found = [child for child in children if child == prefix or child.startswith(f"{prefix}[")]
        return [child for child in found if key is None or module_key(child) == key]

    def _output(self, scope: _Scope, name: str, kind: Kind) -> Possible:
        reference = parse_reference(name)
        if reference is None:
            return OPEN
        # A module without resources is not in the plan, and may return what it is given.
        children = self._calls(scope.module, reference.name, reference.key) or [
            f"{scope.module}.module.{reference.name}".removeprefix(".")
        ]
        return _any_of([self._outputs(child, reference.attribute, kind) for child in children])

    def _outputs(self, module: str, name: str, kind: Kind) -> Possible:
        """Return what an output of a module may name, or any output without a name."""
        return _any_of([self._output_of(module, one, kind) for one in ([name] if name else self._plan.outputs(module))])

    def _output_of(self, module: str, name: str, kind: Kind) -> Possible:
        names = references(self._plan.output(module, name))
        return self._once((module, name, kind), lambda: self._follow(_Scope(module), names, kind))

    def _anything_in(self, module: str, kind: Kind) -> Possible:
        """Return what a local value may name: whatever the module contains, is given, or gets from modules inside it.

        The plan does not say what local values refer to.
        """
        key = (module, kind)
        return self._kept(self._of_modules, key, lambda: self._once(("local", key), lambda: self._reachable(*key)))

    def _blocks_inside(self, module: str) -> Iterator[Block]:
        yield from self._plan.blocks_in.get(module, ())
        for child in self._plan.modules.get(module, ()):
            yield from self._blocks_inside(child)

    def _reachable(self, module: str, kind: Kind) -> Possible:
        found: list[Possible] = []
        for block in self._blocks_inside(module):
            rows = self._plan.by_block[block]
            if any(row.action is Action.READ for row in rows) or block.type == "aws_cloudformation_stack":
                found.append(OPEN)
            elif _OF_TYPE.get(block.type) is kind or (block.type, kind) in _MAKES:
                found.extend(self._of(row, "", kind) for row in rows)
        if module:
            names = [name for expression in self._plan.arguments(module).values() for name in references(expression)]
            given = self._follow(self._call_scope(module), names, kind)
            found.append(Possible(given.ids, is_open=given.is_open and bool(given.ids)))
        return _any_of(found)

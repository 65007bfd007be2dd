"""What a value may name that is known only after the apply, by what its expression refers to.

A plan lists what an expression refers to, and not how. So one reference to one id is that id, and anything else is any of
several: every instance of the resources that are named, or with a value that hides its own references, every resource of
the kind. Variables and outputs of modules are what their own expressions refer to.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from express_path_cli.sources.change.resource import (
    ID_PREFIXES,
    KIND_OF_TYPE,
    MADE_WITH,
    OPEN,
    WITH_IDS,
    Action,
    Kind,
    NewId,
    Possible,
    Values,
    firewall_endpoints,
    made_id,
    union,
)

_KEY = r'\[(?:"(?:[^"\\]|\\.)*"|[0-9]+)\]'
_CALL = rf"module\.[\w-]+(?:{_KEY})?"
_MODULE = re.compile(rf"{_CALL}(?:\.{_CALL})*")
_PASSED = re.compile(rf"(?:var|({_CALL}))\.([\w-]+)")
"""A variable, or an output of a module."""
_REFERENCE = re.compile(rf"([a-z][\w-]*\.[\w-]+)({_KEY})?(?:\.([\w-]+))?")
_ENDPOINTS = "firewall_status"
"""The attribute of a firewall that has the ids of its endpoints, several of them."""
_AWS_ID = re.compile(r"([a-z]+(?:-[a-z]+)?)-[0-9a-f]{8,17}")


def block_of(address: str) -> str:
    """Return an address without the keys of count and for_each: that of a block in the configuration."""
    return re.sub(_KEY, "", address)


def is_module(address: str) -> bool:
    """Return whether an address is one of a module, such as module.vpc["a"].module.subnets, or empty for the root module."""
    return not address or _MODULE.fullmatch(address) is not None


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a configuration: the expressions of its arguments, and the key of its provider's configuration.

    provider: empty if the plan does not say it. has_provisioners: it runs programs.
    """

    expressions: Values
    provider: str
    has_provisioners: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A resource or data source of a plan, as it is there; the type of a data source begins with "data.".

    module: the address of its module, empty for the root module. unknown and hidden have the shape of after, with true for
    each value that is known only after the apply, and that is sensitive; hidden may be true for all of it. block: its block
    in the configuration, None if the plan does not have it.
    """

    address: str
    module: str
    type: str
    action: Action
    before: Values | None
    after: Values | None
    unknown: Values
    hidden: Values | bool
    block: Block | None

    @property
    def path(self) -> str:
        """The address without the key of count or for_each."""
        return re.sub(rf"{_KEY}$", "", self.address)

    @property
    def expressions(self) -> Values | None:
        """The expressions of the arguments that the configuration sets, None if it is not known which ones."""
        return self.block.expressions if self.block else None

    @property
    def provider(self) -> str:
        """The key of the provider's configuration."""
        return self.block.provider if self.block else ""

    def is_changed(self, name: str) -> bool:
        """Return whether a value that exists is another one after the apply."""
        after = (self.after or {}).get(name)
        return bool(after) and after != (self.before or {}).get(name)


class References:
    """Follows the references of one plan. What was followed once is kept: many instances share one result."""

    def __init__(
        self,
        rows: Iterable[Row],
        given: Mapping[str, Mapping[str, object]],
        outputs: Mapping[str, Mapping[str, object]],
        is_used: Callable[[str], bool],
    ) -> None:
        """Index the ids of the plan by block and by kind.

        given: the expression that each variable of a module has in its caller. outputs: the expression of each output of a
        module. is_used: returns whether any value depends on an attribute that names what AWS makes with a resource.
        """
        self._given, self._outputs, self._is_used = given, outputs, is_used
        self._ids: defaultdict[tuple[str, str, Kind], dict[str, str]] = defaultdict(dict)
        self._every: defaultdict[tuple[str, Kind], dict[str, None]] = defaultdict(dict)
        self._found: dict[tuple[str, tuple[str, ...], Kind], Possible] = {}
        self._is_read: dict[str, bool] = {}
        known = []
        for row in rows:
            if row.type.startswith("data."):
                known.append(row.before)
                self._is_read[row.path] = row.before is not None
            for attribute, kind, resource_id in _ids_of(row):
                key = resource_id if attribute == _ENDPOINTS else row.address.removeprefix(row.path)
                self._ids[row.path, attribute, kind][key] = resource_id
                for module in _around(row.module) if attribute == "id" or is_used(attribute) else ():
                    self._every[module, kind].setdefault(resource_id)
        self._known = [found for value in known for found in _aws_ids(value)]

    def named(self, module: str, expression: object, kind: Kind) -> Possible:
        """Return what an expression in a module may name."""
        names = names_in(expression)
        if not names and isinstance(expression, Mapping) and "constant_value" in expression:
            return Possible(tuple(one for of, one in _aws_ids(expression["constant_value"]) if of is kind))
        key = (module, names, kind)
        if key not in self._found:
            # It stays so in a circle, and if modules pass it on so often that Python stops.
            self._found[key] = OPEN
            with suppress(RecursionError):
                self._found[key] = self._any_of(module, names, kind)
        return self._found[key]

    def _anything(self, module: str, kind: Kind) -> Possible:
        """Return every resource of a kind that a module contains, is given, or gets from modules inside it."""
        given = [self.named(parent(module), one, kind) for one in self._given.get(block_of(module), {}).values()]
        own = (*self._every[module, kind], *(one for of, one in self._known if of is kind))
        ids = dict.fromkeys((*own, *union(given).ids))
        is_open = not ids or not all(self._is_read.values()) or any(one.is_open and one.ids for one in given)
        return Possible(tuple(ids), is_open)

    def certain(self, module: str, expression: object, kind: Kind) -> str | None:
        """Return the only id that is named: the expression is one traversal."""
        module, expression = self.passed_on(module, expression)
        names = names_in(expression)
        whole = _REFERENCE.fullmatch(names[0]) if len(names) == 1 else None
        if whole is None or not whole[3]:
            return None
        return self._ids.get((inside(module, whole[1]), whole[3], kind), {}).get(whole[2] or "")

    def passed_on(self, module: str, expression: object) -> tuple[str, object]:
        """Return an expression and its module, or if it is a variable or an output as it is, where that is from."""
        names = names_in(expression)
        passed = _PASSED.fullmatch(names[0]) if len(names) == 1 else None
        if passed:
            with suppress(RecursionError):
                return self.passed_on(*self._source(module, passed))
        return module, expression

    def _source(self, module: str, passed: re.Match[str]) -> tuple[str, object]:
        """Return the module that decides about a variable or an output, and the expression there."""
        call, name = passed.groups()
        if call:
            inner = inside(module, call)
            return inner, self._outputs.get(block_of(inner), {}).get(name)
        return parent(module), self._given.get(block_of(module), {}).get(name)

    def _any_of(self, module: str, names: Sequence[str], kind: Kind) -> Possible:
        every = [self._one(module, name, kind) for name in names]
        if not any(one.ids or one.is_open for one in every):
            return self._anything(module, kind)
        return union(every)

    def _one(self, module: str, name: str, kind: Kind) -> Possible:
        """Return what one reference may name; nothing if it cannot be an id of this kind."""
        first, _, rest = name.partition(".")
        if first in ("count", "path", "terraform", "self") or name == "each.key":
            return Possible()
        passed = _PASSED.match(name)
        if passed:
            return self.named(*self._source(module, passed), kind)
        found = _REFERENCE.match(rest if first == "data" else name)
        if first in ("local", "module", "each") or (
            first == "data" and found and self._is_read.get(inside(module, f"data.{found[1]}"))
        ):
            return self._anything(module, kind)
        if first == "data" or found is None:
            return OPEN
        block, instance, attribute = found.groups()
        of = block.partition(".")[0]
        attributes = (
            [attribute]
            if attribute
            else ["id", *(made for type_, made in MADE_WITH if type_ == of and self._is_used(made))]
        )
        ids = [one for part in attributes for one in self._instances(inside(module, block), instance, part, kind)]
        if ids or (of in WITH_IDS and attribute in (None, "id", "arn", *Kind) and attribute != kind):
            return Possible(tuple(ids))
        return self._anything(module, kind) if attribute == kind else OPEN

    def _instances(self, block: str, instance: str | None, attribute: str, kind: Kind) -> Iterable[str]:
        found = self._ids.get((block, attribute, kind), {})
        return [found[instance]] if instance in found else found.values()


def names_in(expression: object) -> tuple[str, ...]:
    """Return what an expression refers to.

    A plan lists every use, each followed by what it is a part of: `aws_vpc.a[0].id`, `aws_vpc.a[0]`, and `aws_vpc.a`. So
    the last one, if listed again, is another use.
    https://github.com/hashicorp/terraform/blob/v1.11.4/internal/command/jsonconfig/expression.go
    """
    listed = expression.get("references") if isinstance(expression, Mapping) else None
    found, parts = list[str](), list[str]()
    for name in listed if isinstance(listed, list) else ():
        if parts[:1] == [name]:
            parts.pop(0)
        else:
            found.append(str(name))
            parts = list(_parts(str(name)))
    return tuple(found)


def parent(module: str) -> str:
    """Return the address of the module that calls another one."""
    return re.sub(rf"\.?{_CALL}$", "", module)


def _around(module: str) -> Iterator[str]:
    """Yield a module and every module that it is in."""
    yield module
    while module:
        module = parent(module)
        yield module


def inside(module: str, name: str) -> str:
    """Return the address of what is in a module."""
    return f"{module}.{name}" if module else name


def _parts(name: str) -> Iterator[str]:
    """Yield what a traversal is a part of, as a plan lists it after the traversal."""
    output = _PASSED.match(name)
    while (name.count(".") > 1 or name.endswith("]")) and not (output and name == output[1]):
        name = name[: name.rfind("[") if name.endswith("]") else name.rfind(".")]
        yield name


def _ids_of(row: Row) -> Iterator[tuple[str, Kind, str]]:
    """Yield the ids that a resource has after the apply: attribute, kind, and id."""
    after = row.after
    if after is None:
        return
    if row.type in KIND_OF_TYPE:
        yield "id", KIND_OF_TYPE[row.type], str(after.get("id") or "") or NewId(row.address)
    if row.type == "aws_networkfirewall_firewall":
        for endpoint_id in firewall_endpoints(row.address, after):
            yield _ENDPOINTS, Kind.ENDPOINT, endpoint_id
    for (type_, attribute), kind in MADE_WITH.items():
        if type_ == row.type and attribute != _ENDPOINTS:
            yield attribute, kind, str(after.get(attribute) or "") or made_id(row.address, attribute)


def _aws_ids(value: object) -> Iterator[tuple[Kind, str]]:
    """Yield the ids of AWS that a value contains, with their kinds."""
    if isinstance(value, str):
        found = _AWS_ID.fullmatch(value)
        if found and found[1] in ID_PREFIXES:
            yield ID_PREFIXES[found[1]], value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _aws_ids(part)

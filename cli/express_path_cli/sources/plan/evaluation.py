"""Evaluate expressions of a configuration as far as the plan says their values.

An id that is known only after the apply is the address of its resource. Whatever is not certain raises
UndecidedError: then only what the expression refers to counts, which `identity` follows.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, Protocol

from express_path_cli.sources.plan.configuration import Configuration, SourceBlock, is_node, literal_text
from express_path_cli.sources.plan.terraform import (
    Block,
    Key,
    Plan,
    Resource,
    call_path,
    module_key,
    parent_module,
    references,
)

MAX_DEPTH = 60
"""How deep expressions may lead to others, as a protection from loops, which Terraform itself refuses."""


_OF_INSTANCE = frozenset({"each.key", "each.value", "count.index"})
"""Names whose values differ between the instances of a block."""
_KEPT = frozenset(
    {"full_splat_expr_term", "attr_splat_expr_term", "for_tuple_expr", "for_object_expr", "function_call"}
)
"""The nodes of the syntax tree whose values are kept, because they may be lists of all instances of a resource."""


class UndecidedError(Exception):
    """The plan does not say what an expression is."""


class FailedError(Exception):
    """The expression is an error for Terraform, which `try` catches."""


class Attributes(Protocol):
    """What gives the value of an attribute of a resource."""

    def attribute(self, resource: Resource, name: str) -> Any:  # noqa: ANN401  # any JSON
        """Return the value, or for an id that is not known yet, an address. Raise UndecidedError."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression is: in which module instance, in which block, with which key, and the names that `for` binds."""

    module: str
    block: SourceBlock | None = None
    key: Key = None
    bound: Mapping[str, Any] = field(default_factory=dict)
    depth: int = 0

    def deeper(self, **bound: object) -> "Scope":
        """Return the scope inside a `for`."""
        return Scope(self.module, self.block, self.key, {**self.bound, **bound}, self.depth)


@dataclass(frozen=True, slots=True)
class _ModuleInstance:
    address: str


class Evaluator:
    """Evaluates the expressions of one configuration under one plan."""

    def __init__(self, plan: Plan, configuration: Configuration, attributes: Attributes) -> None:
        """Start without any value."""
        self._plan, self._configuration, self._attributes = plan, configuration, attributes
        self._values: dict[tuple[str, str, str], Any] = {}
        self._names: dict[int, frozenset[str]] = {}

    def argument(self, resource: Resource, name: str) -> Any:  # noqa: ANN401  # any JSON
        """Return the value of an argument of a resource. Raise UndecidedError."""
        block = self._block(resource.block)
        expression = block.arguments.get(name) if block else None
        planned = references(self._plan.expressions(resource.block).get(name))
        if block is None or expression is None or self._names_in(expression) != _heads(planned):
            raise UndecidedError
        try:
            return self._value(expression, Scope(resource.block.module, block, resource.key))
        except (FailedError, TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError):
            raise UndecidedError from None

    def _names_in(self, node: Any) -> frozenset[str]:  # noqa: ANN401
        if id(node) not in self._names:
            self._names[id(node)] = names_in(node)
        return self._names[id(node)]

    def _block(self, block: Block) -> SourceBlock | None:
        is_data = block.type.startswith("data.")
        kind = ("data", block.type.removeprefix("data.")) if is_data else ("resource", block.type)
        return self._configuration.module(call_path(block.module)).blocks.get((*kind, block.name))

    # --- expressions -------------------------------------------------------------------------------------------------

    def _value(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401  # a node, and any JSON
        handler = self._HANDLERS.get(getattr(node, "data", None))
        if handler is None:
            raise UndecidedError
        children = [child for child in node.children if not is_node(child, "new_line_or_comment")]
        if node.data in _KEPT and not scope.bound and not (self._names_in(node) & _OF_INSTANCE):
            return self._kept("node", scope.module, str(id(node)), lambda: handler(self, children, scope))
        return handler(self, children, scope)

    def _term(self, children: list[Any], scope: Scope) -> Any:  # noqa: ANN401
        inner = [child for child in children if hasattr(child, "data")]
        if len(inner) != 1:
            raise UndecidedError
        return self._value(inner[0], scope)

    def _literal(self, children: list[Any], _scope: Scope) -> Any:  # noqa: ANN401
        return {"true": True, "false": False, "null": None}[str(children[0])]

    def _number(self, children: list[Any], _scope: Scope) -> int:
        return int(str(children[0]))

    def _string(self, children: list[Any], scope: Scope) -> str:
        parts = []
        for child in children:
            if is_node(child, "string_part"):
                [part] = child.children
                if is_node(part, "interpolation"):
                    value = self._value(part.children[1], scope)
                    parts.append(_text(value))
                elif hasattr(part, "data"):
                    raise UndecidedError
                else:
                    parts.append(str(part))
        return "".join(parts)

    def _tuple(self, children: list[Any], scope: Scope) -> list[Any]:
        return [self._value(child, scope) for child in children if hasattr(child, "data")]

    def _object(self, children: list[Any], scope: Scope) -> dict[str, Any]:
        found = {}
        for element in children:
            if is_node(element, "object_elem"):
                key_node = element.children[0].children[0]
                name = literal_text(key_node)
                is_name = is_node(key_node, "expr_term") and is_node(key_node.children[0], "identifier")
                key = (
                    name
                    if name is not None and (is_name or is_node(key_node, "keyword"))
                    else self._value(key_node, scope)
                )
                found[_text(key)] = self._value(element.children[-1], scope)
        return found

    def _conditional(self, children: list[Any], scope: Scope) -> Any:  # noqa: ANN401
        condition, yes, no = [child for child in children if hasattr(child, "data")]
        return self._value(yes if _truth(self._value(condition, scope)) else no, scope)

    def _binary(self, children: list[Any], scope: Scope) -> Any:  # noqa: ANN401
        left_node, term = [child for child in children if hasattr(child, "data")]
        operator = str(term.children[0].children[0])
        left = self._value(left_node, scope)
        right_node = [child for child in term.children[1:] if not is_node(child, "new_line_or_comment")][-1]
        if operator in ("&&", "||"):
            is_or = operator == "||"
            return is_or if _truth(left) is is_or else _truth(self._value(right_node, scope))
        right = self._value(right_node, scope)
        if operator in ("==", "!=") and not _is_plain(left, right):
            raise UndecidedError
        return _OPERATORS[operator](left, right)

    def _unary(self, children: list[Any], scope: Scope) -> Any:  # noqa: ANN401
        value = self._value(children[-1], scope)
        return not _truth(value) if str(children[0]) == "!" else -value

    # --- names -------------------------------------------------------------------------------------------------------

    def _identifier(self, children: list[Any], scope: Scope) -> Any:  # noqa: ANN401
        name = str(children[0])
        if name in scope.bound:
            return scope.bound[name]
        raise UndecidedError

    def _get_attribute(self, children: list[Any], scope: Scope) -> Any:  # noqa: ANN401
        base, step = children
        name = str(step.children[-1].children[0])
        path = _path(base)
        root = path[0] if path else ""
        if path and root not in scope.bound:
            named = self._named((*path, name), scope)
            if named is not _NOT_A_NAME:
                return named
        return self._attribute_of(self._value(base, scope), name, is_open=root in ("var", "each"))

    def _attribute_of(self, value: Any, name: str, *, is_open: bool = False) -> Any:  # noqa: ANN401
        if isinstance(value, Resource):
            return self._attributes.attribute(value, name)
        if isinstance(value, _ModuleInstance):
            return self._output(value.address, name)
        if isinstance(value, Mapping):
            if name in value:
                return value[name]
            # The type of a variable may have optional attributes, which have defaults.
            raise UndecidedError if is_open else FailedError
        if value is None:
            raise FailedError
        raise UndecidedError

    def _index(self, children: list[Any], scope: Scope) -> Any:  # noqa: ANN401
        base, step = children
        value = self._value(base, scope)
        is_braces = is_node(step, "braces_index")
        nodes = [
            child for child in step.children if hasattr(child, "data") and not is_node(child, "new_line_or_comment")
        ]
        index = self._value(nodes[0], scope) if is_braces else int(str(step.children[-1]))
        if isinstance(value, _Set):
            raise FailedError
        if isinstance(value, list):
            position = int(index)
            if not 0 <= position < len(value):
                raise FailedError
            return value[position]
        root = (_path(base) or ("",))[0]
        return self._attribute_of(value, _text(index), is_open=root in ("var", "each"))

    def _splat(self, children: list[Any], scope: Scope) -> list[Any]:
        base, splat = children
        value = self._value(base, scope)
        items = value if isinstance(value, list) else [] if value is None else [value]
        if isinstance(value, Mapping):
            raise UndecidedError
        found = []
        for item in items:
            current = item
            for step in splat.children:
                if is_node(step, "get_attr"):
                    current = self._attribute_of(current, str(step.children[-1].children[0]))
                elif hasattr(step, "data"):
                    raise UndecidedError
            found.append(current)
        return found

    def _named(self, path: tuple[str, ...], scope: Scope) -> Any:  # noqa: ANN401
        """Return the value of a name with dots, or _NOT_A_NAME if it is an attribute of one."""
        module = self._configuration.module(call_path(scope.module))
        match path:
            case ("var", name):
                return self._kept("var", scope.module, name, lambda: self._variable(name, scope))
            case ("local", name):
                if name not in module.local_values:
                    raise UndecidedError
                expression = module.local_values[name]
                return self._kept(
                    "local", scope.module, name, lambda: self._value(expression, self._inside(scope, scope.module))
                )
            case ("each", "key"):
                return scope.key
            case ("each", "value"):
                return self._each_value(scope)
            case ("count", "index"):
                return scope.key
            case ("module", name):
                return self._module_value(name, scope)
            case ("data", kind, name):
                return self._data(Block(scope.module, f"data.{kind}", name), scope)
            case ("data", _) | ("path" | "terraform" | "self", *_):
                raise UndecidedError
            case (kind, name) if kind not in ("var", "local", "each", "count", "module"):
                return self._resources(Block(scope.module, kind, name))
        return _NOT_A_NAME

    def _kept(self, kind: str, module: str, name: str, find: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Return a value that is the same for all instances of a block, and that is found once."""
        key = (kind, module, name)
        if key not in self._values:
            try:
                self._values[key] = find()
            except (UndecidedError, FailedError) as error:
                self._values[key] = error
        found = self._values[key]
        if isinstance(found, UndecidedError | FailedError):
            raise type(found)
        return found

    @staticmethod
    def _inside(scope: Scope, module: str, block: SourceBlock | None = None, key: Key = None) -> Scope:
        if scope.depth >= MAX_DEPTH:
            raise UndecidedError
        return Scope(module, block, key, {}, scope.depth + 1)

    def _variable(self, name: str, scope: Scope) -> Any:  # noqa: ANN401
        if not scope.module:
            found = self._plan.root_variable(name)
            if found is None:
                raise UndecidedError
            return found
        parent = parent_module(scope.module)
        call = self._configuration.module(call_path(parent)).blocks.get(("module", call_path(scope.module)[-1]))
        if call is None:
            raise UndecidedError
        if name in call.arguments:
            if self._names_in(call.arguments[name]) != _heads(references(self._plan.arguments(scope.module).get(name))):
                raise UndecidedError
            return self._value(call.arguments[name], self._inside(scope, parent, call, module_key(scope.module)))
        block = self._configuration.module(call_path(scope.module)).blocks.get(("variable", name))
        if block is None or "default" not in block.arguments:
            raise UndecidedError
        return self._value(block.arguments["default"], self._inside(scope, scope.module))

    def _each_value(self, scope: Scope) -> Any:  # noqa: ANN401
        if scope.block is None or "for_each" not in scope.block.arguments:
            raise UndecidedError
        value = self._value(scope.block.arguments["for_each"], Scope(scope.module, None, None, {}, scope.depth + 1))
        if isinstance(value, Mapping):
            return value[str(scope.key)]
        return scope.key

    def _module_value(self, name: str, scope: Scope) -> Any:  # noqa: ANN401
        prefix = f"{scope.module}.module.{name}" if scope.module else f"module.{name}"
        children = self._plan.modules.get(scope.module, ())
        instances = [child for child in children if child == prefix or child.startswith(f"{prefix}[")]
        call = self._configuration.module(call_path(scope.module)).blocks.get(("module", name))
        if call is None:
            raise UndecidedError
        made = {module_key(child): _ModuleInstance(child) for child in instances}
        if "for_each" in call.arguments:
            return {str(key): instance for key, instance in made.items()}
        if "count" in call.arguments:
            return [made[key] for key in sorted(made, key=int)]  # type: ignore[arg-type]
        return next(iter(made.values()), _ModuleInstance(prefix))

    def _output(self, module: str, name: str) -> Any:  # noqa: ANN401
        block = self._configuration.module(call_path(module)).blocks.get(("output", name))
        if block is None or "value" not in block.arguments:
            raise UndecidedError
        expression = block.arguments["value"]
        if self._names_in(expression) != _heads(references(self._plan.output(module, name))):
            raise UndecidedError
        return self._kept("output", module, name, lambda: self._value(expression, Scope(module, block, None, {}, 1)))

    def _resources(self, block: Block) -> Any:  # noqa: ANN401
        source = self._block(block)
        if source is None:
            raise UndecidedError

        def made() -> Any:  # noqa: ANN401
            return _instances(source, {row.key: row for row in self._plan.by_block.get(block, ())})

        return self._kept("resource", block.module, f"{block.type}.{block.name}", made)

    def _data(self, block: Block, scope: Scope) -> Any:  # noqa: ANN401
        source = self._block(block)
        if source is None or self._plan.by_block.get(block):
            raise UndecidedError
        rows = {data.key: data.values for data in self._plan.data_of.get(block, ())}
        if not rows and not ({"count", "for_each"} & source.arguments.keys()):
            raise UndecidedError
        del scope
        return _instances(source, rows)

    # --- for and functions -------------------------------------------------------------------------------------------

    def _for_items(self, intro: Any, scope: Scope) -> Iterator[Scope]:  # noqa: ANN401
        children = [
            child for child in intro.children if hasattr(child, "data") and not is_node(child, "new_line_or_comment")
        ]
        names = [str(child.children[0]) for child in children[:-1]]
        value = self._value(children[-1], scope)
        if isinstance(value, Mapping):
            pairs: Iterable[tuple[Any, Any]] = sorted(value.items(), key=lambda pair: str(pair[0]))
        elif isinstance(value, list):
            pairs = enumerate(value)
        else:
            raise UndecidedError
        for key, item in pairs:
            yield scope.deeper(**dict(zip(names, (key, item) if len(names) > 1 else (item,), strict=True)))

    def _for_parts(self, children: list[Any]) -> tuple[Any, list[Any], Any]:
        nodes = [child for child in children if hasattr(child, "data")]
        condition = next((node for node in nodes if is_node(node, "for_cond")), None)
        values = [node for node in nodes if not is_node(node, "for_intro", "for_cond")]
        return nodes[0], values, condition

    def _is_wanted(self, condition: Any, scope: Scope) -> bool:  # noqa: ANN401
        return condition is None or _truth(self._value(condition.children[-1], scope))

    def _for_tuple(self, children: list[Any], scope: Scope) -> list[Any]:
        intro, [value], condition = self._for_parts(children)
        return [self._value(value, one) for one in self._for_items(intro, scope) if self._is_wanted(condition, one)]

    def _for_object(self, children: list[Any], scope: Scope) -> dict[str, Any]:
        intro, [key, value], condition = self._for_parts(children)
        if any(str(child) == "..." for child in children if not hasattr(child, "data")):
            raise UndecidedError
        return {
            _text(self._value(key, one)): self._value(value, one)
            for one in self._for_items(intro, scope)
            if self._is_wanted(condition, one)
        }

    def _call(self, children: list[Any], scope: Scope) -> Any:  # noqa: ANN401
        name = str(children[0].children[0])
        arguments = next((child for child in children if is_node(child, "arguments")), None)
        nodes = [
            child
            for child in (arguments.children if arguments else ())
            if hasattr(child, "data") and not is_node(child, "new_line_or_comment")
        ]
        if arguments and any(str(child) == "..." for child in arguments.children if not hasattr(child, "data")):
            *first, last = nodes
            values = [*(self._value(node, scope) for node in first), *self._value(last, scope)]
        elif name == "try":
            for node in nodes:
                try:
                    return self._value(node, scope)
                except FailedError:
                    continue
            raise FailedError
        else:
            values = [self._value(node, scope) for node in nodes]
        function = _FUNCTIONS.get(name)
        if function is None:
            raise UndecidedError
        return function(*values)

    _HANDLERS: ClassVar[Mapping[Any, Callable[["Evaluator", list[Any], Scope], Any]]] = {
        "expr_term": _term,
        "literal_value": _literal,
        "int_lit": _number,
        "string": _string,
        "tuple": _tuple,
        "object": _object,
        "conditional": _conditional,
        "binary_op": _binary,
        "unary_op": _unary,
        "identifier": _identifier,
        "get_attr_expr_term": _get_attribute,
        "index_expr_term": _index,
        "full_splat_expr_term": _splat,
        "attr_splat_expr_term": _splat,
        "for_tuple_expr": _for_tuple,
        "for_object_expr": _for_object,
        "function_call": _call,
    }
    """The method for each kind of node of the syntax tree."""


_NOT_A_NAME = object()


class _Set(list[Any]):
    """A set. Terraform sorts its texts, and the order of ids that are not known yet is not known either."""


def _set(values: Iterable[Any]) -> _Set:
    return _Set(_unique(values))


def _list(values: list[Any]) -> list[Any]:
    """Return the list of a list or a set. Raise UndecidedError if its order is not known."""
    if not isinstance(values, _Set):
        return list(values)
    if not _is_plain(*values):
        raise UndecidedError
    return sorted(values)


def _instances(source: SourceBlock, rows: Mapping[Key, Any]) -> Any:  # noqa: ANN401
    """Return the instances of a block: a list with count, an object with for_each, or the only one."""
    if "for_each" in source.arguments:
        return {str(key): row for key, row in rows.items()}
    if "count" in source.arguments:
        return [rows[key] for key in sorted(rows, key=int)]  # type: ignore[arg-type]
    if not rows:
        raise FailedError
    return next(iter(rows.values()))


def _path(node: Any) -> tuple[str, ...] | None:  # noqa: ANN401
    """Return the names of an expression that consists of names with dots, None for another one."""
    if is_node(node, "expr_term") and len(node.children) == 1:
        return _path(node.children[0])
    if is_node(node, "identifier"):
        return (str(node.children[0]),)
    if is_node(node, "get_attr_expr_term"):
        base = _path(node.children[0])
        return (*base, str(node.children[1].children[-1].children[0])) if base else None
    return None


def names_in(node: Any) -> frozenset[str]:  # noqa: ANN401
    """Return what an expression refers to: resources, variables, local values, and so on, without their attributes."""
    found: set[str] = set()
    _collect(node, frozenset(), found)
    return frozenset(found)


def _collect(node: Any, bound: frozenset[str], found: set[str]) -> None:  # noqa: ANN401
    if not hasattr(node, "data"):
        return
    if is_node(node, "for_tuple_expr", "for_object_expr"):
        intro = next(child for child in node.children if is_node(child, "for_intro"))
        bound |= {str(child.children[0]) for child in intro.children if is_node(child, "identifier")}
    path = _path(node) if is_node(node, "get_attr_expr_term") else None
    if path:
        if path[0] not in bound:
            found.add(".".join(path[: 3 if path[0] == "data" else 2]))
        return
    for child in node.children:
        _collect(child, bound, found)


def _heads(names: Sequence[str]) -> frozenset[str]:
    """Return references of a plan in the same form."""
    found = set()
    for name in names:
        parts = name.replace("[", ".").split(".")
        found.add(".".join(parts[: 3 if parts[0] == "data" else 2]))
    return frozenset(found)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int):
        return str(value)
    raise UndecidedError


def _truth(value: object) -> bool:
    if value in ("true", "false"):
        return value == "true"
    if not isinstance(value, bool):
        raise UndecidedError
    return value


def _is_plain(*values: object) -> bool:
    """Return whether values can be compared: an address that stands for an id cannot."""
    return all(
        value is None
        or isinstance(value, bool | int)
        or (isinstance(value, str) and "aws_" not in value)
        or value in ([], {})
        for value in values
    )


def _flatten(value: Any) -> list[Any]:  # noqa: ANN401
    return [one for item in value for one in (_flatten(item) if isinstance(item, list) else [item])]


def _unique(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _element(values: list[Any], index: int) -> Any:  # noqa: ANN401
    if not values:
        raise FailedError
    return _list(values)[int(index) % len(values)]


def _coalesce(*values: Any) -> Any:  # noqa: ANN401
    return next(value for value in values if value not in (None, ""))


def _lookup(value: Mapping[str, Any], key: str, *default: Any) -> Any:  # noqa: ANN401
    return value.get(key, default[0]) if default else value[key]


def _merge(*values: Mapping[str, Any] | None) -> dict[str, Any]:
    return dict(chain.from_iterable((value or {}).items() for value in values))


def _one(values: list[Any]) -> Any:  # noqa: ANN401
    return values[0] if values else None


def _range(*limits: int) -> list[int]:
    return list(range(*limits))


def _contains(values: list[Any], wanted: Any) -> bool:  # noqa: ANN401
    if not _is_plain(wanted, *values):
        raise UndecidedError
    return wanted in values


def _max(*values: int) -> int:
    return max(values)


def _sorted_values(value: Mapping[str, Any]) -> list[Any]:
    return [value[key] for key in sorted(value)]


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "element": _element,
    "concat": lambda *lists: list(chain(*map(_list, lists))),
    "flatten": _flatten,
    "compact": lambda values: [value for value in values if value not in (None, "")],
    "distinct": _unique,
    "length": len,
    "coalesce": _coalesce,
    "coalescelist": lambda *lists: next(one for one in lists if one),
    "lookup": _lookup,
    "merge": _merge,
    "keys": sorted,
    "values": _sorted_values,
    "toset": _set,
    "tolist": _list,
    "tomap": dict,
    "tostring": _text,
    "tonumber": int,
    "tobool": _truth,
    "one": _one,
    "slice": lambda values, start, end: _list(values)[start:end],
    "contains": _contains,
    "split": lambda separator, text: text.split(separator),
    "join": lambda separator, values: separator.join(map(_text, values)),
    "max": _max,
    "min": lambda *values: min(values),
    "range": _range,
    "reverse": lambda values: _list(values)[::-1],
    "zipmap": lambda keys, values: dict(zip(keys, values, strict=True)),
    "lower": str.lower,
    "upper": str.upper,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "floor": math.floor,
    "ceil": math.ceil,
    "alltrue": lambda values: all(map(_truth, values)),
    "anytrue": lambda values: any(map(_truth, values)),
    "setunion": lambda *sets: _set(chain(*sets)),
    "trimspace": str.strip,
}
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "%": lambda left, right: left % right,
}

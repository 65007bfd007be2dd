"""Read the plan of Terraform or OpenTofu: what `terraform show -json FILE` and `tofu show -json FILE` print.

https://developer.hashicorp.com/terraform/internals/json-format describes the format. A plan contains the values of every
resource, and secrets among them: errors name the place in the plan, and never the value.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import orjson

from express_path.adapters.memory import gc_paused
from express_path.errors import ExpressPathError

MAX_BYTES = 128 << 20
"""The largest plan that is read, in bytes. In memory, a plan takes several times its size."""
_MAKE = "make one with: terraform plan -out=plan.out && terraform show -json plan.out > plan.json"


class PlanError(ExpressPathError):
    """A file is not a plan that can be judged."""

    def __init__(self, path: str, fault: str, remedy: str) -> None:
        """Keep the file, the fault, and the remedy."""
        self.path, self.fault, self.remedy = path, fault, remedy
        super().__init__(f"{path}: {fault}; {remedy}")


class Action(StrEnum):
    """What the apply does with a resource."""

    KEEP = "keep"
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    READ = "read"


Key = str | int | None
"""The key of an instance: of for_each, of count, or none."""
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Block:
    """A `resource` block in one instance of a module: module is its address, empty for the root module."""

    module: str
    type: str
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A resource of the plan, before and after the apply: None where it does not exist.

    unknown has the shape of after, with true for each value that is known only after the apply; hidden likewise for
    sensitive values. provider is the key of its provider's configuration, empty if the plan does not say it.
    """

    address: str
    block: Block
    key: Key
    action: Action
    before: Values | None
    after: Values | None
    unknown: Values = field(default_factory=dict)
    hidden: Values = field(default_factory=dict)
    provider: str = ""

    @property
    def type(self) -> str:
        """The type, such as aws_subnet."""
        return self.block.type

    @property
    def id(self) -> str:
        """The id after the apply, or the address as long as the id is not known."""
        found = self.known("id")
        return found if isinstance(found, str) and found else self.address

    @property
    def id_before(self) -> str:
        """The id before the apply, empty without one."""
        found = (self.before or {}).get("id")
        return found if isinstance(found, str) else ""

    def is_unknown(self, attribute: str) -> bool:
        """Return whether a value, or a part of it, is known only after the apply."""
        return _has_true(self.unknown.get(attribute))

    def known(self, attribute: str) -> Any:  # noqa: ANN401  # any JSON
        """Return a value after the apply, None if it is null or not known completely."""
        return None if self.is_unknown(attribute) else (self.after or {}).get(attribute)

    def text(self, attribute: str) -> str:
        """Return a known text after the apply; empty if it is null, unknown, or no text."""
        found = self.known(attribute)
        return found if isinstance(found, str) else ""


def objects(found: object) -> list[Values]:
    """Return the objects in a list, empty for anything else."""
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _has_true(marks: object) -> bool:
    if isinstance(marks, Mapping):
        return any(map(_has_true, marks.values()))
    if isinstance(marks, list):
        return any(map(_has_true, marks))
    return marks is True


@dataclass(frozen=True, slots=True)
class DataSource:
    """A data source that was read while the plan was made."""

    block: Block
    key: Key
    values: Values
    provider: str

    @property
    def type(self) -> str:
        """The type, such as aws_region."""
        return self.block.type.removeprefix("data.")


@dataclass(frozen=True, slots=True)
class ModuleStep:
    """One step of a module's address: the name of the call, and the key of the instance."""

    name: str
    key: Key


def _for_each(configured: Values) -> Values | None:
    found = configured.get("for_each_expression")
    return found if isinstance(found, Mapping) else None


class Plan:
    """A plan: its resources, and its configuration, in which references can be followed."""

    def __init__(self, path: str, document: Values) -> None:
        """Read a document. Raise PlanError for another format, and for a field that is not as documented."""
        self.path = path
        _check_version(path, document)
        if document.get("errored") is True:
            raise PlanError(
                path, "is the plan of a run that failed, so it is incomplete", "fix the errors and plan again"
            )
        self._configuration = self._object(document.get("configuration"), "configuration")
        changes = self._objects(document.get("resource_changes"), "resource_changes")
        prior = self._object(document.get("prior_state"), "prior_state")
        self._root_values = {
            name: self._object(found, f"variables.{name}").get("value")
            for name, found in self._object(document.get("variables"), "variables").items()
        }
        self.deferred = tuple(
            self._text(self._object(row.get("resource_change"), "deferred_changes"), "address", "deferred_changes")
            for row in self._objects(document.get("deferred_changes"), "deferred_changes")
        )
        self.is_complete = document.get("complete", True) is not False
        self.resources = [self._resource(number, change) for number, change in enumerate(changes)]
        addresses = {resource.address for resource in self.resources}
        self.data: list[DataSource] = []
        for values in self._state_resources(self._object(prior.get("values"), "prior_state.values").get("root_module")):
            self._add_from_state(values, addresses)
        self.present = {found.address: found for found in self.resources if found.after is not None}
        self.by_block: Mapping[Block, Sequence[Resource]] = _by_block(self.present.values())

    @cached_property
    def data_of(self) -> Mapping[Block, Sequence[DataSource]]:
        """The data sources of each block that were read while the plan was made."""
        found: defaultdict[Block, list[DataSource]] = defaultdict(list)
        for data in self.data:
            found[data.block].append(data)
        return dict(found)

    @cached_property
    def blocks_in(self) -> Mapping[str, Sequence[Block]]:
        """The blocks that are directly in each module instance."""
        found: defaultdict[str, list[Block]] = defaultdict(list)
        for block in self.by_block:
            found[block.module].append(block)
        return dict(found)

    # --- configuration -----------------------------------------------------------------------------------------------

    def expressions(self, block: Block) -> Values:
        """Return the expressions of a block's arguments; empty if the configuration does not contain it."""
        return self._object(self._configured(block).get("expressions"), "expressions")

    def for_each(self, block: Block) -> Values | None:
        """Return the expression of a block's for_each, None without one."""
        return _for_each(self._configured(block))

    def _configured(self, block: Block) -> Values:
        return self._blocks_of(call_path(block.module)).get((block.type, block.name), {})

    @cached_property
    def _block_index(self) -> dict[tuple[str, ...], dict[tuple[str, str], Values]]:
        return {}

    def _blocks_of(self, calls: tuple[str, ...]) -> dict[tuple[str, str], Values]:
        """Return the blocks of a module by type and name; a data source has the type "data." + type."""
        if calls not in self._block_index:
            rows = self._objects(self._module(calls).get("resources"), "configuration")
            self._block_index[calls] = {
                (("data." if row.get("mode") == "data" else "") + str(row.get("type")), str(row.get("name"))): row
                for row in rows
            }
        return self._block_index[calls]

    def _module(self, calls: tuple[str, ...]) -> Values:
        module = self._object(self._configuration.get("root_module"), "configuration.root_module")
        for name in calls:
            module = self._object(self._call(module, name).get("module"), "configuration.module_calls")
        return module

    def _call(self, module: Values, name: str) -> Values:
        calls = self._object(module.get("module_calls"), "configuration.module_calls")
        return self._object(calls.get(name), "configuration.module_calls")

    def output(self, module: str, name: str) -> object:
        """Return the expression of an output of a module."""
        outputs = self._object(self._module(call_path(module)).get("outputs"), "configuration.outputs")
        return self._object(outputs.get(name), "configuration.outputs").get("expression")

    def outputs(self, module: str) -> Sequence[str]:
        """Return the names of the outputs of a module."""
        return list(self._object(self._module(call_path(module)).get("outputs"), "configuration.outputs"))

    def default(self, module: str, name: str) -> object:
        """Return the default value of a variable of a module, None without one."""
        variables = self._object(self._module(call_path(module)).get("variables"), "configuration.variables")
        return self._object(variables.get(name), "configuration.variables").get("default")

    def arguments(self, module: str) -> Values:
        """Return the expressions of the arguments of a module's call."""
        *parents, last = call_path(module)
        return self._object(self._call(self._module(tuple(parents)), last).get("expressions"), "expressions")

    def module_for_each(self, module: str) -> Values | None:
        """Return the expression of the for_each of a module's call, None without one."""
        *parents, last = call_path(module)
        return _for_each(self._call(self._module(tuple(parents)), last))

    @cached_property
    def modules(self) -> Mapping[str, Sequence[str]]:
        """The addresses of the module instances that are directly in each module instance."""
        found: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for block in self.by_block:
            module = block.module
            while module:
                parent = parent_module(module)
                found[parent].setdefault(module)
                module = parent
        return {parent: list(children) for parent, children in found.items()}

    def root_variable(self, name: str) -> object:
        """Return the value of a variable of the root module, None if it is not known."""
        return self._root_values.get(name)

    def region_expression(self, provider: str) -> object:
        """Return the expression of the Region in a provider's configuration, None if there is none."""
        configured = self._object(self._configuration.get("provider_config"), "configuration.provider_config")
        found = self._object(configured.get(provider), "configuration.provider_config")
        return self._object(found.get("expressions"), "configuration.provider_config").get("region")

    # --- resources ---------------------------------------------------------------------------------------------------

    def _resource(self, number: int, change: Values) -> Resource:
        where = f"resource_changes[{number}]"
        address = self._text(change, "address", where)
        change_of = self._object(change.get("change"), f"{where}.change")
        found = change_of.get("actions")
        actions = tuple(map(str, found)) if isinstance(found, list) else ()
        action = _ACTIONS.get(actions)
        if action is None:
            raise PlanError(self.path, f"{where}.change.actions is not a list of actions that is known here", _MAKE)
        is_data = change.get("mode") == "data"
        block = Block(
            self._module_address(change, where),
            ("data." if is_data else "") + self._text(change, "type", where),
            self._text(change, "name", where),
        )
        before, after = change_of.get("before"), change_of.get("after")
        if after is None and action is Action.KEEP:  # Terraform forgets it, and it stays in AWS
            after = before
        is_deposed = bool(change.get("deposed"))
        return Resource(
            address=address,
            block=block,
            key=_key(change.get("index")),
            action=Action.DELETE if is_deposed else action,
            before=None if before is None else self._object(before, f"{where}.change.before"),
            after=None if is_deposed or action is Action.DELETE else self._object(after, f"{where}.change.after"),
            unknown=_marks(change_of.get("after_unknown")),
            hidden=_marks(change_of.get("after_sensitive")),
            provider=self._provider(block),
        )

    def _provider(self, block: Block) -> str:
        found = self._configured(block).get("provider_config_key")
        return found if isinstance(found, str) else ""

    def _state_resources(self, module: object) -> Iterator[Values]:
        values = self._object(module, "prior_state.values")
        yield from self._objects(values.get("resources"), "prior_state.values")
        for child in self._objects(values.get("child_modules"), "prior_state.values"):
            for row in self._objects(child.get("resources"), "prior_state.values"):
                yield {**row, "module_address": child.get("address")}
            yield from self._state_resources({"child_modules": child.get("child_modules")})

    def _add_from_state(self, row: Values, addresses: set[str]) -> None:
        """Add a data source, or a resource that the plan leaves out, such as with -target."""
        address = self._text(row, "address", "prior_state")
        values = self._object(row.get("values"), "prior_state")
        is_data = row.get("mode") == "data"
        kind, name = self._text(row, "type", "prior_state"), self._text(row, "name", "prior_state")
        block = Block(self._module_address(row, "prior_state"), f"data.{kind}" if is_data else kind, name)
        if is_data:
            self.data.append(DataSource(block, _key(row.get("index")), values, self._provider(block)))
        elif address not in addresses and not row.get("deposed_key"):
            self.resources.append(
                Resource(
                    address, block, _key(row.get("index")), Action.KEEP, values, values, {}, {}, self._provider(block)
                )
            )

    # --- strict reading ----------------------------------------------------------------------------------------------

    def _fault(self, where: str, allowed: str) -> PlanError:
        return PlanError(self.path, f"{where} must be {allowed}", _MAKE)

    def _object(self, found: object, where: str) -> Values:
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise self._fault(where, "an object")
        return found

    def _objects(self, found: object, where: str) -> list[Values]:
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise self._fault(where, "a list of objects")
        return found

    def _text(self, row: Values, name: str, where: str) -> str:
        found = row.get(name)
        if not isinstance(found, str) or not found or not found.isprintable():
            raise self._fault(f"{where}.{name}", "a text without control characters")
        return found

    def _module_address(self, row: Values, where: str) -> str:
        """Return the address of the module that a resource is in, empty for the root module."""
        found = "" if row.get("module_address") is None else self._text(row, "module_address", where)
        if found and not _MODULE.fullmatch(found):
            raise self._fault(f"{where}.module_address", "the address of a module")
        return found


_ACTIONS: Mapping[tuple[str, ...], Action] = {
    ("no-op",): Action.KEEP,
    ("create",): Action.CREATE,
    ("update",): Action.UPDATE,
    ("delete",): Action.DELETE,
    ("read",): Action.READ,
    ("delete", "create"): Action.REPLACE,
    ("create", "delete"): Action.REPLACE,
    ("forget",): Action.KEEP,
    ("create", "forget"): Action.CREATE,
    ("forget", "create"): Action.CREATE,
}
"""What a list of actions means. A resource that Terraform or OpenTofu forgets stays in AWS.

Terraform creates and then forgets, OpenTofu forgets and then creates:
https://github.com/opentofu/opentofu/blob/v1.12.6/internal/command/jsonplan/plan.go.
"""


def _check_version(path: str, document: Values) -> None:
    version = document.get("format_version")
    if not isinstance(version, str) or ("resource_changes" not in document and "planned_values" not in document):
        raise PlanError(path, "is not a plan as `terraform show -json` or `tofu show -json` prints it", _MAKE)
    if not re.fullmatch(r"1\.[0-9]{1,4}", version):
        raise PlanError(path, "has another format_version than 1.x, which is what is read here", _MAKE)


def _marks(found: object) -> Values:
    return found if isinstance(found, dict) else {}


def _key(found: object) -> Key:
    return found if isinstance(found, str | int) else None


def _by_block(resources: Iterable[Resource]) -> Mapping[Block, Sequence[Resource]]:
    found: defaultdict[Block, list[Resource]] = defaultdict(list)
    for resource in resources:
        found[resource.block].append(resource)
    return dict(found)


@gc_paused()
def read_document(file: Path) -> Values:
    """Return the JSON object in a file. Raise PlanError, which never contains a value of the plan."""
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise PlanError(
                str(file),
                f"has {size >> 20} MiB, more than the {MAX_BYTES >> 20} MiB that are read",
                "split the configuration, or plan a part of it with -target",
            )
        document = orjson.loads(file.read_bytes())
    except OSError as error:
        raise PlanError(str(file), f"cannot be read: {error.strerror}", _MAKE) from None
    except orjson.JSONDecodeError as error:
        fault = f"is not JSON, or is cut short (line {error.lineno}, column {error.colno})"
        raise PlanError(str(file), fault, _MAKE) from None
    if not isinstance(document, dict):
        raise PlanError(str(file), "is not a JSON object", _MAKE)
    return document


# --- addresses and references ----------------------------------------------------------------------------------------

_STEP = re.compile(r'module\.([\w-]+)(?:\[(?:"((?:[^"\\]|\\.)*)"|([0-9]+))\])?(?:\.|$)')
_MODULE = re.compile(rf"(?:{_STEP.pattern})+")


@cache
def module_steps(module: str) -> tuple[ModuleStep, ...]:
    """Return the steps of a module's address, such as module.vpc["a"].module.subnets."""
    return tuple(ModuleStep(found[1], _key_of(found[2], found[3])) for found in _STEP.finditer(module))


def _key_of(text: str | None, number: str | None) -> Key:
    return int(number) if number else text


@cache
def call_path(module: str) -> tuple[str, ...]:
    """Return the names of the calls that lead to a module."""
    return tuple(step.name for step in module_steps(module))


@cache
def parent_module(module: str) -> str:
    """Return the address of the module that contains a module."""
    *_, last = _STEP.finditer(module)
    return module[: last.start()].removesuffix(".")


@cache
def module_key(module: str) -> Key:
    """Return the key of a module instance."""
    return module_steps(module)[-1].key


def references(expression: object) -> Sequence[str]:
    """Return what an expression refers to, each in its longest form, in the order of the configuration.

    After each reference, the plan lists what it is a part of: aws_vpc.a.id, then aws_vpc.a.
    """
    found = expression.get("references") if isinstance(expression, Mapping) else None
    listed = [text for text in found if isinstance(text, str)] if isinstance(found, list) else []
    longest: list[str] = []
    whole = ""
    for text in listed:
        if not (whole.startswith(text) and whole[len(text) : len(text) + 1] in (".", "[")):
            longest.append(text)
            whole = text
    return longest


_INDEX = r'(?:\[(?:"((?:[^"\\]|\\.)*)"|([0-9]+))\])?'
_REFERENCE = re.compile(rf"([A-Za-z][\w-]*)\.([\w-]+){_INDEX}(?:\.([\w-]+))?")


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference: to a resource or to a module, its key if it has one, and the attribute or output."""

    type: str
    name: str
    key: Key
    attribute: str


@cache
def parse_reference(text: str) -> Reference | None:
    """Return the parts of a reference, None if it has another form. A data source has the type "data." + type."""
    prefix = "data." if text.startswith("data.") else ""
    found = _REFERENCE.match(text, len(prefix))
    if found is None:
        return None
    kind, name, text_key, number, attribute = found.groups()
    return Reference(prefix + kind, name, _key_of(text_key, number), attribute or "")

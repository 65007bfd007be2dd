"""What Terraform and OpenTofu print as JSON: the form of a plan and of a test's plan, checked once.

https://developer.hashicorp.com/terraform/internals/json-format describes the format. A field that is absent or null is empty.
The values of resources and of expressions may have any form, which providers decide.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from express_path.errors import RecordError
from express_path.fields import flag, free_text, nested, optional_free_text, required_object, rows
from express_path_cli.sources.change.document import ChangeError, faults_in, is_too_deep
from express_path_cli.sources.change.references import Block, block_of, inside, is_module
from express_path_cli.sources.change.resource import Values

REMEDY = "make one with: terraform plan -out=plan.out && terraform show -json plan.out > plan.json"
_WITH_BEFORE = frozenset({"update", "delete", "no-op", "forget"})
"""The actions for which a resource exists before the apply, and so has values there."""
_WITH_AFTER = frozenset({"create", "update", "no-op"})
"""The actions for which a resource exists after the apply."""


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """A resource or data source of a plan, as it is there.

    place: where it is in the document. module: the address of its module, empty for the root module. actions: empty if the
    plan does not say them. before and after: None where it does not exist. unknown: has the shape of after, with true for
    each value that is known only after the apply. hidden: has it too, for what is sensitive, or is true for all of it.
    """

    place: str
    address: str
    module: str
    mode: str
    type: str
    name: str
    provider_name: str
    is_deposed: bool
    actions: tuple[str, ...]
    before: Values | None
    after: Values | None
    unknown: Values
    hidden: Values | bool


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the configuration.

    address: without the keys of count and for_each, empty for the root module. blocks: of its resources, by their addresses
    in the configuration. given: the expression of each of its variables in its caller. Of resources, the modules that it
    calls without what is in them, and outputs, this is what the document says.
    """

    address: str
    blocks: Mapping[str, Block]
    given: Mapping[str, object]
    resources: Sequence[Values]
    calls: Sequence[Values]
    outputs: Mapping[str, Values]


@dataclass(frozen=True, slots=True)
class Provider:
    """The configuration of a provider, or a requirement. module: the address of the module that has it, empty for the root."""

    name: str
    full_name: str
    alias: str
    module: str
    expressions: Values


@dataclass(frozen=True, slots=True)
class PlanDocument:
    """A plan.

    variables: the values of those of the root module. providers: by their keys. modules: every one of the configuration.
    state: what exists before, each resource as one that stays as it is. used: the attributes on which something depends,
    each as the address of a resource or block and the name of its attribute. used_blocks: the addresses of their blocks, also
    of those of which all is used.
    """

    is_complete: bool
    variables: Mapping[str, object]
    providers: Mapping[str, Provider]
    modules: Sequence[Module]
    changes: Sequence[ResourceChange]
    deferred: Sequence[ResourceChange]
    state: Sequence[ResourceChange]
    used: Sequence[tuple[str, str]]
    used_blocks: Collection[str]


def read_plan(path: str, document: Values) -> PlanDocument:
    """Return a plan. Raise ChangeError for another format, and for a field that is not as documented."""
    version = document.get("format_version")
    if not isinstance(version, str) or ("resource_changes" not in document and "planned_values" not in document):
        fault = "is not a plan as `terraform show -json` or `tofu show -json` prints it"
        raise ChangeError(path, fault, REMEDY)
    if not re.fullmatch(r"1\.[0-9]{1,4}", version):
        raise ChangeError(path, "has another format_version than 1.x, which is what is read here", REMEDY)
    with faults_in(path, REMEDY):
        if flag(document, "errored", ""):
            fault = "is the plan of a run that failed, so it is incomplete"
            raise ChangeError(path, fault, "fix the errors and plan again")
        return _plan(document)


def read_test_plan(line: bytes) -> list[ResourceChange]:
    """Return what a line of `terraform test -json` says that a run plans. Raise RecordError.

    https://developer.hashicorp.com/terraform/internals/machine-readable-ui describes the lines.
    """
    place = "test_plan"
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict) or is_too_deep(found):
        raise RecordError(place, "", None, "in a line that is a JSON object")
    changes = rows(nested(found, place, ""), "resource_changes", place)
    return [_change(row, f"{place}.resource_changes[{number}]") for number, row in enumerate(changes)]


def _plan(document: Values) -> PlanDocument:
    configuration = nested(document, "configuration", "")
    nested(nested(document, "planned_values", ""), "root_module", "planned_values")  # which says that it is a plan
    values = nested(nested(document, "prior_state", ""), "values", "prior_state")
    changes, deferred, used = (
        rows(document, name, "") for name in ("resource_changes", "deferred_changes", "relevant_attributes")
    )
    variables = {name: row.get("value") for name, row in _objects_in(document, "variables", "").items()}
    given = {name: {"constant_value": value} for name, value in variables.items()}
    providers = _objects_in(configuration, "provider_config", "configuration")
    root = nested(configuration, "root_module", "configuration")
    return PlanDocument(
        is_complete=document.get("complete") is None or flag(document, "complete", ""),
        variables=variables,
        providers={key: _provider(row, f"configuration.provider_config.{key}") for key, row in providers.items()},
        modules=list(_modules(root, "", given, "configuration.root_module")),
        changes=[_complete_change(row, f"resource_changes[{number}]") for number, row in enumerate(changes)],
        deferred=[_deferred(row, f"deferred_changes[{number}]") for number, row in enumerate(deferred)],
        state=list(_state(nested(values, "root_module", "prior_state.values"), "prior_state.values.root_module")),
        used=[pair for number, row in enumerate(used) for pair in _used(row, f"relevant_attributes[{number}]")],
        used_blocks={block_of(str(row.get("resource"))) for row in used},
    )


# --- configuration ---------------------------------------------------------------------------------------------------


def _provider(row: Values, place: str) -> Provider:
    return Provider(
        name=optional_free_text(row, "name", place),
        full_name=optional_free_text(row, "full_name", place),
        alias=optional_free_text(row, "alias", place),
        module=optional_free_text(row, "module_address", place),
        expressions=nested(row, "expressions", place),
    )


def _modules(module: Values, address: str, given: Mapping[str, object], place: str) -> Iterator[Module]:
    """Yield a module, and those that it calls."""
    resources = rows(module, "resources", place)
    calls = _objects_in(module, "module_calls", place)
    yield Module(
        address=address,
        blocks=dict(_block(row, address, f"{place}.resources[{number}]") for number, row in enumerate(resources)),
        given=given,
        resources=resources,
        calls=[{**call, "module": None} for call in calls.values()],
        outputs=_objects_in(module, "outputs", place),
    )
    for name, call in calls.items():
        inner = f"{place}.module_calls.{name}"
        called, expressions = nested(call, "module", inner), nested(call, "expressions", inner)
        variables = _objects_in(called, "variables", f"{inner}.module")
        given = {
            variable: expressions.get(variable, {"constant_value": row.get("default")})
            for variable, row in variables.items()
        }
        yield from _modules(called, inside(address, f"module.{name}"), given, f"{inner}.module")


def _block(row: Values, module: str, place: str) -> tuple[str, Block]:
    block = Block(
        expressions=nested(row, "expressions", place),
        provider=optional_free_text(row, "provider_config_key", place),
        has_provisioners=bool(rows(row, "provisioners", place)),
    )
    return inside(module, free_text(row, "address", place)), block


def _used(row: Values, place: str) -> list[tuple[str, str]]:
    """Return the address of what is used and the name of its attribute, none if all of it is used."""
    resource, attribute = free_text(row, "resource", place), row.get("attribute")
    if attribute is not None and not isinstance(attribute, list):
        raise RecordError(place, "attribute", attribute, "a list")
    return [(resource, str(part)) for part in (attribute or ())[:1]]


# --- resources -------------------------------------------------------------------------------------------------------


def _complete_change(row: Values, place: str) -> ResourceChange:
    """Return a resource with the values that its actions need: without them, it would count as one that sets nothing."""
    found = _change(row, place)
    if found.before is None and not _WITH_BEFORE.isdisjoint(found.actions):
        raise RecordError(f"{found.place}.change", "before", None, "an object")
    if found.after is None and not _WITH_AFTER.isdisjoint(found.actions):
        raise RecordError(f"{found.place}.change", "after", None, "an object")
    return found


def _change(row: Values, place: str) -> ResourceChange:
    address = _printable(free_text(row, "address", place), "address", place)
    place = f"{place} ({address})"
    kind = _printable(free_text(row, "type", place), "type", place)
    module, change = optional_free_text(row, "module_address", place), nested(row, "change", place)
    if not is_module(module):
        raise RecordError(place, "module_address", module, "the address of a module")
    within = f"{place}.change"
    before, after = (
        None if change.get(name) is None else required_object(change, name, within) for name in ("before", "after")
    )
    unknown = _marks(change, "after_unknown", within)
    if unknown is True:
        raise RecordError(within, "after_unknown", unknown, "an object")
    return ResourceChange(
        place=place,
        address=address,
        module=module,
        mode=optional_free_text(row, "mode", place),
        type=kind,
        name=optional_free_text(row, "name", place),
        provider_name=optional_free_text(row, "provider_name", place),
        is_deposed=bool(optional_free_text(row, "deposed", place)),
        actions=_actions(change, within),
        before=before,
        after=after,
        unknown=unknown or {},
        hidden=_marks(change, "after_sensitive", within),
    )


def _deferred(row: Values, place: str) -> ResourceChange:
    return _change(nested(row, "resource_change", place), f"{place}.resource_change")


def _state(module: Values, place: str) -> Iterator[ResourceChange]:
    """Yield what a module of the state, and those that it calls, have. What is left of a replacement is deposed."""
    for number, row in enumerate(rows(module, "resources", place)):
        inner = f"{place}.resources[{number}]"
        values, hidden = nested(row, "values", inner), _marks(row, "sensitive_values", inner)
        change = {"actions": ["no-op"], "before": values, "after": values, "after_sensitive": hidden}
        named = {"module_address": module.get("address"), "deposed": row.get("deposed_key")}
        yield _change({**row, **named, "change": change}, inner)
    for number, child in enumerate(rows(module, "child_modules", place)):
        yield from _state(child, f"{place}.child_modules[{number}]")


def _actions(change: Values, place: str) -> tuple[str, ...]:
    found = change.get("actions")
    if found is not None and not (isinstance(found, list) and all(isinstance(action, str) for action in found)):
        raise RecordError(place, "actions", found, "a list of texts")
    return tuple(found or ())


def _marks(row: Values, name: str, place: str) -> Values | bool:
    """Return which parts of a value are marked: an object with the shape of the value, or whether all of it is."""
    found = row.get(name)
    return bool(found) if found is None or isinstance(found, bool) else required_object(row, name, place)


def _printable(text: str, name: str, place: str) -> str:
    if not text.isprintable():
        raise RecordError(place, name, text, "a text without control characters")
    return text


def _objects_in(row: Values, name: str, place: str) -> Mapping[str, Values]:
    """Return a field that must be an object whose values are objects; absent or null means empty."""
    found, inner = nested(row, name, place), f"{place}.{name}" if place else name
    return {key: nested(found, key, inner) for key in found}

"""Read the plan of Terraform or OpenTofu: what `terraform show -json FILE` and `tofu show -json FILE` print.

https://developer.hashicorp.com/terraform/internals/json-format describes the format. A plan contains the values of every
resource, and secrets among them: errors name the place in the plan, and never a value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

from express_path_cli.sources.proposal.document import ChangeError
from express_path_cli.sources.proposal.references import References, Row, calls_of, names_in
from express_path_cli.sources.proposal.resource import (
    MADE_WITH,
    OPEN,
    WITH_PATHS,
    Action,
    Arguments,
    Kind,
    NewId,
    Possible,
    Resource,
    Values,
)

REMEDY = "make one with: terraform plan -out=plan.out && terraform show -json plan.out > plan.json"
_ACTIONS: Mapping[tuple[str, ...], Action] = {
    ("no-op",): Action.KEEP,
    ("read",): Action.KEEP,
    ("create",): Action.CREATE,
    ("update",): Action.UPDATE,
    ("delete",): Action.DELETE,
    ("delete", "create"): Action.REPLACE,
    ("create", "delete"): Action.REPLACE,
    ("forget",): Action.KEEP,
    ("create", "forget"): Action.CREATE,
    ("forget", "create"): Action.CREATE,
}
"""What a list of actions means. A resource that is forgotten stays in AWS.

Terraform creates and then forgets, OpenTofu forgets and then creates:
https://github.com/opentofu/opentofu/blob/v1.12.6/internal/command/jsonplan/plan.go.
"""
_FACTS = frozenset(
    {
        *("id", "arn", "state", "vpc_id", "availability_zone", "availability_zone_id", "default_route_table_id"),
        *("transit_gateway_id", *(attribute for _, attribute in MADE_WITH)),
    }
)
"""The attributes that say what a resource is, whoever sets them. Of others, the plan only repeats yesterday's state."""
_BLOCKS = frozenset({"route", "entry", "subnet_mapping"})
"""The nested blocks that decide about paths. A `dynamic` one is not in the configuration of a plan."""
_PLACEHOLDER = "route"
"""The one of them of which the provider shows a block with unknown arguments, and never that all is unknown, if it is set."""
_KINDS: Mapping[str, Kind] = {
    **{kind.value: kind for kind in Kind},
    "default_route_table_id": Kind.TABLE,
    "destination_prefix_list_id": Kind.PREFIX_LIST,
    "subnet_ids": Kind.SUBNET,
    "route_table_ids": Kind.TABLE,
    "internet_gateway_id": Kind.GATEWAY,
    "vpn_gateway_id": Kind.GATEWAY,
    "vpc_zone_identifier": Kind.SUBNET,
}
"""What an argument names, if it names a resource of the network."""
_REGION = r"([a-z]{2,}(?:-[a-z]+)+-[0-9]+)"
_REGION_IN = {
    "region": re.compile(rf"{_REGION}$"),
    "arn": re.compile(rf"arn:[\w-]+:[\w-]*:{_REGION}:"),
    "availability_zone": re.compile(_REGION),
    "service_name": re.compile(rf"(?:[a-z]+\.)*amazonaws\.{_REGION}\."),
}
_ACCOUNT_IN = {
    "account_id": re.compile("([0-9]{12})$"),
    "arn": re.compile(r"arn:[\w-]+:[\w-]*:[\w-]*:([0-9]{12}):"),
}
"""What shows the Region and the account of a provider: attributes of its resources and data sources."""


class _ShapeError(Exception):
    """A part of a plan is not as documented: where it is, and what is allowed."""


@dataclass(slots=True)
class _Configuration:
    """The blocks of a configuration, by the module calls that lead to them, type, and name; and what calls give."""

    blocks: dict[tuple[tuple[str, ...], str, str], Values] = field(default_factory=dict)
    given: dict[tuple[tuple[str, ...], str], object] = field(default_factory=dict)

    def add(self, calls: tuple[str, ...], module: Values) -> None:
        """Add a module, and those that it calls."""
        for row in _objects(module.get("resources"), "configuration.resources"):
            kind = str(row.get("type"))
            self.blocks[calls, f"data.{kind}" if row.get("mode") == "data" else kind, str(row.get("name"))] = row
        for name, call in _object(module.get("module_calls"), "configuration.module_calls").items():
            found = _object(call, "configuration.module_calls")
            inner, expressions = (
                _object(found.get(key), "configuration.module_calls") for key in ("module", "expressions")
            )
            for variable, row in _object(inner.get("variables"), "configuration.variables").items():
                default = {"constant_value": _object(row, "configuration.variables").get("default")}
                self.given[(*calls, name), variable] = expressions.get(variable, default)
            self.add((*calls, name), inner)

    def arguments(self, calls: tuple[str, ...]) -> list[object]:
        """Return the expressions that a module's call gives to its variables."""
        return [expression for (of, _), expression in self.given.items() if of == calls]


class TerraformPlan:
    """A plan: the resources that decide about paths, and what else it says about the network.

    resolved: the values of the arguments of each resource, by its address, for each order of ids in which Terraform planned
    once more; empty if it did not.
    """

    def __init__(self, path: str, document: Values) -> None:
        """Read a document. Raise ChangeError for another format, and for a field that is not as documented."""
        self._path = path
        self.resolved: Sequence[Mapping[str, Values]] = ()
        self._check(document)
        self.is_complete = document.get("complete", True) is not False
        self._configuration = _Configuration()
        try:
            self._read(document)
        except _ShapeError as error:
            raise ChangeError(path, str(error), REMEDY) from None
        self._accounts = {**self._shown(_ACCOUNT_IN), **self._of_roles()}
        self._regions = {**self._shown(_REGION_IN), **self._of_providers()}

    def _check(self, document: Values) -> None:
        version = document.get("format_version")
        if not isinstance(version, str) or ("resource_changes" not in document and "planned_values" not in document):
            fault = "is not a plan as `terraform show -json` or `tofu show -json` prints it"
            raise ChangeError(self._path, fault, REMEDY)
        if not re.fullmatch(r"1\.[0-9]{1,4}", version):
            raise ChangeError(self._path, "has another format_version than 1.x, which is what is read here", REMEDY)
        if document.get("errored") is True:
            fault = "is the plan of a run that failed, so it is incomplete"
            raise ChangeError(self._path, fault, "fix the errors and plan again")

    def _read(self, document: Values) -> None:
        configuration = _object(document.get("configuration"), "configuration")
        self._configuration.add((), _object(configuration.get("root_module"), "configuration.root_module"))
        self._providers = {
            key: _object(row, "configuration.provider_config")
            for key, row in _object(configuration.get("provider_config"), "configuration.provider_config").items()
        }
        self.variables = {
            name: _object(row, "variables").get("value")
            for name, row in _object(document.get("variables"), "variables").items()
        }
        changes = _objects(document.get("resource_changes"), "resource_changes")
        self.rows = [self._row(row, f"resource_changes[{number}]") for number, row in enumerate(changes)]
        for row in _objects(document.get("deferred_changes"), "deferred_changes"):
            found = self._row(_object(row.get("resource_change"), "deferred_changes"), "deferred_changes")
            self.rows.append(replace(found, type=f"{found.type} (deferred)", action=Action.UPDATE))
        used = _objects(document.get("relevant_attributes"), "relevant_attributes")
        self._used_attributes = {str(part) for row in used for part in (row.get("attribute") or ())[:1]}
        known = {row.address for row in self.rows}
        state = _object(_object(document.get("prior_state"), "prior_state").get("values"), "prior_state.values")
        for row in _state_rows(_object(state.get("root_module"), "prior_state.values")):
            values = _object(row.get("values"), "prior_state")
            change = {"actions": ["no-op"], "before": values, "after": values}
            found = self._row({**row, "change": change}, "prior_state")
            if found.address not in known and not row.get("deposed_key"):
                self.rows.append(found)  # a data source, or what the plan leaves out, such as with -target

    def _row(self, row: Values, where: str) -> Row:
        change = _object(row.get("change"), f"{where}.change")
        actions = change.get("actions")
        action = _ACTIONS.get(tuple(map(str, actions)) if isinstance(actions, list) else ())
        if action is None and where != "deferred_changes":
            raise _ShapeError(f"{where}.change.actions is not a list of actions that is known here")
        before, after = (
            None if change.get(name) is None else _object(change.get(name), f"{where}.change.{name}")
            for name in ("before", "after")
        )
        action = Action.DELETE if row.get("deposed") else action or Action.UPDATE
        module = "" if row.get("module_address") is None else _text(row, "module_address", where)
        if module and not calls_of(module):
            raise _ShapeError(f"{where}.module_address must be the address of a module")
        kind, name = _text(row, "type", where), _text(row, "name", where)
        kind = f"data.{kind}" if row.get("mode") == "data" else kind
        return Row(
            address=_text(row, "address", where),
            module=module,
            type=kind,
            name=name,
            action=action,
            before=before,
            # What Terraform forgets stays in AWS.
            after=None if action is Action.DELETE else before if after is None and action is Action.KEEP else after,
            unknown=_object(change.get("after_unknown") or None, f"{where}.change.after_unknown"),
            hidden=change.get("after_sensitive"),
            block=self._configuration.blocks.get((calls_of(module), kind, name)),
        )

    # --- account and Region ------------------------------------------------------------------------------------------

    def _shown(self, patterns: Mapping[str, re.Pattern[str]]) -> dict[str, str]:
        """Return the account or the Region of each provider, as its resources and data sources show it."""
        found: dict[str, str] = {}
        is_identity = "account_id" in patterns
        identities = [row for row in self.rows if row.type in ("data.aws_caller_identity", "data.aws_region")]
        for row in (*identities, *(row for row in self.rows if row.type.startswith("aws_"))):
            values = row.after or row.before or {}
            for name, pattern in patterns.items():
                if name == "account_id" and row.type != "data.aws_caller_identity":
                    continue
                match = pattern.match(
                    str(values.get(name) or (values.get("name") if not is_identity and row in identities else ""))
                )
                if match:
                    found.setdefault(row.provider, match[1])
        return found

    def _of_providers(self) -> dict[str, str]:
        """Return the Region of each provider that its configuration says."""
        every = {key: self._constant(*self._expression(key, "region")) for key in self._providers}
        return {
            key: found for key, found in every.items() if isinstance(found, str) and _REGION_IN["region"].match(found)
        }

    def _of_roles(self) -> dict[str, str]:
        """Return the account of each provider that assumes a role whose ARN the configuration says."""
        found = {}
        for key in self._providers:
            calls, roles = self._expression(key, "assume_role")
            for role in roles if isinstance(roles, list) else ():
                arn = _ACCOUNT_IN["arn"].match(str(self._constant(calls, role.get("role_arn"))))
                if arn:
                    found[key] = arn[1]
        return found

    def _expression(self, key: str, name: str) -> tuple[tuple[str, ...], object]:
        """Return the calls that lead to the module of a provider, and an expression of its configuration."""
        provider = self._providers.get(key, {})
        expressions = provider.get("expressions")
        return (
            calls_of(str(provider.get("module_address") or "")),
            expressions.get(name) if isinstance(expressions, Mapping) else None,
        )

    def _constant(self, calls: tuple[str, ...], expression: object) -> object:
        """Return the value of an expression that is a constant, or a variable with one; None for any other."""
        if not isinstance(expression, Mapping):
            return None
        names = expression.get("references")
        if not names:
            return expression.get("constant_value")
        if names[1:] or not str(names[0]).startswith("var."):
            return None
        name = str(names[0]).removeprefix("var.")
        return self._constant(calls[:-1], self.given(calls, name)) if calls else self.variables.get(name)

    def given(self, calls: tuple[str, ...], name: str) -> object:
        """Return the expression that a module's call gives to a variable, or its default; None if it has none."""
        return self._configuration.given.get((calls, name))

    def _region(self, row: Row) -> str:
        """Return the Region of a resource, empty if nothing says it. Raise ChangeError if it may be one of several.

        A provider of OpenTofu may have for_each, and a plan does not say which instance of it a resource uses:
        https://opentofu.org/docs/language/providers/configuration/.
        """
        if not row.type.startswith("aws_"):
            return ""
        own = (row.after or row.before or {}).get("region")
        if isinstance(own, str) and own:
            return own
        _, expression = self._expression(row.provider, "region")
        names = (expression.get("references") or ()) if isinstance(expression, Mapping) else ()
        is_repeated = any(str(name).startswith("each.") for name in names)
        is_one_of_several = names and row.provider in self._used and (is_repeated or len(self._used) > 1)
        if is_one_of_several and (is_repeated or row.provider not in self._regions):
            raise ChangeError(
                self._path,
                f"{row.address} has a provider whose Region the plan does not say",
                "use a constant or a variable for `region` of each provider, without `for_each`",
            )
        return self._regions.get(row.provider) or self._regions.get("aws", "")

    @cached_property
    def _used(self) -> set[str]:
        return {row.provider for row in self.rows if row.type in WITH_PATHS}

    @property
    def regions(self) -> set[str]:
        """The Regions that have paths, with an empty text for those that nothing says, else the Regions of the providers."""
        return {self._region(row) for row in self.rows if row.type in WITH_PATHS} or {*self._regions.values()}

    @property
    def account(self) -> str:
        """The account of one of the providers, empty if the plan says none."""
        return next(iter(self._accounts.values()), "")

    # --- resources ---------------------------------------------------------------------------------------------------

    @property
    def has_unknown(self) -> bool:
        """Whether an argument that names a resource of the network is known only after the apply."""
        return any(
            mark and (name in _KINDS or name in _BLOCKS) and _is_set(row, name)
            for row in self.rows
            if row.type.startswith("aws_")
            for name, mark in row.unknown.items()
        )

    @cached_property
    def resources(self) -> Sequence[Resource]:
        """Every resource of the plan, and those of the state that the plan leaves out."""
        found = []
        for row in self.rows:
            if row.type.startswith("data."):
                continue
            resource = self._resource(row)
            found.append(resource)
            if row.block and row.block.get("provisioners"):  # which run any program
                found.append(
                    replace(
                        resource,
                        type="provisioner",
                        region="",
                        before=Arguments(row.address, {}),
                        after=Arguments(row.address, {}),
                    )
                )
        return found

    def _resource(self, row: Row) -> Resource:
        values = {} if row.after is None else self._values(row, row.after)
        known_id = values.get("id")
        return Resource(
            address=row.address,
            type=row.type,
            block=row.path,
            action=row.action,
            before=Arguments(row.address, row.before or {}),
            after=Arguments(row.address, values),
            id=known_id if isinstance(known_id, str) and known_id else NewId(row.address),
            id_before=str((row.before or {}).get("id") or ""),
            account_id=self._accounts.get(row.provider, ""),
            region=self._region(row),
        )

    def _values(self, row: Row, after: Values) -> dict[str, Any]:
        """Return the arguments of a resource after the apply that the configuration sets, and what it is."""
        found = {}
        for name in {**after, **row.unknown}:
            value = _with_unknown(after.get(name), row.unknown.get(name))
            if _is_set(row, name):
                found[name] = self._known_by_then(row, name, value) if _is_unknown(value) else value
            elif name in _FACTS and not isinstance(value, Possible):  # what is new has an id of its own
                found[name] = value
        tags = _tags(after, row.unknown, row.hidden, "tags_all") or _tags(after, row.unknown, row.hidden, "tags")
        return {**found, "tags": tags}

    def _known_by_then(self, row: Row, name: str, value: object) -> object:
        """Return a value that is known only after the apply, by Terraform itself, or by what its expression refers to."""
        every = [_in_order(order[row.address].get(name)) for order in self.resolved if row.address in order]
        if every and not any(map(_is_unknown, every)):
            return every[0] if all(one == every[0] for one in every) else _any_of(every)
        if every and isinstance(every[0], list) and all(one == every[0] for one in every):
            value = every[0]  # blocks of which a part is not known
        expression = (row.expressions or {}).get(name)
        if name in _BLOCKS and isinstance(value, list):
            return [
                self._block(row.module, block, expression) if isinstance(block, Mapping) else block for block in value
            ]
        if name not in _KINDS:
            ids = (self._references.certain(row.module, expression, kind) for kind in Kind)
            return next(filter(None, ids), value)
        referred = self._references.named(row.module, expression, _KINDS[name])
        if isinstance(value, list):
            return [referred if isinstance(item, Possible) else item for item in value]
        only = self._references.certain(row.module, expression, _KINDS[name]) if name.endswith("_ids") else None
        return [only] if only else referred

    def _block(self, module: str, values: Values, expression: object) -> Values:
        """Return the values of a nested block. Of some blocks, a plan has only one list of references for all of them."""
        blocks = expression if isinstance(expression, list) else []
        referred = {}
        for name, value in values.items():
            if isinstance(value, Possible) and name in _KINDS:
                own = [one for block in blocks if isinstance(block, Mapping) for one in names_in(block.get(name))]
                of_one = {"references": own} if blocks else expression
                referred[name] = self._references.named(module, of_one, _KINDS[name])
        return {**values, **referred}

    @cached_property
    def _references(self) -> References:
        return References(
            self.rows,
            self.variables.values(),
            self.given,
            self._configuration.arguments,
            lambda name: not self._used_attributes or name in self._used_attributes,
        )

    @cached_property
    def zone_ids(self) -> Mapping[str, str]:
        """The id of each Availability Zone of the account by its name, as far as the plan shows them."""
        found: dict[str, str] = {}
        for row in self.rows:
            values = row.before or {}
            names, ids = values.get("names"), values.get("zone_ids")
            if row.type == "data.aws_availability_zones" and isinstance(names, list) and isinstance(ids, list):
                found.update(zip(map(str, names), map(str, ids), strict=False))
            elif values.get("availability_zone_id"):
                found[str(values.get("availability_zone"))] = str(values["availability_zone_id"])
        return found


def _state_rows(module: Values) -> Iterator[Values]:
    for row in _objects(module.get("resources"), "prior_state.values"):
        yield {**row, "module_address": module.get("address")}
    for child in _objects(module.get("child_modules"), "prior_state.values"):
        yield from _state_rows(child)


def _object(found: object, where: str) -> Values:
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise _ShapeError(f"{where} must be an object")
    return found


def _objects(found: object, where: str) -> list[Values]:
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise _ShapeError(f"{where} must be a list of objects")
    return found


def _text(row: Values, name: str, where: str) -> str:
    found = row.get(name)
    if not isinstance(found, str) or not found or not found.isprintable():
        raise _ShapeError(f"{where}.{name} must be a text without control characters")
    return found


def _is_set(row: Row, name: str) -> bool:
    """Return whether the configuration sets an argument, as far as the plan shows."""
    if row.expressions is None or name in row.expressions:
        return True
    is_later = row.unknown.get(name) is True and name != _PLACEHOLDER
    return name in _BLOCKS and (is_later or row.is_changed(name))


def _with_unknown(value: Any, mark: object) -> Any:  # noqa: ANN401  # any JSON
    """Return a value with OPEN in place of each part that is known only after the apply."""
    if mark is True:
        return OPEN
    if isinstance(mark, Mapping) and mark:
        known = value if isinstance(value, Mapping) else {}
        return {name: _with_unknown(known.get(name), mark.get(name)) for name in {**known, **mark}}
    if isinstance(mark, list) and mark:
        every = value if isinstance(value, list) else []
        return [_with_unknown(one, each) for one, each in zip_longest(every, mark)]
    return value


def _is_unknown(value: object) -> bool:
    return Arguments("", {"": value}).is_unknown("")


def _in_order(value: Any) -> Any:  # noqa: ANN401
    """Return a value with its lists in one order: they are sets, whose order depends on the ids in them."""
    if isinstance(value, Mapping):
        return {name: _in_order(inner) for name, inner in value.items()}
    return sorted(map(_in_order, value), key=repr) if isinstance(value, list) else value


def _any_of(values: Sequence[Any]) -> object:
    """Return a value that is any of several: of lists of ids, what is in all of them is certain."""
    if all(isinstance(value, str) for value in values):
        return Possible(tuple(dict.fromkeys(values)))
    if not all(isinstance(value, list) and all(isinstance(one, str) for one in value) for value in values):
        return OPEN
    every = dict.fromkeys(one for value in values for one in value)
    common = [one for one in every if all(one in value for value in values)]
    return [*common, Possible(tuple(one for one in every if one not in common), is_open=True)]


def _tags(after: Values, unknown: Values, hidden: object, name: str) -> Mapping[str, str]:
    """Return the tags that are known and not sensitive."""
    found, marks = after.get(name), [unknown.get(name), hidden.get(name) if isinstance(hidden, Mapping) else hidden]
    if not isinstance(found, Mapping) or True in marks:
        return {}
    left_out = {key for mark in marks if isinstance(mark, Mapping) for key, value in mark.items() if value}
    return {key: str(value or "") for key, value in found.items() if key not in left_out}

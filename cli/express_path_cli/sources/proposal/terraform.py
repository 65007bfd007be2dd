"""Read the plan of Terraform or OpenTofu: what `terraform show -json FILE` and `tofu show -json FILE` print.

https://developer.hashicorp.com/terraform/internals/json-format describes the format. A plan contains the values of every
resource, and secrets among them: errors name the place in the plan, and never a value.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from express_path_cli.sources.proposal.document import ChangeError
from express_path_cli.sources.proposal.references import References, Row, block_of, inside, is_module, names_in
from express_path_cli.sources.proposal.resource import (
    MADE_WITH,
    WITH_PATHS,
    Action,
    Arguments,
    Kind,
    NewId,
    Possible,
    Resource,
    Values,
    has_unknown,
    with_unknown,
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
_REGION = re.compile(r"(?:arn:[\w-]+:[\w-]*:|[a-z.]*amazonaws\.)?([a-z]{2,}(?:-[a-z]+)+-[0-9]+)")
"""The Region at the beginning of its own name, of that of a zone, of an ARN, or of the name of a service."""
_ACCOUNT = re.compile(r"(?:arn:[\w-]+:[\w-]*:[\w-]*:)?([0-9]{12})(?::|$)")
"""An account, or that of an ARN."""
_IDENTITIES = {"data.aws_caller_identity": "account_id", "data.aws_region": "name"}
"""The data sources that show the account or the Region of a provider, and the attribute that is it."""


class _ShapeError(Exception):
    """A part of a plan is not as documented: where it is, and what is allowed."""


@dataclass(slots=True)
class _Configuration:
    """The blocks of a configuration, and the expressions of variables and outputs of modules, by their addresses."""

    blocks: dict[str, Values] = field(default_factory=dict)
    given: dict[str, dict[str, object]] = field(default_factory=lambda: defaultdict(dict))
    outputs: dict[str, dict[str, object]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, module: str, values: Values) -> None:
        """Add a module, and those that it calls."""
        for row in _objects(values, "resources", "configuration"):
            self.blocks[inside(module, str(row.get("address")))] = row
        calls = _object(values, "module_calls", "configuration")
        for name in calls:
            call = _object(calls, name, "configuration.module_calls")
            called, expressions = (
                _object(call, key, "configuration.module_calls") for key in ("module", "expressions")
            )
            variables, outputs = (_object(called, key, "configuration") for key in ("variables", "outputs"))
            address = inside(module, f"module.{name}")
            for variable in variables:
                default = {"constant_value": _object(variables, variable, "configuration.variables").get("default")}
                self.given[address][variable] = expressions.get(variable, default)
            for output in outputs:
                self.outputs[address][output] = _object(outputs, output, "configuration.outputs").get("expression")
            self.add(address, called)


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
        self._accounts = self._of_providers(_ACCOUNT, "arn")
        self._regions = self._of_providers(_REGION, "region", "arn", "availability_zone", "service_name")

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
        configuration = _object(document, "configuration")
        self._configuration.add("", _object(configuration, "root_module", "configuration"))
        providers, variables = (
            _object(configuration, "provider_config", "configuration"),
            _object(document, "variables"),
        )
        self._providers = {key: _object(providers, key, "configuration.provider_config") for key in providers}
        for name in variables:
            value = _object(variables, name, "variables").get("value")
            self._configuration.given[""][name] = {"constant_value": value}
        changes = _objects(document, "resource_changes")
        self.rows = [self._row(row, f"resource_changes[{number}]") for number, row in enumerate(changes)]
        for row in _objects(document, "deferred_changes"):
            found = self._row(_object(row, "resource_change", "deferred_changes"), "deferred_changes")
            self.rows.append(replace(found, type=f"{found.type} (deferred)", action=Action.UPDATE))
        used = _objects(document, "relevant_attributes")
        self._used_attributes = {str(part) for row in used for part in (row.get("attribute") or ())[:1]}
        known = {row.address for row in self.rows}
        state = _object(_object(document, "prior_state"), "values", "prior_state")
        for row in _state_rows(_object(state, "root_module", "prior_state.values")):
            values = _object(row, "values", "prior_state")
            change = {"actions": ["no-op"], "before": values, "after": values}
            found = self._row({**row, "change": change}, "prior_state")
            if found.address not in known and not row.get("deposed_key"):
                self.rows.append(found)  # a data source, or what the plan leaves out, such as with -target

    def _row(self, row: Values, where: str) -> Row:
        change = _object(row, "change", where)
        actions = change.get("actions")
        action = _ACTIONS.get(tuple(map(str, actions)) if isinstance(actions, list) else ())
        if action is None and where != "deferred_changes":
            raise _ShapeError(f"{where}.change.actions is not a list of actions that is known here")
        before, after = (
            None if change.get(name) is None else _object(change, name, f"{where}.change")
            for name in ("before", "after")
        )
        action = Action.DELETE if row.get("deposed") else action or Action.UPDATE
        module = "" if row.get("module_address") is None else _text(row, "module_address", where)
        if not is_module(module):
            raise _ShapeError(f"{where}.module_address must be the address of a module")
        address, kind = _text(row, "address", where), _text(row, "type", where)
        kind = f"data.{kind}" if row.get("mode") == "data" else kind
        return Row(
            address=address,
            module=module,
            type=kind,
            action=action,
            before=before,
            # What Terraform forgets stays in AWS.
            after=None if action is Action.DELETE else before if after is None and action is Action.KEEP else after,
            unknown=_object(change, "after_unknown", f"{where}.change"),
            hidden=change.get("after_sensitive"),
            block=self._configuration.blocks.get(block_of(address)),
        )

    # --- account and Region ------------------------------------------------------------------------------------------

    def _of_providers(self, pattern: re.Pattern[str], *names: str) -> Mapping[str, str]:
        """Return the account or Region of each provider: what its configuration says, or some attributes show."""
        said, shown = dict[str, str](), dict[str, str]()
        for key, provider in self._providers.items():
            module, roles = str(provider.get("module_address") or ""), self._expression(key, "assume_role")
            arns = [role.get("role_arn") for role in roles] if isinstance(roles, list) else []
            for expression in (self._expression(key, "region"), *arns):
                _, constant = self._references.passed_on(module, expression)
                match = pattern.match(str(constant.get("constant_value"))) if isinstance(constant, Mapping) else None
                if match:
                    said[key] = match[1]
        for row in sorted(self.rows, key=lambda row: row.type not in _IDENTITIES):
            values = row.after or row.before or {}
            own = _IDENTITIES.get(row.type, "")
            for name in (own, *names) if own or row.type.startswith("aws_") else ():
                match = pattern.match(str(values.get(name)))
                if match:
                    shown.setdefault(row.provider, match[1])
        return {**shown, **said}

    def _expression(self, key: str, name: str) -> object:
        """Return an expression in the configuration of a provider."""
        expressions = self._providers.get(key, {}).get("expressions")
        return expressions.get(name) if isinstance(expressions, Mapping) else None

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
        names = names_in(self._expression(row.provider, "region"))
        is_repeated = any(name.startswith("each.") for name in names)
        is_unsaid = len(self._used) > 1 and row.provider not in self._regions
        if names and row.provider in self._used and (is_repeated or is_unsaid):
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
    def lacks_ids(self) -> bool:
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
        before = Arguments(row.address, row.before or {})
        after = Arguments(row.address, {} if row.after is None else self._values(row, row.after))
        return Resource(
            address=row.address,
            type=row.type,
            block=row.path,
            action=row.action,
            before=before,
            after=after,
            id=after.text("id") or NewId(row.address),
            id_before=before.text("id"),
            account_id=self._accounts.get(row.provider, ""),
            region=self._region(row),
        )

    def _values(self, row: Row, after: Values) -> dict[str, Any]:
        """Return the arguments of a resource after the apply that the configuration sets, and what it is."""
        found = {}
        for name, value in with_unknown(after, row.unknown).items():
            if _is_set(row, name):
                found[name] = self._known_by_then(row, name, value) if has_unknown(value) else value
            elif name in _FACTS and not isinstance(value, Possible):  # what is new has an id of its own
                found[name] = value
        return {**found, "tags": _tags(row, "tags_all") or _tags(row, "tags")}

    def _known_by_then(self, row: Row, name: str, value: object) -> object:
        """Return a value that is known only after the apply, by Terraform itself, or by what its expression refers to."""
        every = [_in_order(order[row.address].get(name)) for order in self.resolved if row.address in order]
        if every and not any(map(has_unknown, every)):
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
            self._configuration.given,
            self._configuration.outputs,
            lambda name: not self._used_attributes or name in self._used_attributes,
        )

    @cached_property
    def zone_ids(self) -> Mapping[str, str]:
        """The id of each Availability Zone of the account by its name, as far as the plan shows them."""
        found: dict[str, str] = {}
        for row in self.rows:
            values = row.before or {}
            names, ids = values.get("names"), values.get("zone_ids")
            if isinstance(names, list) and isinstance(ids, list):
                found.update(zip(map(str, names), map(str, ids), strict=False))
            elif values.get("availability_zone_id"):
                found[str(values.get("availability_zone"))] = str(values["availability_zone_id"])
        return found


def _state_rows(module: Values) -> Iterator[Values]:
    for row in _objects(module, "resources", "prior_state.values"):
        yield {**row, "module_address": module.get("address")}
    for child in _objects(module, "child_modules", "prior_state.values"):
        yield from _state_rows(child)


def _object(row: Values, name: str, *where: str) -> Values:
    """Return an object in another one, which is empty if there is none."""
    found = row.get(name)
    if found is None or found is False:  # nothing is unknown of what is deleted
        return {}
    if not isinstance(found, dict):
        raise _ShapeError(f"{'.'.join((*where, name))} must be an object")
    return found


def _objects(row: Values, name: str, *where: str) -> list[Values]:
    found = row.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise _ShapeError(f"{'.'.join((*where, name))} must be a list of objects")
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


def _in_order(value: Any) -> Any:  # noqa: ANN401
    """Return a value with its lists in one order: they are sets, whose order depends on the ids in them."""
    if isinstance(value, Mapping):
        return {name: _in_order(inner) for name, inner in value.items()}
    return sorted(map(_in_order, value), key=repr) if isinstance(value, list) else value


def _any_of(values: Sequence[Any]) -> Possible:
    """Return a value that is any of several. Of lists, any of their ids may be in it."""
    every = [one for value in values for one in (value if isinstance(value, list) else [value])]
    is_text = all(isinstance(value, str) for value in values)
    return Possible(tuple(dict.fromkeys(one for one in every if isinstance(one, str))), is_open=not is_text)


def _tags(row: Row, name: str) -> Mapping[str, str]:
    """Return the tags that are known and not sensitive."""
    hidden = row.hidden.get(name) if isinstance(row.hidden, Mapping) else row.hidden
    found = with_unknown(with_unknown((row.after or {}).get(name), row.unknown.get(name)), hidden)
    rows = found.items() if isinstance(found, Mapping) else ()
    return {key: str(value or "") for key, value in rows if not isinstance(value, Possible)}

"""Read the plan of Terraform or OpenTofu: what `terraform show -json FILE` and `tofu show -json FILE` print.

https://developer.hashicorp.com/terraform/internals/json-format describes the format. A plan contains the values of every
resource, and secrets among them: errors name the place in the plan, and never a value.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from express_path_cli.sources.change.document import ChangeError
from express_path_cli.sources.change.overrides import Finder, Overrides, Place, accounts_of
from express_path_cli.sources.change.references import References, Row, block_of, names_in
from express_path_cli.sources.change.resolving import differing
from express_path_cli.sources.change.resource import (
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
from express_path_cli.sources.change.terraform_document import REMEDY, ResourceChange, read_plan

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
_NESTED = _BLOCKS | {"network_interface"}
"""These, and one that the provider computes if it is not set, so that a plan shows nothing of a `dynamic` one."""
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


class TerraformPlan:
    """A plan: the resources that decide about paths, and what else it says about the network.

    resolved: the values of the arguments of each resource, by its address, for each order of ids in which Terraform planned
    once more; empty if it did not.
    """

    def __init__(self, path: str, document: Values) -> None:
        """Read a document. Raise ChangeError for another format, and for a field that is not as documented."""
        self._path = path
        self.document = read_plan(path, document)
        self.resolved: Sequence[Mapping[str, Values]] = ()
        self._found = Overrides()
        self._blocks = {address: block for module in self.document.modules for address, block in module.blocks.items()}
        self.rows = [self._row(change) for change in self.document.changes]
        for change in self.document.deferred:
            self.rows.append(replace(self._row(change, Action.UPDATE), type=f"{change.type} (deferred)"))
        known = {row.address for row in self.rows}
        for change in self.document.state:
            if change.address not in known and not change.is_deposed:
                self.rows.append(self._row(change))  # a data source, or what the plan leaves out, such as with -target
        self._accounts = self._of_providers(_ACCOUNT, "arn")
        self._regions = self._of_providers(_REGION, "region", "arn", "availability_zone", "service_name")

    def _row(self, change: ResourceChange, action: Action | None = None) -> Row:
        """Return a resource. action: what happens to it, instead of what the plan says. Raise ChangeError if it is not known."""
        action = Action.DELETE if change.is_deposed else action or _ACTIONS.get(change.actions)
        if action is None:
            fault = f"{change.place}.change.actions is not a list of actions that is known here"
            raise ChangeError(self._path, fault, REMEDY)
        after = change.after
        if action is Action.DELETE:
            after = None
        elif action is Action.KEEP and after is None:
            after = change.before  # What Terraform forgets stays in AWS.
        return Row(
            address=change.address,
            module=change.module,
            type=f"data.{change.type}" if change.mode == "data" else change.type,
            action=action,
            before=change.before,
            after=after,
            unknown=change.unknown,
            hidden=change.hidden,
            block=self._blocks.get(block_of(change.address)),
        )

    # --- account and Region ------------------------------------------------------------------------------------------

    def _of_providers(self, pattern: re.Pattern[str], *names: str) -> Mapping[str, str]:
        """Return the account or Region of each provider: what its configuration says, or some attributes show."""
        said, shown = dict[str, str](), dict[str, str]()
        for key, provider in self.document.providers.items():
            roles = provider.expressions.get("assume_role")
            roles = [role for role in roles if isinstance(role, Mapping)] if isinstance(roles, list) else []
            for expression in (provider.expressions.get("region"), *(role.get("role_arn") for role in roles)):
                _, constant = self._references.passed_on(provider.module, expression)
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
        provider = self.document.providers.get(row.provider)
        names = names_in(provider.expressions.get("region")) if provider else ()
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
            if row.block and row.block.has_provisioners:  # which run any program
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
        resolved = [_in_order(order[row.address].get(name)) for order in self.resolved if row.address in order]
        is_same = bool(resolved) and all(one == resolved[0] for one in resolved)
        if is_same and not has_unknown(resolved[0]):
            return resolved[0]
        if is_same and isinstance(resolved[0], list):
            value = resolved[0]  # blocks of which a part is not known
        expression = (row.expressions or {}).get(name)
        if name in _NESTED and isinstance(value, list):
            return [
                self._block(row.module, block, expression) if isinstance(block, Mapping) else block for block in value
            ]
        if name not in _KINDS:
            ids = (self._references.certain(row.module, expression, kind) for kind in Kind)
            return next(filter(None, ids), value)
        certain = self._references.certain(row.module, expression, _KINDS[name])
        referred = self._references.named(row.module, expression, _KINDS[name])
        if isinstance(value, list):
            return [referred if isinstance(item, Possible) else item for item in value]
        if certain:
            return [certain] if name.endswith("_ids") else certain
        return referred

    def _block(self, module: str, values: Values, expression: object) -> Values:
        """Return the values of a nested block. Of some blocks, a plan has only one list of references for all of them."""
        blocks = expression if isinstance(expression, list) else []
        referred = {}
        for name, value in values.items():
            if isinstance(value, Possible) and name in _KINDS:
                names = [each for block in blocks if isinstance(block, Mapping) for each in names_in(block.get(name))]
                of_all = {"references": names} if blocks else expression
                certain = self._references.certain(module, of_all, _KINDS[name]) if len(blocks) == 1 else None
                referred[name] = certain or self._references.named(module, of_all, _KINDS[name])
        return {**values, **referred}

    # --- Terraform's second plan -------------------------------------------------------------------------------------

    def overrides(self) -> Overrides:
        """Return what Terraform is given to plan once more."""
        providers = {row.address: row.provider for row in self.rows}
        accounts = accounts_of(self.document, providers)
        places = {
            row.address: Place(accounts.get(row.provider, ""), self._regions.get(row.provider, "")) for row in self.rows
        }
        self._found = Finder(self.document, self._references, places, self.zone_ids).find()
        return self._found

    def believe(self, resolved: Sequence[Mapping[str, Values]]) -> None:
        """Take the values of a second plan. Raise NotResolvedError if one has an id which the references of the plan exclude.

        Then the second plan is of another configuration.
        """
        for row in self.rows:
            for name in row.unknown if row.expressions is not None else ():
                for order in resolved:
                    value = order.get(row.address, {}).get(name)
                    if not self._may_be(row, (row.expressions or {}).get(name), name, value):
                        raise differing(f"{row.address}.{name}")
        self.resolved = resolved

    def _may_be(self, row: Row, expression: object, name: str, value: object) -> bool:
        """Return whether an argument, or a block in it, may have a value by what its expression refers to."""
        if name in _NESTED and isinstance(value, list):
            blocks = expression if isinstance(expression, list) else []
            rows = [block for block in value if isinstance(block, Mapping)]
            if len(blocks) != len(rows):
                return True  # a `dynamic` block
            return all(
                any(self._may_be(row, block.get(argument), argument, inner) for block in blocks)
                for found in rows
                for argument, inner in found.items()
                if argument in _KINDS and inner
            )
        if name not in _KINDS or value is None or has_unknown(value):
            return True
        ids = {self._canonical(one) for one in (value if isinstance(value, list) else [value]) if one}
        certain = self._references.certain(row.module, expression, _KINDS[name])
        if certain:
            return ids <= {self._canonical(certain)}
        referred = self._references.named(row.module, expression, _KINDS[name])
        used = self.document.used_blocks
        if used and any(isinstance(one, NewId) and not _is_of(one, used) for one in ids):
            return False
        return referred.is_open or ids <= {self._canonical(one) for one in referred.ids}

    def _canonical(self, resource_id: object) -> object:
        """Return the id of a thing that has several."""
        given = self._found.resources.get(str(resource_id), {})
        return given.get("id", resource_id) if isinstance(resource_id, NewId) else resource_id

    @cached_property
    def _references(self) -> References:
        given = {module.address: module.given for module in self.document.modules}
        outputs = {
            module.address: {name: output.get("expression") for name, output in module.outputs.items()}
            for module in self.document.modules
        }
        used = {name for _, name in self.document.used}
        return References(self.rows, given, outputs, lambda name: not used or name in used)

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


def _is_of(new_id: NewId, blocks: Collection[str]) -> bool:
    """Return whether an id of our own is of one of some blocks, or of what AWS makes with it."""
    block = block_of(new_id)
    return block in blocks or block.rpartition(".")[0] in blocks


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


def _tags(row: Row, name: str) -> Mapping[str, str]:
    """Return the tags that are known and not sensitive."""
    hidden = row.hidden.get(name) if isinstance(row.hidden, Mapping) else row.hidden
    found = with_unknown(with_unknown((row.after or {}).get(name), row.unknown.get(name)), hidden)
    rows = found.items() if isinstance(found, Mapping) else ()
    return {key: str(value or "") for key, value in rows if not isinstance(value, Possible)}

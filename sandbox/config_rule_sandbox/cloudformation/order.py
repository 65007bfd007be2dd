"""The order in which CloudFormation creates the resources of a stack."""

import re
from collections.abc import Iterator, Mapping

from config_rule_sandbox.cloudformation.values import Node, Scope, TemplateError


def in_order(template: Mapping[str, Node], scope: Scope) -> list[str]:
    """Return the logical IDs of the resources whose condition holds, each after those that it depends on."""
    wanted = {
        logical_id: definition
        for logical_id, definition in template["Resources"].items()
        if "Condition" not in definition or scope.condition(definition["Condition"])
    }
    ordered: list[str] = []

    def add(logical_id: str, dependents: tuple[str, ...]) -> None:
        if logical_id in dependents:
            raise TemplateError(f"Circular dependency between resources: {[*dependents, logical_id]}")
        if logical_id not in ordered:
            for name in sorted(set(_references(wanted[logical_id])) & wanted.keys()):
                add(name, (*dependents, logical_id))
            ordered.append(logical_id)

    for logical_id in wanted:
        add(logical_id, ())
    return ordered


def _references(node: Node) -> Iterator[str]:
    """Yield every name that a part of a template refers to."""
    if isinstance(node, list):
        for item in node:
            yield from _references(item)
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _named(key, value)
            yield from _references(value)


def _named(key: str, value: Node) -> list[str]:
    """Return the names in the argument of DependsOn, Ref, Fn::GetAtt, or Fn::Sub."""
    if key in {"Ref", "DependsOn"}:
        named = [value] if isinstance(value, str) else value
        return [name for name in named if isinstance(name, str)]  # a property DependsOn has references
    if key == "Fn::GetAtt":
        return [value[0]]
    if key == "Fn::Sub":
        return re.findall(r"\$\{([\w:]+)", value if isinstance(value, str) else value[0])
    return []

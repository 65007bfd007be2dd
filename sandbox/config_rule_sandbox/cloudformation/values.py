"""Parameters, rules, conditions, and functions of a template.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-anatomy.html
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Node = Any
"""Part of a template: JSON."""

NO_VALUE = "AWS::NoValue"


class TemplateError(Exception):
    """CloudFormation refuses a template or its parameters before it creates anything (ValidationError)."""


@dataclass(frozen=True, slots=True)
class Created:
    """A resource that exists: its physical ID (the value of Ref), and the values of Fn::GetAtt by attribute."""

    physical_id: str
    attributes: Mapping[str, str] = field(default_factory=dict)


class Scope:
    """The values that the functions of one stack's template refer to."""

    def __init__(self, template: Mapping[str, Node], parameters: Mapping[str, str], pseudo: Mapping[str, str]) -> None:
        """Check the parameters and the template's Rules. TemplateError if one is not met."""
        self._template = template
        self._values: dict[str, Node] = {**pseudo, **parameter_values(template.get("Parameters", {}), parameters)}
        self.created: dict[str, Created] = {}
        for rule in template.get("Rules", {}).values():
            if "RuleCondition" not in rule or self.resolve(rule["RuleCondition"]):
                self._check(rule["Assertions"])

    def _check(self, assertions: list[dict[str, Node]]) -> None:
        for assertion in assertions:
            if not self.resolve(assertion["Assert"]):
                raise TemplateError(assertion.get("AssertDescription", str(assertion["Assert"])))

    @property
    def parameters(self) -> dict[str, str]:
        """Return the values of the template's parameters; those of a list are separated by commas."""
        values = {name: self._values[name] for name in self._template.get("Parameters", {})}
        return {name: ",".join(value) if isinstance(value, list) else value for name, value in values.items()}

    def condition(self, name: str) -> bool:
        """Return whether a condition of the template holds."""
        return bool(self.resolve(self._template["Conditions"][name]))

    def resolve(self, node: Node) -> Node:
        """Return a node without functions: each is replaced by its value, and AWS::NoValue is left out."""
        if isinstance(node, list):
            return [resolved for resolved in map(self.resolve, node) if resolved != {"Ref": NO_VALUE}]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            [(name, argument)] = node.items()
            if name.startswith("Fn::") or (name in {"Ref", "Condition"} and isinstance(argument, str)):
                return self._call(name, argument)
        resolved_items = {key: self.resolve(value) for key, value in node.items()}
        return {key: value for key, value in resolved_items.items() if value != {"Ref": NO_VALUE}}

    def _call(self, name: str, argument: Node) -> Node:
        """Return the value of a function."""
        if name == "Ref":
            return {"Ref": NO_VALUE} if argument == NO_VALUE else self._reference(argument)
        if name == "Condition":
            return self.condition(argument)
        if name == "Fn::If":
            return self.resolve(argument[1 if self.condition(argument[0]) else 2])
        if name == "Fn::GetAtt":
            return self.created[argument[0]].attributes[argument[1]]
        if name == "Fn::Sub":
            return self._substituted(argument)
        if name == "Fn::FindInMap":
            mapping, key, attribute = self.resolve(argument)
            return self._template["Mappings"][mapping][key][attribute]
        if name not in FUNCTIONS:
            raise TemplateError(f"{name} is not known here")
        return FUNCTIONS[name](self.resolve(argument))

    def _reference(self, name: str) -> Node:
        return self._values[name] if name in self._values else self.created[name].physical_id

    def _substituted(self, argument: str | list[Node]) -> str:
        """Return the text of Fn::Sub: ${Name}, ${Name.Attribute}, and ${!Literal}."""
        text, named = (argument, {}) if isinstance(argument, str) else (argument[0], self.resolve(argument[1]))

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name.startswith("!"):
                return f"${{{name[1:]}}}"
            if name in named:
                return str(named[name])
            if "." in name:
                return self.created[name.split(".")[0]].attributes[name.split(".", maxsplit=1)[1]]
            return str(self._reference(name))

        return re.sub(r"\$\{([^}]+)\}", value, text)


FUNCTIONS: dict[str, Callable[[Node], Node]] = {
    "Fn::And": all,
    "Fn::Contains": lambda argument: argument[1] in argument[0],
    "Fn::Equals": lambda argument: argument[0] == argument[1],
    "Fn::Join": lambda argument: argument[0].join(argument[1]),
    "Fn::Not": lambda argument: not argument[0],
    "Fn::Or": any,
    "Fn::Select": lambda argument: argument[1][int(argument[0])],
    "Fn::Split": lambda argument: argument[1].split(argument[0]),
}
"""Functions of arguments without functions."""


def parameter_values(declared: Mapping[str, Node], given: Mapping[str, str]) -> dict[str, Node]:
    """Return the values of a template's parameters. TemplateError if one is unknown, missing, or not allowed."""
    if unknown := sorted(given.keys() - declared.keys()):
        raise TemplateError(f"Parameters: {unknown} do not exist in the template")
    missing = sorted(name for name, parameter in declared.items() if name not in given and "Default" not in parameter)
    if missing:
        raise TemplateError(f"Parameters: {missing} must have values")
    return {name: _value(name, parameter, given.get(name)) for name, parameter in declared.items()}


def _value(name: str, parameter: Mapping[str, Node], given: str | None) -> Node:
    text = str(parameter["Default"] if given is None else given)
    is_list = parameter["Type"] == "CommaDelimitedList"
    values = [part.strip() for part in text.split(",")] if is_list else [text]
    for value in values:
        if not _is_allowed(parameter, value):
            reason = parameter.get("ConstraintDescription", "is not allowed")
            raise TemplateError(f"Parameter {name}: {value!r} {reason}")
    return values if is_list else text


def _is_allowed(parameter: Mapping[str, Node], value: str) -> bool:
    """Return whether a value meets the constraints of a parameter; CloudFormation's patterns match the whole value."""
    if "AllowedValues" in parameter and value not in map(str, parameter["AllowedValues"]):
        return False
    if parameter["Type"] == "Number" and not (
        float(parameter.get("MinValue", "-inf")) <= float(value) <= float(parameter.get("MaxValue", "inf"))
    ):
        return False
    if not parameter.get("MinLength", 0) <= len(value) <= parameter.get("MaxLength", len(value)):
        return False
    return re.fullmatch(parameter.get("AllowedPattern", "(?s:.*)"), value, re.ASCII) is not None

"""CloudFormation's functions in a template: parameters, pseudo parameters and conditions.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.config_service.packs.errors import TemplateError, unsupported

NO_VALUE = object()
"""What AWS::NoValue stands for: the property or the list's member is not there."""

PLACEHOLDER = re.compile(r"\$\{(!?)([^}]*)\}")
LOGICAL = ("Fn::Equals", "Fn::Not", "Fn::And", "Fn::Or", "Condition")
SUPPORTED = ("Ref", "Fn::Sub", "Fn::Join", "Fn::If", *LOGICAL)


@dataclass(frozen=True)
class Functions:
    """The values of parameters, pseudo parameters included, and the conditions as the template has them."""

    values: Mapping[str, object]
    conditions: Mapping[str, Any]

    def resolve(self, value: Any) -> Any:  # noqa: ANN401 - any part of a template
        """Return a part of a template without functions, or NO_VALUE."""
        if isinstance(value, dict):
            name = function_in(value)
            if name:
                return self._call(name, value[name])
            resolved = {key: self.resolve(each) for key, each in value.items()}
            return {key: each for key, each in resolved.items() if each is not NO_VALUE}
        if isinstance(value, list):
            return [each for each in map(self.resolve, value) if each is not NO_VALUE]
        return value

    def holds(self, condition: str, within: tuple[str, ...] = ()) -> bool:
        """Return whether a condition holds; `within` are those that are being evaluated. TemplateError if unknown."""
        if condition not in self.conditions:
            raise TemplateError(f"there is no condition {condition}")
        if condition in within:
            raise TemplateError(f"the condition {condition} depends on itself")
        return self._true(self.conditions[condition], (*within, condition))

    def _call(self, name: str, argument: Any) -> Any:  # noqa: ANN401 - any part of a template
        match name, argument:
            case "Ref", str():
                return self._value(argument)
            case "Fn::Sub", str():
                return PLACEHOLDER.sub(self._substitute, argument)
            case "Fn::Join", [str() as delimiter, list() as parts]:
                return delimiter.join(map(_text, self.resolve(parts)))
            case "Fn::If", [str() as condition, then, otherwise]:
                return self.resolve(then if self.holds(condition) else otherwise)
        if name in SUPPORTED:
            raise TemplateError(f"{name} does not take {argument!r} here")
        raise unsupported(name, SUPPORTED)

    def _true(self, expression: Any, within: tuple[str, ...]) -> bool:  # noqa: ANN401 - any part of a template
        name = function_in(expression)
        match name, expression.get(name) if name else None:
            case "Fn::Equals", [left, right]:
                return bool(self.resolve(left) == self.resolve(right))
            case "Fn::Not", [inner]:
                return not self._true(inner, within)
            case "Fn::And", [_, _, *_] as inner:
                return all([self._true(each, within) for each in inner])  # noqa: C419 - every part is checked
            case "Fn::Or", [_, _, *_] as inner:
                return any([self._true(each, within) for each in inner])  # noqa: C419 - every part is checked
            case "Condition", str() as inner:
                return self.holds(inner, within)
        raise TemplateError(f"{expression!r} is not a condition: {', '.join(LOGICAL)}")

    def _substitute(self, found: re.Match[str]) -> str:
        literal, name = found.groups()
        return f"${{{name}}}" if literal else _text(self._value(name))

    def _value(self, name: str) -> object:
        if name not in self.values:
            raise TemplateError(f"there is no parameter {name}; references to resources are not supported")
        return self.values[name]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TemplateError("only texts can be joined or put into a text")
    return value


def function_in(value: Any) -> str | None:  # noqa: ANN401 - any part of a template
    """Return the name of the function that a part of a template is a call of, or None."""
    if isinstance(value, dict) and len(value) == 1:
        (name,) = value
        return str(name) if name in SUPPORTED or str(name).startswith("Fn::") else None
    return None


def has_function(value: Any) -> bool:  # noqa: ANN401 - any part of a template
    """Return whether there is a function anywhere in a part of a template."""
    if isinstance(value, dict):
        return function_in(value) is not None or any(map(has_function, value.values()))
    return isinstance(value, list) and any(map(has_function, value))

"""The parameters of a template, and the values that PutConformancePack gives them.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/parameters-section-structure.html
"""

import re
from collections.abc import Mapping
from typing import Any

from moto.config.exceptions import InvalidParameterValueException

from sandbox.config_service.packs.errors import TemplateError, unsupported

PROPERTIES = ("Type", "Default", "Description", "AllowedValues", "AllowedPattern", "ConstraintDescription")


def values(declared: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """Return the value of every parameter: the given one, or the default.

    TemplateError for a faulty declaration. InvalidParameterValueException for a given parameter that is not declared,
    one without a value, or a value that is not allowed; UNVERIFIED whether AWS says so at once or by CREATE_FAILED.
    """
    for name, parameter in declared.items():
        _check(name, parameter)
    unknown = sorted(set(given) - set(declared))
    if unknown:
        raise InvalidParameterValueException(f"Parameters: {unknown} do not exist in the template")
    chosen = {name: given.get(name, parameter.get("Default")) for name, parameter in declared.items()}
    missing = sorted(name for name, value in chosen.items() if value is None)
    if missing:
        raise InvalidParameterValueException(f"Parameters: {missing} must have values")
    found = {name: str(value) for name, value in chosen.items()}
    for name, value in found.items():
        _allow(name, value, declared[name])
    return found


def _check(name: str, parameter: Any) -> None:  # noqa: ANN401 - any part of a template
    if not isinstance(parameter, dict) or "Type" not in parameter:
        raise TemplateError(f"the parameter {name} has no Type")
    for each in parameter:
        if each not in PROPERTIES:
            raise unsupported(f"{each} of the parameter {name}", PROPERTIES)
    if parameter["Type"] != "String":
        raise unsupported(f"the type {parameter['Type']} of the parameter {name}", ["String"])


def _allow(name: str, value: str, parameter: Mapping[str, Any]) -> None:
    allowed, pattern = parameter.get("AllowedValues"), parameter.get("AllowedPattern")
    if allowed is not None and value not in allowed:
        raise InvalidParameterValueException(f"Parameter '{name}' must be one of AllowedValues {allowed}")
    if pattern is not None and not re.fullmatch(pattern, value):
        raise InvalidParameterValueException(f"Parameter '{name}' must match pattern {pattern}")

"""The properties of a rule and of a remediation in a template, in the shapes of AWS Config's API.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-config-configrule.html and
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-config-remediationconfiguration.html
"""

import json
from collections.abc import Collection
from functools import cache
from typing import Any

from botocore.model import Shape
from botocore.session import Session
from botocore.validate import ParamValidator

from sandbox.config_service.packs.errors import TemplateError, unsupported
from sandbox.config_service.packs.functions import Functions, has_function

Properties = dict[str, Any]

NOT_IN_TEMPLATES = (
    "ConfigRuleArn",
    "ConfigRuleId",
    "ConfigRuleState",
    "CreatedBy",
    "RuleEvaluationVisibility",
    "Arn",
    "CreatedByService",
)
"""Members of the API's shapes that are no properties of the resource types."""

ASSUME_ROLE = "AutomationAssumeRole"
LITERAL = (
    "{} holds a function, which AWS Config does not support in a rule's name or an automation's role: write it out"
)
"""https://docs.aws.amazon.com/config/latest/developerguide/cpack-prerequisites.html."""


def rule(name: str, raw: Properties, functions: Functions) -> Properties:
    """Return the ConfigRule of PutConfigRule that a resource stands for, or raise TemplateError.

    A rule needs its ConfigRuleName here: how AWS Config names one without is UNVERIFIED.
    """
    _literal(f"{name}.ConfigRuleName", raw.get("ConfigRuleName"))
    found: Properties = functions.resolve(raw)
    if not isinstance(found.get("ConfigRuleName"), str):
        raise unsupported(f"{name} without a ConfigRuleName")
    modes = found.pop("EvaluationModes", [{"Mode": "DETECTIVE"}])
    if modes != [{"Mode": "DETECTIVE"}]:
        raise unsupported(f"EvaluationModes {modes} of {name}", ["DETECTIVE"])
    parameters = found.get("InputParameters")
    if isinstance(parameters, dict):
        found["InputParameters"] = json.dumps(parameters)
    return _checked(name, found, "PutConfigRule")


def remediation(name: str, raw: Properties, functions: Functions, rules: Collection[str]) -> Properties:
    """Return the RemediationConfiguration that a resource stands for, or raise TemplateError.

    It names its rule as ConfigRuleName of the rule does, without a suffix and not by the logical id:
    https://github.com/aws-samples/aws-config-tagging-remediation-example shows both different. UNVERIFIED whether AWS
    takes the logical id too; here it is refused where it is not the name as well.
    """
    _literal(f"{name}.ConfigRuleName", raw.get("ConfigRuleName"))
    parameters = raw.get("Parameters")
    if isinstance(parameters, dict):
        _literal(f"{name}.Parameters.{ASSUME_ROLE}", parameters.get(ASSUME_ROLE))
    found: Properties = functions.resolve(raw)
    if found.get("ConfigRuleName") not in rules:
        known = ", ".join(sorted(rules))
        raise TemplateError(f"{name}.ConfigRuleName is {found.get('ConfigRuleName')}, but the rules are: {known}")
    return _checked(name, found, "PutRemediationConfigurations")


def _literal(where: str, value: Any) -> None:  # noqa: ANN401 - any part of a template
    if has_function(value):
        raise TemplateError(LITERAL.format(where))


def _checked(name: str, found: Properties, operation: str) -> Properties:
    """Return properties in the types of the API, or raise TemplateError for unknown, missing and misshapen ones."""
    shape = _shape(operation)
    for each in NOT_IN_TEMPLATES:
        if each in found:
            raise TemplateError(f"Encountered unsupported property {each} in {name}")
    typed: Properties = _typed(found, shape)
    report = ParamValidator().validate(typed, shape)
    if report.has_errors():
        raise TemplateError(f"{name}: {' '.join(report.generate_report().split())}")
    return typed


def _typed(value: Any, shape: Shape) -> Any:  # noqa: ANN401 - any part of a template
    """Return a value with its texts turned into the numbers and Booleans that the shape wants, where they are some."""
    match shape.type_name, value:
        case "structure", dict():
            members = getattr(shape, "members", {})
            return {key: _typed(each, members[key]) if key in members else each for key, each in value.items()}
        case "list", list():
            return [_typed(each, getattr(shape, "member", shape)) for each in value]
        case "map", dict():
            return {key: _typed(each, getattr(shape, "value", shape)) for key, each in value.items()}
        case "integer" | "long", str() if value.isdecimal():
            return int(value)
        case "boolean", str() if value.lower() in ("true", "false"):
            return value.lower() == "true"
    return value


@cache
def _shape(operation: str) -> Shape:
    """Return the shape of a rule, or of a remediation configuration, in the model."""
    members: Any = Session().get_service_model("config").operation_model(operation).input_shape
    if operation == "PutConfigRule":
        return members.members["ConfigRule"]  # type: ignore[no-any-return]
    return members.members["RemediationConfigurations"].member  # type: ignore[no-any-return]

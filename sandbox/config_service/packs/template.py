"""A conformance pack's template: Parameters, Conditions, and rules with their remediations in Resources.

https://docs.aws.amazon.com/config/latest/developerguide/custom-conformance-pack.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.config_service.packs import properties
from sandbox.config_service.packs.content import load
from sandbox.config_service.packs.errors import TemplateError, unsupported
from sandbox.config_service.packs.functions import NO_VALUE, Functions
from sandbox.config_service.packs.parameters import values

SECTIONS = ("AWSTemplateFormatVersion", "Description", "Metadata", "Parameters", "Conditions", "Resources")
RULE = "AWS::Config::ConfigRule"
REMEDIATION = "AWS::Config::RemediationConfiguration"
TYPES = (RULE, REMEDIATION)
"""All that a template may hold (botocore model, PutConformancePackRequest.TemplateBody)."""

ATTRIBUTES = ("Type", "Properties", "DependsOn", "Condition", "Metadata")
MAXIMUM_RESOURCES = 130
"""AWS Config rules of a pack: https://docs.aws.amazon.com/config/latest/developerguide/configlimits.html.

UNVERIFIED whether remediations count; AWS's message speaks of resources, so here they do.
"""


@dataclass(frozen=True)
class Resources:
    """What a template makes: rules by name, and remediations by the name of their rule.

    Names have no suffix yet. Rules are in the shape of PutConfigRule's ConfigRule, remediations in that of
    RemediationConfiguration. `orphans` are the remediations (names of rules) that do not wait for their rule.
    """

    rules: Mapping[str, dict[str, Any]]
    remediations: Mapping[str, dict[str, Any]]
    orphans: tuple[str, ...] = ()


def read(text: str, given: Mapping[str, str], pseudo: Mapping[str, str]) -> Resources:
    """Return what a template makes with the given parameters. TemplateError, or InvalidParameterValueException."""
    template = load(text)
    for section in template:
        if section not in SECTIONS:
            raise unsupported(f"the section {section}", SECTIONS)
    declared = _mapping(template, "Parameters")
    functions = Functions(
        {**pseudo, **values(declared, given), "AWS::NoValue": NO_VALUE}, _mapping(template, "Conditions")
    )
    for condition in functions.conditions:
        functions.holds(condition)
    raw = _mapping(template, "Resources")
    if len(raw) > MAXIMUM_RESOURCES:
        raise TemplateError("Number of resources provided in the template exceeds the allowed limit")
    if not raw:
        raise TemplateError("the template has no resources")
    return _resources({name: each for name, each in raw.items() if _wanted(name, each, raw, functions)}, functions)


def _resources(raw: Mapping[str, Any], functions: Functions) -> Resources:
    rules: dict[str, dict[str, Any]] = {}
    logical: dict[str, str] = {}
    for name, resource in raw.items():
        if resource["Type"] == RULE:
            rule = properties.rule(name, _mapping(resource, "Properties"), functions)
            if rule["ConfigRuleName"] in rules:
                raise TemplateError(f"two rules have the name {rule['ConfigRuleName']}")
            rules[rule["ConfigRuleName"]] = rule
            logical[rule["ConfigRuleName"]] = name
    remediations: dict[str, dict[str, Any]] = {}
    orphans: list[str] = []
    for name, resource in raw.items():
        if resource["Type"] == REMEDIATION:
            new = properties.remediation(name, _mapping(resource, "Properties"), functions, rules)
            rule_name = new["ConfigRuleName"]
            if rule_name in remediations:
                raise TemplateError(f"{rule_name} has two remediations")
            remediations[rule_name] = new
            if logical[rule_name] not in _dependencies(resource):
                orphans.append(rule_name)
    return Resources(rules, remediations, tuple(orphans))


def _wanted(name: str, resource: Any, all_of_them: Mapping[str, Any], functions: Functions) -> bool:  # noqa: ANN401
    """Check a resource's attributes, and return whether its condition, if any, holds."""
    if not name.isalnum() or not isinstance(resource, dict):
        raise TemplateError(f"{name} is no resource with an alphanumeric logical id")
    if resource.get("Type") not in TYPES:
        raise TemplateError(f"{name} is of the type {resource.get('Type')}; only {', '.join(TYPES)} are allowed")
    for attribute in resource:
        if attribute not in ATTRIBUTES:
            raise unsupported(f"{attribute} of {name}", ATTRIBUTES)
    unknown = sorted(_dependencies(resource) - set(all_of_them))
    if unknown:
        raise TemplateError(f"Unresolved resource dependencies {unknown} in the Resources block of the template")
    return "Condition" not in resource or functions.holds(str(resource["Condition"]))


def _dependencies(resource: Mapping[str, Any]) -> set[str]:
    depends_on = resource.get("DependsOn", [])
    return set(depends_on) if isinstance(depends_on, list) else {depends_on}


def _mapping(holder: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = holder.get(key, {})
    if not isinstance(found, dict):
        raise TemplateError(f"{key} is not an object")
    return found

"""The template's Config rule is valid in Config's own model, and its parameters match the core's."""

import json
from itertools import product
from typing import Any

import pytest

from express_path.domain.verdict.fanout import ResourceType
from express_path.domain.verdict.parameters import (
    PARAMETERS,
    PUBLIC_SUBNETS,
    UNRESOLVED_EGRESS,
    RuleParameters,
    Scope,
    parse_parameters,
)
from express_path.errors import ParameterError
from tests.support.template import expanded, source
from tests.template.models import bounds

LONGEST = {
    "PublicSubnets": "NOT_APPLICABLE",
    "UnresolvedEgress": "NOT_APPLICABLE",
    "Scope": "DIRECTORY_BUCKETS",
    "VpcIds": ",".join(["vpc-0123456789abcdef0"] * 20),
    "ExcludeTag": "k" * 256,
    "NetworkRoleArn": "arn:aws:iam::123456789012:role/" + "r" * 97,
}


def rule(**parameters: str) -> dict[str, Any]:
    """Return the rule's properties for the given stack parameters."""
    return expanded(**parameters).of_type("AWS::Config::ConfigRule")


def test_rule_is_triggered_by_changes_oversized_changes_and_a_schedule() -> None:
    """The rule lists three message types, including oversized items; only the schedule has a frequency."""
    details = rule()["Source"]["SourceDetails"]
    assert {detail["MessageType"]: detail.get("MaximumExecutionFrequency") for detail in details} == {
        "ConfigurationItemChangeNotification": None,
        "OversizedConfigurationItemChangeNotification": None,
        "ScheduledNotification": "TwentyFour_Hours",
    }


def test_scope_is_what_the_core_follows() -> None:
    """The resource types that trigger the rule are those whose changes the core evaluates, buckets only where they matter."""
    found = {scope: set(rule(Scope=scope)["Scope"]["ComplianceResourceTypes"]) for scope in Scope}
    assert found == {
        Scope.ALL: set(ResourceType) - {ResourceType.DIRECTORY_BUCKET},
        Scope.DIRECTORY_BUCKETS: set(ResourceType),
    }


def test_input_parameters_are_those_of_the_core() -> None:
    """With every parameter set, Config passes exactly the parameters that the core supports."""
    assert rule(**LONGEST)["InputParameters"].keys() == PARAMETERS.keys()


def test_longest_parameters_fit_the_limit_of_config() -> None:
    """Even with the longest values, the input parameters have at most 1024 characters."""
    parameters = source()["Parameters"]
    for name, value in LONGEST.items():
        longest = max(map(len, parameters[name].get("AllowedValues", [])), default=parameters[name].get("MaxLength"))
        assert len(value) <= longest
    assert len(json.dumps(rule(**LONGEST)["InputParameters"])) in bounds("config", "StringWithCharLimit1024")
    assert {name for name in LONGEST if "MaxLength" in parameters[name]} == {"VpcIds", "ExcludeTag", "NetworkRoleArn"}


def test_defaults_of_the_stack_are_the_defaults_of_the_rule() -> None:
    """A stack with default parameters behaves as the core does by default; empty parameters are left out."""
    given = rule()["InputParameters"]
    assert given.keys() == {"publicSubnets", "unresolvedEgress", "scope", "excludeTag"}
    assert parse_parameters(given) == RuleParameters()


def test_allowed_values_are_those_of_the_core() -> None:
    """The stack offers each value that the core takes, the default first, and the core takes each that it offers."""
    parameters = source()["Parameters"]
    assert parameters["PublicSubnets"]["AllowedValues"] == list(PUBLIC_SUBNETS)
    assert parameters["UnresolvedEgress"]["AllowedValues"] == list(UNRESOLVED_EGRESS)
    assert parameters["Scope"]["AllowedValues"] == list(Scope)
    for public, unresolved, scope in product(PUBLIC_SUBNETS, UNRESOLVED_EGRESS, Scope):
        parsed = parse_parameters(
            rule(PublicSubnets=public, UnresolvedEgress=unresolved, Scope=scope)["InputParameters"]
        )
        assert (parsed.public_subnets, parsed.unresolved_egress, parsed.scope) == (public, unresolved, scope)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("VpcIds", "vpc-0123456789abcdef0"),
        ("VpcIds", "vpc-0123456789abcdef0,vpc-1a2b3c4d"),
        ("ExcludeTag", "team=data platform"),
        ("ExcludeTag", "express-path:exclude"),
        ("NetworkRoleArn", "arn:aws:iam::111122223333:role/network/reader"),
        ("NetworkRoleArn", "arn:aws-cn:iam::111122223333:role/reader"),
    ],
)
def test_what_a_pattern_allows_the_core_reads(parameter: str, value: str, allows: Any) -> None:
    """A value that passes the stack parameter's pattern is one that the core takes."""
    assert allows(parameter, value)
    parse_parameters(rule(**{parameter: value})["InputParameters"])


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("VpcIds", "subnet-0123456789abcdef0"),
        ("VpcIds", "vpc-0123456789abcdef0;vpc-1a2b3c4d"),
        ("ExcludeTag", " "),
        ("NetworkRoleArn", "arn:aws:iam::111122223333:user/reader"),
        ("NetworkRoleArn", "reader"),
    ],
)
def test_what_a_pattern_refuses_the_core_refuses(parameter: str, value: str, allows: Any) -> None:
    """A value that the core would refuse at run time is refused when the stack is deployed."""
    assert not allows(parameter, value)
    with pytest.raises(ParameterError):
        parse_parameters(rule(**{parameter: value})["InputParameters"])

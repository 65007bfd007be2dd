"""Parameters of runbooks and their values.

https://docs.aws.amazon.com/systems-manager/latest/userguide/documents-syntax-data-elements-parameters.html
"""

from typing import Any

import pytest

from config_rule_sandbox.ssm import FaultyDocumentError
from config_rule_sandbox.ssm.faults import InvalidParametersError
from config_rule_sandbox.ssm.parameters import read, supplied


@pytest.mark.parametrize(
    ("definition", "where"),
    [
        ({"type": "string"}, "'string'"),
        ({"type": "Integer"}, "'Integer'"),
        ({"type": "String", "allowedPattern": "^(?!a)"}, "RE2"),
        ({"type": "String", "allowedPattern": r"(a)\1"}, "RE2"),
        ({"type": "String", "default": "", "allowedPattern": "^vpc-.+$"}, "does not match"),
        ({"type": "String", "default": "c", "allowedValues": ["a", "b"]}, "not found in [a, b]"),
    ],
)
def test_refuses_definitions_that_are_not_in_order(definition: object, where: str) -> None:
    """Each property has the right type, patterns use RE2, and a default matches its parameter's constraints."""
    with pytest.raises(FaultyDocumentError) as raised:
        read("Name", definition)
    assert where in str(raised.value)


@pytest.mark.parametrize(
    ("definition", "given", "value"),
    [
        ({"type": "String"}, ["a"], "a"),
        ({"type": "StringList"}, ["a", "b"], ["a", "b"]),
        ({"type": "String", "default": ""}, None, ""),
    ],
)
def test_values_have_the_type_of_their_parameter(
    definition: dict[str, Any], given: list[str] | None, value: object
) -> None:
    """The API uses lists of strings. A parameter's value has its declared type, or is its default."""
    request = {} if given is None else {"Name": given}
    assert supplied({"Name": read("Name", definition)}, request) == {"Name": value}


@pytest.mark.parametrize(
    ("definition", "given", "reason"),
    [
        ({"type": "String"}, {}, "Missing required parameters: [Name]"),
        ({"type": "String", "default": "a"}, {"Nam": ["b"]}, "Unknown parameters: [Nam]"),
        ({"type": "String"}, {"Name": ["a", "b"]}, "one is expected"),
        ({"type": "String", "allowedValues": ["a", "b"]}, {"Name": ["c"]}, "value 'c' not found in [a, b]"),
        ({"type": "StringList", "allowedPattern": "^a$"}, {"Name": ["a", "b"]}, "'b' does not match"),
    ],
)
def test_values_that_are_not_allowed_are_refused(
    definition: dict[str, Any], given: dict[str, list[str]], reason: str
) -> None:
    """A value must be known, present, of the type of its parameter, and allowed."""
    with pytest.raises(InvalidParametersError) as raised:
        supplied({"Name": read("Name", definition)}, given)
    assert reason in str(raised.value)

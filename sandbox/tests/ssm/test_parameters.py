"""Parameters of runbooks and their values.

https://docs.aws.amazon.com/systems-manager/latest/userguide/documents-syntax-data-elements-parameters.html
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.client import BaseClient

from sandbox.refusals import refused
from sandbox.server import Sandbox
from sandbox.ssm import Automation, FaultyDocumentError
from sandbox.ssm.parameters import read, supplied

REFUSAL = "InvalidAutomationExecutionParametersException"
NAP = {"name": "nap", "action": "aws:sleep", "inputs": {"Duration": "PT1S"}}


@pytest.mark.parametrize(
    ("definition", "where"),
    [
        ("String", "not a map"),
        ({}, "type"),
        ({"type": "string"}, "'string'"),
        ({"type": "String", "allowedPatterns": "a"}, "allowedPatterns"),
        ({"type": "String", "description": 5}, "description"),
        ({"type": "String", "allowedPattern": "["}, "allowedPattern"),
        ({"type": "String", "allowedPattern": "^(?!a)"}, "RE2"),
        ({"type": "String", "allowedPattern": "(?<=a)b"}, "RE2"),
        ({"type": "String", "allowedPattern": r"(a)\1"}, "RE2"),
        ({"type": "String", "allowedValues": "a"}, "not a list"),
        ({"type": "String", "maxChars": 5}, "unknown property maxChars"),
        ({"type": "String", "default": 5}, "not a String"),
        ({"type": "String", "default": "", "allowedPattern": "^vpc-.+$"}, "does not match"),
        ({"type": "String", "default": "c", "allowedValues": ["a", "b"]}, "not found in [a, b]"),
        ({"type": "StringList", "default": "a"}, "not a StringList"),
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
        ({"type": "String"}, [""], ""),
        ({"type": "StringList"}, ["a", "b"], ["a", "b"]),
        ({"type": "Integer"}, ["7"], 7),
        ({"type": "Boolean"}, ["true"], True),
        ({"type": "StringMap"}, ['{"a": "b"}'], {"a": "b"}),
        ({"type": "MapList"}, ['{"a": "b"}', "{}"], [{"a": "b"}, {}]),
        ({"type": "String", "allowedPattern": "^(|a+)$"}, ["aa"], "aa"),
        ({"type": "String", "allowedValues": ["a"]}, ["a"], "a"),
        ({"type": "String", "default": "b"}, None, "b"),
        ({"type": "Boolean", "default": False}, None, False),
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
        ({"type": "String"}, {"Name": []}, "one is expected"),
        ({"type": "Integer"}, {"Name": ["a"]}, "not a Integer"),
        ({"type": "Integer"}, {"Name": ["1.5"]}, "not a Integer"),
        ({"type": "Boolean"}, {"Name": ["True"]}, "not a Boolean"),
        ({"type": "Boolean"}, {"Name": ['"true"']}, "not a Boolean"),
        ({"type": "StringMap"}, {"Name": ["[]"]}, "not a StringMap"),
        ({"type": "String", "allowedValues": ["a", "b"]}, {"Name": ["c"]}, "value 'c' not found in [a, b]"),
        ({"type": "String", "allowedPattern": "^a$"}, {"Name": ["ab"]}, "does not match ^a$"),
        ({"type": "String", "allowedPattern": "a"}, {"Name": ["ab"]}, "does not match a"),
        ({"type": "StringList", "allowedPattern": "^a$"}, {"Name": ["a", "b"]}, "'b' does not match"),
    ],
)
def test_execution_does_not_start_with_values_that_are_not_allowed(
    automation: Automation,
    store: Callable[..., str],
    runbook: Callable[..., dict[str, Any]],
    definition: dict[str, Any],
    given: dict[str, list[str]],
    reason: str,
) -> None:
    """If a value is unknown, missing, or not allowed, the execution does not start."""
    name = store(runbook(NAP, parameters={"Name": definition}))
    with pytest.raises(Exception, match=REFUSAL) as raised:
        automation.execute(name, given)
    assert reason in str(raised.value)


@pytest.mark.parametrize("given", [{"Name": ["x" * 513]}, {"x" * 51: ["a"]}, {"Name": ["a"] * 51}])
def test_requests_keep_to_the_limits_of_the_model(
    sandbox: Sandbox, store: Callable[..., str], runbook: Callable[..., dict[str, Any]], given: dict[str, list[str]]
) -> None:
    """A value has at most 512 characters, a name 50, and a parameter 50 values (botocore model)."""
    name = store(runbook(NAP, parameters={"Name": {"type": "StringList"}}))
    client: BaseClient = sandbox.client("ssm")
    assert refused(client.start_automation_execution, DocumentName=name, Parameters=given) == "ValidationException"


def test_defaults_are_shown_as_values_of_the_execution(run: Callable[..., dict[str, Any]]) -> None:
    """GetAutomationExecution returns the values of the execution, given or default."""
    parameters = {"Given": {"type": "String"}, "Default": {"type": "StringList", "default": ["a", "b"]}}
    execution = run(NAP, parameters=parameters, given={"Given": "c"})
    assert execution["Parameters"] == {"Given": ["c"], "Default": ["a", "b"]}
    assert json.loads(json.dumps(execution["Parameters"])) == execution["Parameters"]

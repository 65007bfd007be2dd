"""Values of runbooks: their conversions, their selectors, and how the API shows them.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html
"""

from datetime import UTC, datetime

import pytest

from sandbox.ssm.values import convert, parse_selector, plain, shown

NONE = "none"
RESPONSE = {
    "NextToken": "more",
    "Reservations": [
        {"Instances": [{"Ebs": {"DeleteOnTermination": True}, "State": {"Code": 16, "Name": "running"}}]},
        {"Instances": [{"Ebs": {}, "State": {"Code": 80, "Name": "stopped"}}]},
    ],
}


@pytest.mark.parametrize(
    ("value", "kind", "converted"),
    [
        ("a", "String", "a"),
        ("a", "StringList", ["a"]),
        ("7", "Integer", 7),
        ("True", "Boolean", True),
        (7, "String", "7"),
        (7, "StringList", ["7"]),
        (True, "String", "true"),
        (["7"], "Integer", 7),
        ({"a": 1}, "StringMap", {"a": 1}),
        ([{"a": 1}], "MapList", [{"a": 1}]),
        ("a", "Integer", NONE),
        ("yes", "Boolean", NONE),
        (7, "Boolean", NONE),
        (True, "Integer", NONE),
        (["a", "b"], "String", NONE),
        ({"a": 1}, "String", NONE),
        ([1, 2], "StringList", NONE),
        (1.5, "Integer", NONE),
    ],
)
def test_converts_what_automation_converts_and_nothing_else(value: object, kind: str, converted: object) -> None:
    """A value is converted to the declared type in the ways that AWS documents; every other conversion is an error."""
    if converted == NONE:
        with pytest.raises(ValueError, match=r"."):
            convert(value, kind)
    else:
        assert convert(value, kind) == converted


@pytest.mark.parametrize(
    ("expression", "selected"),
    [
        ("$", RESPONSE),
        ("$.NextToken", "more"),
        ("$.Reservations[0].Instances[0].State.Code", 16),
        ("$.Reservations[1].Instances[0].State", {"Code": 80, "Name": "stopped"}),
        ("$.Nothing", None),
        ("$.Reservations[2]", None),
        ("$.NextToken.Deeper", None),
        ("$.Reservations.Name", None),
    ],
)
def test_selectors_find_children_and_items(expression: str, selected: object) -> None:
    """A dot selects a child, and brackets select an item of a list. What is missing is None."""
    assert parse_selector(expression).select(RESPONSE) == selected


@pytest.mark.parametrize("expression", ["", "Vpcs", "$Vpcs", "$.", "$..Vpcs", "$.Vpcs[", "$.Vpcs[-1]", "$.Vpcs[*]"])
def test_selectors_have_no_other_operator(expression: str) -> None:
    """A selector with anything except children and indexes is an error, not an empty result."""
    with pytest.raises(ValueError, match="JSONPath"):
        parse_selector(expression)


def test_values_are_shown_as_lists_of_strings() -> None:
    """The API returns list items separately, maps as JSON, and times as ISO 8601 text at any depth."""
    assert [shown("a"), shown(["a", "b"]), shown([{"a": True}]), shown(7)] == [["a"], ["a", "b"], ['{"a":true}'], ["7"]]
    moment = datetime(2026, 2, 13, tzinfo=UTC)
    assert plain({"a": [moment], "b": 1}) == {"a": ["2026-02-13T00:00:00+00:00"], "b": 1}

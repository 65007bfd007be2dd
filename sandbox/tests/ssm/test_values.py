"""The types of values and their conversions.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-action-outputs-inputs.html
"""

from datetime import UTC, datetime

import pytest

from sandbox.ssm.values import convert, plain, shown, text


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
        (False, "StringList", ["false"]),
        (["a"], "String", "a"),
        (["7"], "Integer", 7),
        ([7], "Integer", 7),
        ([True], "Boolean", True),
        ({"a": 1}, "StringMap", {"a": 1}),
        ([{"a": 1}], "MapList", [{"a": 1}]),
    ],
)
def test_converts_what_automation_converts(value: object, kind: str, converted: object) -> None:
    """A value is converted to the declared type in the ways that AWS documents."""
    assert convert(value, kind) == converted


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("a", "Integer"),
        ("yes", "Boolean"),
        ("a", "StringMap"),
        (7, "Boolean"),
        (True, "Integer"),
        (["a", "b"], "String"),
        ([], "String"),
        ({"a": 1}, "String"),
        ({"a": 1}, "MapList"),
        ([1, 2], "StringList"),
        ([{"a": 1}], "StringMap"),
        (1.5, "Integer"),
    ],
)
def test_refuses_every_other_conversion(value: object, kind: str) -> None:
    """A value of another type is an error and is not converted by guessing."""
    with pytest.raises(ValueError, match=r"."):
        convert(value, kind)


def test_shows_values_as_lists_of_strings() -> None:
    """The API returns every value as a list of strings: list items separately, and maps as JSON."""
    assert shown("a") == ["a"]
    assert shown(["a", "b"]) == ["a", "b"]
    assert shown([{"a": True}]) == ['{"a":true}']
    assert shown(7) == ["7"]
    assert text({"a": [1]}) == '{"a":[1]}'


def test_times_of_a_response_become_text() -> None:
    """A selected time is ISO 8601 text at any depth."""
    moment = datetime(2026, 2, 13, tzinfo=UTC)
    assert plain({"a": [moment], "b": 1}) == {"a": ["2026-02-13T00:00:00+00:00"], "b": 1}

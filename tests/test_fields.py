"""What no event may be: anything but plain JSON that can be followed, printed, and sent to AWS."""

import json
from typing import Any

import pytest

from express_path.errors import RecordError
from express_path.fields import MAX_DEPTH, json_text, plain_json


def nested(depth: int, *, lists: bool = False) -> Any:
    """A value of that many objects, or lists, one in the other."""
    found: object = None
    for _ in range(depth):
        found = [found] if lists else {"key": found}
    return found


NO_OBJECTS = [None, True, 7, 10**5000, "text", "\ud800", [], [{}], {1, 2}, object(), b"{}"]
NO_JSON: list[dict[Any, Any]] = [
    {"a": "\ud800"},
    {"\udfff": 1},
    {"a": [{"b": ["\ud83d"]}]},
    {1: "a"},
    {"a": b""},
    {"a": {1}},
]


@pytest.mark.parametrize("value", NO_OBJECTS, ids=range(len(NO_OBJECTS)))
def test_what_is_no_object(value: object) -> None:
    """An event is an object. The error can be printed, whatever it is about."""
    with pytest.raises(RecordError, match="JSON object") as raised:
        plain_json(value, "event")
    str(raised.value).encode()


@pytest.mark.parametrize("value", NO_JSON, ids=range(len(NO_JSON)))
def test_what_json_cannot_hold(value: dict[Any, Any]) -> None:
    """Lone surrogates, names that are not strings, and values that JSON does not have are refused at any depth."""
    with pytest.raises(RecordError) as raised:
        plain_json(value, "event")
    str(raised.value).encode()


@pytest.mark.parametrize("depth", [MAX_DEPTH, 5_000, 50_000])
def test_deep_nesting(depth: int) -> None:
    """It is refused before anything follows it, and the error can be printed."""
    for value in ({"key": nested(depth, lists=True)}, nested(depth + 1)):
        with pytest.raises(RecordError, match="at most 100 levels") as raised:
            plain_json(value, "event")
        assert len(str(raised.value)) < 500


def test_plain_json_passes() -> None:
    """Any JSON value may be inside, and pairs of surrogates are one character."""
    value = {"a": [None, True, 1, 1.5, "\U0001f4a9"], "b": {"c": nested(MAX_DEPTH - 5)}}
    assert plain_json(value, "event") is value
    assert json_text({"text": json.dumps(value)}, "text", "event") == value


NO_TEXTS = [None, 7, {}, "", "{", "[]", "null", '"a"', "[" * 99_999, f'{{"a": {"9" * 5_000}}}', '{"a": "\\ud800"}']


@pytest.mark.parametrize("text", NO_TEXTS, ids=range(len(NO_TEXTS)))
def test_text_that_is_no_object(text: object) -> None:
    """Half a text, another value, and what Python does not read are refused by the field's name."""
    with pytest.raises(RecordError, match="event: field invokingEvent is"):
        json_text({"invokingEvent": text}, "invokingEvent", "event")

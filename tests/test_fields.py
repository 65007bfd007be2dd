"""What readers of fields accept and refuse, and what no event may be: anything but plain JSON."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from express_path import fields
from express_path.domain.network.addresses import Family
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


MISSING = {"absent": {}, "null": {"field": None}}
REQUIRED = {
    fields.identifier: ["subnet-1", [7, "", "\x1b[31m"]],
    fields.free_text: ["any text\n", [7, "", ["a"]]],
    partial(fields.member, words=Family): [Family.IPV6, ["IPv5", 6, ["IPv6"]]],
    partial(fields.word, allowed=("a", "b")): ["b", ["c", ["a"], 7]],
    fields.required_flag: [False, ["false", 0]],
    partial(fields.count, least=2): [2, [1, True, "2", 2.0]],
    fields.required_rows: [[{}], [{}, [1], "[]"]],
    fields.required_object: [{"a": 1}, [[], "{}"]],
}
OPTIONAL = {
    fields.optional_identifier: ["subnet-1", "", [7, "\x1b[31m"]],
    fields.optional_free_text: ["any text\n", "", [7, ["a"]]],
    fields.flag: [True, False, ["false", 0]],
    fields.number: [-1, None, [True, "2", 2.0]],
    fields.rows: [[{}], [], [{}, [1], "", 0]],
    fields.nested: [{"a": 1}, {}, [[], "{}", 0]],
    fields.ids: [["a"], (), ["a", [""], [1], {"a": 1}]],
}


def refuse(read: Callable[..., object], values: list[dict[str, Any]]) -> None:
    """Check that each of these objects is an error that names the place, the field, and the value."""
    for description in values:
        with pytest.raises(RecordError, match=r"^rtb-1: field field is .*: must be ") as raised:
            read(description, "field", "rtb-1")
        assert raised.value.found is description.get("field")


@pytest.mark.parametrize("read", REQUIRED)
def test_required_fields(read: Callable[..., object]) -> None:
    """A field that must be there is refused if it is missing, null, or of another type."""
    good, bad = REQUIRED[read]
    assert read({"field": good}, "field", "rtb-1") == good
    refuse(read, [*MISSING.values(), *({"field": value} for value in bad)])


@pytest.mark.parametrize("read", OPTIONAL)
def test_optional_fields(read: Callable[..., object]) -> None:
    """A field that may be missing or null has a default, but a wrong type never means the default."""
    good, default, bad = OPTIONAL[read]
    assert read({"field": good}, "field", "rtb-1") in (good, tuple(good) if isinstance(good, list) else good)
    assert [read(description, "field", "rtb-1") for description in MISSING.values()] == [default, default]
    refuse(read, [{"field": value} for value in bad])


@pytest.mark.parametrize("text", ["2026-02-13", "2026-02-13T05:48:51", "1969-12-31T23:59:59Z", 7, None])
def test_times_have_a_zone(text: object) -> None:
    """A time without a zone, or before 1970, is refused; any other is in UTC."""
    refuse(fields.time, [{"field": text}])
    assert (
        fields.time({"field": "2026-02-13T05:48:51+05:00"}, "field", "rtb-1").isoformat() == "2026-02-13T00:48:51+00:00"
    )

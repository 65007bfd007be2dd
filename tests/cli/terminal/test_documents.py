"""A document is read as a struct: the types say what is allowed, and a fault names its place in the document."""

from enum import StrEnum
from typing import Annotated, Any

import pytest
from msgspec import Struct

from express_path.errors import RecordError
from express_path_cli.terminal.documents import Amount, Count, Word, id_of, one_of, read_as


class Color(StrEnum):
    """An enumeration."""

    RED = "red"
    BLUE = "blue"


class Part(Struct, rename="camel"):
    """A part of a document."""

    vpc_id: Annotated[str, id_of("vpcId")]
    color: Color = Color.RED
    size: Annotated[str, one_of(["a.b", "c"])] | None = None


class Item(Struct):
    """An item of a list of a document."""

    name: Word
    parts: tuple[Part, ...] = ()
    counts: dict[Color, Count] = {}
    tags: dict[str, str] = {}


class Document(Struct):
    """A document."""

    items: tuple[Item, ...]
    part: Part | None = None
    texts: tuple[str, ...] = ()
    amount: Amount = 0


PART = {"vpcId": "vpc-1"}
ITEM = {"name": "one"}


def read(document: dict[str, Any]) -> Document:
    """Return a document, whose items have names."""
    return read_as(Document, document, "the document", lambda _, place, item: item.get("name") or f"item {place}")


def test_a_document_is_read() -> None:
    """Keys that are not known are ignored, and so is what they contain."""
    item = {**ITEM, "counts": {"blue": 1}, "parts": [{**PART, "size": "a.b"}]}
    found = read({"items": [item], "amount": 1, "addedLater": [{"a": float("nan")}]})
    assert found == Document((Item("one", (Part("vpc-1", size="a.b"),), {Color.BLUE: 1}),), amount=1.0)


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({}, "the document: field items is None: must be a list of objects"),
        ({"items": {}}, "the document: field items is {}: must be a list of objects"),
        ({"items": [ITEM, 1]}, "the document: field items[1] is 1: must be an object"),
        ({"items": [ITEM, {"name": ""}]}, "item 1: field name is '': must be a non-empty string without control"),
        ({"items": [], "part": 1}, "the document: field part is 1: must be an object"),
        ({"items": [], "part": {"vpcId": "vpc-1\n"}}, "part: field vpcId is 'vpc-1\\n': must be an id such as vpc-"),
        ({"items": [], "part": {**PART, "color": None}}, "part: field color is None: must be one of red, blue"),
        ({"items": [], "part": {**PART, "size": "axb"}}, "part: field size is 'axb': must be one of a.b, c"),
        ({"items": [], "texts": ["a", 1]}, "the document: field texts[1] is 1: must be a string"),
        ({"items": [], "amount": float("inf")}, "field amount is inf: must be a number, 0 or more"),
        ({"items": [], "amount": float("nan")}, "field amount is nan: must be a number, 0 or more"),
        ({"items": [], "amount": 10**400}, "field amount is 1000"),
        ({"items": [{**ITEM, "parts": [PART, {}]}]}, "one: parts[1]: field vpcId is None: must be an id"),
        ({"items": [{**ITEM, "counts": {"green": 1}}]}, "one: field counts is 'green': must be one of red, blue"),
        ({"items": [{**ITEM, "counts": {"red": 1.0}}]}, "one: counts: field red is 1.0: must be a whole number, 0"),
        ({"items": [{**ITEM, "tags": {"a": "b", "c": True}}]}, "one: tags: field c is True: must be a string"),
        ({"items": [{**ITEM, "tags": {"a" * 500: 1}}]}, f"one: tags: field {'a' * 60} is 1"),
        ({"items": [{**ITEM, "\ud800": 1}]}, "must be an object without lone surrogates in its keys"),
        (
            {"items": [], "part": {**PART, "color": "\ud800"}},
            "part: field color is '\\ud800': must be one of red, blue",
        ),
    ],
)
def test_a_fault_names_its_place(document: dict[str, Any], fault: str) -> None:
    """The message has the item or the object, the field, what was found, and what is allowed."""
    with pytest.raises(RecordError) as raised:
        read(document)
    assert fault in str(raised.value)

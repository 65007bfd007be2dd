"""Read a JSON document as a struct, whose types say what is allowed. What is wrong is a RecordError that names the place.

Keys that the struct does not have are ignored. Its fields are scalars, words of an enumeration, structs, tuples, and dicts; in a
union, null or "not set" comes last.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from enum import Enum
from re import escape
from sys import float_info
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

from express_path.adapters.memory import gc_paused
from express_path.domain.network.ids import FORMS
from express_path.errors import RecordError
from express_path.fields import Description


def id_of(field: str, *, or_empty: bool = False) -> Meta:
    """Return the rule that a string has the form of the ids in AWS's field of this name."""
    form, allowed = FORMS[field]
    return Meta(
        pattern=rf"\A(?:{form.pattern}){'?' if or_empty else ''}\Z",
        description=f"{allowed}, or empty" if or_empty else allowed,
    )


def one_of(words: Iterable[str]) -> Meta:
    """Return the rule that a string is one of these words."""
    allowed = list(words)
    return Meta(pattern=rf"\A(?:{'|'.join(map(escape, allowed))})\Z", description=f"one of {', '.join(allowed)}")


Text = Annotated[str, Meta(min_length=1, description="a non-empty string")]
"""A text with any content."""
_PLAIN = r"[^\x00-\x1f\x7f-\x9f]"
Word = Annotated[str, Meta(pattern=rf"\A{_PLAIN}+\Z", description="a non-empty string without control characters")]
"""A name or an address."""
OptionalWord = Annotated[str, Meta(pattern=rf"\A{_PLAIN}*\Z", description="a string without control characters")]
"""The same, or empty."""
Count = Annotated[int, Meta(ge=0, description="a whole number, 0 or more")]
Amount = Annotated[float, Meta(ge=0, le=float_info.max, description="a number, 0 or more")]
Time = Annotated[datetime, Meta(tz=True, description="a time in UTC such as 2026-03-01T09:30:00Z")]

NameOf = Callable[[str, int, Any], str]
"""Returns what messages call an item of one of the document's lists, from the list's field, its place, and the item."""
_ReadAs = TypeVar("_ReadAs", bound=Struct)
_FAULTS = (ValidationError, UnicodeEncodeError)
"""What msgspec raises. Half of a surrogate pair, which JSON allows and UTF-8 does not, is no ValidationError."""
_WORDS = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
_MOST_OF_A_KEY = 60
"""How many characters of a key are shown."""


@gc_paused()
def read_as(wanted: type[_ReadAs], document: Description, called: str, name_of: NameOf) -> _ReadAs:
    """Return a document as a struct. Raise RecordError for the first value that is missing or not allowed.

    called: what messages call the document.
    """
    try:
        return convert(document, wanted)
    except _FAULTS as error:
        path, value, allowed = _innermost(document, wanted, ())
        names: list[str] = []
        for step in path:
            if isinstance(step, int):
                names[-1] += f"[{step}]"
            else:
                names.append(step[:_MOST_OF_A_KEY])
        *places, field = names or [""]
        if places and isinstance(path[1], int):
            places[0] = name_of(str(path[0]), path[1], document[str(path[0])][path[1]])
        raise RecordError(": ".join(places) or called, field, value, allowed) from error


_Path = tuple[str | int, ...]


def _innermost(found: object, wanted: Any, path: _Path) -> tuple[_Path, object, str]:  # noqa: ANN401  # any type
    """Return the path of the innermost value that is not allowed, the value, and what is allowed.

    A message of msgspec does not have the keys of an object whose keys are free, so it does not say which value it means.
    """
    base = _base(wanted)
    for step, inner, inner_type in _parts(found, base):
        if not _is_allowed(inner, inner_type):
            return _innermost(inner, inner_type, (*path, *step))
    if isinstance(found, dict) and _is_struct(base):
        return path, found, "an object without lone surrogates in its keys"
    return path, found, _words(wanted)


def _parts(found: object, base: Any) -> Iterator[tuple[_Path, object, Any]]:  # noqa: ANN401  # any type
    """Yield the values directly inside a value, with the step to each and its type. A missing field is None."""
    inner = get_args(base)
    if isinstance(found, list) and get_origin(base) is tuple:
        yield from (((place,), value, inner[0]) for place, value in enumerate(found))
    if isinstance(found, dict) and get_origin(base) is dict:
        for key, value in found.items():
            yield (), key, inner[0]
            yield (key,), value, inner[1]
    if isinstance(found, dict) and _is_struct(base):
        for field in fields(base):
            if field.required or field.encode_name in found:
                yield (field.encode_name,), found.get(field.encode_name), field.type


def _is_struct(base: Any) -> bool:  # noqa: ANN401  # any type
    return get_origin(base) is None and issubclass(base, Struct)


def _is_allowed(found: object, wanted: Any) -> bool:  # noqa: ANN401  # any type
    try:
        convert(found, wanted)
    except _FAULTS:
        return False
    return True


def _base(wanted: Any) -> Any:  # noqa: ANN401  # any type
    """Return a type without null and without its rules."""
    if get_origin(wanted) in (Union, UnionType):
        return _base(get_args(wanted)[0])
    return get_args(wanted)[0] if get_origin(wanted) is Annotated else wanted


def _words(wanted: Any) -> str:  # noqa: ANN401  # any type
    """Return what a type allows, in words."""
    if get_origin(wanted) in (Union, UnionType):
        return _words(get_args(wanted)[0])
    if get_origin(wanted) is Annotated:
        return str(get_args(wanted)[1].description)
    if get_origin(wanted) is tuple:
        return f"a list of {'strings' if _base(get_args(wanted)[0]) is str else 'objects'}"
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return f"one of {', '.join(wanted)}"
    return _WORDS.get(wanted, "an object")

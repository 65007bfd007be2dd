"""Finds the members of answers and writes the XML of EC2 with what depends only on the model worked out once."""

from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from moto.core import responses
from moto.core.serialize import AttributePickerContext, EC2Serializer, ResponseSerializer, XFormedAttributePicker
from moto.core.utils import get_value

from sandbox.dynamic import Moto
from sandbox.patches import Patches

_ABSENT = object()
_START = '<?xml version="1.0" encoding="utf-8"?>\n'


def apply(patches: Patches) -> None:
    """Look attributes up by names that are worked out once, and write EC2's answers as text.

    The XML of EC2's answers needs no check of names, because they come from the service model.
    """
    patches.set(responses, "XFormedAttributePicker", _AttributePicker)
    patches.set(ResponseSerializer, "get_value", _get_value)
    patches.set(EC2Serializer, "_serialize_body", lambda _serializer, body: _xml(body))
    patches.set(EC2Serializer, "_serialize_result", _serialize_result)


class _AttributePicker(XFormedAttributePicker):
    """Finds the value of a member of an answer under the same names as moto's, which it works out only once."""

    _names: dict[tuple[Moto, ...], tuple[str, ...]] = {}  # noqa: RUF012  # shared by all answers

    def __init__(self, response_transformers: dict[str, Moto] | None) -> None:
        """Note the ends of paths to members that have a transformer, and the names of these members."""
        super().__init__(response_transformers=response_transformers)
        self.paths = tuple(self.response_transformers)
        self.transformed = tuple(path.rpartition(".")[2] for path in self.paths)

    def names(self, serializer: Moto, value: Moto, key: str, shape: Moto) -> tuple[str, ...]:
        """Return the names to look for, in order. They depend on the model and on the class of the object."""
        place = (key, shape, getattr(shape, "parent", None), type(value))
        if place not in self._names:
            context = _context(serializer, value, key, shape)
            self._names[place] = tuple(dict.fromkeys(self.get_possible_keys(context)))
        return self._names[place]


def _context(serializer: Moto, value: Moto, key: str, shape: Moto, path: str = "") -> AttributePickerContext:
    return AttributePickerContext(value, key, shape, serializer.operation_model, serializer.service_model, path)


def _get_value(serializer: ResponseSerializer, value: Moto, key: str, shape: Moto) -> Moto:
    """Return the value of a member of an answer, as moto's method of the same name."""
    picker = serializer._value_picker
    if isinstance(picker, _AttributePicker) and not key.endswith(picker.transformed):
        return _of_mapping(value, picker.names(serializer, value, key, shape))
    return picker(_context(serializer, value, key, shape, ".".join(serializer.path)))


def _serialize_result(serializer: EC2Serializer, response: Moto, result: Moto) -> Moto:
    """Put the XML of a result into a response, as moto's method of the same name."""
    operation: Moto = serializer.operation_model
    writer = _Writer(serializer, [])
    if operation.output_shape is not None and result is not None:
        writer.write_members(result, operation.output_shape, f"{operation.name}.{operation.output_shape.name}")
    writer.write_text("requestId", serializer.context.request_id)
    element, namespace = f"{operation.name}Response", operation.metadata.get("xmlNamespace")
    attribute = f" xmlns={quoteattr(namespace)}" if namespace else ""
    response["body"] = f"{_START}<{element}{attribute}>{''.join(writer.parts)}</{element}>"
    response["headers"]["Content-Type"] = serializer.CONTENT_TYPE
    return response


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of a structure: its key in the model, its element in XML, and the names that objects may have for it."""

    key: str
    shape: Moto
    element: str
    names: tuple[str, ...]


_members_of: dict[tuple[Moto, type], list[_Member]] = {}
"""The members of structures, by the shape and by the class of the object that has their values."""


@dataclass(frozen=True, slots=True)
class _Writer:
    """Appends elements to `parts`. A path has the names of the operation and of all members, separated by dots."""

    serializer: Moto
    parts: list[str]

    def write_members(self, value: Moto, shape: Moto, path: str) -> None:
        """Write the members of a structure that have a value."""
        kind = type(value)
        members = _members_of.get((shape, kind))
        if members is None:
            members = _members_of[shape, kind] = [self._member(value, shape, key) for key in shape.members]
        read = _of_dict if kind is dict else _of_mapping if hasattr(kind, "__getitem__") else _of_object
        picker = self.serializer._value_picker
        for member in members:
            if member.key.endswith(picker.transformed) and f"{path}.{member.key}".endswith(picker.paths):
                found = picker(_context(self.serializer, value, member.key, member.shape, path))
            else:
                found = read(value, member.names)
            if found is not None:
                self.write(found, member.shape, member.element, f"{path}.{member.key}")

    def _member(self, value: Moto, structure: Moto, key: str) -> _Member:
        shape = structure.members[key]
        shape.parent = structure
        names = self.serializer._value_picker.names(self.serializer, value, key, shape)
        return _Member(key, shape, shape.serialization.get("name", key), names)

    def write(self, value: Moto, shape: Moto, element: str, path: str) -> None:
        """Write a value; nothing for a structure that is None."""
        match shape.type_name:
            case "string":
                self.write_text(element, str(value))
            case "structure":
                self._write_structure(value, shape, element, path)
            case "list" if not shape.is_flattened:
                self._write_list(value, shape, element, path)
            case "boolean":
                self.write_text(element, "true" if value is True or str(value).lower() == "true" else "false")
            case "integer" | "long":
                self.write_text(element, str(int(value)))
            case _:
                self._write_as_moto_does(value, shape, element, path)

    def write_text(self, element: str, text: str) -> None:
        """Write an element that contains only text."""
        self.parts.append(f"<{element}>{escape(text)}</{element}>" if text else f"<{element}/>")

    def _write_structure(self, value: Moto, shape: Moto, element: str, path: str) -> None:
        if value is None:
            return
        start = len(self.parts)
        self.parts.append(f"<{element}>")
        self.write_members(value, shape, path)
        if len(self.parts) > start + 1:
            self.parts.append(f"</{element}>")
        else:
            self.parts[start] = f"<{element}/>"

    def _write_list(self, values: Moto, shape: Moto, element: str, path: str) -> None:
        """Write a list without its structures that have no member, as moto."""
        item_element = shape.member.serialization.get("name", "member")
        items = _Writer(self.serializer, [])
        for value in values:
            item = _Writer(self.serializer, [])
            item.write(value, shape.member, item_element, f"{path}.{shape.member.name}")
            if shape.member.type_name != "structure" or len(item.parts) > 1:
                items.parts.extend(item.parts)
        content = [f"<{element}>", *items.parts, f"</{element}>"] if items.parts else [f"<{element}/>"]
        self.parts.extend(content)

    def _write_as_moto_does(self, value: Moto, shape: Moto, element: str, path: str) -> None:
        """Write a value of a rare type, such as a timestamp."""
        *self.serializer.path, key = path.split(".")
        serialized: dict[str, Moto] = {}
        self.serializer._serialize(serialized, value, shape, key)
        for content in serialized.values():
            _write_element(element, content, self.parts)


def _of_dict(value: dict[str, Moto], names: tuple[str, ...]) -> Moto:
    for name in names:
        if name in value:
            return value[name]
    return None


def _of_mapping(value: Moto, names: tuple[str, ...]) -> Moto:
    for name in names:
        found = get_value(value, name, _ABSENT)
        if found is not _ABSENT:
            return found
    return None


def _of_object(value: Moto, names: tuple[str, ...]) -> Moto:
    for name in names:
        found = getattr(value, name, _ABSENT)
        if found is not _ABSENT:
            return found
    return None


def _xml(body: dict[str, Any]) -> str:
    """Return an XML document, as `xmltodict.unparse` does."""
    parts = [_START]
    for name, value in body.items():
        _write_element(name, value, parts)
    return "".join(parts)


def _write_element(name: str, value: Moto, parts: list[str]) -> None:
    """Append an element with its attributes (`@name`) and members, or one for each value of a list."""
    if isinstance(value, (list, tuple)):
        for member in value:
            _write_element(name, member, parts)
        return
    if not isinstance(value, dict):
        text = escape(_text(value))
        parts.append(f"<{name}>{text}</{name}>" if text else f"<{name}/>")
        return
    start = len(parts)
    attributes = ""
    for key, member in value.items():
        if key.startswith("@"):
            attributes += f" {key[1:]}={quoteattr(_text(member))}"
        else:
            _write_element(key, member, parts)
    empty = len(parts) == start
    parts.insert(start, f"<{name}{attributes}/>" if empty else f"<{name}{attributes}>")
    if not empty:
        parts.append(f"</{name}>")


def _text(value: Moto) -> str:
    """Return a scalar as it is written in XML; nothing for None."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)

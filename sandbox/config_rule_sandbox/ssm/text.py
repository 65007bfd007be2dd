"""Reads the text of a runbook, YAML or JSON, so strictly that nothing is lost or reinterpreted."""

import json
from collections.abc import Hashable
from typing import Any

import yaml

from config_rule_sandbox.ssm.faults import FaultyDocumentError

MAXIMUM_BYTES = 64 * 1024
"""Size of a document: https://docs.aws.amazon.com/general/latest/gr/ssm.html."""

Pairs = list[tuple[Any, Any]]


class _DuplicateKeyError(ValueError):
    """The same key twice in one object: one of the two values would be lost."""


class _Loader(yaml.CSafeLoader):
    """YAML without duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002  # PyYAML's signature
        """Return a mapping; ValueError if it has a key twice."""
        _without_duplicates([(self.construct_object(key, deep=True), None) for key, _ in node.value])
        return super().construct_mapping(node, deep=deep)


def load(content: str, document_format: str) -> dict[str, Any]:
    """Return the document in a text. FaultyDocumentError if it is too long, malformed, or holds more than JSON can."""
    if len(content.encode()) > MAXIMUM_BYTES:
        raise FaultyDocumentError("document", f"it is longer than {MAXIMUM_BYTES} bytes")
    try:
        if document_format == "YAML":
            document = yaml.load(content, Loader=_Loader)  # a SafeLoader, in C
        else:
            document = json.loads(content, object_pairs_hook=_without_duplicates)
    except (yaml.YAMLError, ValueError) as error:
        raise FaultyDocumentError("document", str(error)) from error
    if not isinstance(document, dict):
        raise FaultyDocumentError("document", "it is not an object")
    _only_json(document, "document")
    return document


def _without_duplicates(pairs: Pairs) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _DuplicateKeyError(f"the key {key!r} is there twice")
        found[key] = value
    return found


def _only_json(value: Any, where: str) -> None:  # noqa: ANN401  # whatever the parser made
    """Raise FaultyDocumentError for a date, a number with a fraction, a null, or a key that is not a string."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise FaultyDocumentError(where, f"the key {key!r} is not a string")
            _only_json(item, f"{where}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _only_json(item, f"{where}[{index}]")
    elif not isinstance(value, str | int):
        raise FaultyDocumentError(where, f"{value!r} is not a string, an integer, a Boolean, a list or a map")

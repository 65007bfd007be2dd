"""A strict reader of network files: it rejects repeated keys and expands ranges of names."""

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from yaml import CSafeLoader, MappingNode, load

_RANGE = re.compile(r"\{(\d+)\.\.(\d+)(?:\.\.(\d+))?\}")
"""As a shell writes a range: {001..249}, or {1..249..3} for every third number."""


def read(path: Path) -> dict[str, Any]:
    """Read a network file. Raises ValueError if a key is repeated or the ranges of an entry differ in length."""
    document: dict[str, Any] = _expanded(load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader))
    return document


class _UniqueKeyLoader(CSafeLoader):
    """YAML's safe loader, except that repeated keys are an error instead of being dropped silently."""

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # as inherited
        keys = [key.value for key, _ in node.value]
        if len(set(keys)) < len(keys):
            raise ValueError(f"{node.start_mark}: a key is repeated among {', '.join(map(str, keys))}")
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return mapping


def _expanded(value: Any) -> Any:
    if isinstance(value, dict):
        pairs = [pair for key, member in value.items() for pair in _entries(key, member)]
        if len(dict(pairs)) < len(pairs):
            raise ValueError(f"a range repeats a key of {', '.join(map(str, value))}")
        return dict(pairs)
    if isinstance(value, list):
        return [member for item in value for member in _items(item)]
    return value


def _entries(key: Any, value: Any) -> list[tuple[Any, Any]]:
    """Return one entry, or one for each number of a range in the key; ranges in the value advance with the key."""
    if not isinstance(key, str) or not _RANGE.search(key):
        return [(key, _expanded(value))]
    keys = spread(key)
    return [(name, _expanded(_nth(value, index, len(keys)))) for index, name in enumerate(keys)]


def _items(item: Any) -> list[Any]:
    return list(spread(item)) if isinstance(item, str) else [_expanded(item)]


def _nth(value: Any, index: int, count: int) -> Any:
    if isinstance(value, dict):
        return {key: _nth(member, index, count) for key, member in value.items()}
    if not isinstance(value, str) or not _RANGE.search(value):
        return value
    texts = spread(value)
    if len(texts) != count:
        raise ValueError(f"{value} has {len(texts)} numbers, and its key {count}")
    return texts[index]


def spread(text: str) -> list[str]:
    """Return the texts that a text with ranges expands to; the first range changes slowest."""
    found = _RANGE.search(text)
    if not found:
        return [text]
    first, last, step = found.groups()
    numbers = range(int(first), int(last) + 1, int(step or 1))
    before, after = text[: found.start()], spread(text[found.end() :])
    return [f"{before}{number:0{len(first)}}{rest}" for number in numbers for rest in after]

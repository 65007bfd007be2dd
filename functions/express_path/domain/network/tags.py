"""Match tags with a parameter that names a key, or key=value."""

from dataclasses import dataclass
from functools import cache

from express_path.domain.network.resources import Tags


def has_tag(tags: Tags, wanted: str) -> bool:
    """Return whether tags contain the wanted key, or key=value; a key alone matches any value, and case matters.

    Keys and values may themselves contain "=", so every way to split the text counts.
    """
    if not tags:
        return False
    if wanted in tags:
        return True
    possible = _possible_tags(wanted)
    return bool(possible) and any(tags.get(tag.key) == tag.value for tag in possible)


@dataclass(frozen=True, slots=True)
class _Tag:
    key: str
    value: str


@cache
def _possible_tags(text: str) -> tuple[_Tag, ...]:
    """Return every way to read a text as key=value."""
    positions = (position for position, character in enumerate(text) if character == "=")
    return tuple(_Tag(text[:position], text[position + 1 :]) for position in positions)

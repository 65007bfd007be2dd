"""Refuse JSON with a repeated key in one object, because JSON does not define which value counts.

https://www.rfc-editor.org/rfc/rfc8259#section-4
"""


class RepeatedKeyError(Exception):
    """A JSON object has the same key twice."""

    def __init__(self, key: str) -> None:
        """Keep the first repeated key."""
        self.key = key
        super().__init__(key)


def without_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return one JSON object, as an object_pairs_hook of json.loads. Raise RepeatedKeyError."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return found

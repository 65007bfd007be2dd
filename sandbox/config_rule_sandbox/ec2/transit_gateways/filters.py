"""Filters of the operations that describe transit gateways, their attachments and their route tables."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from config_rule_sandbox.dynamic import Moto

Row = Mapping[str, Any]


def matching(self: Moto, rows: Sequence[Row]) -> list[Row]:
    """Return the rows that fit every filter of a request; one of a filter's values is enough, and may have wildcards.

    Which filters an operation has is checked where they are read (`filters`).
    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Filter.html
    """
    found = list(rows)
    for name, patterns in self._filters_from_querystring().items():
        found = [row for row in found if _fits(row, name, patterns)]
    return found


def _fits(row: Row, name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(value, pattern) for value in _values(row, name) for pattern in patterns)


def _values(row: Row, name: str) -> list[str]:
    """Return what a filter compares: the keys or values of tags, or the field that the filter is named after."""
    if name == "tag-key":
        return [tag["Key"] for tag in row["Tags"]]
    if name == "tag-value":
        return [tag["Value"] for tag in row["Tags"]]
    if name.startswith("tag:"):
        return [tag["Value"] for tag in row["Tags"] if tag["Key"] == name.removeprefix("tag:")]
    return [_field(row, name)]


def _field(row: Row, name: str) -> str:
    """Return a field as text: options.dns-support is DnsSupport in Options. A missing one is an empty text."""
    value: Any = row
    for part in name.split("."):
        value = (value or {}).get("".join(word.capitalize() for word in part.split("-")), "")
    return str(value).lower() if isinstance(value, bool) else str(value)

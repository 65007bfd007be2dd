"""`{{ ... }}` in a runbook: what it may refer to, and what replaces it.

https://docs.aws.amazon.com/systems-manager/latest/userguide/automation-variables.html
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from config_rule_sandbox.ssm.values import text

REFERENCE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")

EXECUTION_ID = "automation:EXECUTION_ID"
"""The one system variable that is supported here, a string."""

Lookup = Callable[[str], Any]


def references(value: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON value
    """Yield what every `{{ ... }}` in a value refers to. ValueError for braces that are no reference."""
    if isinstance(value, str):
        if "{{" in REFERENCE.sub("", value):
            raise ValueError(f"{value!r} has braces that are no reference")
        yield from (match[1] for match in REFERENCE.finditer(value))
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from references(item)


def only_reference(value: Any) -> str | None:  # noqa: ANN401  # any JSON value
    """Return what a string refers to that is nothing but one `{{ ... }}`, None for anything else."""
    match = REFERENCE.fullmatch(value.strip()) if isinstance(value, str) else None
    return match[1] if match else None


def resolve(value: Any, lookup: Lookup) -> Any:  # noqa: ANN401  # any JSON value in, any out
    """Return a value with every reference replaced by what `lookup` returns for it.

    A string that is one reference becomes the value itself, of its own type; within a longer string its text is put
    in. The replacement is not expanded again, as in AWS.
    """
    if isinstance(value, dict):
        return {key: resolve(item, lookup) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve(item, lookup) for item in value]
    if not isinstance(value, str):
        return value
    whole = only_reference(value)
    if whole is not None:
        return lookup(whole)
    return REFERENCE.sub(lambda match: text(lookup(match[1])), value)

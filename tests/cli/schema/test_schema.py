"""express-path schema prints the files that the tests of JSON and of events validate with."""

import json

import pytest

from tests.support.command import invoke


@pytest.mark.parametrize(
    ("words", "required"),
    [
        ([], "subnets"),
        (["scan"], "subnets"),
        (["events"], "detail-type"),
    ],
)
def test_each_schema_is_printed(words: list[str], required: str) -> None:
    """The scan's schema is the default; each one is a JSON document that requires its own fields."""
    result = invoke(["schema", *words])
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert required in document["required"]


def test_an_unknown_schema_is_refused() -> None:
    """The error names the schemas that exist."""
    result = invoke(["schema", "heals"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'scan', 'events'" in result.stderr

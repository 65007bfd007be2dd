"""Run express-path doctor and read its checks."""

import json
from typing import Any

from typer.testing import Result

from tests.support.command import invoke


def examine(*options: str) -> tuple[dict[str, dict[str, Any]], int]:
    """Return every check by name, and the exit status."""
    result = invoke(["doctor", "--format", "json", *options])
    assert result.stderr == ""
    return {check["name"]: check for check in json.loads(result.stdout)["checks"]}, result.exit_code


def bad(checks: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Return the state of each check that is not OK."""
    return {name: check["state"] for name, check in checks.items() if check["state"] != "OK"}


def text(result: Result) -> str:
    """Return the output with line breaks replaced by spaces."""
    return " ".join(result.stdout.split())

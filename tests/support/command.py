"""The command, run in this process."""

import re
from pathlib import Path

from typer.testing import CliRunner, Result

from express_path_cli.main import app


def arguments(dump: Path, parameters: dict[str, str]) -> list[str]:
    """The command line of one scan."""
    given = [f"--parameter={name}={value}" for name, value in parameters.items()]
    return ["scan", "--from-dump", str(dump), "--format", "json", *given]


def scan(dump: Path, parameters: dict[str, str] | None = None) -> Result:
    """Run the command on a dump, in process."""
    return invoke(arguments(dump, parameters or {}))


def invoke(command_line: list[str]) -> Result:
    """Run the command, in process."""
    return CliRunner().invoke(app, command_line)


def without_time(result: Result) -> str:
    """Return a scan's JSON output without the time when it was made, to compare it with that of another scan."""
    return re.sub(r'^  "madeAt": ".*",\n', "", result.stdout, flags=re.MULTILINE)

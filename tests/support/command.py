"""The command, run in this process."""

import re
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess

import typer.testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from express_path_cli.main import app

# A runner makes the command for each call from the signatures of all functions, which takes longer than most calls.
typer.testing._get_command = cache(get_command)  # type: ignore[attr-defined]  # noqa: SLF001  # the only place to patch


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


def without_source(result: Result | CompletedProcess[str]) -> str:
    """Return a scan's JSON output without when and from what it was made, to compare it with that of another scan."""
    return re.sub(r'^"(madeAt|source|notes)": .*,\n', "", result.stdout, flags=re.MULTILINE)

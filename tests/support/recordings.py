"""The recordings: dump folders of named scenarios, each with its expectation beside it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner, Result

from express_path_cli.main import app

FOLDER = Path(__file__).parents[1] / "recordings"
EXPECTED = "expected.json"


class Run(NamedTuple):
    """One run of the command on a recording: rule parameters, exit status and one row per subnet.

    Subnets are keyed by their id, in a recording of several accounts by account/id.
    """

    parameters: dict[str, str]
    exit_status: int
    subnets: dict[str, dict[str, Any]]


def names() -> list[str]:
    """The name of every recording, whether or not it has an expectation."""
    return sorted(each.name for each in FOLDER.iterdir() if each.is_dir())


def expectation(recording: Path) -> dict[str, Any]:
    """What a recording's expected.json holds. Raises FileNotFoundError where there is none."""
    found: dict[str, Any] = json.loads((recording / EXPECTED).read_text(encoding="utf-8"))
    return found


def runs(recording: Path) -> Iterator[Run]:
    """Every run that a recording expects."""
    for run in expectation(recording)["runs"]:
        yield Run(run["parameters"], run["exitStatus"], run["subnets"])


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

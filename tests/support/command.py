"""The command, run in this process."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess

import pytest
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


NO_CREDENTIALS = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}
"""The environment of a machine without AWS credentials, apart from what other variables say."""


@contextmanager
def without_credentials() -> Iterator[None]:
    """Let the command find no AWS credentials."""
    with pytest.MonkeyPatch.context() as patches:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patches.delenv(name)
        for name, value in NO_CREDENTIALS.items():
            patches.setenv(name, value)
        yield


def without_source(result: Result | CompletedProcess[str]) -> str:
    """Return a scan's JSON output without when and from what it was made, to compare it with that of another scan."""
    return re.sub(r'^"(madeAt|source|notes)": .*,\n', "", result.stdout, flags=re.MULTILINE)

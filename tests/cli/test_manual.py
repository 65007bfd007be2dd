"""The manual matches --help, shells complete words, and errors are one line unless --debug is set.

`python -m tests.cli.test_manual` writes docs/reference/command.md again.
"""

import os
import subprocess
import textwrap
from collections.abc import Iterator
from enum import Enum
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import typer.main

from express_path_cli.main import SUBCOMMANDS, app
from express_path_cli.terminal.errors import DEBUG
from tests.support import processes
from tests.support.command import invoke

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "command.md"
_HEAD = """# The command

This page is generated from the help of the command by `python -m tests.cli.test_manual`, and a test compares the two.
[Start](../start.md) says how to install the command. `bench` also needs `pipx inject express-path ./instrument`.

Every command writes results to standard output (also with `--output -`) and everything else to standard error. Each
error is one line with a hint. `--debug`, before or after the command's name, or `EXPRESS_PATH_DEBUG=1` also shows the
trace of an error. In addition to the exit statuses below, a command exits with 130 after Ctrl-C, and with 141 if its
output pipe is closed (`| head`).
[How it decides](how-it-decides.md) explains every rule parameter, compliance and reason.
"""


def manual() -> str:
    """Return the whole manual."""
    group: Any = typer.main.get_command(app)
    sections = [_HEAD, *("\n".join(_section(name, group)) for name in SUBCOMMANDS.all())]
    return "\n".join(sections)


def _section(name: str, group: Any) -> Iterator[str]:  # Typer contains click without type hints
    command = SUBCOMMANDS.load(name)
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    own = [option for option in command.params if option.param_type_name == "option" and not option.hidden]
    options = [*own, *(option for option in group.params if option.name == "debug")]
    usage = " ".join(
        [
            "express-path",
            name,
            *(argument.metavar if argument.required else f"[{argument.metavar}]" for argument in arguments),
            "[OPTIONS]",
        ]
    )
    yield from (f"## {name}", "", f"    {usage}", "", _filled(SUBCOMMANDS.help_of(name)), "")
    yield from (f"- `{argument.metavar}`: {argument.help}" for argument in arguments)
    yield from [""] if arguments else []
    yield from ("| option | meaning |", "|---|---|")
    for _, panel in groupby(options, key=lambda option: getattr(option, "rich_help_panel", None)):
        yield from map(_option, panel)
    yield from ("", "```sh", *SUBCOMMANDS.module_of(name).EXAMPLES.strip().splitlines(), "```", "")


def _filled(text: str) -> str:
    return "\n\n".join(textwrap.fill(paragraph, 120) for paragraph in text.split("\n\n"))


def _option(option: Any) -> str:  # Typer contains click without type hints
    names = ", ".join(f"`{name}`" for name in option.opts)
    shown = f"{names} {_value(option)}".strip()
    has_default = option.default not in (None, False, "")
    default = f" Default: {getattr(option.default, 'value', option.default)}." if has_default else ""
    return "| {} | {}{} |".format(*(text.replace("|", "\\|") for text in (shown, str(option.help or ""), default)))


def _value(option: Any) -> str:  # Typer contains click without type hints
    """Return how an option's value is shown: its metavar, its choices, or nothing for a flag."""
    annotation = option.type_descriptor.annotation
    if option.metavar or option.is_flag:
        return str(option.metavar or "")
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "|".join(str(choice.value) for choice in annotation)
    return "NUMBER" if annotation is int else "TEXT"


def test_the_document_is_the_manual() -> None:
    """The page has what --help says."""
    assert DOCUMENT.read_text(encoding="utf-8") == manual()


@pytest.mark.parametrize("name", SUBCOMMANDS.all())
def test_help_has_the_summary_and_an_example(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The summary, which lists show without importing the command, is the first paragraph of its docstring."""
    monkeypatch.setenv("COLUMNS", "200")
    example = SUBCOMMANDS.module_of(name).EXAMPLES.strip().splitlines()[0].partition("  #")[0]
    assert SUBCOMMANDS.help_of(name).split("\n\n")[0] == SUBCOMMANDS.all()[name].summary
    assert example in " ".join(invoke([*name.split(), "--help"]).stdout.split())


def completed(*words: str, **variables: str) -> set[str]:
    """Return what bash offers to complete the last of these words."""
    environment = {
        "PATH": os.environ["PATH"],
        "_EXPRESS_PATH_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
        **variables,
    }
    command = processes.command(environment)
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)
    return set(result.stdout.split())


def test_shells_complete_commands_options_and_words() -> None:
    """Shells complete commands, options, formats, and the words for verdicts."""
    assert {"scan", "explain", "bench"} <= completed("express-path", "")
    assert {"get", "put", "open", "compare"} <= completed("express-path", "bench", "")
    assert "--from-dump" in completed("express-path", "scan", "--fr")
    assert completed("express-path", "scan", "--format", "sa") == {"sarif"}
    assert completed("express-path", "org", "") == {"check", "status", "shadow"}
    assert completed("express-path", "org", "check", "--artifact-b") == {"--artifact-bucket-prefix"}
    assert completed("express-path", "scan", "--show", "NAT_I") == {"NAT_INSTANCE"}
    assert completed("express-path", "scan", "--fail-on", "ne") == {"never", "new"}
    assert completed("express-path", "scan", "--fail-on", "nat_i") == {"nat_instance"}
    assert completed("express-path", "scan", "--parameter", "pub") == {"publicSubnets="}


@pytest.mark.parametrize("name", ["", *SUBCOMMANDS.groups, *SUBCOMMANDS.all()])
def test_help_shows_no_type_for_flags(name: str) -> None:
    """A flag takes no value."""
    assert "bool" not in invoke([*name.split(), "--help"]).stdout


@pytest.mark.usefixtures("sandbox")
def test_an_unexpected_error_is_never_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug ends with status 2, because 1 means NON_COMPLIANT, and the message says how to report it."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "nonsense")  # botocore refuses it by a ValueError, which no call expects
    result = invoke(["scan"])
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    assert "unexpected ValueError" in line
    assert "--debug" in line


@pytest.mark.parametrize("line", [("--debug", "scan"), ("scan", "--debug")], ids=" ".join)
def test_debug_shows_the_trace(line: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """With --debug before or after the command's name, the trace precedes the error line."""
    monkeypatch.delenv(DEBUG, raising=False)
    assert "Traceback" not in invoke(["scan", "--from-dump", "/nowhere"]).stderr
    monkeypatch.setenv(DEBUG, "")  # so that what --debug sets is taken back after this test
    result = invoke([*line, "--from-dump", "/nowhere"])
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("express-path: /nowhere")


@pytest.mark.usefixtures("sandbox")
def test_debug_shows_the_trace_of_a_failed_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Region that fails does not end the scan, but --debug shows its trace."""
    monkeypatch.setenv(DEBUG, "1")
    result = invoke(["scan", "--region", "us-east-1", "--region", "no-where-1"])
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("express-path: account 123456789012 no-where-1")


def test_version_is_printed() -> None:
    """--version prints the command's name and version and does nothing else."""
    result = invoke(["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("express-path ")


if __name__ == "__main__":
    DOCUMENT.write_text(manual(), encoding="utf-8")

"""Generate the command's manual from its help: python -m tests.docs.manual > docs/command.md."""

import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from itertools import groupby
from typing import Any

import typer.main

from express_path_cli.main import SUBCOMMANDS, app

_HEAD = """# The command

This page is generated from `express-path --help` by `python -m tests.docs.manual`, and a test compares the two.

To install the command, run `pipx install .` in a clone of this repository, and `pipx inject express-path ./instrument` to also use
`bench`. `express-path --install-completion` adds
completion of commands and options to your shell.

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


if __name__ == "__main__":
    sys.stdout.write(manual())

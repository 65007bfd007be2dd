"""The command's manual in Markdown, from what --help shows: python -m express_path_cli.manual > docs/command.md."""

import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from itertools import groupby
from typing import Any

import typer.main

from express_path_cli.main import COMMANDS, app, help_of

_HEAD = """# The command

Made from the same source as `express-path --help`, by `python -m express_path_cli.manual`; a test holds the two equal.

Install it with `pipx install .` in a clone of this repository. `express-path --install-completion` teaches your shell
to complete its commands and options.

Every command writes results to standard output, which `--output -` means too, and everything else to standard error,
errors in one line each with a hint. `--debug`, before or after the command's name (or `EXPRESS_PATH_DEBUG=1`), also
shows the trace of an error. Beside the exit statuses below, Ctrl-C ends a command with 130, and a pipe that is closed
(`| head`) with 141.
[How it decides](how-it-decides.md) explains every rule parameter, compliance and reason.
"""


def manual() -> str:
    """The whole manual."""
    group: Any = typer.main.get_command(app)
    sections = [_HEAD, *("\n".join(_section(group.commands[name], group)) for name in COMMANDS)]
    return "\n".join(sections)


def _section(command: Any, group: Any) -> Iterator[str]:  # noqa: ANN401  # typer has click inside, without types of its own
    module = COMMANDS[command.name]
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    own = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    options = [*own, *(each for each in group.params if each.name == "debug")]
    usage = " ".join(
        [
            "express-path",
            command.name,
            *(each.metavar if each.required else f"[{each.metavar}]" for each in arguments),
            "[OPTIONS]",
        ]
    )
    yield from (f"## {command.name}", "", f"    {usage}", "", _filled(help_of(getattr(module, command.name))), "")
    yield from (f"- `{each.metavar}`: {each.help}" for each in arguments)
    yield from [""] if arguments else []
    yield from ("| option | meaning |", "|---|---|")
    for _, panel in groupby(options, key=lambda each: getattr(each, "rich_help_panel", None)):
        yield from map(_option, panel)
    yield from ("", "```sh", *module.EXAMPLES.strip().splitlines(), "```", "")


def _filled(text: str) -> str:
    return "\n\n".join(textwrap.fill(each, 120) for each in text.split("\n\n"))


def _option(option: Any) -> str:  # noqa: ANN401  # as above
    names = ", ".join(f"`{each}`" for each in option.opts)
    shown = f"{names} {_value(option)}".strip()
    kept = option.default not in (None, False, "")
    default = f" Default: {getattr(option.default, 'value', option.default)}." if kept else ""
    return "| {} | {}{} |".format(*(text.replace("|", "\\|") for text in (shown, str(option.help or ""), default)))


def _value(option: Any) -> str:  # noqa: ANN401  # as above
    """What stands for an option's value: its metavar, its choices, or nothing for a flag."""
    annotation = option.type_descriptor.annotation
    if option.metavar or option.is_flag:
        return str(option.metavar or "")
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "|".join(str(each.value) for each in annotation)
    return "NUMBER" if annotation is int else "TEXT"


if __name__ == "__main__":
    sys.stdout.write(manual())

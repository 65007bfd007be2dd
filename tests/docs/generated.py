"""The pages of the site that are made when it is built: python -m tests.docs.generated writes them to build/reference/.

One shows the help of every command, and the other the list in what_we_rely_on.yaml.
"""

import re
import textwrap
from collections.abc import Callable, Iterator
from enum import Enum
from itertools import groupby
from pathlib import Path
from typing import Any

import typer.main
import yaml

from express_path_cli.main import SUBCOMMANDS, app

ROOT = Path(__file__).parents[2]
LIST = ROOT / "tests" / "docs" / "what_we_rely_on.yaml"
GROUPS: dict[str, list[dict[str, Any]]] = yaml.load(LIST.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
_COMMAND = """# The command

`--help` after the name of a command shows the same in a terminal. [Start](../../docs/start.md) says how to install the command,
and what holds for all commands.
"""
_RELY_ON = """# What we rely on

These are the behaviors of AWS that the work or the safety of express-path rests on, for those who review it. The evidence is
a page of AWS, a test that others run at AWS (`_test.go`), or an issue. Where it is a probe, nobody has published the behavior:
try it in an account of your own first. *Played* names a switch with which the tests
[give each answer](../../docs/what-aws-leaves-open.md) that AWS may give. A test fails if a template or runbook uses a policy action, condition key, event, call,
or step property that [the list](../../tests/docs/what_we_rely_on.yaml) behind this page does not have.
"""


def manual() -> str:
    """Return the page of the command: the help of each subcommand, with its examples."""
    group: Any = typer.main.get_command(app)
    sections = [_COMMAND, *("\n".join(_section(name, group)) for name in SUBCOMMANDS.all())]
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
    yield from ("", "```sh", *_examples(name), "```", "")


def _examples(name: str) -> Iterator[str]:
    """Yield the examples of a subcommand, each below its purpose: an interactive zsh knows no comment after a command."""
    for line in SUBCOMMANDS.module_of(name).EXAMPLES.strip().splitlines():
        command, _, purpose = line.partition("  # ")
        yield from (f"# {purpose[:1].upper()}{purpose[1:]}", command)


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


def what_we_rely_on() -> str:
    """Return the page of what we rely on at AWS."""
    sections = ("\n".join([f"## {name}", "", *_table(lines), ""]) for name, lines in GROUPS.items())
    return "\n".join([_RELY_ON, *sections])


def _table(lines: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("| What AWS does | Where we use it | Evidence |", "|---|---|---|")
    for line in lines:
        places = [f"[{_name(place)}](../../{place})" for place in line["where"]]
        evidence = [f"[{_name(url)}]({url})" for url in line.get("source", [])]
        if "probe" in line:
            evidence = [f"only the acceptance run shows it: `{line['probe']}`"]
        evidence += [f"[played](../../docs/what-aws-leaves-open.md): `{switch}`" for switch in switches_of(line)]
        yield f"| {line['what']} | {', '.join(places)} | {', '.join(evidence)} |"


def switches_of(line: dict[str, Any]) -> list[str]:
    """Return the switches of a line: their names in config_rule_sandbox/answers.py."""
    found = line.get("switch", [])
    return [found] if isinstance(found, str) else found


def _name(address: str) -> str:
    """Return the last part of an address, and for an issue its repository and number."""
    *parts, last = re.split("[/#]", address)
    return f"{parts[-2]}#{last}" if last.isdecimal() else last.removesuffix(".html")


PAGES: dict[Path, Callable[[], str]] = {
    ROOT / "build" / "reference" / "command.md": manual,
    ROOT / "build" / "reference" / "what-we-rely-on.md": what_we_rely_on,
}
"""How each page is made."""

if __name__ == "__main__":
    for path, made in PAGES.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made(), encoding="utf-8")

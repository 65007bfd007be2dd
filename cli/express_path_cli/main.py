"""The express-path command."""

import inspect
import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from types import ModuleType
from typing import Annotated

import typer

from express_path_cli.commands import collect, cost, diagnose, doctor, explain, heal, heals, report, scan, undo
from express_path_cli.problems import DEBUG
from express_path_cli.root_command import RootCommand, Subcommand

app = typer.Typer(
    cls=RootCommand,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(given: bool) -> None:
    if given:
        typer.echo(f"express-path {version('express-path')}")
        raise typer.Exit


def _show_traces(given: bool) -> None:
    if given:
        os.environ[DEBUG] = "1"


@app.callback()
def main(
    debug: Annotated[  # handled by its callback, before and after a subcommand's name
        bool,
        typer.Option(
            "--debug", callback=_show_traces, is_eager=True, expose_value=False, help="Show the trace of an error."
        ),
    ] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Find subnets that reach S3 Express One Zone through a NAT, and fix them."""


def help_of(function: Callable[..., None]) -> str:
    """Return a command's help: its docstring, with each paragraph in one line."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _examples(module: ModuleType) -> str:
    """Return a module's EXAMPLES (command, #, purpose) as --help shows them."""
    examples = (line.partition("#") for line in module.EXAMPLES.strip().splitlines())
    lines = [f"[cyan]{command.strip()}[/cyan]  [dim]# {comment.strip()}[/dim]" for command, _, comment in examples]
    return "\n\n".join(["[bold]Examples[/bold]", *lines])


COMMANDS: Mapping[str, ModuleType] = {
    "scan": scan,
    "explain": explain,
    "report": report,
    "cost": cost,
    "diagnose": diagnose,
    "heal": heal,
    "undo": undo,
    "heals": heals,
    "doctor": doctor,
    "collect": collect,
}
"""Every subcommand in the order of --help, with the module that contains its function."""

for _name, _module in COMMANDS.items():
    _function: Callable[..., None] = getattr(_module, _name)
    app.command(_name, cls=Subcommand, help=help_of(_function), epilog=_examples(_module))(_function)

"""The express-path command."""

import inspect
import os
from collections.abc import Callable
from importlib.metadata import version
from types import ModuleType
from typing import Annotated

import typer

from express_path_cli.commands import collect, explain, heal, scan
from express_path_cli.groups import with_groups
from express_path_cli.problems import DEBUG, Reporting

app = typer.Typer(
    cls=Reporting,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"express-path {version('express-path')}")
        raise typer.Exit


@app.callback()
def main(
    debug: Annotated[bool, typer.Option("--debug", help="Show the trace of an error.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """Tell by which path each subnet reaches S3 Express One Zone, and whether it crosses a NAT."""
    if debug:
        os.environ[DEBUG] = "1"


def _add(function: Callable[..., None], module: ModuleType) -> None:
    """Add a command: its help is its docstring, with paragraphs in one line each, and its module's EXAMPLES."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    examples = (line.partition("#") for line in module.EXAMPLES.strip().splitlines())
    epilog = [f"[cyan]{command.strip()}[/cyan]  [dim]{comment.strip()}[/dim]" for command, _, comment in examples]
    app.command(
        help="\n\n".join(" ".join(each.split()) for each in paragraphs),
        epilog="\n\n".join(["[bold]Examples[/bold]", *epilog]),
    )(with_groups(function))


_add(scan.scan, scan)
_add(explain.explain, explain)
_add(heal.heal, heal)
_add(heal.undo, heal)
_add(collect.collect, collect)

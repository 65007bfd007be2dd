"""The express-path command."""

import os
from importlib.metadata import version
from typing import Annotated

import typer

from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import DEBUG
from express_path_cli.terminal.root_command import RootCommand

app = typer.Typer(
    cls=RootCommand,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(given: bool) -> None:
    if given:
        echo(f"express-path {version('express-path')}")
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

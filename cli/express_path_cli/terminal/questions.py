"""Ask a person before something is changed."""

import sys
from typing import Annotated

import typer

from express_path_cli.terminal.errors import DECLINED, OptionError, say

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def confirm(*, yes: bool, question: str) -> None:
    """Ask, unless yes. Exit with DECLINED if the answer is no. Raise OptionError if there is no terminal to ask at."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise OptionError("cannot ask for confirmation: standard input is not a terminal", "add --yes if you are sure")
    if not typer.confirm(question):
        say("nothing was changed")
        raise typer.Exit(DECLINED)

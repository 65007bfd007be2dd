"""express-path doctor: why nothing happens."""

from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from express_path_cli import options
from express_path_cli.connections import DOCTOR_CONFIG, connect
from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.doctor.checkup import examine
from express_path_cli.formats.checkup_json import as_checkup_json
from express_path_cli.formats.checkup_text import print_checkup
from express_path_cli.progress import watching
from express_path_cli.running import DEFAULT_STACK

EXAMPLES = """
express-path doctor  # this account, in the Region of your AWS settings
express-path doctor --region eu-west-1 --stack network-express-path  # another Region, another stack
express-path doctor --format json  # for other tools
"""


class Form(StrEnum):
    """How a check-up is written."""

    TEXT = "text"
    JSON = "json"


def doctor(
    *,
    stack: Annotated[str, typer.Option(metavar="NAME", help="The stack that deployed the rule.")] = DEFAULT_STACK,
    region: options.Region = None,
    profile: options.Profile = None,
    form: Annotated[
        Form, typer.Option("--format", "-f", help="How it is written.", rich_help_panel=options.HOW)
    ] = Form.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Say whether AWS Config records, the rule runs, you may read, and healing can work; with the fix of each fault.

    Only reads; what is denied is named, and all else still asked. Exit status: 0 all is OK or WARN, 1 something FAILs,
    2 something that is needed could not be determined.
    """
    again = options.as_written({"--region": region, "--profile": profile})
    context = CheckContext(connect(region, profile, DOCTOR_CONFIG), stack, again)
    with watching(quiet=quiet) as watch:
        found = examine(context, watch)
    if form is Form.JSON:
        typer.echo(as_checkup_json(found), nl=False)
    else:
        print_checkup(Console(highlight=False), found)
    raise typer.Exit(found.exit_status)

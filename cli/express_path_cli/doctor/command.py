"""express-path doctor: check whether AWS Config, the rule, your permissions and healing work."""

from typing import Annotated

import typer

from express_path_cli.automation.stack import DEFAULT_STACK
from express_path_cli.aws import options
from express_path_cli.aws.options import TextFormat
from express_path_cli.aws.sessions import DOCTOR_CONFIG, connect
from express_path_cli.doctor.check_context import CheckContext
from express_path_cli.doctor.checkup import examine
from express_path_cli.doctor.rendering import as_checkup_json, print_checkup
from express_path_cli.terminal.console import Terminal, echo
from express_path_cli.terminal.progress import watching

EXAMPLES = """
express-path doctor  # this account, in the Region of your AWS settings
express-path doctor --region eu-west-1 --stack network-express-path  # another Region, another stack
express-path doctor --format json  # for other tools
"""


StackName = Annotated[str, typer.Option(metavar="NAME", help="The stack that deployed the rule.")]


def doctor(
    *,
    stack: StackName = DEFAULT_STACK,
    region: options.Region = None,
    profile: options.Profile = None,
    form: options.TextOrJson = TextFormat.TEXT,
    quiet: options.Quiet = False,
) -> None:
    """Check whether AWS Config records, the rule runs, you have the permissions, and healing works, and show fixes.

    It only reads. Reads that are denied are named, and all other checks still run. Exit status: 0 all checks are OK or
    WARN, 1 a check is FAIL, 2 a required check could not be determined.
    """
    aws_options = options.as_command_line({"--region": region, "--profile": profile})
    context = CheckContext(connect(region, profile, DOCTOR_CONFIG), stack, aws_options)
    with watching(quiet=quiet) as watch:
        checkup = examine(context, watch)
    if form is TextFormat.JSON:
        echo(as_checkup_json(checkup), nl=False)
    else:
        print_checkup(Terminal(), checkup)
    raise typer.Exit(checkup.exit_status)

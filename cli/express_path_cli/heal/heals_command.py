"""express-path heals: what past heals changed, from the ledger of a deployed stack."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from express_path_cli.automation.ledger import PastHeal, past_heals, read_history
from express_path_cli.automation.stack import DEFAULT_STACK
from express_path_cli.aws import options
from express_path_cli.heal.heals_json import as_heals_json
from express_path_cli.heal.heals_table import as_heals_table
from express_path_cli.heal.runbook_commands import StackName, deployment_of
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import OptionError, locating_errors
from express_path_cli.terminal.files import STDOUT, write_file

_WHAT = "What to list"
EXAMPLES = """
express-path heals  # every heal of this account and Region, and how to undo it
express-path heals --vpc vpc-0a1b2c3d4e5f60718 --format json  # those of one VPC, for other tools
express-path heals --run 4105a4fc-f944-11e6-9d32-0a1b2c3d4958  # one of them
"""


class Form(StrEnum):
    """The output formats for heals."""

    TABLE = "table"
    JSON = "json"


VpcIds = Annotated[
    list[str] | None,
    typer.Option("--vpc", metavar="VPC", help="Only heals of this VPC; repeatable.", rich_help_panel=_WHAT),
]
RunIds = Annotated[
    list[str] | None,
    typer.Option("--run", metavar="RUN-ID", help="Only the heal of this run; repeatable.", rich_help_panel=_WHAT),
]
OutputFormat = Annotated[Form, typer.Option("--format", "-f", help="The output format.", rich_help_panel=options.HOW)]


def heals(
    *,
    vpc: VpcIds = None,
    run: RunIds = None,
    stack: StackName = DEFAULT_STACK,
    region: options.Region = None,
    profile: options.Profile = None,
    form: OutputFormat = Form.TABLE,
    output: options.Output = None,
) -> None:
    """List what past heals changed, when, by which run, their state, and the command that undoes each.

    Reads the ledger of the stack, and changes nothing. Exit status: 0 listed, 2 a run is not in the ledger, or the
    ledger could not be read.
    """
    deployment = deployment_of(stack, region, profile)
    aws = deployment.account_region.aws
    with locating_errors(deployment.account_region):
        history = read_history(aws.dynamodb, deployment.stack.ledger_table)
    found = past_heals(history, vpc or (), run or ())
    _check_all_found(found, run or ())
    if form is Form.JSON:
        _write(as_heals_json(found, aws.region, deployment.options), output)
    else:
        _write((f"{line}\n" for line in as_heals_table(found, aws.region, deployment.options)), output)


def _check_all_found(found: Iterable[PastHeal], run_ids: Iterable[str]) -> None:
    missing = sorted(set(run_ids) - {heal.run.run_id for heal in found})
    if missing:
        raise OptionError(
            f"the ledger has no heal with the run ID {missing[0]} that changed something",
            "list all heals without --run and --vpc, or name the --region and --profile of the stack",
        )


def _write(pieces: Iterable[str], output: Path | None) -> None:
    if output and output != STDOUT:
        write_file(output, pieces)
    else:
        echo("".join(pieces), nl=False)

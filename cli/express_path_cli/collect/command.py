"""express-path collect: write a dump of the network, to scan it elsewhere or to send it with a bug report."""

from pathlib import Path
from typing import Annotated

import typer

from express_path_cli.aws import options
from express_path_cli.aws.sessions import connect
from express_path_cli.collect.writer import write_dump
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import locating_errors

EXAMPLES = """
express-path collect dump --region eu-west-1  # a folder of JSON files
express-path scan --from-dump dump  # anywhere, without AWS
"""


def collect(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    region: options.Region = None,
    profile: options.Profile = None,
) -> None:
    """Write a dump of the network. It only reads from AWS.

    Exit status: 0 done, 2 a required read failed. Optional reads that are denied are skipped and named.
    """
    aws = connect(region, profile)
    with locating_errors(aws.region):
        for written in write_dump(aws, folder):
            if written.rows is None:
                echo(f"{written.path}: skipped, because the read was denied", err=True)
            else:
                echo(f"{written.path}: {written.rows}")
    echo(f"next: express-path scan{options.as_command_line({'--from-dump': str(folder)})}")

"""express-path collect: a dump of the network, to scan elsewhere or to send with a bug report."""

from pathlib import Path
from typing import Annotated

import typer

from express_path_cli import options
from express_path_cli.connections import connect
from express_path_cli.dump.writer import write_dump
from express_path_cli.problems import naming

EXAMPLES = """
express-path collect dump --region eu-west-1  # a folder of JSON files
express-path scan --from-dump dump  # anywhere, without AWS
"""


def collect(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that is new or empty.")],
    region: options.Region = None,
    profile: options.Profile = None,
) -> None:
    """Write a dump of the network with live credentials, reading only.

    Exit status: 0 done, 2 a required read failed. What may not be read and is optional is left out and named.
    """
    aws = connect(region, profile)
    with naming(aws.region):
        for written in write_dump(aws, folder):
            if written.rows is None:
                typer.echo(f"{written.path}: left out, the read was denied", err=True)
            else:
                typer.echo(f"{written.path}: {written.rows}")
    typer.echo(f"next: express-path scan{options.as_written({'--from-dump': str(folder)})}")

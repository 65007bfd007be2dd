"""The express-path command."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from express_path.adapters.aws import Aws
from express_path.adapters.dump_writer import write_dump
from express_path.domain.parameters import RuleParameters, parse_parameters
from express_path.domain.reasons import Compliance
from express_path.errors import ExpressPathError, ParameterError
from express_path_cli.formats import as_json
from express_path_cli.scan import scan_dump
from express_path_cli.table import as_table

COULD_NOT_TELL = 2
"""Exit status where the command could not tell: bad input, denied, throttled."""

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


class Format(StrEnum):
    """How verdicts are printed."""

    TABLE = "table"
    JSON = "json"


@app.callback()
def main() -> None:
    """Tell by which path each subnet reaches S3 Express One Zone, and whether it crosses a NAT."""


@app.command()
def scan(
    from_dump: Annotated[Path, typer.Option(metavar="DIR", help="A folder that holds a dump.")],
    output_format: Annotated[Format, typer.Option("--format", help="How verdicts are printed.")] = Format.TABLE,
    parameter: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A rule parameter, such as publicSubnets=NON_COMPLIANT; repeatable."),
    ] = None,
) -> None:
    """Say for each subnet by which path it reaches S3 Express.

    Exit status: 0 nothing is NON_COMPLIANT, 1 something is, 2 could not tell.
    """
    try:
        verdicts = scan_dump(from_dump, _parameters(parameter or []))
    except ExpressPathError as error:
        typer.echo(f"express-path: {error}", err=True)
        raise typer.Exit(COULD_NOT_TELL) from error
    if output_format is Format.JSON:
        typer.echo(as_json(verdicts))
    else:
        Console().print(as_table(verdicts))
    raise typer.Exit(any(each.compliance is Compliance.NON_COMPLIANT for each in verdicts))


@app.command()
def collect(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that is new or empty.")],
    region: Annotated[str | None, typer.Option(help="The Region to read; else that of your AWS settings.")] = None,
    profile: Annotated[str | None, typer.Option(help="The profile of your AWS settings to read with.")] = None,
) -> None:
    """Write a dump of the network with live credentials, reading only.

    Exit status: 0 done, 2 a required read failed. What may not be read and is optional is left out and named.
    """
    try:
        for written in write_dump(Aws.connect(region, profile), folder):
            if written.rows is None:
                typer.echo(f"{written.path}: left out, the read was denied", err=True)
            else:
                typer.echo(f"{written.path}: {written.rows}")
    except ExpressPathError as error:
        typer.echo(f"express-path: {error}", err=True)
        raise typer.Exit(COULD_NOT_TELL) from error
    typer.echo(f"next: express-path scan --from-dump {folder}")


def _parameters(pairs: list[str]) -> RuleParameters:
    values: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator:
            raise ParameterError(pair, "", "name=value, such as publicSubnets=NON_COMPLIANT")
        if name in values:
            raise ParameterError(name, value, "given once")
        values[name] = value
    return parse_parameters(values)

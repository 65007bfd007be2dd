"""The express-path command: the list of its subcommands, and the options before them."""

import atexit
import gc
import os
from typing import Annotated

import typer

from express_path_cli.terminal.command_line import CommandGroup, Listed, RootCommand, Subcommands, markup
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import DEBUG

COMMANDS = {
    "scan": Listed(
        "express_path_cli.scan.command",
        "Find subnets that reach S3 Express through a NAT.",
    ),
    "explain": Listed(
        "express_path_cli.explain.command",
        "Show a subnet's path hop by hop, and what a heal would change.",
    ),
    "cost": Listed(
        "express_path_cli.traffic.cost_command",
        "Show an upper bound of what S3 Express costs at NAT gateways.",
    ),
    "diagnose": Listed(
        "express_path_cli.traffic.diagnose_command",
        "Show whether a NAT gateway on a flagged path is at its limit.",
    ),
    "heal": Listed(
        "express_path_cli.heal.heal_command",
        "Heal subnets or route tables: show the plan, ask, and heal.",
    ),
    "undo": Listed(
        "express_path_cli.undo.undo_command",
        "Undo heals. Nothing else in the network is changed.",
    ),
    "heals": Listed(
        "express_path_cli.undo.heals_command",
        "List past heals, and the command that undoes each of them.",
    ),
    "stop": Listed(
        "express_path_cli.stop.stop_command",
        "Stop all heals, including those that are already running.",
    ),
    "start": Listed(
        "express_path_cli.stop.start_command",
        "Allow heals again, and start the heals that wait.",
    ),
    "doctor": Listed(
        "express_path_cli.doctor.command",
        "Check the recorder, the rule, your permissions, and healing.",
    ),
    "policies": Listed(
        "express_path_cli.policies.command",
        "Show which policy statements would deny requests after a heal.",
    ),
    "org check": Listed(
        "express_path_cli.org.check_command",
        "Before a roll-out, show what would fail in each account.",
    ),
    "org status": Listed(
        "express_path_cli.org.status_command",
        "After a roll-out, show the verdicts and what needs attention.",
    ),
    "org shadow": Listed(
        "express_path_cli.org.shadow_command",
        "Before a release, show the subnets whose verdicts change.",
    ),
    "comment": Listed(
        "express_path_cli.comment.command",
        "Write a comment on a pull request, or update an earlier one.",
    ),
    "collect": Listed(
        "express_path_cli.collect.command",
        "Save the network as a dump: a folder of JSON files. It changes nothing in AWS.",
    ),
    "schema": Listed(
        "express_path_cli.schema.command",
        "Print the JSON Schema of a scan, or of the rule's events.",
    ),
}
"""Every subcommand of this distribution, in the order of --help."""

GROUPS = {
    "org": CommandGroup("Check an organization before and after a roll-out."),
    "bench": CommandGroup(
        "Measure the path to a bucket, before and after a heal.",
        "run: pipx inject express-path ./instrument, in a clone of the repository",
    ),
}
"""The first words that several subcommands share. The instrument brings `bench` (instrument/README.md)."""

SUBCOMMANDS = Subcommands(COMMANDS, GROUPS)

# A process that ends would look for garbage in everything that it has imported, while its user waits.
atexit.register(gc.freeze)


class ExpressPath(RootCommand):
    """The root of the command."""

    subcommands = SUBCOMMANDS


app = typer.Typer(
    cls=ExpressPath,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=markup(),
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(given: bool) -> None:
    if given:
        from importlib.metadata import version  # noqa: PLC0415  # only --version needs it

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

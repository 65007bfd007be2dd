"""The subcommands. A command line imports only the one that it names, because importing all of them takes a second."""

import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from express_path_cli.terminal.errors import OptionError

COMMANDS = {
    "scan": "Find the route tables that send S3 Express traffic through a NAT.",
    "explain": "Show one subnet's path hop by hop, why each route won or lost, and what a heal would change.",
    "report": (
        "Write one HTML file with totals, what to fix, a drawing of each VPC with its paths, and a table to search."
    ),
    "cost": "Show the most that S3 Express can cost at the NAT gateways on flagged paths.",
    "diagnose": "Show whether a NAT gateway on a flagged path throttles S3 Express traffic, with a chart.",
    "heal": "Heal subnets or route tables with the deployed runbook. Without --apply, this is a dry run.",
    "undo": "Undo heals, and nothing else.",
    "heals": "List what past heals changed, when, by which run, their state, and the command that undoes each.",
    "doctor": (
        "Check whether AWS Config records, the rule runs, you have the permissions, and healing works, and show fixes."
    ),
    "org check": "Before a roll-out to an organization, show what would fail in each account and Region.",
    "org status": "After a roll-out to an organization, show the verdicts, what to fix, and which sweeps are overdue.",
    "collect": "Write a dump of the network. It only reads from AWS.",
    "bench get": "Measure reads from a bucket: throughput and latency by the number of connections.",
    "bench put": "Measure writes to a bucket: throughput and latency by the number of connections.",
    "bench open": (
        "Measure latency and throttling at constant request rates, as when users do not wait for each other."
    ),
    "bench sync": (
        "Time uploads, a sync, and downloads of many objects, in a general purpose and in a directory bucket."
    ),
    "bench compare": "Compare measurements: what limits each, and how throughput and latency differ, with charts.",
}
"""Every subcommand in the order of --help: its name, which is that of its function with an underscore for a space, and the
first paragraph of the function's docstring, so that --help and shells list the subcommands without importing them."""

MODULES = {
    "scan": "express_path_cli.scan.command",
    "explain": "express_path_cli.explain.command",
    "report": "express_path_cli.report.command",
    "cost": "express_path_cli.traffic.cost_command",
    "diagnose": "express_path_cli.traffic.diagnose_command",
    "heal": "express_path_cli.heal.heal_command",
    "undo": "express_path_cli.heal.undo_command",
    "heals": "express_path_cli.heal.heals_command",
    "doctor": "express_path_cli.doctor.command",
    "org check": "express_path_cli.org.check_command",
    "org status": "express_path_cli.org.status_command",
    "collect": "express_path_cli.collect.command",
    "bench get": "express_path_instrument.bench.get_command",
    "bench put": "express_path_instrument.bench.put_command",
    "bench open": "express_path_instrument.bench.open_command",
    "bench sync": "express_path_instrument.bench.sync_command",
    "bench compare": "express_path_instrument.bench.compare_command",
}
"""The module of each subcommand."""

GROUPS = {
    "org": "Check an organization before a roll-out, and show the results after it.",
    "bench": "Measure throughput, latency, and throttling on the path to a bucket, before and after a heal.",
}
"""The first words that several subcommands share."""


@cache
def load(name: str) -> Any:  # noqa: ANN401  # Typer contains click without type hints
    """Import a subcommand by its name, and return it. Return a group of subcommands by their first word."""
    if name in GROUPS:
        group = typer.Typer(
            name=name, cls=SubcommandGroup, help=GROUPS[name], no_args_is_help=True, rich_markup_mode="rich"
        )
        return typer.main.get_group(group)
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(name.rpartition(" ")[2], cls=Subcommand, help=help_of(name), epilog=_epilog(name))(_function(name))
    return typer.main.get_command(app)


def module_of(name: str) -> ModuleType:
    """Return the module of a subcommand."""
    return import_module(MODULES[name])


def help_of(name: str) -> str:
    """Return a subcommand's help: its docstring, with each paragraph in one line."""
    paragraphs = inspect.cleandoc(_function(name).__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _function(name: str) -> Callable[..., None]:
    function: Callable[..., None] = getattr(module_of(name), name.replace(" ", "_"))
    return function


def _epilog(name: str) -> str:
    """Return the EXAMPLES (command, #, purpose) of a subcommand's module as --help shows them."""
    examples = (line.partition("#") for line in module_of(name).EXAMPLES.strip().splitlines())
    lines = [f"[cyan]{command.strip()}[/cyan]  [dim]# {comment.strip()}[/dim]" for command, _, comment in examples]
    return "\n\n".join(["[bold]Examples[/bold]", *lines])


class SubcommandGroup(TyperGroup):
    """A group of subcommands, which are listed by their summaries. `resolve_command` imports the one that is called."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401  # declared by Typer
        """List the subcommands of the group. The root lists those without a group, and the groups."""
        self.prefix = f"{given['name']} " if given.get("name") in GROUPS else ""
        names = (name.removeprefix(self.prefix) for name in COMMANDS if name.startswith(self.prefix))
        words = dict.fromkeys(name.partition(" ")[0] for name in names)
        summaries = COMMANDS | GROUPS
        commands = {word: TyperCommand(word, help=summaries[self.prefix + word]) for word in words}
        super().__init__(**given | {"commands": commands})

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401  # declared by Typer
        """Return the options; the help shows no type for a flag."""
        return without_flag_types(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  # declared by Typer
        """Return the name of the subcommand on the command line, the imported subcommand, and the rest of the line."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load(f"{self.prefix}{name}"), rest


class Subcommand(TyperCommand):
    """A subcommand. It also accepts the root's --debug, and rejects empty values."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401  # declared by Typer
        """Return its options and --debug, which people append to a line that failed."""
        shared = ctx.find_root().command.params if ctx.parent else []
        return without_flag_types([*super().get_params(ctx), *(debug for debug in shared if debug.name == "debug")])

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  # declared by Typer
        """Run it. Raise OptionError for an empty value, usually a shell variable that is not set."""
        for parameter in self.params:
            given = ctx.params.get(parameter.name)
            if given != parameter.default and "" in (given if isinstance(given, list | tuple) else [given]):
                is_option = parameter.param_type_name == "option"
                accepts = f"it accepts {parameter.metavar}; " if is_option else ""
                hint = f"{accepts}leave it out, or set the shell variable that should contain it"
                raise OptionError(f"{parameter.opts[0] if is_option else parameter.metavar} is empty", hint)
        return super().invoke(ctx)


def without_flag_types(parameters: list[Any]) -> list[Any]:
    """Return parameters whose flags have an empty metavar; Typer would show <bool>."""
    for parameter in (parameter for parameter in parameters if getattr(parameter, "is_flag", False)):
        parameter.metavar = ""
    return parameters

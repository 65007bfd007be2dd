"""A command line: how it is parsed, run, and ended with an exit status, and its subcommands.

It imports only the subcommand that it names, because importing all of them takes a second.
"""

import inspect
import io
import os
import re
import select
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from express_path.errors import ExpressPathError
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import (
    DECLINED,
    UNDETERMINED,
    OptionError,
    did_you_mean,
    one_line,
    print_trace,
    redirect_to_nowhere,
    say,
)

ENTRY_POINTS = "express_path.commands"
"""The entry points of distributions that bring a group: its name, and a mapping as in Subcommands."""


class Listed(NamedTuple):
    """A subcommand: its module, and the first paragraph of the docstring of its function.

    The function has the subcommand's name, with an underscore for a space. With the paragraph, --help and shells list the
    subcommand without importing it.
    """

    module: str
    summary: str


class CommandGroup(NamedTuple):
    """A first word that several subcommands share. how_to_install: of the distribution that brings them, if it is another."""

    summary: str
    how_to_install: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Subcommands:
    """The subcommands by name and the groups by their words, in the order of --help."""

    own: Mapping[str, Listed]
    groups: Mapping[str, CommandGroup]

    def in_group(self, group: str) -> Mapping[str, Listed]:
        """Return the subcommands of a group by name. Raise OptionError if the distribution that brings them is missing."""
        if not self.groups[group].how_to_install:
            return {name: listed for name, listed in self.own.items() if name.startswith(f"{group} ")}
        from importlib.metadata import entry_points  # noqa: PLC0415  # only `bench` needs it

        for entry_point in entry_points(group=ENTRY_POINTS, name=group):
            brought: Mapping[str, Listed] = entry_point.load()
            return brought
        raise OptionError(f"{group} is not installed", self.groups[group].how_to_install)

    def all(self) -> Mapping[str, Listed]:
        """Return every subcommand by name. Raise OptionError if the distribution that brings some of them is missing."""
        return {**self.own, **{name: listed for group in self.groups for name, listed in self.in_group(group).items()}}

    def load(self, name: str) -> Any:  # noqa: ANN401  # Typer contains click without type hints
        """Import a subcommand by its name, and return it. Return a group of subcommands by their first word."""
        return _group(self, name) if name in self.groups else _command(self, name)

    def module_of(self, name: str) -> ModuleType:
        """Return the module of a subcommand."""
        group = name.partition(" ")[0]
        return import_module((self.in_group(group) if group in self.groups else self.own)[name].module)

    def help_of(self, name: str) -> str:
        """Return a subcommand's help: its docstring, with each paragraph in one line."""
        paragraphs = inspect.cleandoc(self.function_of(name).__doc__ or "").split("\n\n")
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)

    def function_of(self, name: str) -> Callable[..., None]:
        """Return the function that runs a subcommand."""
        function: Callable[..., None] = getattr(self.module_of(name), name.replace(" ", "_"))
        return function


@cache
def _group(subcommands: Subcommands, name: str) -> Any:  # noqa: ANN401  # Typer contains click without type hints
    class Members(SubcommandGroup):
        pass

    Members.subcommands = subcommands
    summary = subcommands.groups[name].summary
    group = typer.Typer(name=name, cls=Members, help=summary, no_args_is_help=True, rich_markup_mode=markup())
    return typer.main.get_group(group)


@cache
def _command(subcommands: Subcommands, name: str) -> Any:  # noqa: ANN401  # Typer contains click without type hints
    app = typer.Typer(add_completion=False, rich_markup_mode=markup())
    help_text, epilog = subcommands.help_of(name), _epilog(subcommands, name)
    app.command(name.rpartition(" ")[2], cls=Subcommand, help=help_text, epilog=epilog)(subcommands.function_of(name))
    return typer.main.get_command(app)


def _epilog(subcommands: Subcommands, name: str) -> str:
    """Return the EXAMPLES (command, #, purpose) of a subcommand's module as --help shows them."""
    examples = (line.partition("#") for line in subcommands.module_of(name).EXAMPLES.strip().splitlines())
    shown = "[cyan]{}[/cyan]  [dim]# {}[/dim]" if markup() else "{}  # {}"
    lines = [shown.format(command.strip(), comment.strip()) for command, _, comment in examples]
    return "\n\n".join(["[bold]Examples[/bold]" if markup() else "Examples", *lines])


def markup() -> Literal["rich"] | None:
    """Return how --help is shown: with colors and boxes on a terminal, as plain text in a pipe."""
    return "rich" if sys.stdout.isatty() else None


class SubcommandGroup(TyperGroup):
    """A group of subcommands, which are listed by their summaries. `resolve_command` imports the one that is called."""

    subcommands: ClassVar[Subcommands]

    def __init__(self, **given: Any) -> None:  # noqa: ANN401  # declared by Typer
        """List the subcommands of the group. The root lists those without a group, and the groups."""
        group = given.get("name")
        self.prefix = f"{group} " if group in self.subcommands.groups else ""
        if self.prefix:
            members = self.subcommands.in_group(str(group))
            summaries = {name.removeprefix(self.prefix): listed.summary for name, listed in members.items()}
        else:
            summaries = {name.partition(" ")[0]: listed.summary for name, listed in self.subcommands.own.items()}
            summaries |= {word: group.summary for word, group in self.subcommands.groups.items()}
        commands = {word: TyperCommand(word, help=summary) for word, summary in summaries.items()}
        super().__init__(**given | {"commands": commands})

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401  # declared by Typer
        """Return the options; the help shows no type for a flag."""
        return without_flag_types(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  # declared by Typer
        """Return the name of the subcommand on the command line, the imported subcommand, and the rest of the line."""
        name, command, arguments = super().resolve_command(ctx, args)
        return name, command and self.subcommands.load(f"{self.prefix}{name}"), arguments


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
            values = given if isinstance(given, list | tuple) else [given]
            if given != parameter.default and "" in values:
                name, hint = parameter.metavar, "leave it out, or set the shell variable that should contain it"
                if parameter.param_type_name == "option":
                    name, hint = parameter.opts[0], f"it accepts {parameter.metavar}; {hint}"
                raise OptionError(f"{name} is empty", hint)
        return super().invoke(ctx)


def without_flag_types(parameters: list[Any]) -> list[Any]:
    """Return parameters whose flags have an empty metavar and a default; Typer would show <bool>, and convert None.

    It converts with Pydantic, which takes longer to import than Typer itself.
    """
    for parameter in (parameter for parameter in parameters if getattr(parameter, "is_flag", False)):
        parameter.metavar, parameter.default = "", bool(parameter.default)
    return parameters


INTERRUPTED = 130
"""The exit status after Ctrl-C, as in shells: 128 plus the signal's number."""
CLOSED_PIPE = 141
"""The exit status if the reader closes the pipe (| head), as in shells: 128 plus the number of SIGPIPE."""


class RootCommand(SubcommandGroup):
    """The root of the command: reports every error in one line and with an exit status."""

    def main(self, *args: Any, **given: Any) -> NoReturn:  # noqa: ANN401  # declared by Typer
        """Run a command line and exit with its status. --debug shows the trace of an error."""
        _make_stdout_robust()
        stdout = _copy_of_stdout()
        try:
            # Without standalone_mode, Typer returns the status and raises the errors that it would print.
            status = super().main(*args, **(given | {"standalone_mode": False})) or 0
            if sys.stdout:
                sys.stdout.flush()
        except SystemExit as end:  # Typer and Rich exit with 1 if a pipe is closed
            status = _closed_pipe(end.__context__, stdout) if end.code == 1 else end.code
        except BrokenPipeError as error:
            redirect_to_nowhere(sys.stdout)
            status = _closed_pipe(error, stdout)
        except typer.Abort:
            echo(err=True)  # end the line of the unanswered question
            say("nothing was changed")
            status = DECLINED
        except Exception as error:  # noqa: BLE001  # a bug is reported in one line, too
            status = _report(error)
        if status == INTERRUPTED:
            say("interrupted")
            if given.get("args") is None:  # not in tests; threads that wait for AWS would delay the exit
                os._exit(INTERRUPTED)
        sys.exit(status)


def _make_stdout_robust() -> None:
    """Escape characters that the terminal's encoding lacks, as on standard error, and write all of a long text.

    With PYTHONUNBUFFERED the underlying stream is a raw one, which may write only a part without an error
    (https://docs.python.org/3/library/io.html#io.RawIOBase.write).
    """
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return
    if isinstance(sys.stdout.buffer, io.RawIOBase):
        sys.stdout = open(  # noqa: SIM115  # it stays open until the process ends
            sys.stdout.fileno(), "w", buffering=1, encoding=sys.stdout.encoding, closefd=False
        )
    sys.stdout.reconfigure(errors="backslashreplace")


def _copy_of_stdout() -> int | None:
    """Return another descriptor of standard output, which stays as it is; Rich redirects the first. None without one."""
    with suppress(OSError, AttributeError):
        return os.dup(sys.stdout.fileno())
    return None


def _closed_pipe(error: BaseException | None, stdout: int | None) -> int:
    """Return the exit status if a pipe is closed. If it is not that of standard output, it is an error as any other."""
    poll = select.poll()
    if stdout is not None:
        poll.register(stdout, 0)
    if poll.poll(0) or not isinstance(error, Exception):
        return CLOSED_PIPE
    return _report(error)


def _report(error: Exception) -> int:
    """Write what went wrong, and return the exit status."""
    print_trace(error)
    if isinstance(error, ExpressPathError):
        say(one_line(error))
    elif hasattr(error, "format_message"):
        _say_usage(error)
    elif isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
        say(f"{error.filename or 'standard output'}: {error.strerror or error} (free some space, or write elsewhere)")
        redirect_to_nowhere(sys.stdout)
    else:
        say(f"unexpected {type(error).__name__}: {error} (a bug: run again with --debug and report the trace)")
    return UNDETERMINED


def _say_usage(error: Any) -> None:  # noqa: ANN401  # Typer contains click without type hints
    """Write what is wrong with the command line. Without arguments, Typer has printed the help already."""
    message = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    if not message:
        return
    path = error.ctx.command_path if getattr(error, "ctx", None) else "express-path"
    hint = f"{path} --help shows the options"
    if " is not one of " in message:
        given, *allowed = re.findall("'([^']*)'", message.partition(": ")[2]) or [""]
        question = did_you_mean(given, allowed)
        if question:
            hint = f"{question} {hint}"
    say(f"{message} ({hint})")

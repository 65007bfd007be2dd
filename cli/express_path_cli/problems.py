"""What goes wrong, in one line with a hint, and with the status that says "could not tell"."""

import io
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

from express_path.errors import ApiError, BlockedError, ExpressPathError, ParameterError, RecordError
from express_path_cli.hints import hint_of

COULD_NOT_TELL = 2
"""Exit status where the command could not tell: bad input, denied, throttled."""
INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it: 128 and the signal's number."""
CLOSED_PIPE = 141
"""Exit status where nobody reads on (| head), as shells have it: 128 and the number of SIGPIPE."""
DECLINED = 1
"""Exit status where a person said no, or did not answer."""
_NO_REGION = "NoRegionError"
DEBUG = "EXPRESS_PATH_DEBUG"
"""The environment variable that asks for traces, as --debug does."""


class OptionError(ExpressPathError):
    """Options that do not go together, or a value that is not allowed; hint says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        """Keep what is wrong and what to do."""
        self.hint = hint
        super().__init__(message)


class PlaceError(ExpressPathError):
    """A failure in one account and Region, or in another place that an error does not name itself."""

    def __init__(self, where: str, error: ExpressPathError) -> None:
        """Keep the place, as a person says it, and what went wrong there."""
        self.where, self.error = where, error
        super().__init__(f"{where}: {error}")


@contextmanager
def naming(place: object) -> Iterator[None]:
    """Name the place in what AWS refuses or fails there."""
    try:
        yield
    except ApiError as error:
        raise PlaceError(str(place), error) from error


@contextmanager
def without_region(hint: str) -> Iterator[None]:
    """Say what a person can do here where no Region is known; elsewhere it is to name one. Raises OptionError then."""
    try:
        yield
    except ApiError as error:
        if error.code != _NO_REGION:
            raise
        raise OptionError(_message(error), hint) from error


def hint_for(error: ExpressPathError) -> str:
    """What a person can do about an error; empty where its message says so already."""
    if isinstance(error, OptionError):
        return error.hint
    if isinstance(error, PlaceError):
        return hint_for(error.error)
    if isinstance(error, ApiError):
        return hint_of(error)
    if isinstance(error, ParameterError):
        return "docs/how-it-decides.md explains each rule parameter"
    if isinstance(error, RecordError):
        return "please report this as a bug, with a dump (express-path collect) that shows it"
    return ""


def one_line(error: ExpressPathError) -> str:
    """An error and its hint in one line; a blocked heal has its own lines, with its patches."""
    if isinstance(error, BlockedError):
        return str(error)
    hint = hint_for(error)
    message = _message(error)
    return " ".join((f"{message} ({hint})" if hint else message).split())


def _message(error: ExpressPathError) -> str:
    is_settled_here = isinstance(error, ApiError) and error.code == _NO_REGION
    return "no AWS Region is set" if is_settled_here else str(error)


def say(message: str) -> None:
    """Write a line to standard error, where what is no result belongs; if that cannot be written, nobody is told."""
    try:
        typer.echo(f"express-path: {message}", err=True)
    except OSError:
        _give_up(sys.stderr)


class Reporting(TyperGroup):
    """The command's root: whatever goes wrong ends in one line, and in a status that says so."""

    def main(self, *args: Any, **given: Any) -> NoReturn:  # noqa: ANN401  # what typer declares
        """Run a command line and end with its status; --debug shows the trace of an error."""
        _write_everything()
        try:
            # Without standalone_mode typer returns the status, and raises what it would else print itself.
            status = super().main(*args, **(given | {"standalone_mode": False})) or 0
            if sys.stdout:
                sys.stdout.flush()
        except SystemExit as end:
            status = CLOSED_PIPE if end.code == 1 else end.code  # so typer and rich end where nobody reads on
        except BrokenPipeError:
            _give_up(sys.stdout)
            status = CLOSED_PIPE
        except typer.Abort:
            typer.echo(err=True)  # the question that was not answered stands in this line
            say("nothing was changed")
            status = DECLINED
        except Exception as error:  # noqa: BLE001  # a bug must end in a line, too
            status = _report(error)
        if status == INTERRUPTED:
            say("interrupted")
            if given.get("args") is None:  # a process of its own, which workers that wait for AWS would hold up
                os._exit(INTERRUPTED)
        sys.exit(status)


class Command(TyperCommand):
    """A subcommand; it has the root's --debug, and does not take an empty value for one that was left out."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401  # what typer declares
        """Its options and --debug, as people add that at the end of a line that failed."""
        shared = ctx.parent.command.params if ctx.parent else []
        return [*super().get_params(ctx), *(each for each in shared if each.name == "debug")]

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  # what typer declares
        """Run it. Raises OptionError for an empty value, which mostly is a shell's variable that is not set."""
        for each in self.params:
            given = ctx.params.get(each.name)
            if given != each.default and "" in (given if isinstance(given, list | tuple) else [given]):
                takes = f"it takes {each.metavar}; " if each.param_type_name == "option" else ""
                hint = f"{takes}leave it out, or set the variable that should hold it"
                raise OptionError(f"{each.opts[0] if takes else each.metavar} is empty", hint)
        return super().invoke(ctx)


def _write_everything() -> None:
    """Write what the terminal's encoding lacks as its code, as Python does on standard error; and all of a long text.

    With PYTHONUNBUFFERED the stream below is a raw one, which writes as much as there is room for, and tells nobody
    (https://docs.python.org/3/library/io.html#io.RawIOBase.write).
    """
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return
    if isinstance(sys.stdout.buffer, io.RawIOBase):
        sys.stdout = open(  # noqa: SIM115  # it stays open, as the one before
            sys.stdout.fileno(), "w", buffering=1, encoding=sys.stdout.encoding, closefd=False
        )
    sys.stdout.reconfigure(errors="backslashreplace")


def _report(error: Exception) -> int:
    """Say what went wrong and return the status."""
    trace(error)
    if isinstance(error, ExpressPathError):
        say(one_line(error))
    elif hasattr(error, "format_message"):
        _say_usage(error)
    elif isinstance(error, OSError):
        say(f"{error.filename or 'standard output'}: {error.strerror or error} (make room there, or write elsewhere)")
        _give_up(sys.stdout)
    else:
        say(f"unexpected {type(error).__name__}: {error} (a bug: run again with --debug and report the trace)")
    return COULD_NOT_TELL


def _say_usage(error: Any) -> None:  # noqa: ANN401  # typer has click inside, without types of its own
    """Say what is wrong with the command line; without any, typer has printed the help, and there is nothing to say."""
    message = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    if message:
        path = error.ctx.command_path if getattr(error, "ctx", None) else "express-path"
        say(f"{message} ({path} --help shows what there is)")


def _give_up(stream: TextIO) -> None:
    """Let Python's last flush go nowhere, as its failure would change the status.

    https://docs.python.org/3/library/signal.html#note-on-sigpipe and
    https://docs.python.org/3/library/sys.html#sys.exit
    """
    with suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def trace(error: BaseException) -> None:
    """Show where an error comes from, if traces are asked for."""
    if os.environ.get(DEBUG):
        traceback.print_exception(error)

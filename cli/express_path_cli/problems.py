"""Report errors: one line with a hint, and an exit status."""

import io
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

from express_path.domain.verdict.parameters import PARAMETERS
from express_path.errors import ApiError, BlockedError, ExpressPathError, ParameterError, RecordError
from express_path_cli.hints import hint_of
from express_path_cli.web_pages import PROXY_HINT, is_web_page, page_title

UNDETERMINED = 2
"""The exit status if something could not be determined: invalid input, a denied or throttled call."""
INTERRUPTED = 130
"""The exit status after Ctrl-C, as in shells: 128 plus the signal's number."""
CLOSED_PIPE = 141
"""The exit status if the reader closes the pipe (| head), as in shells: 128 plus the number of SIGPIPE."""
DECLINED = 1
"""The exit status if a person declined, or did not answer."""
_NO_REGION = "NoRegionError"
DEBUG = "EXPRESS_PATH_DEBUG"
"""The environment variable that shows traces, like --debug."""


class OptionError(ExpressPathError):
    """Options that cannot be used together, or a value that is not valid. `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        """Keep the problem and what to do."""
        self.hint = hint
        super().__init__(message)


class LocatedError(ExpressPathError):
    """An error, with the account and Region or the aggregator where it happened."""

    def __init__(self, where: str, error: ExpressPathError) -> None:
        """Keep where it happened, as messages name it, and the error."""
        self.where, self.error = where, error
        super().__init__(f"{where}: {error}")


@contextmanager
def locating_errors(where: object) -> Iterator[None]:
    """Raise each ApiError as LocatedError, which says where it happened."""
    try:
        yield
    except ApiError as error:
        raise LocatedError(str(where), error) from error


@contextmanager
def without_region(hint: str) -> Iterator[None]:
    """Raise OptionError with this hint if no Region is set."""
    try:
        yield
    except ApiError as error:
        if error.code != _NO_REGION:
            raise
        raise OptionError(_message(error), hint) from error


def hint_for(error: ExpressPathError) -> str:
    """Return what to do about an error, or an empty text if its message says so."""
    if isinstance(error, OptionError):
        return error.hint
    if isinstance(error, LocatedError):
        return hint_for(error.error)
    if isinstance(error, ApiError):
        return PROXY_HINT if is_web_page(error) else hint_of(error)
    if isinstance(error, ParameterError):
        return f"the rule parameters are {', '.join(PARAMETERS)}"
    if isinstance(error, RecordError):
        return "please report this as a bug, with a dump (express-path collect) that shows it"
    return ""


def one_line(error: ExpressPathError) -> str:
    """Return an error and its hint in one line. A blocked heal has several lines, with its patches."""
    if isinstance(error, BlockedError):
        return str(error)
    hint = hint_for(error)
    message = _message(error)
    return " ".join((f"{message} ({hint})" if hint else message).split())


def _message(error: ExpressPathError) -> str:
    """Return an error's message. Errors in the AWS settings are shown without the internal call that found them."""
    if isinstance(error, LocatedError):
        return f"{error.where}: {_message(error.error)}"
    if isinstance(error, ApiError) and error.code == _NO_REGION:
        return "no AWS Region is set"
    if isinstance(error, ApiError) and is_web_page(error):
        return f"{error.operation} failed: the answer is a web page, not an answer of AWS{page_title(error.message)}"
    if isinstance(error, ApiError) and error.operation.startswith("boto3:"):
        return error.message
    return str(error)


def say(message: str) -> None:
    """Write a line to standard error, or nothing if that cannot be written."""
    try:
        typer.echo(f"express-path: {message}", err=True)
    except OSError:
        _give_up(sys.stderr)


class RootCommand(TyperGroup):
    """The root of the command: reports every error in one line and with an exit status."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401  # declared by Typer
        """Return the options; the help shows no type for a flag."""
        return _without_flag_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  # declared by Typer
        """Parse the command line. `help` shows the help of the command that follows it, or of express-path."""
        return super().parse_args(ctx, [*args[1:2], "--help"] if args[:1] == ["help"] else args)

    def main(self, *args: Any, **given: Any) -> NoReturn:  # noqa: ANN401  # declared by Typer
        """Run a command line and exit with its status. --debug shows the trace of an error."""
        _make_stdout_robust()
        try:
            # Without standalone_mode, Typer returns the status and raises the errors that it would print.
            status = super().main(*args, **(given | {"standalone_mode": False})) or 0
            if sys.stdout:
                sys.stdout.flush()
        except SystemExit as end:
            status = CLOSED_PIPE if end.code == 1 else end.code  # Typer and Rich exit with 1 if the pipe is closed
        except BrokenPipeError:
            _give_up(sys.stdout)
            status = CLOSED_PIPE
        except typer.Abort:
            typer.echo(err=True)  # end the line of the unanswered question
            say("nothing was changed")
            status = DECLINED
        except Exception as error:  # noqa: BLE001  # a bug is reported in one line, too
            status = _report(error)
        if status == INTERRUPTED:
            say("interrupted")
            if given.get("args") is None:  # not in tests; threads that wait for AWS would delay the exit
                os._exit(INTERRUPTED)
        sys.exit(status)


class Subcommand(TyperCommand):
    """A subcommand. It also accepts the root's --debug, and rejects empty values."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401  # declared by Typer
        """Return its options and --debug, which people append to a line that failed."""
        shared = ctx.parent.command.params if ctx.parent else []
        return _without_flag_types([*super().get_params(ctx), *(debug for debug in shared if debug.name == "debug")])

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


def _without_flag_types(parameters: list[Any]) -> list[Any]:
    """Return parameters whose flags have an empty metavar; Typer would show <bool>."""
    for parameter in (parameter for parameter in parameters if getattr(parameter, "is_flag", False)):
        parameter.metavar = ""
    return parameters


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


def _report(error: Exception) -> int:
    """Write what went wrong, and return the exit status."""
    print_trace(error)
    if isinstance(error, ExpressPathError):
        say(one_line(error))
    elif hasattr(error, "format_message"):
        _say_usage(error)
    elif isinstance(error, OSError):
        say(f"{error.filename or 'standard output'}: {error.strerror or error} (free some space, or write elsewhere)")
        _give_up(sys.stdout)
    else:
        say(f"unexpected {type(error).__name__}: {error} (a bug: run again with --debug and report the trace)")
    return UNDETERMINED


def _say_usage(error: Any) -> None:  # noqa: ANN401  # Typer contains click without type hints
    """Write what is wrong with the command line. Without arguments, Typer has printed the help already."""
    message = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    if message:
        path = error.ctx.command_path if getattr(error, "ctx", None) else "express-path"
        say(f"{message} ({path} --help shows the options)")


def _give_up(stream: TextIO) -> None:
    """Redirect the stream to nowhere, because a failure of Python's last flush would change the exit status.

    https://docs.python.org/3/library/signal.html#note-on-sigpipe and
    https://docs.python.org/3/library/sys.html#sys.exit
    """
    with suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_trace(error: BaseException) -> None:
    """Print the trace of an error, if traces are turned on."""
    if os.environ.get(DEBUG):
        traceback.print_exception(error)

"""The root command: how a command line is parsed, run, and ended with an exit status."""

import io
import os
import sys
from typing import Any, NoReturn

import typer

from express_path.errors import ExpressPathError
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.errors import DECLINED, UNDETERMINED, one_line, print_trace, redirect_to_nowhere, say
from express_path_cli.terminal.subcommands import SubcommandGroup

INTERRUPTED = 130
"""The exit status after Ctrl-C, as in shells: 128 plus the signal's number."""
CLOSED_PIPE = 141
"""The exit status if the reader closes the pipe (| head), as in shells: 128 plus the number of SIGPIPE."""


class RootCommand(SubcommandGroup):
    """The root of the command: reports every error in one line and with an exit status."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  # declared by Typer
        """Parse the command line. `help` shows the help of the command that follows it, or of express-path."""
        words = 2 if args[1:2] and args[1] in self.subcommands.groups else 1
        return super().parse_args(ctx, [*args[1 : 1 + words], "--help"] if args[:1] == ["help"] else args)

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
            redirect_to_nowhere(sys.stdout)
            status = CLOSED_PIPE
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


def _report(error: Exception) -> int:
    """Write what went wrong, and return the exit status."""
    print_trace(error)
    if isinstance(error, ExpressPathError):
        say(one_line(error))
    elif hasattr(error, "format_message"):
        _say_usage(error)
    elif isinstance(error, OSError):
        say(f"{error.filename or 'standard output'}: {error.strerror or error} (free some space, or write elsewhere)")
        redirect_to_nowhere(sys.stdout)
    else:
        say(f"unexpected {type(error).__name__}: {error} (a bug: run again with --debug and report the trace)")
    return UNDETERMINED


def _say_usage(error: Any) -> None:  # noqa: ANN401  # Typer contains click without type hints
    """Write what is wrong with the command line. Without arguments, Typer has printed the help already."""
    message = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    if message:
        path = error.ctx.command_path if getattr(error, "ctx", None) else "express-path"
        say(f"{message} ({path} --help shows the options)")

"""Errors of the command, and the one line that reports each of them."""

import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TextIO

from express_path.domain.verdict.parameters import PARAMETERS
from express_path.errors import ApiError, BlockedError, ExpressPathError, ParameterError, RecordError
from express_path_cli.terminal.console import echo
from express_path_cli.terminal.hints import hint_of
from express_path_cli.terminal.web_pages import PROXY_HINT, is_web_page, page_title

UNDETERMINED = 2
"""The exit status if something could not be determined: invalid input, a denied or throttled call."""
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
        echo(f"express-path: {message}", err=True)
    except OSError:
        redirect_to_nowhere(sys.stderr)


def redirect_to_nowhere(stream: TextIO) -> None:
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


@dataclass(frozen=True, slots=True)
class Failure:
    """What could not be read, such as an account or one of its Regions, and why."""

    where: str
    error: ExpressPathError


def show_failures_and_notes(failures: Sequence[Failure], notes: Sequence[str] = (), *, quiet: bool) -> None:
    """Write to standard error what could not be read and, unless quiet, the notes."""
    for failure in failures:
        print_trace(failure.error)
        say(f"{failure.where}: {one_line(failure.error)}")
    if not quiet:
        for note in notes:
            say(f"note: {note}")

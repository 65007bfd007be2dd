"""Where results go: to the terminal or the pipe, or whole into a file."""

import os
import sys
from collections.abc import Iterable
from errno import EISDIR
from pathlib import Path
from shutil import copymode

import typer
from rich.console import Console

from express_path_cli.formats.registry import RENDER, Format
from express_path_cli.formats.terminal_table import as_table
from express_path_cli.problems import OptionError, one_line, say, trace
from express_path_cli.result import Result, Seen
from express_path_cli.summary import summary

STDOUT = Path("-")
"""What a file is called that stands for standard output."""


def write_result(result: Result, chosen: Format, file: Path | None, *, quiet: bool) -> None:
    """Write a result to standard output, or to a file and, unless quiet, its summary to standard error."""
    if file and file != STDOUT:
        write_file(file, RENDER[chosen](result))
        if not quiet:
            say(f"wrote {file}: {summary(result.verdicts)}")
    elif chosen is Format.TABLE:
        console = Console()
        console.file.writelines(as_table(result.verdicts, console))
    elif sys.stdout:
        document = typer.get_binary_stream("stdout")  # documents are UTF-8, whatever the terminal's encoding
        document.writelines(map(str.encode, RENDER[chosen](result)))
        document.flush()


def write_file(file: Path, pieces: Iterable[str]) -> None:
    """Write a whole file or none: what was there before stays until the new one is complete. Raises OptionError.

    The new one keeps the old one's permissions. Links are followed, and what is no file, such as a pipe, is written to
    as it is.
    """
    try:
        if file.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if file.exists() and not file.is_file():
            _write(file, pieces)
        else:
            _replace(file.resolve(), pieces)
    except OSError as error:
        raise OptionError(
            f"{file} cannot be written: {error.strerror}", "name a file in a folder that you may write, and has room"
        ) from error


def _write(file: Path, pieces: Iterable[str]) -> None:
    with file.open("wb") as opened:
        opened.writelines(map(str.encode, pieces))


def _replace(file: Path, pieces: Iterable[str]) -> None:
    unfinished = file.with_name(f".express-path-{os.getpid()}.unfinished")
    try:
        if file.exists():
            unfinished.touch(mode=0o600)  # what few may read, nobody else reads meanwhile
        _write(unfinished, pieces)
        if file.exists():
            copymode(file, unfinished)
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)


def tell_about(seen: Seen, *, quiet: bool) -> None:
    """Name on standard error what could not be looked at, and, unless quiet, what is to be known of the rest."""
    for failure in seen.failures:
        trace(failure.error)
        say(f"{failure.where}: {one_line(failure.error)}")
    if not quiet:
        for note in seen.notes:
            say(f"note: {note}")

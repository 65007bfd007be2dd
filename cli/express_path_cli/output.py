"""Where results go: to the terminal or the pipe, or whole into a file."""

import sys
from pathlib import Path

from rich.console import Console

from express_path_cli.formats.registry import RENDER, Format
from express_path_cli.formats.terminal_table import as_table, summary
from express_path_cli.problems import OptionError, one_line, say
from express_path_cli.result import Result, Seen


def write_result(result: Result, chosen: Format, file: Path | None) -> None:
    """Write a result to standard output, or to a file and its summary to standard error."""
    if file:
        write_file(file, RENDER[chosen](result))
        say(f"wrote {file}: {summary(result.verdicts)}")
    elif chosen is Format.TABLE:
        Console().print(as_table(result.verdicts))
    else:
        sys.stdout.write(RENDER[chosen](result))


def write_file(file: Path, text: str) -> None:
    """Write a whole file or none: what was there before stays until the new one is complete. Raises OptionError."""
    unfinished = file.with_name(f"{file.name}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8", newline="")
        unfinished.replace(file)
    except OSError as error:
        raise OptionError(
            f"{file} cannot be written: {error.strerror}", "name a file in a folder that you may write"
        ) from error


def tell_about(seen: Seen, *, quiet: bool) -> None:
    """Name on standard error what could not be looked at, and, unless quiet, what is to be known of the rest."""
    for failure in seen.failures:
        say(f"{failure.where}: {one_line(failure.error)}")
    if not quiet:
        for note in seen.notes:
            say(f"note: {note}")

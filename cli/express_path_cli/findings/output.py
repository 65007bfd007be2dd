"""Write results to the terminal, a pipe, or a file."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from errno import EISDIR
from pathlib import Path

import typer

from express_path_cli.findings.formats.asff_batches import asff_batches
from express_path_cli.findings.formats.baseline_lines import comparison_text
from express_path_cli.findings.formats.html.additions import Additions
from express_path_cli.findings.formats.html.document import as_html
from express_path_cli.findings.formats.markdown_table import as_markdown
from express_path_cli.findings.formats.registry import RENDER, Format
from express_path_cli.findings.formats.terminal_table import TableOptions, as_table, as_text_table
from express_path_cli.findings.result import Failure, Render, Result
from express_path_cli.findings.summary import summary
from express_path_cli.terminal.console import Terminal, without_controls
from express_path_cli.terminal.errors import OptionError, one_line, print_trace, say
from express_path_cli.terminal.new_files import write_new_file
from express_path_cli.terminal.screen import Screen

STDOUT = Path("-")
"""The file name that stands for standard output."""


def write_result(
    result: Result,
    chosen: Format,
    file: Path | None,
    table: TableOptions | None = None,
    *,
    quiet: bool,
    render: Render | None = None,
) -> None:
    """Write a result to standard output, or to a file and, unless quiet, its summary to standard error.

    The options apply to the table and, as far as they have the same content, to Markdown and HTML. render: the function
    to use instead of the format's own one.
    """
    table = table or TableOptions()
    render = render or _renders(table).get(chosen, RENDER[chosen])
    if file and file != STDOUT and chosen is Format.ASFF:
        _write_batches(result, file, quiet=quiet)
    elif file and file != STDOUT:
        write_file(file, as_text_table(result, table) if chosen is Format.TABLE else render(result))
        if not quiet:
            say(f"wrote {file}: {summary(result.verdicts, result.evaluated)}")
            if result.comparison:
                say(comparison_text(result.comparison))
    elif chosen is Format.TABLE:
        console = Terminal()
        console.file.writelines(as_table(result, Screen(console), table))
    elif sys.stdout:
        document = typer.get_binary_stream("stdout")  # documents are always UTF-8
        document.writelines(without_controls(piece).encode() for piece in render(result))
        document.flush()


def _renders(table: TableOptions) -> Mapping[Format, Render]:
    """Return the functions that render formats with options."""
    return {
        Format.MARKDOWN: lambda result: [as_markdown(result, with_all=table.with_all)],
        Format.HTML: lambda result: [as_html(result, Additions(scan=table.scan))],
    }


def _write_batches(result: Result, file: Path, *, quiet: bool) -> None:
    """Write the files of an ASFF export and, unless quiet, the commands that import them, to standard error."""
    for batch in asff_batches(result, file):
        write_file(batch.file, batch.pieces())
        if not quiet:
            imported = f"; to import it, run in its account: {batch.command}" if batch.command else ""
            say(f"wrote {batch.file}: {summary(batch.result.verdicts)}{imported}")


def write_file(file: Path, pieces: Iterable[str]) -> None:
    """Write a text file without control characters, completely or not at all. See write_bytes."""
    write_bytes(file, (without_controls(piece).encode() for piece in pieces))


def write_bytes(file: Path, pieces: Iterable[bytes]) -> None:
    """Write a file completely or not at all: an old file is kept until the new one is complete. Raise OptionError.

    The new file keeps the permissions of the old one. Symbolic links are followed, and a pipe is written to directly.
    """
    try:
        if file.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if file.exists() and not file.is_file():
            with file.open("wb") as opened:
                opened.writelines(pieces)
        else:
            write_new_file(file.resolve(), pieces)
    except OSError as error:
        raise OptionError(
            f"{file} cannot be written: {error.strerror}", "use a folder that you can write to and that has space"
        ) from error


def show_failures_and_notes(failures: Sequence[Failure], notes: Sequence[str] = (), *, quiet: bool) -> None:
    """Write to standard error what could not be read and, unless quiet, the notes."""
    for failure in failures:
        print_trace(failure.error)
        say(f"{failure.where}: {one_line(failure.error)}")
    if not quiet:
        for note in notes:
            say(f"note: {note}")

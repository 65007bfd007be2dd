"""Write results to the terminal, a pipe, or a file."""

import sys
from collections.abc import Mapping
from pathlib import Path

import typer

from express_path_cli.findings.formats.asff_batches import asff_batches
from express_path_cli.findings.formats.baseline_lines import comparison_text
from express_path_cli.findings.formats.html.additions import Additions
from express_path_cli.findings.formats.html.page import as_html
from express_path_cli.findings.formats.markdown import as_markdown
from express_path_cli.findings.formats.registry import RENDER, Format
from express_path_cli.findings.formats.text import TableOptions, as_table, as_text_table
from express_path_cli.findings.result import Render, Result
from express_path_cli.findings.summary import summary
from express_path_cli.terminal.console import Terminal, without_controls
from express_path_cli.terminal.errors import say
from express_path_cli.terminal.files import STDOUT, write_file
from express_path_cli.terminal.tables import Screen


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

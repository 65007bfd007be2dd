"""Write results to the terminal, a pipe, or a file, in one of the formats."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from express_path_cli.findings.baseline import comparison_text
from express_path_cli.findings.formats import Format
from express_path_cli.findings.formats.csv import as_csv
from express_path_cli.findings.formats.github import as_github
from express_path_cli.findings.formats.html.page import as_html
from express_path_cli.findings.formats.json import as_json
from express_path_cli.findings.formats.junit import as_junit
from express_path_cli.findings.formats.markdown import as_markdown
from express_path_cli.findings.formats.ocsf import as_ocsf
from express_path_cli.findings.formats.sarif import as_sarif
from express_path_cli.findings.formats.text import as_text
from express_path_cli.findings.options import RenderOptions
from express_path_cli.findings.result import Result
from express_path_cli.terminal.console import without_controls
from express_path_cli.terminal.errors import OptionError, say
from express_path_cli.terminal.files import STDOUT, write_bytes
from express_path_cli.terminal.tables import Screen, Terminal

_BY_SUFFIX = {
    ".txt": Format.TABLE,
    ".json": Format.JSON,
    ".csv": Format.CSV,
    ".md": Format.MARKDOWN,
    ".html": Format.HTML,
    ".xml": Format.JUNIT,
    ".sarif": Format.SARIF,
}


def format_of(file: Path | None) -> Format:
    """Return the format that a file's suffix stands for; a table without a file or suffix. Raise OptionError."""
    if file is None or file == STDOUT or not file.suffix or _is_special(file):
        return Format.TABLE
    if file.suffix.lower() not in _BY_SUFFIX:
        raise OptionError(
            f"--output {file}: the suffix {file.suffix} stands for no known format",
            f"use one of {', '.join(_BY_SUFFIX)} or use --format",
        )
    return _BY_SUFFIX[file.suffix.lower()]


def _is_special(file: Path) -> bool:
    """Return whether a path is a device or a pipe, whose name says nothing."""
    return file.exists() and not file.is_file()


def rendered(result: Result, chosen: Format, options: RenderOptions | None = None) -> Iterator[bytes]:
    """Yield a document in pieces, in UTF-8. A format ignores options for what it does not have."""
    for piece in _pieces(result, chosen, options or RenderOptions()):
        yield piece if isinstance(piece, bytes) else without_controls(piece).encode()


def _pieces(result: Result, chosen: Format, options: RenderOptions) -> Iterable[str | bytes]:
    match chosen:
        case Format.TABLE:
            return as_text(result, options, Screen())
        case Format.JSON:
            return as_json(result, options.scan)
        case Format.CSV:
            return as_csv(result)
        case Format.MARKDOWN:
            return as_markdown(result, lists_subnets=options.lists_subnets)
        case Format.HTML:
            return as_html(result, options)
        case Format.JUNIT:
            return as_junit(result)
        case Format.SARIF:
            return as_sarif(result)
        case Format.OCSF:
            return as_ocsf(result)
        case Format.GITHUB:
            return as_github(result)


def write_result(
    result: Result, chosen: Format, file: Path | None, options: RenderOptions | None = None, *, quiet: bool
) -> None:
    """Write a result to standard output, or to a file and, unless quiet, its summary to standard error."""
    if file and file != STDOUT:
        write_bytes(file, rendered(result, chosen, options))
        if not quiet:
            say(f"wrote {file}: {result.summary}")
            if result.comparison:
                say(comparison_text(result.comparison))
    elif chosen is Format.TABLE:
        console = Terminal()
        console.file.writelines(as_text(result, options or RenderOptions(), Screen(console)))
    elif sys.stdout:
        document = typer.get_binary_stream("stdout")  # documents are always UTF-8
        document.writelines(rendered(result, chosen, options))
        document.flush()

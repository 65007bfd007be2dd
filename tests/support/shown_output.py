"""The output that documents show: python -m tests.support.shown_output writes it again.

A document shows the output of a command in a code block of the language `console`. The command is the first line, after
"$ ". It reads the sample network or the dump of a test network by its name, in a terminal of 80 columns or, with "| cat",
in a pipe.
"""

import re
import shlex
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from typer.testing import CliRunner

from express_path_cli.main import app
from tests.support.scenarios import dump_of

ROOT = Path(__file__).parents[2]
DOCUMENTS = (ROOT / "README.md", ROOT / "docs" / "fix.md")
TERMINAL = {"COLUMNS": "80", "TERM": "xterm", "FORCE_COLOR": "1"}
PIPE = {"COLUMNS": "80", "TERM": "xterm", "FORCE_COLOR": None}
_BLOCK = re.compile(r"^```console\n\$ (?P<command>express-path [^\n]*)\n(?P<output>.*?)^```$", re.MULTILINE | re.DOTALL)
_CONTROL_CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def commands(document: Path) -> list[str]:
    """Return the commands whose output a document shows."""
    return [block["command"] for block in _BLOCK.finditer(document.read_text(encoding="utf-8"))]


def output_of(command: str) -> str:
    """Return what a command prints."""
    line, _, reader = command.partition(" | ")
    words = shlex.split(line)[1:]
    with TemporaryDirectory() as folder, chdir(folder):
        if "--from-dump" in words:
            network = words[words.index("--from-dump") + 1]
            Path(network).symlink_to(dump_of(network), target_is_directory=True)
        return plain(CliRunner().invoke(app, words, env=PIPE if reader else TERMINAL).stdout)


def plain(shown: str) -> str:
    """Return output without the codes that control a terminal."""
    return "".join(f"{line.rstrip()}\n" for line in _CONTROL_CODES.sub("", shown).splitlines())


def regenerated(document: Path, run: Callable[[str], str] = output_of) -> str:
    """Return the text of a document with the output that its commands have now."""
    text = document.read_text(encoding="utf-8")
    return _BLOCK.sub(lambda block: f"```console\n$ {block['command']}\n{run(block['command'])}```", text)


if __name__ == "__main__":
    for document in DOCUMENTS:
        document.write_text(regenerated(document), encoding="utf-8")

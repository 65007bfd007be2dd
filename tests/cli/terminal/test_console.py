"""No output contains characters that control a terminal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from express_path_cli.terminal.console import echo, without_controls
from express_path_cli.terminal.progress import watching
from express_path_cli.terminal.tables import Terminal

CONTROLS = "\x00\x07\x1b\x7f\x9b\u202e\u2066"


@pytest.mark.no_cover
@given(st.text())
def test_only_tabs_and_ends_of_lines_remain(text: str) -> None:
    """A lone carriage return would let a text overwrite what is left of it."""
    found = without_controls(text)
    assert not re.search(r"[^\t\n\r -~\xa0-\U0010ffff]|\r(?!\n)", found)
    assert len(found) == len(text)


def test_messages_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither have lines about runs and files."""
    echo(f"a{CONTROLS}b")
    assert capsys.readouterr().out == "a" + "\ufffd" * len(CONTROLS) + "b\n"


@pytest.mark.parametrize("is_terminal", [False, True])
def test_tables_have_none(
    is_terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither have the tables of doctor, diagnose, cost, and bench. Only styles control a terminal."""
    monkeypatch.setenv("FORCE_COLOR" if is_terminal else "NO_COLOR", "1")
    table = Table("name")
    table.add_row(Text(f"a{CONTROLS}b", style="bold"))
    Terminal().print(Text(CONTROLS), table)
    shown = capsys.readouterr().out
    assert re.search("a\ufffd+b", shown)
    assert ("\x1b[" in shown) is is_terminal
    assert [character for character in CONTROLS if character in re.sub(r"\x1b\[[\d;]*m", "", shown)] == []


def test_the_progress_bar_escapes_names(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """An account's name can contain markup characters. A quiet command shows no bar."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "120")
    for quiet in (True, False):
        with watching(quiet=quiet) as watch:
            watch.expect(1)
            watch.done("account 1 ([/red] oops)")
        assert ("account 1 ([/red] oops)" in capsys.readouterr().err) is not quiet

"""The output that the documents show is what the commands print."""

from pathlib import Path

import pytest

from tests.support.shown_output import DOCUMENTS, commands, regenerated


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_shown_output_is_current(document: Path) -> None:
    """Run `.venv/bin/python -m tests.support.shown_output` after a change of the output, and read the difference."""
    assert regenerated(document) == document.read_text(encoding="utf-8")


def test_the_documents_show_commands() -> None:
    """The check above sees scan and explain, in a terminal and in a pipe."""
    shown = [command for document in DOCUMENTS for command in commands(document)]
    assert {command.split()[1] for command in shown} == {"scan", "explain"}
    assert {command.endswith(" | cat") for command in shown} == {True, False}
    assert all(commands(document) for document in DOCUMENTS)

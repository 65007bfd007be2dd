"""The output that the documents show is what the commands print."""

from pathlib import Path

import pytest

from tests.support.shown_output import DOCUMENTS, regenerated


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_shown_output_is_current(document: Path) -> None:
    """Run `.venv/bin/python -m tests.support.shown_output` after a change of the output, and read the difference."""
    assert regenerated(document) == document.read_text(encoding="utf-8")

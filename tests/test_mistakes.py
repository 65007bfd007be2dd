"""The deliberate mistakes of `make mistakes` can be made in today's engine; making them takes too long for each run."""

import pytest

from tests.mistakes import ENGINE, MISTAKES, ROOT, Mistake


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_text_of_a_mistake_is_in_the_engine(mistake: Mistake) -> None:
    """It is there once, so that the mistake is the one that is meant."""
    assert (ROOT / ENGINE / mistake.module).read_text(encoding="utf-8").count(mistake.right) == 1

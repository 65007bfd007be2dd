"""What the tests of the demonstration share."""

import pytest

from express_path.heal_steps import repeated_reads


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the functions of this process read again at once."""
    monkeypatch.setattr(repeated_reads, "SECONDS_APART", 0)

"""What the tests of the demonstration share."""

import pytest

from express_path import healing


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the functions of this process read again at once."""
    monkeypatch.setattr(healing, "SECONDS_APART", 0)

"""Lets the coverage of the sandbox be measured in its own tests."""

import pytest

from sandbox import fast_boto


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure the coverage of the sandbox while it serves a request."""
    monkeypatch.setattr(fast_boto, "sandbox_is_measured", True)

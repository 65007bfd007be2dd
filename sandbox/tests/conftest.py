"""Lets the coverage of the sandbox be measured in its own tests."""

import pytest

from config_rule_sandbox import tracing


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure the coverage of the sandbox while it serves a request."""
    monkeypatch.setattr(tracing, "calls_are_traced", True)

"""Fixtures for the tests of the sandbox."""

import pytest

from sandbox.server import Sandbox
from tests.support import fast_boto


@pytest.fixture
def sandbox(running_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """Yield the running sandbox, reset for this test."""
    monkeypatch.setattr(fast_boto, "sandbox_is_measured", True)
    running_sandbox.reset()
    return running_sandbox

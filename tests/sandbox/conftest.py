"""Fixtures of the tests of the sandbox."""

from collections.abc import Iterator

import pytest

from sandbox.server import Sandbox


@pytest.fixture(scope="session")
def running_sandbox() -> Iterator[Sandbox]:
    """One server for the whole session."""
    with Sandbox() as running:
        yield running


@pytest.fixture
def sandbox(running_sandbox: Sandbox) -> Sandbox:
    """Hand out the running sandbox, emptied for this test."""
    running_sandbox.reset()
    return running_sandbox

"""Fixtures of the tests of the command where it talks to AWS."""

from collections.abc import Iterator

import pytest

from sandbox.server import Sandbox
from tests.handlers.network import Builder
from tests.handlers.running import emptied, running


@pytest.fixture(scope="module")
def module_sandbox() -> Iterator[Sandbox]:
    """One server for a module."""
    with running() as started:
        yield started


@pytest.fixture
def sandbox(module_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """The running sandbox, emptied for this test; the environment leads there."""
    with emptied(module_sandbox, monkeypatch) as empty:
        yield empty


@pytest.fixture
def builder(sandbox: Sandbox) -> Builder:
    """Builds networks in the sandbox's account."""
    return Builder(sandbox)

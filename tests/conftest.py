"""What holds for all tests, and the sandbox that those use which talk to AWS."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from sandbox.server import Sandbox
from tests.support.network import Builder
from tests.support.running import emptied, running

# How long an example takes says nothing on a shared machine. Examples depend on the test alone, so that a change is
# never blocked by a failure that it did not cause.
settings.register_profile("express-path", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("express-path")


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
    """Builds networks in the sandbox's account, whatever is enforced."""
    return Builder(sandbox)

"""Fixtures of the tests of what talks to AWS: a sandbox, and clients of it as the function has them."""

from collections.abc import Iterator

import pytest

from express_path.adapters.aws import Aws
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
def aws(sandbox: Sandbox) -> Aws:
    """Clients of the sandbox, by the environment."""
    assert sandbox.endpoint_url
    return Aws.connect()


@pytest.fixture
def builder(sandbox: Sandbox) -> Builder:
    """Builds networks in the sandbox's account."""
    return Builder(sandbox)

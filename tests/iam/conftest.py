"""Fixtures of the tests of permissions: a sandbox, networks in it, and the stack's roles."""

from collections.abc import Iterator

import pytest

from sandbox.server import Sandbox
from tests.handlers.network import Builder, Private
from tests.handlers.running import emptied, running
from tests.iam.stack import EVERYTHING, Stack


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


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """A VPC with one private subnet, behind a NAT gateway."""
    return Private(builder)


@pytest.fixture
def stack(sandbox: Sandbox) -> Stack:
    """The stack with every parameter that adds a permission."""
    return Stack(sandbox, **EVERYTHING)

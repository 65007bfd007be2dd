"""The environment that points the function and the command to a running sandbox."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sandbox.server import Sandbox


@contextmanager
def emptied(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """Reset the sandbox and set the environment for it."""
    sandbox.reset()
    with pointed_at(sandbox, monkeypatch):
        yield sandbox


@contextmanager
def pointed_at(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """Set the environment for the sandbox and keep its contents."""
    for name, value in sandbox.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    yield sandbox

"""The environment that leads the function and the command to a running sandbox."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from express_path.handlers.services import services
from sandbox.server import Sandbox


@contextmanager
def emptied(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """Empty the sandbox, point the environment there, and let the function start cold."""
    sandbox.reset()
    with pointed_at(sandbox, monkeypatch):
        yield sandbox


@contextmanager
def pointed_at(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """Point the environment at the sandbox, keep what is in it, and let the function start cold."""
    for name, value in sandbox.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    services.cache_clear()
    yield sandbox
    services.cache_clear()

"""Fixtures for pytest: `sandbox`, an empty AWS for each test. Load it with `-p config_rule_sandbox.pytest_plugin`.

The sandbox takes seconds to import, so this module imports it only when a test needs it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from config_rule_sandbox.server import Sandbox


@pytest.fixture(scope="session")
def running_sandbox() -> "Iterator[Sandbox]":
    """One sandbox for the whole session, because moto's state is global. Whoever uses it directly calls `reset()`."""
    from config_rule_sandbox.http.in_process import in_process  # noqa: PLC0415  # see the top
    from config_rule_sandbox.server import Sandbox  # noqa: PLC0415  # see the top

    with Sandbox() as running, in_process(running):
        yield running


@pytest.fixture
def sandbox(running_sandbox: "Sandbox", monkeypatch: pytest.MonkeyPatch) -> "Iterator[Sandbox]":
    """The running sandbox, emptied for this test; the environment leads every AWS SDK there."""
    with emptied(running_sandbox, monkeypatch) as empty:
        yield empty


@contextmanager
def emptied(sandbox: "Sandbox", monkeypatch: pytest.MonkeyPatch) -> "Iterator[Sandbox]":
    """Reset the sandbox and set the environment for it, for fixtures of another scope."""
    sandbox.reset()
    with pointed_at(sandbox, monkeypatch):
        yield sandbox


@contextmanager
def pointed_at(sandbox: "Sandbox", monkeypatch: pytest.MonkeyPatch) -> "Iterator[Sandbox]":
    """Set the environment for the sandbox and keep its contents."""
    for name, value in sandbox.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    yield sandbox

"""Fixtures of the tests of the function: a sandbox, the rule deployed in it, and a network to build."""

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from express_path.handlers import evaluate
from sandbox.server import Sandbox
from tests.handlers.network import Builder
from tests.handlers.rule import Rule
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
def rule(sandbox: Sandbox) -> Rule:
    """The rule without parameters."""
    return Rule(sandbox)


@pytest.fixture
def builder(sandbox: Sandbox) -> Builder:
    """Builds networks in the sandbox's account."""
    return Builder(sandbox)


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[dict[str, Any]]]:
    """Tells what the function has logged so far, line by line."""
    stream = io.StringIO()
    monkeypatch.setattr(evaluate.logger.registered_handler, "stream", stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]

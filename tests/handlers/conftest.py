"""Fixtures of the tests of the function: a sandbox, the rule deployed in it, and a network to build."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from express_path.handlers import evaluate
from sandbox.server import Sandbox
from tests.support.rule import Rule


@pytest.fixture
def rule(sandbox: Sandbox) -> Rule:
    """The rule without parameters."""
    return Rule(sandbox)


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[dict[str, Any]]]:
    """Tells what the function has logged so far, line by line."""
    stream = io.StringIO()
    monkeypatch.setattr(evaluate.logger.registered_handler, "stream", stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]

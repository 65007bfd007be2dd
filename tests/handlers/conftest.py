"""Fixtures for the function's tests: a sandbox, the deployed rule, and a network."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from config_rule_sandbox.server import Sandbox
from express_path.handlers import evaluate
from tests.support.network import Builder, Private
from tests.support.rule import Rule


@pytest.fixture
def rule(sandbox: Sandbox) -> Rule:
    """Return the rule without parameters."""
    return Rule(sandbox)


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """Return a VPC with a private subnet behind a NAT gateway, and a public one."""
    return Private(builder)


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[dict[str, Any]]]:
    """Return a function that returns the log lines so far."""
    stream = io.StringIO()
    monkeypatch.setattr(evaluate.logger.registered_handler, "stream", stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]

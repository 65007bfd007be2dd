"""Fixtures for the integrations' tests."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from express_path_integrations.handlers import security_hub


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[dict[str, Any]]]:
    """Return a function that returns the log lines so far."""
    stream = io.StringIO()
    monkeypatch.setattr(security_hub.logger.registered_handler, "stream", stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]

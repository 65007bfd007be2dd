"""Fixtures for the commands that heal and undo."""

from collections.abc import Iterator

import pytest

from sandbox.server import Sandbox
from tests.cli.heal.healing_stack import deployed
from tests.support.heals import Deployment, Vpc
from tests.support.network import Builder


@pytest.fixture
def deployment(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """Yield the heal and undo runbooks, and a stack whose outputs name them."""
    with deployed(sandbox, monkeypatch) as made:
        yield made


@pytest.fixture
def vpc(builder: Builder) -> Vpc:
    """Return a VPC with one private subnet behind a NAT gateway."""
    return Vpc(builder)

"""Fixtures of the tests of permissions: a sandbox, networks in it, and the stack's roles."""

import pytest

from sandbox.server import Sandbox
from tests.handlers.network import Builder, Private
from tests.iam.stack import EVERYTHING, Stack


@pytest.fixture
def vpc(builder: Builder) -> Private:
    """A VPC with one private subnet, behind a NAT gateway."""
    return Private(builder)


@pytest.fixture
def stack(sandbox: Sandbox) -> Stack:
    """The stack with every parameter that adds a permission."""
    return Stack(sandbox, **EVERYTHING)

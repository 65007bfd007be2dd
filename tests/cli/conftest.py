"""Fixtures of the tests of the command."""

from collections.abc import Iterator

import pytest

from tests.support.command import without_credentials


@pytest.fixture
def no_credentials() -> Iterator[None]:
    """No AWS credentials, with which a plan is judged alone."""
    with without_credentials():
        yield

"""Fixtures of the tests of the report in a browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.cli.report.browser import Visit, launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for a module. No longer, since the loop that drives it would disturb tests with one of their own."""
    with launched() as running:
        yield running


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Opens report files. None may ask for another file or complain."""
    visiting = Visit(browser)
    yield visiting
    visiting.close()
    assert visiting.complaints == []
    assert [url for url in visiting.requests if not url.startswith("file:") or not url.endswith(".html")] == []

"""Fixtures of the tests of the report in a browser."""

from collections.abc import Iterator

import pytest

from tests.cli.report.browser import Visit, launched


@pytest.fixture(scope="module")
def browsing() -> Iterator[Visit]:
    """One browser for a module. No longer, since the loop that drives it would disturb tests with one of their own."""
    with launched() as browser:
        visiting = Visit(browser)
        yield visiting
        visiting.close()


@pytest.fixture
def visit(browsing: Visit) -> Iterator[Visit]:
    """Opens report files. None may ask for another file or complain."""
    browsing.requests.clear()
    browsing.complaints.clear()
    yield browsing
    assert browsing.complaints == []
    assert [url for url in browsing.requests if not url.startswith("file:") or not url.endswith(".html")] == []

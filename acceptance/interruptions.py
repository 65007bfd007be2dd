"""What interrupts a run, so that nothing is a result of it.

That is Ctrl-C, or another signal to end, credentials that expire, a network that is gone, and an upload that fails.
"""

from collections.abc import Generator
from subprocess import CalledProcessError
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionError,  # noqa: A004  # botocore's own
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    SSOError,
)

from acceptance.state import State

EXPIRED = (
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "RequestExpired",
    "UnrecognizedClientException",
)
"""The codes of errors about credentials: https://docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html."""
OUTSIDE = (ConnectionError, CredentialRetrievalError, HTTPClientError, NoCredentialsError, SSOError)
"""What botocore raises without an answer of AWS."""


def is_interruption(error: BaseException) -> bool:
    """Return whether an error says nothing about AWS, so that the run can be continued once its cause is gone."""
    if isinstance(error, ClientError):
        return str(error.response["Error"]["Code"]) in EXPIRED
    return isinstance(error, (CalledProcessError, KeyboardInterrupt, *OUTSIDE))


class Continuing:
    """A plugin of pytest: leaves out the tests that ended before an interruption, and ends the run at the next one."""

    def __init__(self, state: State) -> None:
        """Continue the run of a state."""
        self._state = state

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what has ended."""
        done = [item for item in items if item.nodeid in self._state.done]
        items[:] = [item for item in items if item.nodeid not in self._state.done]
        config.hook.pytest_deselected(items=done)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """End the run if a test was interrupted."""
        if call.excinfo and is_interruption(call.excinfo.value):
            pytest.exit(f"interrupted: {call.excinfo.value!r}", returncode=pytest.ExitCode.INTERRUPTED)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what has ended. A failure is a result, too: later tests have changed what a repetition would find."""
        if report.failed:
            self._state.failed.append(report.nodeid)
        if not report.passed or report.when == "call":
            self._state.done.append(report.nodeid)
            self._state.save()

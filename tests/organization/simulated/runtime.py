"""What Lambda does for the functions: the credentials of their account, and their output."""

import io
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import Any
from unittest.mock import patch

import boto3
from aws_lambda_powertools.utilities.typing import LambdaContext
from botocore.config import Config
from botocore.credentials import CredentialResolver, Credentials, ReadOnlyCredentials
from botocore.session import Session

from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws
from express_path.handlers import evaluate
from express_path_integrations.handlers import security_hub

Event = dict[str, Any]
LOGGERS = (evaluate.logger, security_hub.logger)
_ONE_ATTEMPT = Config(retries={"total_max_attempts": 1})
"""The SDK's own retries would wait, so they are off: a fault here is one that outlasts them."""


class _OfCaller(Credentials):
    """Credentials of the account whose function runs now. All accounts share the clients, which take long to make."""

    def __init__(self) -> None:
        super().__init__("", "")
        self.current = ReadOnlyCredentials("", "", "")

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        return self.current


class _Provider(CredentialResolver):
    def __init__(self, credentials: Credentials) -> None:
        super().__init__([])
        self._credentials = credentials

    def load_credentials(self) -> Credentials:
        return self._credentials


class Runtime:
    """Runs functions of all accounts in this process."""

    def __init__(self, sandbox: Sandbox) -> None:
        """Run nothing yet."""
        self._sandbox = sandbox
        self._credentials = _OfCaller()
        self._of_accounts: dict[str, ReadOnlyCredentials] = {}
        self._aws: dict[str, Aws] = {}
        self._session = self._new_session()

    def aws(self, region: str) -> Aws:
        """Return the clients of a Region. They act in the account whose function runs."""
        if region not in self._aws:
            self._aws[region] = Aws(self._session, _ONE_ATTEMPT, region)
        return self._aws[region]

    @contextmanager
    def acting_in(self, account_id: str) -> Iterator[None]:
        """Let the clients act in an account."""
        before, self._credentials.current = self._credentials.current, self._of(account_id)
        try:
            yield
        finally:
            self._credentials.current = before

    def invoke(self, account_id: str, function: Callable[[], Any]) -> tuple[Any, str]:
        """Run a function in an account; return its answer and what it printed. Its calls are in the sandbox's log."""
        printed = io.StringIO()
        self._sandbox.calls.clear()
        with self.acting_in(account_id), _output(printed):
            answer = function()
        return answer, printed.getvalue()

    def _of(self, account_id: str) -> ReadOnlyCredentials:
        if account_id not in self._of_accounts:
            found: Mapping[str, str] = self._sandbox.credentials(account_id)
            self._of_accounts[account_id] = ReadOnlyCredentials(*found.values())
        return self._of_accounts[account_id]

    def _new_session(self) -> boto3.Session:
        """Return a session with the credentials of whoever acts."""
        session = Session()
        session.register_component("credential_provider", _Provider(self._credentials))
        with patch.dict(os.environ, self._sandbox.environment()):
            return boto3.Session(botocore_session=session)


@contextmanager
def _output(printed: io.StringIO) -> Iterator[None]:
    """Collect what the functions print and log."""
    handlers: list[Any] = [logger.registered_handler for logger in LOGGERS]
    streams = [handler.stream for handler in handlers]
    for handler in handlers:
        handler.stream = printed
    try:
        with redirect_stdout(printed):
            yield
    finally:
        for handler, stream in zip(handlers, streams, strict=True):
            handler.stream = stream


class Context(LambdaContext):
    """The context that Lambda passes to a function of an account and Region."""

    def __init__(self, account_id: str, region: str) -> None:
        """Name the function."""
        self._function_name = "express-path"
        self._function_version = "$LATEST"
        self._invoked_function_arn = f"arn:aws:lambda:{region}:{account_id}:function:express-path"
        self._memory_limit_in_mb = 1024
        self._aws_request_id = "00000000-0000-0000-0000-000000000000"

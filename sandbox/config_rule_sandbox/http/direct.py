"""An AWS client for the sandbox's backends whose calls are neither logged nor affected by faults.

AWS Config reads with its own connections. So its reads are not in the call log of the account under test, and faults
that a test sets do not affect them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.client import BaseClient

from config_rule_sandbox.http.in_memory import moto_application, serve
from config_rule_sandbox.http.web_server import HOST
from config_rule_sandbox.iam.unchecked import unchecked
from config_rule_sandbox.server import CREDENTIALS, Sandbox

ACCOUNT_HEADER = "x-moto-account-id"
"""The header that names the account of a request to moto, instead of an access key of that account."""

_account: ContextVar[str | None] = ContextVar("account", default=None)


def direct_client(sandbox: Sandbox, service: str, region: str | None = None) -> BaseClient:
    """Return a boto3 client of a Region, by default the sandbox's, that bypasses its server.

    Its calls are made in the sandbox's account, or in that of `acting_in`.
    """
    return _client(service, region or sandbox.region)


@contextmanager
def acting_in(account_id: str) -> Iterator[None]:
    """Make the calls of direct clients in another account."""
    token = _account.set(account_id)
    try:
        yield
    finally:
        _account.reset(token)


@cache
def _client(service: str, region: str) -> BaseClient:
    """Return the one client of a service and Region: it reaches the running sandbox, so one is enough."""
    client: BaseClient = _session().client(
        service,  # type: ignore[call-overload]
        region_name=region,
        endpoint_url=f"http://{HOST}",
        **CREDENTIALS,
    )
    # A before-send handler may return the answer, which the type stubs do not know.
    client.meta.events.register("before-send", _serve)  # type: ignore[arg-type]
    return client


@cache
def _session() -> boto3.session.Session:
    return boto3.session.Session()


def _serve(request: AWSPreparedRequest, **_kwargs: object) -> AWSResponse:
    """Return the answer to one signed request; botocore then sends nothing."""
    if account_id := _account.get():
        request.headers[ACCOUNT_HEADER] = account_id
    with unchecked():
        return serve(moto_application(), request)

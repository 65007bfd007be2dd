"""Requests that are served without Flask have the same answers as with it."""

import contextlib
import io
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import ClientError
from moto.moto_server.werkzeug_app import DomainDispatcherApplication

from sandbox import backends
from sandbox.dynamic import Client
from sandbox.server import Sandbox

RANDOM = re.compile(rb"<requestId>[^<]*|<RequestId>[^<]*", re.IGNORECASE)
KEY = {"id": {"S": "1"}}

REST = ("lambda", "s3")
"""Services whose requests have paths, so that Flask finds their methods."""
CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("ec2", "describe_vpcs", {"Filters": [{"Name": "tag:Name", "Values": ["Übergröße 100% + & ="]}]}),
    ("ec2", "delete_vpc", {"VpcId": "vpc-0123456789abcdef0"}),
    ("sts", "get_caller_identity", {}),
    ("sqs", "get_queue_url", {"QueueName": "none"}),
    ("dynamodb", "get_item", {"TableName": "none", "Key": KEY}),
    ("cloudwatch", "list_metrics", {}),
    ("lambda", "list_functions", {}),
    ("s3", "get_object", {"Bucket": "none", "Key": "a b"}),
]


@pytest.mark.parametrize(
    ("service", "method", "parameters"), CALLS, ids=lambda value: value if str(value) == value else ""
)
def test_as_with_flask(sandbox: Sandbox, service: str, method: str, parameters: dict[str, Any]) -> None:
    """Status, headers and body of a success and of an error are the same."""
    environ = sent(sandbox.client(service), method, parameters)
    with_flask = DomainDispatcherApplication(backends._backend_application)  # noqa: SLF001  # what is compared with
    without_flask = backends.moto_application()
    assert answer(without_flask, environ) == answer(with_flask, environ)
    assert bool(without_flask._method(environ)) == (service not in REST)  # noqa: SLF001  # which way it took


def sent(client: Client, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the WSGI environment of the request that a client sends."""
    requests: list[AWSPreparedRequest] = []
    client.meta.events.register("before-send.*", lambda request, **_: requests.append(request))
    with contextlib.suppress(ClientError):
        getattr(client, method)(**parameters)
    [request] = requests
    return backends._environ(request, urlsplit(str(request.url)))  # noqa: SLF001  # as the sandbox makes it


def answer(application: Callable[..., Any], environ: dict[str, Any]) -> tuple[str, dict[str, str], bytes]:
    """Return status, headers and body of an answer, without what differs each time."""
    started: list[Any] = []
    body = environ["wsgi.input"].getvalue()
    served = application({**environ, "wsgi.input": io.BytesIO(body)}, lambda *start: started.append(start))
    content = b"".join(served)
    [(status, headers)] = started
    kept = {name.lower(): value for name, value in headers if name.lower() not in ("x-amzn-requestid", "date")}
    return status, kept, RANDOM.sub(b"", content)

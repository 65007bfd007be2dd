"""Shortcuts that make boto3 faster in this process. Requests, answers, retries and errors stay the same.

A heal makes about a hundred API calls, and every cold start of the function makes new clients, so botocore and moto
take most of the time of the tests. Other processes, such as Terraform or the Lambda runtime, use no shortcut.
"""

import io
import sys
import threading
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.client import BaseClient, ClientCreator
from botocore.hooks import EventAliaser, NodeList, _PrefixTrie
from botocore.httpsession import URLLib3Session
from botocore.loaders import create_loader
from botocore.model import ServiceModel
from botocore.useragent import sanitize_user_agent_string_component
from urllib3 import HTTPResponse

from sandbox.server import Sandbox

MAKE_API_CALL = BaseClient._make_api_call  # noqa: SLF001  # botocore offers no other place to patch
LOAD_SERVICE_MODEL = vars(ClientCreator)["_load_service_model"]
CREATE_METHODS = vars(ClientCreator)["_create_methods"]
ALIAS_EVENT_NAME = vars(EventAliaser)["_alias_event_name"]
SEND_BY_SOCKET = URLLib3Session.send

sandbox_is_measured = False
"""Whether the coverage of the sandbox is measured while it serves a request. Its own tests set this."""

_paused = threading.local()
_models: dict[str, ServiceModel] = {}
_methods: dict[str, dict[str, Any]] = {}
_aliases: dict[str, str] = {}


def apply(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do the work that is the same for all clients only once, until `monkeypatch` is undone."""
    monkeypatch.setattr("botocore.session.create_loader", cache(create_loader))
    sanitize = "botocore.useragent.sanitize_user_agent_string_component"
    monkeypatch.setattr(sanitize, lru_cache(4096)(sanitize_user_agent_string_component))
    monkeypatch.setattr(ClientCreator, "_load_service_model", _load_service_model)
    monkeypatch.setattr(ClientCreator, "_create_methods", _create_methods)
    monkeypatch.setattr(EventAliaser, "_alias_event_name", _alias_event_name)
    monkeypatch.setattr(_PrefixTrie, "_recursive_copy", _copy_trie)
    monkeypatch.setattr(BaseClient, "_make_api_call", _make_unmeasured_api_call)


def connect(monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox) -> None:
    """Send requests to a sandbox without a socket or a thread, until `monkeypatch` is undone."""
    monkeypatch.setattr(URLLib3Session, "send", _sender(sandbox))


def measured(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function whose coverage is measured although the sandbox invokes it, as it invokes Lambda functions."""

    def invoke(event: Any) -> Any:  # noqa: ANN401  # an event and an answer may be anything
        sys.settrace(getattr(_paused, "tracer", None))
        try:
            return function(event)
        finally:
            sys.settrace(None)

    return invoke


def _load_service_model(creator: ClientCreator, service_name: str, api_version: str | None = None) -> ServiceModel:
    """Return one model for all clients of a service. Each model parses every operation that is looked up in it."""
    if service_name not in _models:
        _models[service_name] = LOAD_SERVICE_MODEL(creator, service_name, api_version)
    return _models[service_name]


def _create_methods(creator: ClientCreator, service_model: ServiceModel) -> dict[str, Any]:
    """Return the methods of a client's class, hundreds for EC2. They depend only on the service."""
    name = service_model.service_name
    if name not in _methods:
        _methods[name] = CREATE_METHODS(creator, service_model)
    return dict(_methods[name])


def _alias_event_name(aliaser: EventAliaser, event_name: str) -> str:
    """Return the current name of an event. Each client has a cache of its own, but all have the same aliases."""
    if event_name not in _aliases:
        _aliases[event_name] = ALIAS_EVENT_NAME(aliaser, event_name)
    return _aliases[event_name]


def _copy_trie(trie: _PrefixTrie, node: dict[str, Any]) -> dict[str, Any]:
    """Copy the lists of event handlers, as every new client does, but without `copy.copy` for each list."""
    copied: dict[str, Any] = {}
    for key, value in node.items():
        if isinstance(value, NodeList):
            copied[key] = NodeList(value.first[:], value.middle[:], value.last[:])
        else:
            copied[key] = _copy_trie(trie, value) if isinstance(value, dict) else value
    return copied


def _make_unmeasured_api_call(client: BaseClient, *arguments: Any) -> Any:  # noqa: ANN401  # as botocore's
    """Make an API call without measuring coverage, because tracing botocore and moto would double the time."""
    _paused.tracer = tracer = sys.gettrace()
    sys.settrace(None)
    try:
        return MAKE_API_CALL(client, *arguments)
    finally:
        sys.settrace(tracer)


def _sender(sandbox: Sandbox) -> Callable[[URLLib3Session, AWSPreparedRequest], AWSResponse]:
    """Return a function that sends requests for the sandbox directly to its WSGI application, and others as usual."""
    address = urlsplit(sandbox.endpoint_url).netloc

    def send(session: URLLib3Session, request: AWSPreparedRequest) -> AWSResponse:
        url = urlsplit(request.url)
        if url.netloc != address:
            return SEND_BY_SOCKET(session, request)
        return _serve(sandbox, request, url)

    return send


def _serve(sandbox: Sandbox, request: AWSPreparedRequest, url: SplitResult) -> AWSResponse:
    """Return the sandbox's answer to a request."""
    started: list[tuple[str, list[tuple[str, str]]]] = []
    environ = _environ(request, url)
    sys.settrace(_paused.tracer if sandbox_is_measured else None)
    try:
        body = b"".join(sandbox.application(environ, lambda *start: started.append(start)))
    finally:
        sys.settrace(None)
    [(status, headers)] = started
    raw = HTTPResponse(io.BytesIO(body), dict(headers), preload_content=False, request_method=request.method)
    answer = AWSResponse(request.url, int(status.partition(" ")[0]), raw.headers, raw)
    if not request.stream_output:
        _ = answer.content  # reads the body, as botocore does
    return answer


def _environ(request: AWSPreparedRequest, url: SplitResult) -> dict[str, Any]:
    """Return the WSGI environment of a request, as werkzeug's server makes it."""
    body = _body(request.body)
    path = url.path or "/"
    target = f"{path}?{url.query}" if url.query else path
    environ = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote(path).encode().decode("latin-1"),
        "QUERY_STRING": url.query,
        "REQUEST_URI": target,
        "RAW_URI": target,
        "REMOTE_ADDR": url.hostname,
        "SERVER_NAME": url.hostname,
        "SERVER_PORT": str(url.port),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": url.netloc,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": url.scheme,
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in request.headers.items():
        environ[f"HTTP_{name.upper().replace('-', '_')}"] = value.decode() if isinstance(value, bytes) else value
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    environ["CONTENT_TYPE"] = environ.pop("HTTP_CONTENT_TYPE", "")
    environ["CONTENT_LENGTH"] = str(len(body))
    environ.pop("HTTP_CONTENT_LENGTH", None)
    return environ


def _body(body: Any) -> bytes:  # noqa: ANN401  # text, bytes, a file or nothing
    content = body.read() if hasattr(body, "read") else body or b""
    return content.encode() if isinstance(content, str) else bytes(content)

"""Passes requests of AWS's query and JSON protocols to moto's methods without Flask. The answers stay the same."""

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl

from botocore.exceptions import ClientError
from moto.moto_server.werkzeug_app import BackendRequest, DomainDispatcherApplication
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.http import HTTP_STATUS_CODES

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.http.wire import S3_CONTROL

Environ = dict[str, Any]
Method = Callable[[BackendRequest, str, dict[str, str]], Any]
"""A method of moto, of the request, its URL, and its headers. It returns status, headers, and body, or the body."""
_FORM = "application/x-www-form-urlencoded"
_NOTHING: ImmutableMultiDict[str, Any] = ImmutableMultiDict()


class Dispatcher(DomainDispatcherApplication):
    """moto's application, which looks up only once which method of moto serves `POST /` for a service."""

    def __init__(self, create_application: Callable[[Any], Moto]) -> None:
        """Serve other requests by the Flask application that a function makes of a service."""
        super().__init__(create_application)
        self._methods: dict[tuple[str, ...], Method | None] = {}

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Serve a request, as moto's application does."""
        method = self._method(environ)
        if method is None:
            served: Iterable[bytes] = super().__call__(environ, start_response)
            return served
        request = _request(environ)
        try:
            answer = method(request, f"{environ['wsgi.url_scheme']}://{environ['HTTP_HOST']}/", dict(request.headers))
        except ClientError as error:
            answer = 400, {}, error.response["Error"]["Message"]
        except HTTPException as error:
            return error.get_response(environ)(environ, start_response)
        status, headers, content = answer if isinstance(answer, tuple) else (200, {}, answer)
        body = content.encode() if isinstance(content, str) else bytes(content)
        start_response(
            f"{status} {HTTP_STATUS_CODES.get(status, 'Unknown').upper()}", _answer_headers(headers, len(body))
        )
        return [body]

    def infer_service_region_host(self, environ: Environ, path: str) -> str | None:
        """Return the host of a request, also of S3 Control for directory buckets, which is signed for s3express."""
        if path.startswith(S3_CONTROL) and "/s3express/" in environ.get("HTTP_AUTHORIZATION", ""):
            return "s3control"
        found: str | None = super().infer_service_region_host(environ, path)
        return found

    def _method(self, environ: Environ) -> Method | None:
        """Return the method that serves a request, or None if it is not a signed `POST /`."""
        scope = environ.get("HTTP_AUTHORIZATION", "").partition(",")[0].split("/")
        if environ["REQUEST_METHOD"] != "POST" or environ.get("REQUEST_URI") != "/" or not scope[4:]:
            return None
        # The version in front of DynamoDB's operations tells its services apart.
        key = scope[3], environ.get("HTTP_X_AMZ_TARGET", "").partition(".")[0]
        if key not in self._methods:
            self._methods[key] = _of_root(self.get_application(environ))
        return self._methods[key]


def _of_root(application: Moto) -> Method | None:
    """Return the method that serves `POST /`, or None if no method does."""
    try:
        endpoint, _ = application.url_map.bind("localhost").match("/", "POST")
    except NotFound:
        return None
    method: Method = application.view_functions[endpoint].callback
    return method


def _request(environ: Environ) -> BackendRequest:
    """Return the request with its form, which werkzeug would read in many steps."""
    request = BackendRequest(environ)
    data = body = environ["wsgi.input"].read()
    pairs: list[tuple[str, str]] = []
    if environ.get("CONTENT_TYPE", "").startswith(_FORM):
        pairs, data = parse_qsl(body.decode(), keep_blank_values=True), b""
    # moto's parsers ask for each member that a request may have, and werkzeug's dictionaries raise for a missing one.
    values = dict(reversed(pairs))
    form = ImmutableMultiDict(pairs)
    vars(request).update(args=_NOTHING, form=form, values=values, files=_NOTHING, data=data, _cached_data=data)
    return request


def _answer_headers(headers: dict[str, Any], length: int) -> list[tuple[str, str]]:
    """Return the headers of an answer, with those that Flask adds."""
    added = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(length)}
    names = {name.lower() for name in headers}
    return [
        *((name, str(value)) for name, value in headers.items()),
        *((name, value) for name, value in added.items() if name.lower() not in names),
    ]

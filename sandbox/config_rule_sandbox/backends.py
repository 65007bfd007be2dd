"""moto's application, and requests to an application in this process, without Flask and without a socket."""

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ClientError
from moto.moto_server.werkzeug_app import BackendRequest, DomainDispatcherApplication, create_backend_app
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.http import HTTP_STATUS_CODES

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.wire import S3_CONTROL

# --- without Flask -------------------------------------------------------------------------------------------------
#
# Passes requests of AWS's query and JSON protocols to moto's methods without Flask. The answers stay the same.


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


# --- without a socket ----------------------------------------------------------------------------------------------
#
# moto's application, and requests to an application in this process, without a socket.


Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@cache
def moto_application() -> Application:
    """Return the application that serves each request by the backend of its service."""
    application: Application = Dispatcher(_backend_application)
    return application


def _backend_application(service: Any) -> Moto:  # noqa: ANN401  # one of moto's several hundred names of services
    """Return moto's Flask application of a service, which raises errors as moto's does, but does nothing else to debug.

    Without the headers for browsers (CORS), which no AWS service sends by itself.
    """
    application = create_backend_app(service)
    application.debug = False
    application.config["PROPAGATE_EXCEPTIONS"] = True
    application.after_request_funcs.clear()
    return application


class _Body(io.BytesIO):
    """A response body with the one method of urllib3's responses that botocore uses."""

    def stream(self) -> Iterator[bytes]:
        """Yield the whole body."""
        yield self.read()


def serve(application: Application, request: AWSPreparedRequest) -> AWSResponse:
    """Return an application's answer to a signed request."""
    started: list[tuple[str, list[tuple[str, str]]]] = []
    url = urlsplit(str(request.url))
    body = b"".join(application(_environ(request, url), lambda *start: started.append(start)))
    [(status, headers)] = started
    if request.method == "HEAD":
        body = b""  # moto's answer may have one, and a server would not send it
    received: Moto = dict(headers)  # any mapping is enough, which the type stubs do not know
    answer = AWSResponse(url.geturl(), int(status.partition(" ")[0]), received, _Body(body))
    if not request.stream_output:
        _ = answer.content  # reads the body, as botocore does
    return answer


def _environ(request: AWSPreparedRequest, url: SplitResult) -> dict[str, Any]:
    """Return the WSGI environment of a request, as werkzeug's server makes it."""
    body = _body(request.body)
    path = url.path or "/"
    target = f"{path}?{url.query}" if url.query else path
    return {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote(path).encode().decode("latin-1"),
        "QUERY_STRING": url.query,
        "REQUEST_URI": target,
        "RAW_URI": target,
        "REMOTE_ADDR": url.hostname,
        "SERVER_NAME": url.hostname,
        "SERVER_PORT": str(url.port or 80),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": url.netloc,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": url.scheme,
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        **_headers(request),
        "CONTENT_LENGTH": str(len(body)),
    }


def _headers(request: AWSPreparedRequest) -> dict[str, str]:
    """Return the variables of the headers of a request."""
    variables = {_variable(name): _text(value) for name, value in dict[str, Moto](request.headers).items()}
    variables.pop("HTTP_TRANSFER_ENCODING", None)
    variables.pop("HTTP_CONTENT_LENGTH", None)
    content_type = variables.pop("HTTP_CONTENT_TYPE", "")
    return {**variables, "CONTENT_TYPE": content_type}


@lru_cache(256)
def _variable(header: str) -> str:
    """Return the name of a header in a WSGI environment."""
    return f"HTTP_{header.upper().replace('-', '_')}"


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _body(body: Any) -> bytes:  # noqa: ANN401  # text, bytes, a file or nothing
    content = body.read() if hasattr(body, "read") else body or b""
    return content.encode() if isinstance(content, str) else bytes(content)

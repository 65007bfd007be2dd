"""moto's application, and requests to an application in this process, without a socket."""

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from moto.moto_server.werkzeug_app import create_backend_app

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.http.dispatcher import Dispatcher

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

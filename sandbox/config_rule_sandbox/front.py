"""Receives every request: applies faults, passes it on to moto, and logs the call; and the server in front of which it is."""

import io
import logging
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from moto.moto_server.threaded_moto_server import ThreadedMotoServer
from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import make_server

from config_rule_sandbox.backends import Application, moto_application
from config_rule_sandbox.calls import Call, CallLog
from config_rule_sandbox.faults import Fault, Faults
from config_rule_sandbox.prices import Prices
from config_rule_sandbox.stale_reads import Answer, StaleReads
from config_rule_sandbox.wire import Request, read

# --- the application -----------------------------------------------------------------------------------------------
#
# Receives every request: applies faults, passes it on to moto, and logs the call.


logger = logging.getLogger(__name__)

StartResponse = Callable[..., Any]

BAD_REQUEST = 400
ERROR_CODE = re.compile(rb"<Code>([^<]+)</Code>|\"__type\":\s*\"(?:[^\"#]*#)?([^\"]+)\"")


class Front:
    """A WSGI application in front of another one."""

    def __init__(self, application: Application, calls: CallLog, faults: Faults, stale: StaleReads) -> None:
        """Serve `application`, with these faults and stale reads, and write to `calls`."""
        self._application = application
        self._calls = calls
        self._faults = faults
        self._stale = stale

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request. If moto lacks the operation or raises, answer InternalFailure with status 500.

        Answers to HEAD requests have no body, also those of faults.
        """
        request = read(environ)
        answer = _Answer()
        fault = self._faults.meet(request)
        if fault is None:
            try:
                answer.status, answer.headers, answer.body = self._stale.serve(request, lambda: self._serve(environ))
            except Exception as error:
                logger.exception("%s:%s", request.service, request.operation)
                fault = Fault("InternalFailure", 500, f"cannot serve {request.service}:{request.operation}: {error!r}")
        if fault:
            answer.headers, answer.body = fault.render(request.protocol)
            answer.status = f"{fault.status} {fault.code}"
        self._log(request, answer)
        start_response(answer.status, answer.headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer.body]

    def _serve(self, environ: dict[str, Any]) -> Answer:
        """Return what the application answers; it may be called twice, so it reads a copy of the body."""
        answer = _Answer()
        body = environ["wsgi.input"].getvalue()
        served = self._application({**environ, "wsgi.input": io.BytesIO(body)}, answer.start)
        answer.body = b"".join(served)
        return answer.status, answer.headers, answer.body

    def _log(self, request: Request, answer: "_Answer") -> None:
        status = int(answer.status.split(" ")[0])
        self._calls.append(
            Call(
                request.service,
                request.operation,
                request.parameters,
                request.account_id,
                request.region,
                status,
                _error_code(answer.body) if status >= BAD_REQUEST else None,
            )
        )


class _Answer:
    """Status, headers and body of an answer, held back until the call is logged."""

    def __init__(self) -> None:
        self.status = "500 Internal Server Error"
        self.headers: list[tuple[str, str]] = []
        self.body = b""

    def start(self, status: str, headers: list[tuple[str, str]], *_: object) -> None:
        """Serve as `start_response` for the application behind."""
        self.status, self.headers = status, headers


def _error_code(body: bytes) -> str | None:
    """Return the error code in the body of an error answer, or None if it has none that is known here."""
    match = ERROR_CODE.search(body)
    return (match[1] or match[2]).decode() if match else None


# --- the server ----------------------------------------------------------------------------------------------------
#
# moto's threaded server, with the sandbox's call log and faults in front of it.


HOST = "127.0.0.1"


class _Handler(MotoRequestHandler):
    """Serves requests without a line on standard error for each, and sends the head and the body of an answer together.

    werkzeug sends one after the other. Between them, a busy AWS SDK for Go 2 may close the connection and repeat a request
    that was carried out, which then fails with RouteAlreadyExists or InvalidSubnet.Conflict. The SDK closes the body of
    its request when it has the head of the answer. If Go is still writing that body, it takes this for a failed write:
    `ClientHandler.Handle` and `safeWriteToReadCloser` in https://github.com/aws/smithy-go/tree/v1.22.3/transport/http.
    Answers that Go reads in parts, of more than 4 KB, are still affected, but only operations that read have them.
    """

    wbufsize = -1

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Print nothing: the call log has the request."""

    def finish(self) -> None:
        """Close the connection, whose client may be gone while an answer is buffered."""
        with suppress(ConnectionError):
            super().finish()


class WebServer(ThreadedMotoServer):
    """moto's threaded server behind the sandbox's front; closes its socket when stopped."""

    def __init__(self, calls: CallLog, faults: Faults, prices: Prices, reads: StaleReads) -> None:
        """Prepare a server on a free port of the loopback address; nothing is served yet."""
        super().__init__(ip_address=HOST, port=0, verbose=False)
        self.application = Front(prices.before(moto_application()), calls, faults, reads)

    def _server_entry(self) -> None:
        self._server = make_server(HOST, 0, self.application, threaded=True, request_handler=_Handler)
        self._server_ready_event.set()
        self._server.serve_forever()

    def stop(self) -> None:
        """Stop serving and free the port."""
        super().stop()
        if self._server:
            self._server.server_close()

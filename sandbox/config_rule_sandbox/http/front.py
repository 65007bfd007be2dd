"""Receives every request: applies faults, passes it on to moto, and logs the call."""

import io
import logging
import re
from collections.abc import Callable, Iterable
from typing import Any

from config_rule_sandbox.calls import Call, CallLog
from config_rule_sandbox.faults import Fault, Faults
from config_rule_sandbox.http.in_memory import Application
from config_rule_sandbox.http.wire import Request, read
from config_rule_sandbox.stale_reads import Answer, StaleReads

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

"""Faults on demand: denials, throttling, any other error, and things that happen just before a call is served."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from xml.sax.saxutils import escape

from config_rule_sandbox.http.wire import Request

XML_BODIES = {
    "ec2": "<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
    "<RequestID>{request}</RequestID></Response>",
    "query": "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
    "<RequestId>{request}</RequestId></ErrorResponse>",
    "rest-xml": "<Error><Code>{code}</Code><Message>{message}</Message><RequestId>{request}</RequestId></Error>",
}
"""Bodies of errors in the XML protocols (https://smithy.io/2.0/aws/protocols/)."""

REQUEST_ID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class Fault:
    """An error answer: its code, HTTP status and message."""

    code: str
    status: int
    message: str

    def render(self, protocol: str) -> tuple[list[tuple[str, str]], bytes]:
        """Return the headers and body that carry this error in one of AWS's protocols."""
        if template := XML_BODIES.get(protocol):
            body = template.format(code=escape(self.code), message=escape(self.message), request=REQUEST_ID)
            return [("Content-Type", "text/xml"), ("Content-Length", str(len(body.encode())))], body.encode()
        content = json.dumps({"__type": self.code, "message": self.message, "Message": self.message})
        headers = [("Content-Type", "application/json"), ("x-amzn-ErrorType", self.code)]
        return [*headers, ("Content-Length", str(len(content.encode())))], content.encode()


@dataclass
class _Rule:
    service: str
    operation: str
    fault: Fault | None
    times: int | None
    where: Mapping[str, Any] = field(default_factory=dict)
    action: Callable[[], None] = field(default=lambda: None)
    served: int = 0

    def fits(self, request: Request) -> bool:
        """Return whether this rule applies to a request."""
        named = self.service == request.service and self.operation in (request.operation, "*")
        given = {**request.parameters, "account_id": request.account_id, "region": request.region}
        return named and self.times != 0 and self.where.items() <= given.items()


@dataclass
class _Bucket:
    """A bucket of tokens, one for each request, that fills again."""

    size: float
    per_second: float
    tokens: float
    filled: float = field(default_factory=time.monotonic)

    def take(self) -> bool:
        """Take a token; return whether there was one."""
        now = time.monotonic()
        self.tokens = min(self.size, self.tokens + (now - self.filled) * self.per_second)
        self.filled = now
        has_token = self.tokens >= 1
        self.tokens -= has_token
        return has_token


class Faults:
    """The faults that apply now.

    The operation `*` means every operation of the service; `times=None` means until cleared; `where` has parameters
    that a request must have with exactly these values, for example `PrefixListId="pl-1"`, `account_id="111122223333"`, or
    `region="eu-west-1"`.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._rules: list[_Rule] = []
        self._limit: tuple[float, float] | None = None
        self._buckets: dict[tuple[str, str], _Bucket] = {}
        self._lock = Lock()

    def clear(self) -> None:
        """Remove every fault."""
        with self._lock:
            self._rules.clear()
            self._limit = None
            self._buckets.clear()

    def deny(
        self, service: str, operation: str, times: int | None = None, *, message: str = "", **where: object
    ) -> None:
        """Refuse an operation as IAM does, with a message of its own if that is given.

        EC2 answers UnauthorizedOperation, other XML services AccessDenied, all with status 403; JSON services
        AccessDeniedException with status 400 (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html,
        https://docs.aws.amazon.com/config/latest/APIReference/CommonErrors.html).
        """
        message = message or f"You are not authorized to perform: {service}:{operation}"
        self._add(service, operation, denial(service, message), times, where)

    def throttle(
        self, service: str, operation: str, times: int | None = None, *, served: int = 0, **where: object
    ) -> None:
        """Refuse an operation as if it were called too often, after `served` calls of it were served.

        EC2 answers RequestLimitExceeded with status 503, S3 SlowDown with 503, others ThrottlingException with 400
        (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html,
        https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html).
        """
        self._add(service, operation, throttling(service), times, where, served)

    def limit_reads(self, size: float, per_second: float) -> None:
        """Throttle EC2's Describe calls: each has a bucket of tokens in each account. AWS's hold 100 and gain 20 a second.

        https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html. A machine that is slower than AWS needs
        smaller ones.
        """
        self._limit = (size, per_second)

    def fail(
        self, service: str, operation: str, code: str, status: int, times: int | None = None, **where: object
    ) -> None:
        """Answer an operation with any error code and HTTP status, for example InternalError and 500."""
        self._add(service, operation, Fault(code, status, f"The test requested {code}."), times, where)

    def before(self, service: str, operation: str, action: Callable[[], None], times: int | None = 1) -> None:
        """Run `action` just before an operation is served, for example a change between an event and a read."""
        with self._lock:
            self._rules.append(_Rule(service, operation, None, times, action=action))

    def meet(self, request: Request) -> Fault | None:
        """Use up one turn of every rule that fits, run its action, and return the first fault among them, or None."""
        with self._lock:
            if self._is_over_limit(request):
                return throttling(request.service)
            known = [rule for rule in self._rules if rule.fits(request)]
            fitting = [rule for rule in known if not rule.served]
            for rule in known:
                rule.served = max(rule.served - 1, 0)
            for rule in fitting:
                rule.times = None if rule.times is None else rule.times - 1
        for rule in fitting:
            rule.action()
        return next((rule.fault for rule in fitting if rule.fault), None)

    def _is_over_limit(self, request: Request) -> bool:
        if self._limit is None or request.service != "ec2" or not request.operation.startswith("Describe"):
            return False
        size, per_second = self._limit
        key = (request.account_id, request.operation)
        return not self._buckets.setdefault(key, _Bucket(size, per_second, size)).take()

    def _add(  # the fields of a rule
        self,
        service: str,
        operation: str,
        fault: Fault,
        times: int | None,
        where: Mapping[str, object],
        served: int = 0,
    ) -> None:
        with self._lock:
            self._rules.append(_Rule(service, operation, fault, times, where, served=served))


def throttling(service: str) -> Fault:
    """Return the error with which a service refuses a call that comes too often: see `Faults.throttle`."""
    code, status = {"ec2": ("RequestLimitExceeded", 503), "s3": ("SlowDown", 503), "sts": ("Throttling", 400)}.get(
        service, ("ThrottlingException", 400)
    )
    return Fault(code, status, "Request limit exceeded.")


def denial(service: str, message: str) -> Fault:
    """Return the error with which a service refuses a caller who has no permission: see `Faults.deny`."""
    if service == "ec2":
        return Fault("UnauthorizedOperation", 403, message)
    if service in ("s3", "sts", "iam", "sns"):
        return Fault("AccessDenied", 403, message)
    return Fault("AccessDeniedException", 400, message)

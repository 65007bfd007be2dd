"""Reads service, operation and parameters from a raw HTTP request, with botocore's service models."""

import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from urllib.parse import unquote_plus

from botocore.exceptions import UnknownServiceError
from botocore.session import Session
from moto.core.parse import PROTOCOL_PARSERS, RequestParserError
from moto.core.request import determine_request_protocol
from moto.core.routing import get_service_router
from moto.core.utils import get_service_model
from moto.iam.models import get_account_id_from
from moto.moto_server.werkzeug_app import BackendRequest
from moto.utilities.utils import get_partition
from werkzeug.exceptions import HTTPException

SERVICE_OF_SIGNING_NAME = {
    "elasticloadbalancing": "elbv2",
    "monitoring": "cloudwatch",
    "s3express": "s3",
    "servicequotas": "service-quotas",
    "states": "stepfunctions",
    "tagging": "resourcegroupstaggingapi",
}
"""Signing names that differ from the name of the botocore model (botocore model, metadata.signingName)."""
S3_CONTROL = "/v20180820/"
"""How the paths of S3 Control begin, which has the signing names of S3."""
_FORM = "application/x-www-form-urlencoded"
_ACTION = re.compile(r"(?:^|&)Action=([^&]*)")

Http = Callable[[], BackendRequest]
"""Returns the HTTP request that moto's parsers read. Few requests need it."""


class Parameters(Mapping[str, Any]):
    """The parsed input of an operation. It is parsed when somebody first looks at it, because few do."""

    def __init__(self, parse: Callable[[], dict[str, Any]] = dict) -> None:
        """Keep the function that parses the input."""
        self._parse = parse
        self._parsed: dict[str, Any] | None = None

    def _all(self) -> dict[str, Any]:
        if self._parsed is None:
            self._parsed = self._parse()
        return self._parsed

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  # a parameter may be anything
        """Return a parameter. KeyError if the request does not have it."""
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the parameters."""
        return iter(self._all())

    def __len__(self) -> int:
        """Return the number of parameters."""
        return len(self._all())

    def __repr__(self) -> str:
        """Return the parameters as a dictionary shows them."""
        return repr(self._all())


@dataclass(frozen=True, slots=True)
class Request:
    """One AWS API request: botocore's service name, the operation's name, its parsed input, and whose it is."""

    service: str
    operation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    account_id: str = ""
    region: str = ""
    protocol: str = ""

    @property
    def action(self) -> str:
        """The operation as policies name it, for example `ec2:CreateTags`."""
        return f"{self.service}:{self.operation}"

    def arn(self, service: str, name: str, account_id: str | None = None) -> str:
        """Return the ARN of a resource in the Region of this request, and in its account unless another is named."""
        account = account_id or self.account_id
        return f"arn:{get_partition(self.region)}:{service}:{self.region}:{account}:{name}"


def read(environ: dict[str, Any]) -> Request:
    """Return the request in a WSGI environment; its body stays readable for the next application.

    For a service without a botocore model, `service` is the signing name and the parameters are empty. A request that
    is not for AWS has the service `unknown`, and its HTTP method and path as operation.
    """
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)

    def http() -> BackendRequest:
        return BackendRequest({**environ, "wsgi.input": io.BytesIO(body)})

    scope = environ.get("HTTP_AUTHORIZATION", "").partition("Credential=")[2].partition(",")[0]
    account_id = str(get_account_id_from(scope.partition("/")[0]))
    action = _action(environ, body)
    signing_name, region = _signing_name_and_region(scope)
    service = SERVICE_OF_SIGNING_NAME.get(signing_name, signing_name)
    if service == "s3" and environ["PATH_INFO"].startswith(S3_CONTROL):
        service = "s3control"
    operation, uri_parameters = (action, {}) if action else _operation(environ, http, service)
    if service not in _services():
        return Request(service, operation, {}, account_id, region)
    # ListBuckets and ListDirectoryBuckets are the same request; only the signing name tells them apart.
    if (signing_name, operation) == ("s3express", "ListBuckets"):
        operation = "ListDirectoryBuckets"
    protocol = determine_request_protocol(get_service_model(service), environ.get("CONTENT_TYPE"))
    parameters = Parameters(partial(_parse, http, service, operation, protocol, uri_parameters))
    return Request(service, operation, parameters, account_id, region, protocol)


def _parse(http: Http, service: str, operation: str, protocol: str, uri_parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the input of an operation, empty if botocore does not know the operation."""
    model = get_service_model(service)
    if operation not in model.operation_names:
        return {}
    request = http()
    parts: Any = {
        "method": request.method,
        "values": request.values,
        "headers": request.headers,
        "body": request.get_data(),
        "url_path": request.path,
        "url_params": uri_parameters,
    }
    try:
        return dict(PROTOCOL_PARSERS[protocol](model.operation_model(operation)).parse(parts))
    except (RequestParserError, ValueError, TypeError, KeyError):
        # The service itself must refuse a malformed request; the log has it all the same.
        return {}


def _action(environ: dict[str, Any], body: bytes) -> str:
    """Return the parameter Action of the query string or of a form; empty without one."""
    form = body.decode("latin-1") if environ.get("CONTENT_TYPE", "").startswith(_FORM) else ""
    found = _ACTION.search(environ.get("QUERY_STRING", "")) or _ACTION.search(form)
    return unquote_plus(found[1]) if found else ""


def _operation(environ: dict[str, Any], http: Http, service: str) -> tuple[str, dict[str, Any]]:
    """Return the operation's name and the parameters of the path: from X-Amz-Target or the route."""
    if target := environ.get("HTTP_X_AMZ_TARGET"):
        return str(target).rpartition(".")[2], {}
    try:
        operation, uri_parameters = get_service_router(service).match(http())
    except (LookupError, NotImplementedError, HTTPException, UnknownServiceError):
        return f"{http().method} {http().path}", {}
    return str(operation.name), uri_parameters


def _signing_name_and_region(scope: str) -> tuple[str, str]:
    """Return signing name and Region of the credential scope of Signature Version 4.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-signing-elements.html
    """
    match scope.split("/"):
        case [_, _, region, signing_name, "aws4_request"]:
            return signing_name, region
    return "unknown", ""


@cache
def _services() -> frozenset[str]:
    """Return the names of all services that botocore has a model of."""
    return frozenset(Session().get_available_services())

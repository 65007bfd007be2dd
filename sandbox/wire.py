"""Reads service, operation and parameters from a raw HTTP request, with botocore's service models."""

import io
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from botocore.exceptions import UnknownServiceError
from botocore.session import Session
from moto.core.model import ServiceModel
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
UNSIGNED_SERVICES = {"AssumeRoleWithWebIdentity": "sts", "AssumeRoleWithSAML": "sts"}
"""Services of the actions that carry no signature (botocore model, authtype none)."""


@dataclass(frozen=True, slots=True)
class Request:
    """One AWS API request: botocore's service name, the operation's name, its parsed input, and whose it is."""

    service: str
    operation: str
    parameters: dict[str, Any] = field(default_factory=dict)
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
    http = BackendRequest(dict(environ, **{"wsgi.input": io.BytesIO(body)}))
    signing_name, region = _signing_name_and_region(http)
    service = SERVICE_OF_SIGNING_NAME.get(signing_name, signing_name)
    operation, uri_parameters = _operation(http, service)
    if service not in _services():
        return Request(service, operation, {}, _account(http), region)
    # ListBuckets and ListDirectoryBuckets are the same request; only the signing name tells them apart.
    if (signing_name, operation) == ("s3express", "ListBuckets"):
        operation = "ListDirectoryBuckets"
    parameters, protocol = _parse(http, get_service_model(service), operation, uri_parameters)
    return Request(service, operation, parameters, _account(http), region, protocol)


def _parse(
    http: BackendRequest, model: ServiceModel, operation: str, uri_parameters: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """Return the input of an operation, empty if botocore does not know the operation, and the protocol it came in."""
    protocol = determine_request_protocol(model, http.content_type)
    if operation not in model.operation_names:
        return {}, protocol
    parser = PROTOCOL_PARSERS[protocol](model.operation_model(operation))
    parts: Any = {
        "method": http.method,
        "values": http.values,
        "headers": http.headers,
        "body": http.get_data(),
        "url_path": http.path,
        "url_params": uri_parameters,
    }
    try:
        return dict(parser.parse(parts)), protocol
    except (RequestParserError, ValueError, TypeError, KeyError):
        # The service itself must refuse a malformed request; the log has it all the same.
        return {}, protocol


def _operation(http: BackendRequest, service: str) -> tuple[str, dict[str, Any]]:
    """Return the operation's name and the parameters of the path: from Action, X-Amz-Target or the route."""
    if action := http.values.get("Action"):
        return action, {}
    if target := http.headers.get("X-Amz-Target"):
        return target.rpartition(".")[2], {}
    try:
        operation, uri_parameters = get_service_router(service).match(http)
    except (LookupError, NotImplementedError, HTTPException, UnknownServiceError):
        return f"{http.method} {http.path}", {}
    return str(operation.name), uri_parameters


def _signing_name_and_region(http: BackendRequest) -> tuple[str, str]:
    """Return signing name and Region of the credential scope of Signature Version 4 (or of the few unsigned calls).

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-signing-elements.html
    """
    scope = http.headers.get("Authorization", "").partition("Credential=")[2].partition(",")[0]
    match scope.split("/"):
        case [_, _, region, signing_name, "aws4_request"]:
            return signing_name, region
    return UNSIGNED_SERVICES.get(http.values.get("Action", ""), "unknown"), ""


def _account(http: BackendRequest) -> str:
    """Return the account that owns the access key of the request, as moto sees it."""
    scope = http.headers.get("Authorization", "").partition("Credential=")[2]
    return str(get_account_id_from(scope.partition("/")[0]))


@cache
def _services() -> frozenset[str]:
    """Return the names of all services that botocore has a model of."""
    return frozenset(Session().get_available_services())

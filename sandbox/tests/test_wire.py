"""Reading what a raw request asks for."""

import urllib.error
import urllib.request

import pytest

from sandbox.refusals import refused
from sandbox.server import Sandbox


def post(sandbox: Sandbox, body: bytes, **headers: str) -> int:
    """Send a raw request and return the status of the answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(sandbox.endpoint_url + "/", data=body, headers=named)
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return int(error.code)


@pytest.mark.parametrize(
    ("service", "method", "operation"),
    [
        ("cloudwatch", "list_metrics", "ListMetrics"),
        ("elbv2", "describe_load_balancers", "DescribeLoadBalancers"),
        ("iam", "list_roles", "ListRoles"),
        ("lambda", "list_functions", "ListFunctions"),
        ("sqs", "list_queues", "ListQueues"),
        ("ssm", "list_documents", "ListDocuments"),
        ("sts", "get_caller_identity", "GetCallerIdentity"),
    ],
)
def test_every_protocol(sandbox: Sandbox, service: str, method: str, operation: str) -> None:
    """Calls of every protocol are logged under the names that botocore has for service and operation."""
    getattr(sandbox.client(service), method)()
    assert [(call.service, call.operation, call.status) for call in sandbox.calls] == [(service, operation, 200)]


def test_parameters_of_a_path(sandbox: Sandbox) -> None:
    """Parameters that are part of the path are logged too."""
    assert refused(sandbox.client("lambda").get_function, FunctionName="none") == "ResourceNotFoundException"
    assert sandbox.calls.of("lambda")[0].parameters == {"FunctionName": "none"}


def test_an_unsigned_request(sandbox: Sandbox) -> None:
    """AssumeRoleWithWebIdentity carries no signature; its service is known by its name."""
    form = b"Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn:aws:iam::1:role/r&WebIdentityToken=token"
    post(sandbox, form, Content_Type="application/x-www-form-urlencoded")
    (call,) = sandbox.calls
    assert (call.service, call.operation) == ("sts", "AssumeRoleWithWebIdentity")
    assert call.parameters["WebIdentityToken"] == "token"

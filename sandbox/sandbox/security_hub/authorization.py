"""What requests to Security Hub are authorized on, and the condition keys that they bring.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssecurityhub.html; the paths of
ASFFSyntaxPath: https://docs.aws.amazon.com/securityhub/latest/userguide/finding-update-batchupdatefindings.html
"""

from collections.abc import Callable, Iterator, Mapping

from sandbox.iam_policies import Authorization
from sandbox.wire import Request

HUB = "hub/default"


def _on_the_hub(request: Request) -> Iterator[Authorization]:
    yield Authorization(request.action, request.arn("securityhub", HUB))


def _update(request: Request) -> Iterator[Authorization]:
    """Yield what an update needs. Each attribute that it sets is a condition key."""
    keys = {}
    for name, value in request.parameters.items():
        inner = value if isinstance(value, dict) and name != "UserDefinedFields" else {"": value}
        for path, found in inner.items():
            key = f"securityhub:ASFFSyntaxPath/{name}" + (f".{path}" if path else "")
            keys[key] = [str(found)]
    yield Authorization(request.action, request.arn("securityhub", HUB), keys)


def _import(request: Request) -> Iterator[Authorization]:
    for finding in request.parameters.get("Findings", []):
        keys = {"securityhub:TargetAccount": [finding["AwsAccountId"]]}
        yield Authorization(request.action, finding["ProductArn"], keys)


READERS: Mapping[str, Callable[[Request], Iterator[Authorization]]] = {
    "securityhub:BatchImportFindings": _import,
    "securityhub:BatchUpdateFindings": _update,
    "securityhub:GetFindings": _on_the_hub,
}

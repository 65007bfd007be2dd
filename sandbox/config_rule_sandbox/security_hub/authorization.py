"""What requests to Security Hub are authorized on, and the condition keys that they bring.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssecurityhub.html
"""

from collections.abc import Callable, Iterator, Mapping

from config_rule_sandbox.http.wire import Request
from config_rule_sandbox.iam.policies import Authorization

HUB = "hub/default"


def _on_the_hub(request: Request) -> Iterator[Authorization]:
    yield Authorization(request.action, request.arn("securityhub", HUB))


def _import_resources(request: Request) -> Iterator[Authorization]:
    for finding in request.parameters.get("Findings", []):
        keys = {"securityhub:TargetAccount": [finding["AwsAccountId"]]}
        yield Authorization(request.action, finding["ProductArn"], keys)


READERS: Mapping[str, Callable[[Request], Iterator[Authorization]]] = {
    "securityhub:BatchImportFindings": _import_resources,
    "securityhub:GetFindings": _on_the_hub,
}

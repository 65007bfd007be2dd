"""Pagination for every EC2 operation that AWS paginates: MaxResults, NextToken, and pages without MaxResults."""

import base64
import binascii
import json
import sys
from functools import cache
from typing import Any

from botocore.loaders import create_loader
from moto.core.responses import ActionResult
from moto.core.utils import get_service_model
from moto.ec2.responses import EC2Response

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patching.patches import Patches

UNBOUNDED = 1000
"""Items of a page at most, where the botocore model has no maximum."""


def apply(patches: Patches, knobs: Knobs) -> None:
    """Cut the answers of describe operations into pages.

    moto returns everything and no NextToken. AWS returns at most MaxResults items and a token for the next page, and
    pages by itself where there is much, for example more than 125 routes
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html#api-pagination;
    https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html).
    Which operations, and which list of their answers: botocore's paginators.
    """

    def paginating(original: Moto) -> Moto:
        def serialized(self: Moto, action_result: ActionResult) -> Moto:
            return original(self, _page(action_result, str(self._get_action()), self.params, knobs.page_size))

        return serialized

    patches.wrap(EC2Response, "serialized", paginating)
    patches.wrap(EC2Response, "describe_instances", _unpaged)


def _unpaged(original: Moto) -> Moto:
    """Let the one operation that moto paginates return everything, because moto's tokens are different."""

    def describe_instances(self: Moto) -> ActionResult:
        asked = self.params
        self.params = {name: value for name, value in asked.items() if name != "NextToken"} | {
            "MaxResults": sys.maxsize
        }
        try:
            reservations = original(self).result["Reservations"]
        finally:
            self.params = asked
        return ActionResult({"Reservations": reservations})

    return describe_instances


def _page(answer: ActionResult, operation: str, parameters: dict[str, Any], page_size: int | None) -> ActionResult:
    key = _result_key(operation)
    result = answer.result
    if key is None or not isinstance(result, dict) or result.get("NextToken"):
        return answer
    items = list(result.get(key) or [])
    start = _read(parameters.get("NextToken"), operation)
    end = start + _limit(operation, parameters.get("MaxResults"), page_size, len(items))
    token = {"NextToken": _write(operation, end)} if end < len(items) else {}
    return ActionResult({**result, key: items[start:end], **token})


def _limit(operation: str, max_results: int | None, page_size: int | None, count: int) -> int:
    """Return the size of a page: MaxResults, else the value of the knob.

    InvalidParameterValue for more than the maximum in the botocore model, as in
    https://github.com/aws/aws-cli/issues/3397. Where the model has none, more than 1,000 count as 1,000 (there,
    DescribeVpcEndpointsRequest.MaxResults).
    """
    if max_results is None:
        return page_size or max(count, 1)
    shape = get_service_model("ec2").operation_model(operation).input_shape.members["MaxResults"]
    most = shape.metadata.get("max")
    if most is not None and max_results > most:
        message = f"Value ( {max_results} ) for parameter maxResults is invalid. "
        raise ApiError("InvalidParameterValue", f"{message}Expecting a value smaller than or equal to {most}.")
    return min(max_results, UNBOUNDED)


def _write(operation: str, start: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([operation, start]).encode()).decode()


def _read(token: str | None, operation: str) -> int:
    """Return where a page starts. A token of another operation, or an unknown one, is refused with InvalidNextToken."""
    if not token:
        return 0
    try:
        owner, start = json.loads(base64.urlsafe_b64decode(token))
    except (ValueError, TypeError, binascii.Error):
        owner, start = None, 0
    if owner != operation:
        raise ApiError("InvalidNextToken", f"The token '{token}' is invalid")
    return int(start)


@cache
def _paginators() -> dict[str, dict[str, Any]]:
    """Return botocore's description of EC2's paginators, by operation."""
    paginators: dict[str, dict[str, Any]] = create_loader().load_service_model("ec2", "paginators-1")["pagination"]
    return paginators


@cache
def _result_key(operation: str) -> str | None:
    """Return the name of the list that an operation's answer is paged by, or None if botocore has no paginator."""
    paginator = _paginators().get(operation, {})
    key = paginator.get("result_key")
    return key if isinstance(key, str) and paginator.get("output_token") == "NextToken" else None

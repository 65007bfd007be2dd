"""What is true of every EC2 operation: filters, pages, dry runs, HTTP statuses of errors, one change at a time."""

import base64
import binascii
import json
import re
import sys
from collections.abc import Collection
from fnmatch import fnmatchcase
from functools import cache
from threading import RLock
from typing import Any

from botocore.loaders import create_loader
from moto.core.responses import ActionResult
from moto.core.utils import get_service_model
from moto.ec2 import utils
from moto.ec2.exceptions import DryRunClientError, EC2ClientError
from moto.ec2.models.nat_gateways import NatGateway
from moto.ec2.models.route_tables import RouteTable
from moto.ec2.models.vpcs import VPCEndPoint
from moto.ec2.responses import EC2Response
from werkzeug.exceptions import HTTPException

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import STATUSES, ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.faults import Fault
from config_rule_sandbox.patches import Patches

# --- filters -------------------------------------------------------------------------------------------------------
#
# Filters of describe operations that moto lacks or answers wrongly.


ALIASES = {"vpc-endpoint-id": "id", "nat-gateway-id": "id", "subnet-id": "subnet_id"}
"""Attributes of endpoints and NAT gateways that moto does not find by their filter; a regional one has no subnet."""

EARLIER_NAMES = {"isDefault": "is-default", "tag-value": "tag-key"}
"""Filters that EC2 still accepts, by the filter that the model lists today wherever the earlier one is accepted.

`isDefault` is in earlier versions of https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeVpcs.html.
`tag-value` is in earlier versions of every operation with `tag-key`; AWS's own
https://github.com/aws/sagemaker-python-sdk uses it (tests/integ/vpc_test_utils.py).
"""

CODE = re.compile(r"<code>([^<]+)</code>")
NAMES = re.compile(r"<li> <p> (<code>[^<]+</code>)|You can also use (.+?) as the filter name")
"""The names of a filter in the model's documentation of Filters: at the start of an item, or as another name."""

TAG = "tag"
"""How the model's documentation begins `tag:<key>`, which is a filter only with a key."""

CODES = {"DescribeVpcEndpointServices": "InvalidFilter"}
"""Error codes other than InvalidParameterValue: https://github.com/mondoohq/mql/issues/4454."""

MOST_VALUES = 200
"""Values of one filter: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html."""


def apply_filters(patches: Patches, knobs: Knobs) -> None:
    """Add the filters of the botocore model that moto does not implement.

    A filter that the model does not know is refused: moto ignores some, so that a misspelt one would find everything.
    DescribeRouteTables: every `route.` filter and both kinds of association; DescribeVpcEndpoints and
    DescribeNatGateways: the id (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeRouteTables.html).
    Of a resource that has several values, one is enough, as the values of a filter are joined with an OR
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Filter.html); to moto all of one side must fit.
    """
    del knobs
    patches.wrap(utils, "is_filter_matching", _matching)
    patches.wrap(EC2Response, "_filters_from_querystring", _known)
    patches.wrap(RouteTable, "get_filter_value", _of_route_table)
    patches.wrap(VPCEndPoint, "get_filter_value", _of_id)
    patches.wrap(NatGateway, "get_filter_value", _of_id)


def _matching(original: Moto) -> Moto:
    """Match a filter if any value of a multi-valued field matches."""

    def is_filter_matching(resource: Moto, name: str, wanted: list[str]) -> bool:
        value = resource.get_filter_value(name)
        if isinstance(value, Collection) and not isinstance(value, str):
            return any(fnmatchcase(str(member), pattern) for member in value for pattern in wanted)
        return bool(original(resource, name, wanted))

    return is_filter_matching


def _known(original: Moto) -> Moto:
    """Reject filters that the operation does not have, and filters with too many values."""

    def filters_from_querystring(self: Moto) -> dict[str, list[str]]:
        operation = str(self._get_action())
        found: dict[str, list[str]] = original(self)
        for name, values in found.items():
            if len(values) > MOST_VALUES:
                raise ApiError("FilterLimitExceeded", f"A filter has at most {MOST_VALUES} values")
            if not name.startswith("tag:") and name not in _names(operation):
                raise ApiError(CODES.get(operation, "InvalidParameterValue"), f"The filter '{name}' is invalid")
        return found

    return filters_from_querystring


@cache
def _names(operation: str) -> frozenset[str]:
    """Return the names of an operation's filters, as the documentation in the botocore model has them."""
    members = get_service_model("ec2").operation_model(operation).input_shape.members
    text = members["Filters" if "Filters" in members else "Filter"].documentation
    found = (re.findall(CODE, item or sentence) for item, sentence in NAMES.findall(text))
    listed = {name.strip() for names in found for name in names} - {TAG}
    return frozenset(listed | {earlier for earlier, name in EARLIER_NAMES.items() if name in listed})


def _of_route_table(original: Moto) -> Moto:
    """Return the values of the filters on routes and associations, which moto lacks."""

    def get_filter_value(self: Moto, filter_name: str, method_name: str | None = None) -> Moto:
        section, _, name = filter_name.partition(".")
        if section == "route":
            values = [getattr(route, name.replace("-", "_")) for route in self.routes]
            return [value for value in values if value is not None]
        if filter_name in ("association.subnet-id", "association.gateway-id"):
            key = {"subnet-id": "SubnetId", "gateway-id": "GatewayId"}[name]
            return [association[key] for association in self.associations if key in association]
        return original(self, filter_name, method_name)

    return get_filter_value


def _of_id(original: Moto) -> Moto:
    """Return the values of filters that have another name in moto."""

    def get_filter_value(self: Moto, filter_name: str, method_name: str | None = None) -> Moto:
        if filter_name in ALIASES:
            return getattr(self, ALIASES[filter_name])
        return original(self, filter_name, method_name)

    return get_filter_value


# --- pages ---------------------------------------------------------------------------------------------------------
#
# Pagination for every EC2 operation that AWS paginates: MaxResults, NextToken, and pages without MaxResults.


UNBOUNDED = 1000
"""Items of a page at most, where the botocore model has no maximum."""


def apply_pages(patches: Patches, knobs: Knobs) -> None:
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


# --- dry runs, statuses, order -------------------------------------------------------------------------------------
#
# What is true of every EC2 operation: dry runs, HTTP statuses of errors, one change at a time.


ONE_AT_A_TIME = RLock()
"""Held while EC2 serves a request."""


def apply_protocol(patches: Patches, knobs: Knobs) -> None:
    """Correct every operation of EC2.

    DryRun: a permitted request is answered with DryRunOperation and changes nothing
    (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonParameters.html).
    One at a time: moto changes its dictionaries without a lock; AWS answers concurrent requests consistently.
    """
    del knobs
    patches.wrap(EC2Response, "call_action", _call_action)
    patches.wrap(EC2Response, "_authenticate_and_authorize_normal_action", _authorizing)
    patches.wrap(EC2Response, "serialized", _serialized)


def _call_action(original: Moto) -> Moto:
    def call_action(self: Moto) -> Moto:
        with ONE_AT_A_TIME:
            return original(self)

    return call_action


def _authorizing(original: Moto) -> Moto:
    def authorize(self: Moto, resource: str = "*") -> None:
        original(self, resource)
        if self._get_param("DryRun", if_none=False):
            raise _DryRunError

    return authorize


class _DryRunError(HTTPException):
    """Ends a permitted request before anything is done; moto answers a failed authorization with its description."""

    code = 412
    description = Fault(DryRunClientError.code, 412, DryRunClientError.message).render("ec2")[1].decode()


def _serialized(original: Moto) -> Moto:
    """Serialize EC2's errors, including those that moto raises while it renders an answer, with EC2's status."""

    def serialized(self: Moto, action_result: ActionResult) -> tuple[int, dict[str, Any], Any]:
        try:
            status, headers, body = original(self, action_result)
        except EC2ClientError as refusal:
            return serialized(self, ActionResult(refusal))
        if isinstance(action_result.result, EC2ClientError):
            status = STATUSES.get(action_result.result.code, status)
        return status, headers, body

    return serialized

"""Filters of describe operations that moto lacks or answers wrongly."""

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from functools import cache

from moto.core.utils import get_service_model
from moto.ec2 import utils
from moto.ec2.models.nat_gateways import NatGateway
from moto.ec2.models.route_tables import RouteTable
from moto.ec2.models.vpcs import VPCEndPoint
from moto.ec2.responses import EC2Response

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patching.patches import Patches

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


def apply(patches: Patches, knobs: Knobs) -> None:
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

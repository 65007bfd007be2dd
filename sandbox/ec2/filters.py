"""Filters of describe operations that moto lacks or answers wrongly."""

from moto.ec2.models.nat_gateways import NatGateway
from moto.ec2.models.route_tables import RouteTable
from moto.ec2.models.vpcs import VPCEndPoint

from sandbox.dynamic import Moto
from sandbox.ec2.knobs import Knobs
from sandbox.patches import Patches

ALIASES = {"vpc-endpoint-id": "id", "nat-gateway-id": "id"}
"""Filters that are named after the resource but compare its id."""


def apply(patches: Patches, knobs: Knobs) -> None:
    """Add the filters of the botocore model that moto does not implement.

    DescribeRouteTables: every `route.` filter and both kinds of association; DescribeVpcEndpoints and
    DescribeNatGateways: the id (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeRouteTables.html).
    """
    del knobs
    patches.wrap(RouteTable, "get_filter_value", _of_route_table)
    patches.wrap(VPCEndPoint, "get_filter_value", _of_id)
    patches.wrap(NatGateway, "get_filter_value", _of_id)


def _of_route_table(original: Moto) -> Moto:
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
    def get_filter_value(self: Moto, filter_name: str, method_name: str | None = None) -> Moto:
        if filter_name in ALIASES:
            return getattr(self, ALIASES[filter_name])
        return original(self, filter_name, method_name)

    return get_filter_value

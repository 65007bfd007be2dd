"""moto's classes of resources, as values without a static type: moto's annotations do not fit their own use."""

from moto.ec2.models.nat_gateways import NatGateway as _NatGateway
from moto.ec2.models.route_tables import Route as _Route
from moto.ec2.models.vpcs import VPCEndPoint as _VPCEndPoint

from config_rule_sandbox.dynamic import Moto

Endpoint: Moto = _VPCEndPoint
NatGateway: Moto = _NatGateway
Route: Moto = _Route

"""The targets of routes: which there are, whether they are still there, and what a route shows of them."""

from moto.ec2.models.internet_gateways import InternetGateway
from moto.ec2.models.route_tables import Route
from moto.ec2.models.vpn_gateway import VpnGateway

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patching.patches import Patches

GONE = ("deleting", "deleted", "failed", "terminated", "rejected", "expired")
"""States of NAT gateways, endpoints, instances and peerings in which they carry nothing (botocore model)."""


def apply(patches: Patches, knobs: Knobs) -> None:
    """Show routes whose target is gone as `blackhole`, and both the instance and the interface of a NAT instance.

    moto's routes are always active. AWS: the target is not available, for example the gateway is not attached to the
    VPC, or the instance was terminated (botocore model, Route.State). Whether a stopped instance or an interface that
    is not attached makes a blackhole is not documented there; here they do not.
    """
    del knobs
    patches.set(Route, "state", property(lambda route: "active" if _is_there(route) else "blackhole"))
    patches.set(Route, "network_interface_id", property(lambda route: _id(_interface(route))))
    patches.set(Route, "instance_id", property(lambda route: _id(_instance(route))))
    patches.set(Route, "instance_owner_id", property(lambda route: getattr(_instance(route), "owner_id", None)))


def _is_there(route: Moto) -> bool:
    """Return whether the target of a route exists, is in a state to carry traffic, and is attached to the VPC."""
    return _exists(route) and _is_attached(route) and not any(state in GONE for state in _states(route))


def _exists(route: Moto) -> bool:
    """Return whether the target is still among the resources of the account; `local` has none and always exists."""
    backend = route.route_table.ec2_backend
    resources = (
        (route.nat_gateway, backend.nat_gateways),
        (route.egress_only_igw, backend.egress_only_internet_gateways),
        (route.transit_gateway, backend.transit_gateways),
        (route.interface, backend.enis),
        (route.vpc_pcx, backend.vpc_pcxs),
        (route.carrier_gateway, backend.carrier_gateways),
    )
    if route.vpc_endpoint_id and route.vpc_endpoint_id not in backend.vpc_end_points:
        return False
    return all(target is None or target.id in known for target, known in resources)


def _states(route: Moto) -> list[str]:
    """Return the states of the target, and of the instance behind it; moto keeps each kind's in another place."""
    endpoint = route.route_table.ec2_backend.vpc_end_points.get(route.vpc_endpoint_id)
    instance = _instance(route)
    return [
        *([route.nat_gateway.state] if route.nat_gateway else []),
        *([endpoint.state] if endpoint else []),
        *([instance._state.name] if instance else []),
        *([route.vpc_pcx._status.code] if route.vpc_pcx else []),
    ]


def _is_attached(route: Moto) -> bool:
    """Return whether the internet or virtual private gateway of a route, if it has one, is attached to its VPC."""
    backend, vpc_id, gateway = route.route_table.ec2_backend, route.route_table.vpc_id, route.gateway
    if gateway.__class__ is InternetGateway:
        return gateway.id in backend.internet_gateways and getattr(gateway.vpc, "id", None) == vpc_id
    if gateway.__class__ is VpnGateway:
        attachment = gateway.attachments.get(vpc_id)
        return gateway.state != "deleted" and attachment is not None and attachment.state == "attached"
    return True


def _interface(route: Moto) -> Moto:
    """Return the network interface of a route: the target itself, or the primary one of the instance."""
    return route.interface or (route.instance.nics.get(0) if route.instance else None)


def _instance(route: Moto) -> Moto:
    """Return the instance of a route: the target itself, or the one that the network interface is attached to."""
    return route.instance or (route.interface.instance if route.interface else None)


def _id(resource: Moto) -> str | None:
    return resource.id if resource else None

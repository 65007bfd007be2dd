"""Instances that forward: their interfaces, and routes of prefix lists to them."""

from typing import Any

from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance
from moto.ec2.utils import generate_route_id

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.knobs import Knobs
from config_rule_sandbox.patching.patches import Patches


def apply(patches: Patches, knobs: Knobs) -> None:
    """Correct RunInstances and, for interfaces as targets, CreateRoute.

    moto keeps the primary interface of a terminated instance, and loses the prefix list of a route to an interface
    (https://docs.aws.amazon.com/vpc/latest/userguide/VPC_NAT_Instance.html).
    """
    del knobs
    patches.wrap(Instance, "prep_nics", _with_interfaces)
    patches.wrap(EC2Backend, "create_route", _routing)


def _with_interfaces(original: Moto) -> Moto:
    def prep_nics(self: Moto, given: list[dict[str, Any]], **more: Moto) -> None:
        """Give an instance its interfaces; by default, a primary interface created with it is deleted with it.

        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/scenarios-enis.html.
        """
        original(self, given, **more)
        primary = next((interface for interface in given if int(interface["DeviceIndex"]) == 0), {})
        if "NetworkInterfaceId" not in primary:
            self.nics[0].delete_on_termination = primary.get("DeleteOnTermination", True)

    return prep_nics


def _routing(original: Moto) -> Moto:
    def create_route(self: Moto, route_table_id: str, *destination: str | None, **named: Moto) -> Moto:
        """Make a route; moto forgets its prefix list, and so how to find it, where the target is an interface."""
        route = original(self, route_table_id, *destination, **named)
        prefix_list_id = destination[2] if len(destination) > len(("IPv4", "IPv6")) else None
        if prefix_list_id and route.destination_prefix_list is None:
            routes = self.get_route_table(route_table_id)._routes
            del routes[route.id]
            route.destination_prefix_list = self.managed_prefix_lists[prefix_list_id]
            route.id = generate_route_id(route_table_id, None, None, prefix_list_id)
            routes[route.id] = route
        return route

    return create_route

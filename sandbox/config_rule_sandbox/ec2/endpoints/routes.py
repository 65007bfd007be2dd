"""The routes of gateway endpoints: put into route tables and taken out with the endpoint's associations."""

from collections.abc import Iterable

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.models import Route
from config_rule_sandbox.ec2.prefix_lists import of_service

FAMILIES = {"ipv4": ("ipv4",), "ipv6": ("ipv6",), "dualstack": ("ipv4", "ipv6")}
"""The address families of each IpAddressType of an endpoint."""


def prefix_lists_of_service(backend: Moto, service_name: str, ip_address_type: str) -> list[Moto]:
    """Return the prefix lists that an endpoint of a service routes: one for IPv4 or IPv6, both for dualstack.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-ip-address-type.
    InvalidParameter if the service has none of that family, or if it is no address type (code unverified).
    """
    if ip_address_type not in FAMILIES:
        raise ApiError("InvalidParameter", f"Invalid IP address type {ip_address_type}")
    lists = of_service(backend, service_name)
    for family in FAMILIES[ip_address_type]:
        if family not in lists:
            raise ApiError("InvalidParameter", f"The service {service_name} does not support {family}")
    return [lists[family] for family in FAMILIES[ip_address_type]]


def check_routes(tables: Iterable[Moto], wanted: list[Moto], endpoint: Moto = None) -> None:
    """Refuse with RouteAlreadyExists if a table already routes one of the prefix lists elsewhere than to `endpoint`.

    https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html#gateway-endpoint-routing; the message
    as in https://github.com/eksctl-io/eksctl/issues/4377.
    """
    for table in tables:
        for route in table.routes:
            if route.destination_prefix_list in wanted and (endpoint is None or route.gateway is not endpoint):
                destination = route.destination_prefix_list_id
                raise ApiError(
                    "RouteAlreadyExists",
                    f"route table {table.id} already has a route with destination-prefix-list-id {destination}",
                )


def add_routes(tables: Iterable[Moto], wanted: list[Moto], endpoint: Moto) -> None:
    """Put the routes {prefix list, endpoint} into the tables; an existing route stays as it is."""
    for table in tables:
        for prefix_list in wanted:
            route = Route(table, None, None, prefix_list, gateway=endpoint)
            table._routes.setdefault(route.id, route)


def keep_only_routes(tables: Iterable[Moto], wanted: list[Moto], endpoint: Moto) -> None:
    """Take every route to the endpoint out of its VPC, but those of these prefix lists in these tables."""
    kept = {(table.id, prefix_list.id) for table in tables for prefix_list in wanted}
    for table in endpoint.ec2_backend.route_tables.values():
        for route in table.routes:
            if route.gateway is endpoint and (table.id, route.destination_prefix_list_id) not in kept:
                del table._routes[route.id]

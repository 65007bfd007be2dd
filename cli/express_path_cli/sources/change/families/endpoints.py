"""VPC endpoints, and the routes to S3 Express that a gateway endpoint has in route tables."""

from collections.abc import Iterable
from dataclasses import replace

from express_path.domain.network.addresses import Family
from express_path.domain.network.resources import Route, TargetKind, VpcEndpoint
from express_path.domain.network.snapshot import is_express_service
from express_path_cli.sources.change.changed_network import ChangedNetwork, tags_of
from express_path_cli.sources.change.resource import GONE, Possible, Resource, UnknownId

_FAMILIES = {"ipv4": (Family.IPV4,), "ipv6": (Family.IPV6,), "dualstack": (Family.IPV4, Family.IPV6)}


def _remove_endpoint(network: ChangedNetwork, resource: Resource) -> None:
    """Remove the routes of an endpoint that is deleted, or from the tables that it lists no longer."""
    gone = list(network.records.tables)
    if resource.action not in GONE:
        (before, _), (after, _) = (one.listed("route_table_ids") for one in (resource.before, resource.after))
        is_set = "route_table_ids" in resource.after.values
        gone = [one for one in before if is_set and one not in after]
    _detach(network, resource, resource.id_before, gone)


def _remove_association(network: ChangedNetwork, resource: Resource) -> None:
    before = resource.before
    _detach(network, resource, before.text("vpc_endpoint_id"), [before.text("route_table_id")])


def _detach(network: ChangedNetwork, resource: Resource, endpoint_id: str, table_ids: Iterable[str]) -> None:
    """Remove the routes to an endpoint of the type Gateway. A route to any other one stays, as a blackhole."""
    endpoint = network.base.vpc_endpoints.get(endpoint_id)
    for table_id in table_ids if endpoint is None or endpoint.endpoint_type == "gateway" else ():
        table = network.table_of(table_id)
        if table and any(route.target_id == endpoint_id for route in table.routes):
            network.note(table_id, resource)
            table.remove(lambda route: route.target_id == endpoint_id)


def _add_association(network: ChangedNetwork, resource: Resource) -> None:
    table = resource.after.named("route_table_id")
    tables = ((table.certain,), Possible()) if table.certain else ((), table)
    _attach(network, resource, resource.after.named("vpc_endpoint_id"), tables, "route_table_id")


def _add_endpoint(network: ChangedNetwork, resource: Resource) -> None:
    """Add an endpoint, and the routes of one of the type Gateway."""
    network.put(
        network.records.endpoints,
        resource,
        _endpoint(network, resource),
        endpoint_type="vpc_endpoint_type",
        service_name="service_name",
        ip_address_type="ip_address_type",
        subnet_ids="subnet_ids",
        tags="tags",
    )
    if "route_table_ids" in resource.after.values:
        tables = resource.after.listed("route_table_ids")
        _attach(network, resource, Possible((resource.id,)), tables, "route_table_ids")


def _endpoint(network: ChangedNetwork, resource: Resource) -> VpcEndpoint:
    after, (subnets, others) = resource.after, resource.after.listed("subnet_ids")
    ip_type = "unknown" if after.is_unknown("ip_address_type") else after.text("ip_address_type")
    unlisted = (after.unknown("subnet_ids"),) if others.is_open else ()
    return VpcEndpoint(
        resource.id,
        after.one("vpc_id"),
        endpoint_type=(after.text("vpc_endpoint_type") or "gateway").lower(),
        service_name=after.text("service_name") or after.unknown("service_name"),
        # AWS makes an endpoint for its own services available.
        state=after.text("state").lower() or "available",
        ip_address_type=ip_type or "ipv4",
        subnet_ids=(*subnets, *others.ids, *unlisted),
        owner_id=resource.account_id or network.account,
        tags=tags_of(resource),
    )


def _add_subnet(network: ChangedNetwork, resource: Resource) -> None:
    """Add a subnet to an endpoint, which may be an appliance's."""
    after = resource.after
    for endpoint_id in after.named("vpc_endpoint_id").among(network.records.endpoints):
        endpoint = network.records.endpoints[endpoint_id]
        network.records.endpoints[endpoint_id] = replace(
            endpoint, subnet_ids=(*endpoint.subnet_ids, after.one("subnet_id"))
        )


def _attach(
    network: ChangedNetwork,
    resource: Resource,
    named: Possible,
    tables: tuple[tuple[str, ...], Possible],
    argument: str,
) -> None:
    """Give the routes of an endpoint to tables: a route to an unknown target if the endpoint or the table is not certain.

    Terraform associates one table twice without an error, so counting shows nothing:
    https://github.com/hashicorp/terraform-provider-aws/issues/26663.
    """
    after, (certain, others) = resource.after, tables
    endpoints = [network.records.endpoints.get(endpoint_id) for endpoint_id in named.ids]
    if not named.is_open and all(endpoint and not _may_be_express(network, endpoint) for endpoint in endpoints):
        return
    endpoint = endpoints[0] if named.certain else None
    may_be = (*others.ids, *(network.records.tables if others.is_open else ()))
    possible = network.fitting(may_be, endpoint.vpc_id if endpoint else "")
    if others.is_open and not possible:
        network.note_outside(resource)
    # What an existing resource keeps is what the network shows: another one may delete it. An older network does not show it.
    before = (*resource.before.listed("route_table_ids")[0], resource.before.text("route_table_id"))
    kept = {*before} & {*certain} if network.existed(resource) else set[str]()
    for table_id in dict.fromkeys((*certain, *possible)):
        if table_id in kept and table_id in network.base.route_tables and resource.id in network.base.vpc_endpoints:
            continue
        found = network.table_of(table_id)
        if found is None:
            network.note_outside(resource)
            continue
        real_id = network.real(table_id)
        network.note(real_id, resource)
        routes = [
            one
            for one in _routes(network, endpoint, after.unknown("vpc_endpoint_id"))
            if not found.has(one.destination)
        ]
        if table_id in certain and table_id not in kept:
            found.routes.extend(routes)
        elif routes:
            network.pending.endpoint_routes[real_id].extend(routes)
            network.noted.with_routes[real_id] = after.unknown(argument)


def _routes(network: ChangedNetwork, endpoint: VpcEndpoint | None, name: UnknownId) -> list[Route]:
    """Return the routes of an endpoint to the prefix lists of its address families, to an unknown target if it may be another."""
    lists = network.base.express_prefix_lists
    if endpoint is None or isinstance(endpoint.service_name, UnknownId):
        return [Route(one.id, endpoint.service_name if endpoint else name, TargetKind.UNKNOWN) for one in lists]
    families = _FAMILIES.get(endpoint.ip_address_type)
    if families is None:
        unknown = UnknownId(f"{endpoint.id}.ip_address_type")
        return [Route(one.id, unknown, TargetKind.UNKNOWN) for one in lists]
    return [Route(one.id, endpoint.id, TargetKind.VPC_ENDPOINT) for one in lists if one.family in families]


def _may_be_express(network: ChangedNetwork, endpoint: VpcEndpoint) -> bool:
    is_unknown = isinstance(endpoint.service_name, UnknownId)
    is_gateway = endpoint.endpoint_type == "gateway"
    return is_gateway and (is_unknown or is_express_service(endpoint.service_name, network.base.region))


ADD = {
    "aws_vpc_endpoint": _add_endpoint,
    "aws_vpc_endpoint_subnet_association": _add_subnet,
    "aws_vpc_endpoint_route_table_association": _add_association,
}
REMOVE = {
    "aws_vpc_endpoint": _remove_endpoint,
    "aws_vpc_endpoint_route_table_association": _remove_association,
}

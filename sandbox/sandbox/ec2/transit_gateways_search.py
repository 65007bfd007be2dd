"""SearchTransitGatewayRoutes: its filters, and its pages."""

import ipaddress
from collections.abc import Callable, Sequence

from moto.core.responses import ActionResult

from sandbox.dynamic import Moto
from sandbox.ec2.errors import ApiError
from sandbox.ec2.transit_gateways_routes import Network, TransitGatewayRoute, routes_of, table_of

MOST = 1000
"""The most routes of one answer, and how many there are without MaxResults (botocore model)."""

_Routes = list[TransitGatewayRoute]


def _search(self: Moto) -> ActionResult:
    """Search a table of the caller's own transit gateways. MissingParameter without a filter: one is required."""
    table = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId"))
    conditions = self._filters_from_querystring()
    if not conditions:
        raise ApiError("MissingParameter", "The request must contain the parameter Filters")
    found = routes_of(self.ec2_backend, table)
    for name, values in conditions.items():
        found = _fitting(found, name, values)
    self.params.setdefault("MaxResults", MOST)
    return ActionResult({"Routes": [route.described() for route in found]})


def with_more_available(original: Moto) -> Moto:
    """Wrap the end of every operation: the answer to a search says whether there are more routes than it contains.

    The botocore model has AdditionalRoutesAvailable beside NextToken; older ones have no token, and more than 1,000
    routes can only be searched for by narrower filters. A table whose `gives_tokens` a test sets to False is like that.
    """

    def serialized(self: Moto, answer: ActionResult) -> Moto:
        result = answer.result
        if self._get_action() == "SearchTransitGatewayRoutes" and isinstance(result, dict):
            token = result.pop("NextToken", None)
            table = table_of(self.ec2_backend, self._get_param("TransitGatewayRouteTableId"))
            more = {"NextToken": token} if token and getattr(table, "gives_tokens", True) else {}
            answer = ActionResult({**result, "AdditionalRoutesAvailable": token is not None, **more})
        return original(self, answer)

    return serialized


def _fitting(routes: _Routes, name: str, values: Sequence[str]) -> _Routes:
    """Return the routes that one filter fits; any of its values is enough (botocore model, Filters)."""
    if name in _BY_TEXT:
        return [route for route in routes if _BY_TEXT[name](route) in values]
    if name not in _BY_NETWORK:
        raise NotImplementedError(f"the sandbox does not search transit gateway routes by {name}")
    wanted = [_network(value) for value in values]
    fitting = {route.network for network in wanted for route in _BY_NETWORK[name](routes, network)}
    return [route for route in routes if route.network in fitting]


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        raise ApiError("InvalidParameterValue", f"Value ({text}) is not a valid CIDR block.") from None


def _exact(routes: _Routes, wanted: Network) -> _Routes:
    return [route for route in routes if route.network == wanted]


def _subnets(routes: _Routes, wanted: Network) -> _Routes:
    return [route for route in routes if _within(route.network, wanted)]


def _supernets(routes: _Routes, wanted: Network) -> _Routes:
    return [route for route in routes if _within(wanted, route.network)]


def _longest(routes: _Routes, wanted: Network) -> _Routes:
    return sorted(_supernets(routes, wanted), key=lambda route: route.network.prefixlen)[-1:]


def _within(inner: Network, outer: Network) -> bool:
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]


_BY_TEXT: dict[str, Callable[[TransitGatewayRoute], str | None]] = {
    "state": lambda route: route.state,
    "type": lambda route: route.type,
    "attachment.resource-id": lambda route: getattr(route.attachment, "resource_id", None),
    "attachment.resource-type": lambda route: getattr(route.attachment, "resource_type", None),
    "attachment.transit-gateway-attachment-id": lambda route: getattr(route.attachment, "id", None),
}

_BY_NETWORK: dict[str, Callable[[_Routes, Network], _Routes]] = {
    "route-search.exact-match": _exact,
    "route-search.subnet-of-match": _subnets,
    "route-search.supernet-of-match": _supernets,
    "route-search.longest-prefix-match": _longest,
}

OPERATIONS: dict[str, Callable[[Moto], ActionResult]] = {"search_transit_gateway_routes": _search}
"""The operation, by the name of its method."""

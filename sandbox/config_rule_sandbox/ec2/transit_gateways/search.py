"""SearchTransitGatewayRoutes: its filters, and its pages."""

from collections.abc import Callable, Sequence

from moto.core.responses import ActionResult

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.ec2.errors import ApiError
from config_rule_sandbox.ec2.transit_gateways.routes import TransitGatewayRoute, routes_of, table_of

MOST = 1000
"""The most routes of one answer, and how many there are without MaxResults (botocore model)."""

_Routes = list[TransitGatewayRoute]


def search_routes(self: Moto) -> ActionResult:
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
    if name not in _COMPARED:
        raise NotImplementedError(f"the sandbox does not search transit gateway routes by {name}")
    return [route for route in routes if _COMPARED[name](route) in values]


_COMPARED: dict[str, Callable[[TransitGatewayRoute], str | None]] = {
    "route-search.exact-match": lambda route: str(route.network),
    "state": lambda route: route.state,
    "type": lambda route: route.type,
    "attachment.resource-id": lambda route: getattr(route.attachment, "resource_id", None),
    "attachment.resource-type": lambda route: getattr(route.attachment, "resource_type", None),
    "attachment.transit-gateway-attachment-id": lambda route: getattr(route.attachment, "id", None),
}

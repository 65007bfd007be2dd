"""The routing indexes of a snapshot's route tables: each is built when it is first needed."""

from typing import NamedTuple

from express_path.domain.network.resources import Route
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.onward import AnyRouteTable
from express_path.domain.path.routing import RoutingIndex


class _IndexKey(NamedTuple):
    table_id: str
    skip_gateway_endpoints: bool


class RoutingIndexes:
    """Builds and keeps the routing index of each route table, with or without routes to gateway endpoints."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Start without any index."""
        self._snapshot = snapshot
        self._indexes: dict[_IndexKey, RoutingIndex] = {}

    def index_of(self, table: AnyRouteTable, *, skip_gateway_endpoints: bool) -> RoutingIndex:
        """Return the index of a table's routes."""
        key = _IndexKey(table.id, skip_gateway_endpoints)
        index = self._indexes.get(key)
        if index is None:
            routes = self.routes_of(table, skip_gateway_endpoints=skip_gateway_endpoints)
            index = self._indexes[key] = RoutingIndex(routes, self._snapshot.prefix_lists)
        return index

    def routes_of(self, table: AnyRouteTable, *, skip_gateway_endpoints: bool) -> list[Route]:
        """Return a table's routes, with or without those to gateway endpoints."""
        return [route for route in table.routes if not (skip_gateway_endpoints and self._is_gateway_endpoint(route))]

    def _is_gateway_endpoint(self, route: Route) -> bool:
        endpoint = self._snapshot.vpc_endpoints.get(route.target_id)
        return endpoint is not None and endpoint.endpoint_type == "gateway"

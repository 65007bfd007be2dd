"""The routing indexes of a snapshot's route tables: each is built when it is first needed."""

from express_path.domain.network.resources import Route
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.onward import AnyRouteTable
from express_path.domain.path.routing import RoutingIndex


class RoutingIndexes:
    """Builds and keeps the routing index of each route table, with or without routes to gateway endpoints."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Start without any index."""
        self._snapshot = snapshot
        self._of_all_routes: dict[str, RoutingIndex] = {}
        self._without_gateway_endpoints: dict[str, RoutingIndex] = {}

    def index_of(self, table: AnyRouteTable, *, skip_gateway_endpoints: bool) -> RoutingIndex:
        """Return the index of a table's routes."""
        indexes = self._without_gateway_endpoints if skip_gateway_endpoints else self._of_all_routes
        index = indexes.get(table.id)
        if index is None:
            routes = self.routes_of(table, skip_gateway_endpoints=skip_gateway_endpoints)
            index = indexes[table.id] = RoutingIndex(routes, self._snapshot.prefix_lists)
        return index

    def routes_of(self, table: AnyRouteTable, *, skip_gateway_endpoints: bool) -> list[Route]:
        """Return a table's routes, with or without those to gateway endpoints."""
        return [route for route in table.routes if not (skip_gateway_endpoints and self._is_gateway_endpoint(route))]

    def _is_gateway_endpoint(self, route: Route) -> bool:
        endpoint = self._snapshot.vpc_endpoints.get(route.target_id)
        return endpoint is not None and endpoint.endpoint_type == "gateway"

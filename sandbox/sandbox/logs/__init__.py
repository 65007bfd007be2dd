"""CloudWatch Logs Insights: queries that parse, filter and sum up records."""

import json

from moto.logs.exceptions import InvalidParameterException, ResourceNotFoundException
from moto.logs.responses import LogsResponse

from sandbox.dynamic import Moto
from sandbox.logs.queries import Query
from sandbox.patches import Patches

RUNNING, COMPLETE = "Running", "Complete"


class Logs:
    """Answers StartQuery, GetQueryResults and StopQuery as CloudWatch Logs does; moto ignores filters and statistics.

    `endings` are the statuses with which coming queries end, Complete where there are none left; one that ends Running
    never ends by itself.
    """

    def __init__(self) -> None:
        """Start without queries."""
        self.endings: list[str] = []
        self._queries: dict[str, Query] = {}

    def reset(self) -> None:
        """Forget all queries and how they end."""
        self.endings.clear()
        self._queries.clear()

    def apply(self, patches: Patches) -> None:
        """Replace moto's operations."""
        patches.set(LogsResponse, "start_query", self._patched(self.start))
        patches.set(LogsResponse, "get_query_results", self._patched(self.results))
        patches.set(LogsResponse, "stop_query", self._patched(self.stop))

    @staticmethod
    def _patched(answer: Moto) -> Moto:
        def method(response: Moto) -> str:
            return json.dumps(answer(response))

        return method

    def start(self, response: Moto) -> dict[str, str]:
        """Start a query of one log group over some seconds, both ends included.

        https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_StartQuery.html.
        """
        asked = json.loads(response.body)
        group = response.logs_backend.groups.get(asked["logGroupName"])
        if group is None:
            raise ResourceNotFoundException
        if asked["startTime"] >= asked["endTime"]:
            raise InvalidParameterException(msg="End time should not be before start time")
        events = [
            event.message
            for stream in group.streams.values()
            for event in stream.events
            if asked["startTime"] * 1000 <= event.timestamp < (asked["endTime"] + 1) * 1000
        ]
        query = Query(asked["queryString"], events, self.endings.pop(0) if self.endings else COMPLETE)
        self._queries[query.id] = query
        return {"queryId": query.id}

    def results(self, response: Moto) -> dict[str, object]:
        """Return the results so far: none at first, because a query runs for some time.

        https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_GetQueryResults.html.
        """
        return self._query(response).look()

    def stop(self, response: Moto) -> dict[str, bool]:
        """Stop a query that still runs; of one that has ended, it is an error.

        https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_StopQuery.html.
        """
        query = self._query(response)
        if query.status != RUNNING:
            raise InvalidParameterException(msg=f"Query {query.id} is not running")
        query.status = "Cancelled"
        return {"success": True}

    def _query(self, response: Moto) -> Query:
        query = self._queries.get(json.loads(response.body)["queryId"])
        if query is None:
            raise ResourceNotFoundException
        return query

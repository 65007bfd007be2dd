"""One query of Logs Insights: records parsed by a glob, filtered, and summed up by group.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html. Any other command is not understood, and
fails loudly.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import uuid4

from moto.logs.exceptions import InvalidParameterException, ResourceNotFoundException
from moto.logs.responses import LogsResponse

from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.logs.conditions import Record, condition
from config_rule_sandbox.patching.patches import Patches

_PARSE = re.compile(r'parse @message "(?P<glob>[^"]+)" as (?P<names>[\w, ]+)')
_STATS = re.compile(r"stats sum\((?P<field>\w+)\) as (?P<alias>\w+) by (?P<groups>[\w, ]+)")
_LONGEST = 10_000
"""How many characters a query has at most."""


class Query:
    """A query that runs until it was looked at once, and then ends in a status."""

    def __init__(self, text: str, events: Sequence[str], ending: str) -> None:
        """Understand a query. NotImplementedError for a command that is not known here."""
        if len(text) > _LONGEST:
            raise ValueError("a query has at most 10,000 characters")
        self.id = str(uuid4())
        self.status = "Running"
        self._ending, self._events = ending, events
        parse, *filters, stats = (command.strip() for command in text.split("\n|"))
        parsed, summed = _PARSE.fullmatch(parse), _STATS.fullmatch(stats)
        if not parsed or not summed or not all(command.startswith("filter ") for command in filters):
            raise NotImplementedError(f"the sandbox does not understand the query {text}")
        self._glob, self._names = _pattern(parsed["glob"]), parsed["names"].split(", ")
        self._conditions = [condition(command.removeprefix("filter ")) for command in filters]
        self._sum, self._alias, self._groups = summed["field"], summed["alias"], summed["groups"].split(", ")

    def look(self) -> dict[str, object]:
        """Status, results and statistics as of now; what was not stopped ends thereafter."""
        status = self.status
        records = self._matching() if status == "Complete" else []
        scanned = float(sum(map(len, self._events)))
        if status == "Running":
            self.status = self._ending
        return {
            "status": status,
            "results": self._summed(records),
            "statistics": {
                "recordsMatched": float(len(records)),
                "recordsScanned": float(len(self._events)),
                "bytesScanned": scanned,
            },
        }

    def _matching(self) -> list[Record]:
        records = (self._record(event) for event in self._events)
        return [record for record in records if all(fits(record) for fits in self._conditions)]

    def _record(self, message: str) -> Record:
        """Return the fields of a message; none where the glob does not match it."""
        found = self._glob.fullmatch(message)
        return dict(zip(self._names, found.groups(), strict=True)) if found else {}

    def _summed(self, records: Iterable[Record]) -> list[list[dict[str, str]]]:
        """Return one row for each group; only numbers are added, and a sum of no number is left out."""
        groups: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for record in records:
            numbers = groups[tuple(record.get(field, "") for field in self._groups)]
            if record.get(self._sum, "").isdecimal():
                numbers.append(float(record[self._sum]))
        return [
            [
                *({"field": name, "value": value} for name, value in zip(self._groups, key, strict=True) if value),
                *({"field": self._alias, "value": _number(sum(numbers))} for _ in numbers[:1]),
            ]
            for key, numbers in groups.items()
        ]


def _pattern(glob: str) -> re.Pattern[str]:
    """Return a glob of parse as a pattern: each * is the shortest text that fits, the last one all the rest."""
    *first, last = glob.split("*")
    return re.compile("(.*?)".join(map(re.escape, first)) + "(.*)" + re.escape(last))


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else str(value)


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

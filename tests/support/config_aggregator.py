"""An AWS Config aggregator for the sandbox that answers the queries of the command."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from moto.config.exceptions import NoSuchConfigurationAggregatorException
from moto.config.responses import ConfigResponse

from config_rule_sandbox.config.items.items import ItemStyle, Recorded
from config_rule_sandbox.config.items.kinds import KIND_OF, NETWORK_INTERFACE, camel
from config_rule_sandbox.config.items.reading import observe
from config_rule_sandbox.patching.patches import Patches
from config_rule_sandbox.server import Sandbox

_QUERY = re.compile(
    r"SELECT resourceId, accountId, awsRegion, configuration, tags(?P<relationships>, relationships)? "
    r"WHERE resourceType = '(?P<type>[\w:]+)'"
    r"(?: AND awsRegion IN \((?P<regions>[^)]+)\))?(?: AND resourceId IN \((?P<ids>[^)]+)\))?"
)
Item = dict[str, Any]


class Aggregator:
    """An aggregator named `name` with the items of some accounts and Regions, and the sources that failed.

    It returns pages of `page` items, even if a request allows more, as AWS may.
    """

    def __init__(self, sandbox: Sandbox, name: str = "organization", page: int = 3) -> None:
        """Start without items."""
        self.name = name
        self.bad: list[dict[str, Any]] = []
        self._sandbox, self._page = sandbox, page
        self.items: dict[str, list[Item]] = {}

    def copy(self, account_id: str | None = None, region: str | None = None, style: ItemStyle | None = None) -> None:
        """Copy the current items of an account and Region."""
        account, where = account_id or self._sandbox.account_id, region or self._sandbox.region
        credentials = self._sandbox.credentials(account) if account_id else None
        client = partial(self._sandbox.client, region=where, credentials=credentials)
        recorded = Recorded(account, where, style or ItemStyle())
        network = observe(client)
        for resource_type, resources in network.resources.items():
            for described in resources.values():
                item = recorded.item(KIND_OF[resource_type], described, network, "OK", "2026-02-13T05:48:51.341Z")
                related = item["relationships"]
                self.add(
                    resource_type, item["resourceId"], account, where, item["configuration"], item["tags"], related
                )
        for described in client("ec2").describe_network_interfaces()["NetworkInterfaces"]:
            self.add(NETWORK_INTERFACE, described["NetworkInterfaceId"], account, where, camel(described), {})

    def add(  # one parameter for each part of an item
        self,
        resource_type: str,
        resource_id: str,
        account: str,
        region: str,
        configuration: Item,
        tags: dict[str, str],
        relationships: Sequence[Item] = (),
    ) -> None:
        """Add one item; tags become a list, as in query results."""
        listed = [{"key": key, "value": value, "tag": f"{key}={value}"} for key, value in tags.items()]
        item = {"resourceId": resource_id, "accountId": account, "awsRegion": region, "relationships": relationships}
        self.items.setdefault(resource_type, []).append({**item, "configuration": configuration, "tags": listed})

    def remove(self, resource_id: str) -> None:
        """Remove an item, as of a resource that the recorder leaves out."""
        for items in self.items.values():
            items[:] = [item for item in items if item["resourceId"] != resource_id]

    def select(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return a page of a query's results, with the columns that it selects.

        Raises AssertionError for a query that the command does not make.
        """
        query = _QUERY.fullmatch(request["Expression"])
        assert query, request["Expression"]
        found = [item for item in self.items.get(query["type"], []) if _fits(item, query)]
        start = int(request.get("NextToken") or 0)
        left_out = () if query["relationships"] else ("relationships",)
        selected = [{key: item[key] for key in item if key not in left_out} for item in found]
        rows = [json.dumps(item, default=str) for item in selected[start : start + self._page]]
        more = {"NextToken": str(start + self._page)} if start + self._page < len(found) else {}
        return {"Results": rows, **more}


def _fits(item: Item, query: re.Match[str]) -> bool:
    wanted = {"awsRegion": query["regions"], "resourceId": query["ids"]}
    return all(f"'{item[name]}'" in values.split(", ") for name, values in wanted.items() if values)


@contextmanager
def answering(aggregator: Aggregator) -> Iterator[None]:
    """Let the sandbox answer queries to this aggregator; other names are unknown."""

    def body(response: ConfigResponse) -> dict[str, Any]:
        request: dict[str, Any] = json.loads(response.body)
        if request["ConfigurationAggregatorName"] != aggregator.name:
            raise NoSuchConfigurationAggregatorException
        return request

    def select(response: ConfigResponse) -> str:
        return json.dumps(aggregator.select(body(response)))

    def sources(response: ConfigResponse) -> str:
        wanted = body(response)["UpdateStatus"]
        return json.dumps(
            {
                "AggregatedSourceStatusList": [
                    source for source in aggregator.bad if source["LastUpdateStatus"] in wanted
                ]
            }
        )

    patches = Patches()
    patches.set(ConfigResponse, "select_aggregate_resource_config", select)
    patches.set(ConfigResponse, "describe_configuration_aggregator_sources_status", sources)
    try:
        yield
    finally:
        patches.undo()

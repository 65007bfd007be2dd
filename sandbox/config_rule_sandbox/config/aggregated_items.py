"""The configuration items of the sources of an aggregator: queries, and single items.

Only queries of the form SELECT columns WHERE resourceType = '...' with further conditions `name IN ('...', ...)` are served:
https://docs.aws.amazon.com/config/latest/developerguide/querying-AWS-resources.html has the whole language.
"""

import json
import math
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from moto.config.exceptions import ValidationException
from moto.config.responses import ConfigResponse
from moto.core.exceptions import JsonRESTError

from config_rule_sandbox.answers import AggregatorItems, given
from config_rule_sandbox.config import checks
from config_rule_sandbox.config.aggregation import sources_of
from config_rule_sandbox.config.history import api_shape, epoch
from config_rule_sandbox.config.items.items import Item
from config_rule_sandbox.config.results import LAG_SECONDS, ConfigResults, results_of
from config_rule_sandbox.patching.patches import Patches

Parameters = dict[str, Any]
_QUERY = re.compile(
    r"SELECT (?P<columns>.+) WHERE resourceType = '(?P<type>[\w:]+)'(?P<conditions>( AND \w+ IN \([^)]*\))*)"
)
_CONDITION = re.compile(r" AND (\w+) IN \(([^)]*)\)")
PAGE = 100


def apply(patches: Patches) -> None:
    """Let moto answer from the recorded items until `patches` are undone."""
    for name, operation, answer in OPERATIONS:
        patches.set(ConfigResponse, name, _method(operation, answer))


def _items(sources: Sequence[ConfigResults]) -> list[Item]:
    """Return the last item of each resource that is in the aggregator now."""
    is_late = given().aggregator_items is AggregatorItems.LATER
    latest = time.time() - LAG_SECONDS if is_late else math.inf
    found = []
    for items in (items for results in sources for items in results.history.values()):
        there = [item for item in items if epoch(item["configurationItemCaptureTime"]) <= latest]
        if there and there[-1]["configuration"] is not None:
            found.append(there[-1])
    return found


def _select(sources: Sequence[ConfigResults], parameters: Parameters) -> Parameters:
    query = _QUERY.fullmatch(parameters["Expression"])
    if query is None:
        raise ValidationException(f"The sandbox does not serve this query: {parameters['Expression']}")
    columns, conditions = query["columns"].split(", "), dict(_CONDITION.findall(query["conditions"]))
    rows = [_row(item) for item in _items(sources) if item["resourceType"] == query["type"]]
    chosen = [
        json.dumps({column: row[column] for column in columns})
        for row in rows
        if all(f"'{row[name]}'" in values.split(", ") for name, values in conditions.items())
    ]
    page, token = checks.page(chosen, parameters.get("NextToken"), parameters.get("Limit") or PAGE)
    return {"Results": list(page)} | ({"NextToken": token} if token else {})


def _row(item: Item) -> Parameters:
    """Return an item with the columns of queries: tags are a list there."""
    tags = [{"key": key, "value": value, "tag": f"{key}={value}"} for key, value in item["tags"].items()]
    return {**item, "accountId": item["awsAccountId"], "tags": tags}


def _get(sources: Sequence[ConfigResults], parameters: Parameters) -> Parameters:
    """Return one item. ResourceNotDiscoveredException if the aggregator does not have it.

    https://docs.aws.amazon.com/config/latest/APIReference/API_GetAggregateResourceConfig.html
    """
    wanted = parameters["ResourceIdentifier"]
    for item in _items(sources):
        if (item["resourceType"], item["resourceId"]) == (wanted["ResourceType"], wanted["ResourceId"]):
            return {"ConfigurationItem": api_shape(item)}
    raise JsonRESTError("ResourceNotDiscoveredException", f"{wanted['ResourceId']} is not in the aggregator.")


def _sources(_sources: Sequence[ConfigResults], _parameters: Parameters) -> Parameters:
    """Return the sources that could not be aggregated: none."""
    return {"AggregatedSourceStatusList": []}


def _method(
    operation: str, answer: Callable[[Sequence[ConfigResults], Parameters], Parameters]
) -> Callable[[ConfigResponse], str]:
    def method(self: ConfigResponse) -> str:
        parameters = checks.parameters(self, operation)
        places = sources_of(self.config_backend, parameters["ConfigurationAggregatorName"])
        return json.dumps(answer([results_of(*place) for place in sorted(places)], parameters))

    return method


OPERATIONS = (
    ("select_aggregate_resource_config", "SelectAggregateResourceConfig", _select),
    ("get_aggregate_resource_config", "GetAggregateResourceConfig", _get),
    ("describe_configuration_aggregator_sources_status", "DescribeConfigurationAggregatorSourcesStatus", _sources),
)
"""The name of moto's method, the operation, and what answers it."""

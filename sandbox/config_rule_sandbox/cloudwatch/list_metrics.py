"""ListMetrics: each metric once, filtered by dimension, and only what was heard of lately.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_ListMetrics.html.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from moto.core.responses import ActionResult

from config_rule_sandbox.dynamic import Moto

PAGE = 500
LATELY = timedelta(days=14)
"""A metric without a datapoint for so long is not listed."""


def list_metrics(self: Moto) -> ActionResult:
    """List metrics by namespace, name and dimensions; a dimension without a value asks for its name alone."""
    parameters = self._get_params()
    since = datetime.now(UTC).replace(tzinfo=None) - LATELY
    found = {
        (datum.namespace, datum.name, tuple((one.name, one.value) for one in datum.dimensions)): None
        for datum in self.cloudwatch_backend.metric_data
        if datum.timestamp.replace(tzinfo=None) >= since and _matches(datum, parameters)
    }
    skipped = int(parameters.get("NextToken") or 0)
    listed = [
        {
            "Namespace": namespace,
            "MetricName": name,
            "Dimensions": [{"Name": key, "Value": value} for key, value in dimensions],
        }
        for namespace, name, dimensions in list(found)[skipped : skipped + PAGE]
    ]
    more = {"NextToken": str(skipped + PAGE)} if skipped + PAGE < len(found) else {}
    return ActionResult({"Metrics": listed, **more})


def _matches(datum: Moto, parameters: Mapping[str, Any]) -> bool:
    dimensions = {dimension.name: dimension.value for dimension in datum.dimensions}
    return (
        parameters.get("Namespace") in (None, datum.namespace)
        and parameters.get("MetricName") in (None, datum.name)
        and all(
            wanted["Name"] in dimensions and wanted.get("Value") in (None, dimensions[wanted["Name"]])
            for wanted in parameters.get("Dimensions", [])
        )
    )

"""CloudWatch metrics in AWS's own namespaces: GetMetricData and ListMetrics."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from moto.cloudwatch.models import MetricDatum, cloudwatch_backends
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core.responses import ActionResult

from sandbox.cloudwatch.listing import list_metrics
from sandbox.cloudwatch.metric_data import Trouble, get_metric_data
from sandbox.dynamic import Moto
from sandbox.patches import Patches


class Metrics:
    """Records the metrics of AWS's services. PutMetricData is refused for namespaces in AWS/, so tests use this."""

    def __init__(self, account_id: str, region: str) -> None:
        """Record for this account and Region by default."""
        self._account_id, self._region = account_id, region
        self.trouble = Trouble()

    def apply(self, patches: Patches) -> None:
        """Answer GetMetricData and ListMetrics as CloudWatch does."""

        def answer(moto_response: Moto) -> ActionResult:
            return get_metric_data(moto_response, self.trouble)

        patches.set(CloudWatchResponse, "get_metric_data", answer)
        patches.set(CloudWatchResponse, "list_metrics", list_metrics)

    def reset(self) -> None:
        """Remove the trouble; moto forgets what was recorded."""
        self.trouble = Trouble()

    def record(
        self,
        nat_gateway_id: str,
        metric: str,
        points: Iterable[tuple[datetime, float]],
        zone: str | None = None,
        place: tuple[str, str] | None = None,
    ) -> None:
        """Record a metric of a NAT gateway, or of one zone of a regional one; place is (account id, Region).

        https://docs.aws.amazon.com/vpc/latest/userguide/metrics-dimensions-nat-gateway.html.
        """
        account_id, region = place or (self._account_id, self._region)
        dimensions = [{"Name": "NatGatewayId", "Value": nat_gateway_id}]
        if zone:
            dimensions.append({"Name": "AvailabilityZone", "Value": zone})
        common = vars(MetricDatum("AWS/NATGateway", metric, 0, dimensions, None))
        cloudwatch_backends[account_id][region].metric_data += [
            _datum(common | {"value": value, "timestamp": time}) for time, value in points
        ]


def _datum(attributes: dict[str, Any]) -> MetricDatum:
    """Return a datum with these attributes. Its initializer would make the dimensions of thousands of points anew."""
    datum: MetricDatum = object.__new__(MetricDatum)
    vars(datum).update(attributes)
    return datum

"""Metrics in AWS's own namespaces, and when alarms on them go off."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from moto.cloudwatch.models import MetricDatum, cloudwatch_backends
from moto.cloudwatch.responses import CloudWatchResponse
from moto.core.responses import ActionResult

from config_rule_sandbox.cloudwatch.alarms import alarm_state
from config_rule_sandbox.cloudwatch.list_metrics import list_metrics
from config_rule_sandbox.cloudwatch.metric_data import STATISTICS, Trouble, by_metric, get_metric_data
from config_rule_sandbox.cloudwatch.printed import Datapoint
from config_rule_sandbox.dynamic import Moto
from config_rule_sandbox.patching.patches import Patches

MINUTE, INSTANT = timedelta(minutes=1), timedelta(microseconds=1)


def _minute_after(time: datetime) -> datetime:
    return time.replace(second=0, microsecond=0) + MINUTE


class Metrics:
    """Records the metrics of AWS's services. PutMetricData is refused for namespaces in AWS/, so tests use this."""

    def __init__(self, account_id: str, region: str) -> None:
        """Record for this account and Region by default."""
        self._account_id, self._region = account_id, region
        self.trouble = Trouble()
        self.links: set[tuple[str, str]] = set()

    def apply(self, patches: Patches) -> None:
        """Answer GetMetricData and ListMetrics as CloudWatch does.

        The sandbox's own account monitors the accounts and Regions in `links`, as Observability Access Manager lets it:
        https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-Unified-Cross-Account.html
        """

        def answer(moto_response: Moto) -> ActionResult:
            asking, region = moto_response.current_account, moto_response.region

            def backend_of(account_id: str) -> Moto | None:
                is_linked = asking == self._account_id and (account_id, region) in self.links
                return cloudwatch_backends[account_id][region] if is_linked or account_id == asking else None

            return get_metric_data(moto_response, self.trouble, backend_of)

        patches.set(CloudWatchResponse, "get_metric_data", answer)
        patches.set(CloudWatchResponse, "list_metrics", list_metrics)

    def reset(self) -> None:
        """Remove the trouble and the links; moto forgets what was recorded."""
        self.trouble = Trouble()
        self.links.clear()

    def add(self, datapoints: Iterable[Datapoint], place: tuple[str, str] | None = None) -> None:
        """Record datapoints of any namespace; place is (account id, Region)."""
        account_id, region = place or (self._account_id, self._region)
        cloudwatch_backends[account_id][region].metric_data += [
            MetricDatum(
                point.namespace,
                point.name,
                point.value,
                [{"Name": name, "Value": value} for name, value in point.dimensions],
                point.time,
            )
            for point in datapoints
        ]

    def first_alarm(self, alarm: Mapping[str, Any], start: datetime, end: datetime) -> datetime | None:
        """Return when an alarm is first in ALARM between two times, None if it never is. `start` is a whole minute.

        `alarm` is as DescribeAlarms describes it. CloudWatch evaluates it each minute, and its last period ends then:
        https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation-window.html
        """
        dimensions = frozenset((row["Name"], row["Value"]) for row in alarm["Dimensions"])
        recorded = by_metric(cloudwatch_backends[self._account_id][self._region])
        points = recorded.get((alarm["Namespace"], alarm["MetricName"], dimensions), [])
        length, count = timedelta(seconds=alarm["Period"]), alarm["EvaluationPeriods"]
        # The state can change only when a datapoint gets into the last period, or from one period to the one before.
        moved = {_minute_after(time) + number * length for time, _ in points for number in range(count + 1)}
        for moment in sorted({start} | {time for time in moved if start < time <= end}):
            values: dict[int, list[float]] = defaultdict(list)
            for time, value in points:
                values[(moment - time - INSTANT) // length].append(value)
            periods = [values.get(number) for number in reversed(range(count))]
            statistic = STATISTICS[alarm["Statistic"]]
            if alarm_state(alarm, [statistic(found) if found else None for found in periods]) == "ALARM":
                return moment
        return None

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
        dimensions = (("NatGatewayId", nat_gateway_id), *([("AvailabilityZone", zone)] if zone else []))
        self.add((Datapoint("AWS/NATGateway", metric, dimensions, value, time) for time, value in points), place)

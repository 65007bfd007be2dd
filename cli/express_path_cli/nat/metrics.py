"""CloudWatch's metrics of NAT gateways, as series over time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import Aws, calling, filtered, pages
from express_path.domain.network.resources import NatGateway
from express_path.errors import ApiError

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import DimensionTypeDef, MetricDataQueryTypeDef


_MINUTE, _HOUR = 60, 3600
_RETENTION = (
    (timedelta(days=15), _MINUTE),
    (timedelta(days=63), 5 * _MINUTE),
    (timedelta(days=455), _HOUR),
)
LONGEST_RETENTION = _RETENTION[-1][0]
"""The longest time that CloudWatch keeps a datapoint."""


@dataclass(frozen=True, slots=True)
class Meter:
    """What CloudWatch has separate metrics for: a NAT gateway, or one zone of a regional NAT gateway.

    availability_zone is spelled as in CloudWatch, and None for a zonal or private NAT gateway
    (https://docs.aws.amazon.com/vpc/latest/userguide/metrics-dimensions-nat-gateway.html).
    """

    nat_gateway_id: str
    availability_zone: str | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one meter: (start of period, value) points in chronological order, aware and in UTC.

    period is in seconds. A period without a point has no datapoint in CloudWatch, for example because nothing was
    sent; it is not a measured zero.
    """

    meter: Meter
    metric: str
    period: int
    points: tuple[tuple[datetime, float], ...] = ()

    @property
    def total(self) -> float:
        """The sum of all values; it is meaningful only for the statistic Sum."""
        return sum(value for _, value in self.points)


def finest_period(start: datetime, now: datetime) -> int | None:
    """Return the shortest period in seconds for which CloudWatch still has datapoints since start; None if none.

    Every query since then must use a multiple of it, or CloudWatch leaves datapoints out
    (https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html).
    """
    age = now - start
    return next((period for retention, period in _RETENTION if age <= retention), None)


NAMESPACE = "AWS/NATGateway"
_OPERATION = "cloudwatch:GetMetricData"
_QUERIES = 500
"""The most queries that one call takes (botocore model: cloudwatch GetMetricData)."""
_DATAPOINTS = 100_800
"""The most datapoints that one page holds (botocore model: cloudwatch GetMetricData)."""


def read_metrics(
    aws: Aws,
    meters: Sequence[Meter],
    statistics: Mapping[str, str],
    start: datetime,
    end: datetime,
    period: int,
) -> list[Series]:
    """Read each metric (statistics: its name -> Sum, Maximum, ...) of each meter, in that order.

    start (included) and end (excluded) are aware; period is in seconds. Raise ValueError if CloudWatch no longer has
    datapoints of that period, and ApiError if a call fails or a series is incomplete, since its sum would be too low.
    """
    finest = finest_period(start, datetime.now(UTC))
    if finest is None or period % finest:
        allowed = (
            f"a multiple of {finest} s for a window that begins then" if finest else "a start at most 455 days ago"
        )
        raise ValueError(f"periods of {period} s since {start.isoformat()}: must be {allowed}")
    wanted = [(meter, metric, statistic) for meter in meters for metric, statistic in statistics.items()]
    all_series = []
    for first in range(0, len(wanted), _QUERIES):
        batch = wanted[first : first + _QUERIES]
        queries = [
            _query(index, meter, metric, statistic, period) for index, (meter, metric, statistic) in enumerate(batch)
        ]
        points = _points(_results(aws, queries, start, end), len(batch))
        all_series += [Series(meter, metric, period, points[index]) for index, (meter, metric, _) in enumerate(batch)]
    return all_series


def _query(index: int, meter: Meter, metric: str, statistic: str, period: int) -> "MetricDataQueryTypeDef":
    """Return one query. An Id begins with a lowercase letter (botocore model: cloudwatch MetricDataQuery)."""
    dimensions: list[DimensionTypeDef] = [{"Name": "NatGatewayId", "Value": meter.nat_gateway_id}]
    if meter.availability_zone:
        dimensions.append({"Name": "AvailabilityZone", "Value": meter.availability_zone})
    return {
        "Id": f"m{index}",
        "MetricStat": {
            "Metric": {"Namespace": NAMESPACE, "MetricName": metric, "Dimensions": dimensions},
            "Period": period,
            "Stat": statistic,
        },
    }


def _results(
    aws: Aws, queries: Sequence["MetricDataQueryTypeDef"], start: datetime, end: datetime
) -> list[Mapping[str, Any]]:
    """Return the rows of all pages. Raise ApiError for a message about the whole call, as data is missing then."""
    rows: list[Mapping[str, Any]] = []
    cloudwatch: CloudWatchClient = aws.client("cloudwatch")
    with calling(_OPERATION):
        paginator = cloudwatch.get_paginator("get_metric_data")
        for page in paginator.paginate(
            MetricDataQueries=queries,
            StartTime=start,
            EndTime=end,
            ScanBy="TimestampAscending",
            PaginationConfig={"PageSize": _DATAPOINTS},
        ):
            for message in page.get("Messages", []):
                raise ApiError(_OPERATION, message.get("Code", "Incomplete"), message.get("Value", ""))
            rows += page["MetricDataResults"]
    return rows


def _points(results: Iterable[Mapping[str, Any]], queries: int) -> list[tuple[tuple[datetime, float], ...]]:
    """Return the points of each query in chronological order. Raise ApiError for a series that is incomplete.

    A series that continues on the next page has the status PartialData (botocore model: cloudwatch StatusCode).
    """
    points: list[dict[datetime, float]] = [{} for _ in range(queries)]
    last_rows: list[Mapping[str, Any]] = [{"StatusCode": "InternalError"} for _ in range(queries)]
    for row in results:
        index = int(row["Id"][1:])
        last_rows[index] = row
        points[index].update(
            (time.astimezone(UTC), value) for time, value in zip(row["Timestamps"], row["Values"], strict=True)
        )
    for row in last_rows:
        if row["StatusCode"] != "Complete":
            messages = "; ".join(str(message.get("Value")) for message in row.get("Messages", []))
            raise ApiError(_OPERATION, row["StatusCode"], messages or "a series is incomplete: try again")
    return [tuple(sorted(by_time.items())) for by_time in points]


def meters_of(aws: Aws, gateways: Iterable[NatGateway]) -> list[Meter]:
    """Return the meters of NAT gateways of this account and Region, in their order. Raise ApiError.

    AWS does not document whether CloudWatch spells zones by name or by id, so the list of metrics decides. That list
    lacks zones without traffic in the last two weeks
    (https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_ListMetrics.html), so the zones of the
    gateway's addresses are added. A zone that the gateway left earlier than that is not found.
    """
    gateways = list(gateways)
    regional = [gateway.id for gateway in gateways if gateway.availability_mode == "regional"]
    addressed = _addressed_zones(aws, regional)
    meters = []
    for gateway in gateways:
        if gateway.id in regional:
            zones = _zones(_listed_zones(aws, gateway.id), addressed.get(gateway.id, {}))
            meters += [Meter(gateway.id, zone) for zone in zones]
        else:
            meters.append(Meter(gateway.id))
    return meters


def _addressed_zones(aws: Aws, gateway_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the zones in which each regional NAT gateway has an address, as id by name."""
    rows = filtered(aws.ec2, "describe_nat_gateways", "NatGateways", "nat-gateway-id", gateway_ids)
    return {
        row["NatGatewayId"]: {
            address["AvailabilityZone"]: address.get("AvailabilityZoneId", "")
            for address in row.get("NatGatewayAddresses", [])
            if address.get("AvailabilityZone")
        }
        for row in rows
    }


def _listed_zones(aws: Aws, gateway_id: str) -> set[str]:
    """Return the zones in which CloudWatch has recent metrics of a regional NAT gateway, as it spells them."""
    of_gateway = [{"Name": "NatGatewayId", "Value": gateway_id}, {"Name": "AvailabilityZone"}]
    query = {"Namespace": NAMESPACE, "MetricName": "BytesInFromSource", "Dimensions": of_gateway}
    rows = pages(aws.client("cloudwatch"), "cloudwatch", "list_metrics", "Metrics", **query)
    dimensions = (dimension for row in rows for dimension in row["Dimensions"])
    return {dimension["Value"] for dimension in dimensions if dimension["Name"] == "AvailabilityZone"}


def _zones(listed: set[str], addressed: Mapping[str, str]) -> list[str]:
    """Return the zones of both, spelled as the listed ones; addressed: id by name."""
    by_id = bool(listed & {*addressed.values()})
    return sorted(listed | {*(addressed.values() if by_id else addressed)})

"""Reading the metrics of NAT gateways from CloudWatch, all of them or none."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from express_path.adapters.aws import Aws, calling, filtered, pages
from express_path.domain.network.resources import NatGateway
from express_path.errors import ApiError
from express_path_cli.metrics.series import Meter, Series, finest_period

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import DimensionTypeDef, MetricDataQueryTypeDef

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
    """Each metric (statistics: its name -> Sum, Maximum, ...) of each meter, in that order, from start to before end.

    start and end are aware; period is in seconds. Raises ValueError where CloudWatch would leave datapoints
    out for their age, and ApiError where a call fails or any series is not complete: a short sum is no sum.
    """
    finest = finest_period(start, datetime.now(UTC))
    if finest is None or period % finest:
        allowed = (
            f"a multiple of {finest} s for a window that begins then" if finest else "a start at most 455 days ago"
        )
        raise ValueError(f"periods of {period} s since {start.isoformat()}: must be {allowed}")
    asked = [(meter, metric, statistic) for meter in meters for metric, statistic in statistics.items()]
    found = []
    for first in range(0, len(asked), _QUERIES):
        batch = asked[first : first + _QUERIES]
        queries = [_query(index, *each, period) for index, each in enumerate(batch)]
        points = _points(_results(aws, queries, start, end), len(batch))
        found += [Series(meter, metric, period, points[index]) for index, (meter, metric, _) in enumerate(batch)]
    return found


def _query(index: int, meter: Meter, metric: str, statistic: str, period: int) -> "MetricDataQueryTypeDef":
    """One query; an Id begins with a lower-case letter (botocore model: cloudwatch MetricDataQuery)."""
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
    """The rows of all pages; a message about the whole call means that part of it was left out."""
    found: list[Mapping[str, Any]] = []
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
            found += page["MetricDataResults"]
    return found


def _points(results: Iterable[Mapping[str, Any]], queries: int) -> list[tuple[tuple[datetime, float], ...]]:
    """The points of each query in the order of time. Raises ApiError where one's last page does not end it.

    A series that goes on in the next page is PartialData in this one (botocore model: cloudwatch StatusCode).
    """
    points: list[dict[datetime, float]] = [{} for _ in range(queries)]
    ends: list[Mapping[str, Any]] = [{"StatusCode": "InternalError"} for _ in range(queries)]
    for row in results:
        index = int(row["Id"][1:])
        ends[index] = row
        points[index].update(
            (time.astimezone(UTC), value) for time, value in zip(row["Timestamps"], row["Values"], strict=True)
        )
    for row in ends:
        if row["StatusCode"] != "Complete":
            messages = "; ".join(str(each.get("Value")) for each in row.get("Messages", []))
            raise ApiError(_OPERATION, row["StatusCode"], messages or "a series is not complete: try again")
    return [tuple(sorted(each.items())) for each in points]


def meters_of(aws: Aws, gateways: Iterable[NatGateway]) -> list[Meter]:
    """What CloudWatch counts apart of NAT gateways of this account and Region, in their order. Raises ApiError.

    AWS does not say whether it spells zones by name or by id, so its own list of metrics decides. That leaves out a
    zone that carried nothing in the last two weeks
    (https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_ListMetrics.html), so the zones of the
    gateway's addresses count, too; one that the gateway left before that is not found again.
    """
    gateways = list(gateways)
    regional = [each.id for each in gateways if each.availability_mode == "regional"]
    addressed = _addressed_zones(aws, regional)
    meters = []
    for each in gateways:
        zones = _zones(_listed_zones(aws, each.id), addressed.get(each.id, {})) if each.id in regional else [None]
        meters += [Meter(each.id, zone) for zone in zones]
    return meters


def _addressed_zones(aws: Aws, gateway_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """The zones in which each regional NAT gateway has an address, as id by name."""
    rows = filtered(aws.ec2, "describe_nat_gateways", "NatGateways", "nat-gateway-id", gateway_ids)
    return {
        row["NatGatewayId"]: {
            each["AvailabilityZone"]: each.get("AvailabilityZoneId", "")
            for each in row.get("NatGatewayAddresses", [])
            if each.get("AvailabilityZone")
        }
        for row in rows
    }


def _listed_zones(aws: Aws, gateway_id: str) -> set[str]:
    """The zones in which CloudWatch heard of a regional NAT gateway lately, as it spells them."""
    of_gateway = [{"Name": "NatGatewayId", "Value": gateway_id}, {"Name": "AvailabilityZone"}]
    asked = {"Namespace": NAMESPACE, "MetricName": "BytesInFromSource", "Dimensions": of_gateway}
    rows = pages(aws.client("cloudwatch"), "cloudwatch", "list_metrics", "Metrics", **asked)
    return {each["Value"] for row in rows for each in row["Dimensions"] if each["Name"] == "AvailabilityZone"}


def _zones(listed: set[str], addressed: Mapping[str, str]) -> list[str | None]:
    by_id = bool(listed & {*addressed.values()})
    return sorted(listed | {*(addressed.values() if by_id else addressed)})

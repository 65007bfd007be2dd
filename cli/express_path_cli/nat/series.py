"""Time series of NAT gateway metrics, and the periods in which CloudWatch keeps them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

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

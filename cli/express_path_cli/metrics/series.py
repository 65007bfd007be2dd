"""What CloudWatch says of NAT gateways over time: series of points, and how fine they can be had."""

from datetime import datetime, timedelta
from typing import NamedTuple

_MINUTE, _HOUR = 60, 3600
_RETENTION = (
    (timedelta(days=15), _MINUTE),
    (timedelta(days=63), 5 * _MINUTE),
    (timedelta(days=455), _HOUR),
)
LONGEST_RETENTION = _RETENTION[-1][0]
"""How long CloudWatch keeps any datapoint."""


class Meter(NamedTuple):
    """What CloudWatch counts apart: a NAT gateway, or one zone of a regional one.

    availability_zone is spelled as CloudWatch spells it, and None for a zonal or private NAT gateway
    (https://docs.aws.amazon.com/vpc/latest/userguide/metrics-dimensions-nat-gateway.html).
    """

    nat_gateway_id: str
    availability_zone: str | None = None


class Series(NamedTuple):
    """One metric of one meter: (start of period, value) points in the order of time, aware and in UTC.

    period is in seconds. A period without a point is one of which CloudWatch has no datapoint, as where nothing was
    sent; it is not a zero that somebody measured.
    """

    meter: Meter
    metric: str
    period: int
    points: tuple[tuple[datetime, float], ...] = ()

    @property
    def total(self) -> float:
        """The sum of all values, which means something where the statistic was Sum."""
        return sum(value for _, value in self.points)


def finest_period(start: datetime, now: datetime) -> int | None:
    """The period in seconds of which CloudWatch still has datapoints since start; None where it has none so old.

    Of a longer window, a period must be a multiple of it, or CloudWatch leaves datapoints out
    (https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html).
    """
    age = now - start
    return next((period for longest, period in _RETENTION if age <= longest), None)

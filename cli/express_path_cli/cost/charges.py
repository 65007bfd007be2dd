"""What NAT gateways are charged for by the GB, and what of it S3 Express is, at most or as measured."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from express_path_cli.metrics.series import Series

TRAFFIC = {
    "BytesInFromSource": "Sum",
    "BytesOutToDestination": "Sum",
    "BytesInFromDestination": "Sum",
    "BytesOutToSource": "Sum",
}
"""The metrics of a NAT gateway's traffic, each with its useful statistic
(https://docs.aws.amazon.com/vpc/latest/userguide/metrics-dimensions-nat-gateway.html)."""

_CHARGED = frozenset({"BytesInFromSource", "BytesInFromDestination"})
"""Each GB processed is charged once, whichever way it goes: all that came in, from either side
(https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-pricing.html)."""

BYTES_PER_GB = 10**9
"""AWS does not say which GB it charges here; with 2^30 bytes, amounts were 7 % less, so what is at most stays so."""

DAYS_A_MONTH = 730 / 24
"""The month of AWS's price examples has 730 hours."""

SETTLED = timedelta(minutes=15)
"""How old datapoints and flow log records are when all of them have arrived: flow logs take about five minutes, mostly
(https://docs.aws.amazon.com/vpc/latest/userguide/flow-log-records.html)."""


class Basis(StrEnum):
    """Where a price comes from."""

    GIVEN = "given"
    LISTED = "listed"
    ASSUMED = "assumed"


class Price(NamedTuple):
    """The price of a GB that a NAT gateway processes, in US dollars."""

    usd_per_gb: float
    basis: Basis


ASSUMED_PRICE = Price(0.045, Basis.ASSUMED)
"""That of us-east-1 in 2026 (https://aws.amazon.com/vpc/pricing/), for where no other is known."""


class Window(NamedTuple):
    """From start to before end, aware times on whole hours."""

    start: datetime
    end: datetime

    @property
    def days(self) -> float:
        """How long it is."""
        return (self.end - self.start) / timedelta(days=1)

    def since(self, earliest: datetime) -> "Window":
        """What is left of it from the first whole hour that is not before earliest; nothing at the least."""
        return Window(min(max(self.start, _hour(earliest + timedelta(hours=1, microseconds=-1))), self.end), self.end)


def window(now: datetime, days: int) -> Window:
    """So many days, up to the last whole hour of which everything has arrived."""
    end = _hour(now - SETTLED)
    return Window(end - timedelta(days=days), end)


def _hour(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


class Amount(NamedTuple):
    """Some bytes, their price in US dollars, and what that is a month at the same rate."""

    bytes: float
    usd: float
    usd_a_month: float


def amount(number_of_bytes: float, price: Price, during: Window) -> Amount:
    """What bytes cost that were processed during a window, which must not be empty."""
    usd = number_of_bytes / BYTES_PER_GB * price.usd_per_gb
    return Amount(number_of_bytes, usd, usd / during.days * DAYS_A_MONTH)


def charged_bytes(series: Iterable[Series], during: Window | None = None) -> float:
    """The bytes that are charged for among all series, or only those of the periods that begin during a window."""
    return sum(
        value
        for each in series
        if each.metric in _CHARGED
        for time, value in each.points
        if during is None or during.start <= time < during.end
    )


def by_metric(series: Iterable[Series]) -> dict[str, float]:
    """The bytes of each metric, all zones together."""
    found = dict.fromkeys(TRAFFIC, 0.0)
    for each in series:
        found[each.metric] += each.total
    return found


def by_zone(series: Iterable[Series]) -> dict[str, float]:
    """The bytes charged for in each zone of a regional NAT gateway; empty for any other."""
    found: dict[str, float] = defaultdict(float)
    for each in series:
        if each.meter.availability_zone:
            found[each.meter.availability_zone] += charged_bytes([each])
    return dict(found)


class Measured(NamedTuple):
    """What flow logs say of S3 Express during a window.

    share is its part of all that the NAT gateway was charged for then, None where that is nothing. whole tells whether
    the flow logs hold every record; where not, it is at least so much.
    """

    amount: Amount
    window: Window
    share: float | None
    whole: bool


def measured(number_of_bytes: float, of: float, price: Price, during: Window, *, whole: bool) -> Measured:
    """What S3 Express's bytes cost, and their share of all bytes."""
    return Measured(amount(number_of_bytes, price, during), during, number_of_bytes / of if of else None, whole)

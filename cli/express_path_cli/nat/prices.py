"""What AWS charges per GB at NAT gateways: the price, from the AWS Price List, and the cost of bytes during a time."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from express_path.adapters.aws import Aws, pages
from express_path.errors import ApiError
from express_path_cli.nat.crossed_nats import CrossedNat, NatKind
from express_path_cli.nat.metrics import Series
from express_path_cli.terminal.errors import one_line


class Basis(StrEnum):
    """The source of a price."""

    GIVEN = "given"
    LISTED = "listed"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Price:
    """The price per GB that a NAT gateway processes, in US dollars."""

    usd_per_gb: float
    basis: Basis


ASSUMED_PRICE = Price(0.045, Basis.ASSUMED)
"""The price in us-east-1 in 2026 (https://aws.amazon.com/vpc/pricing/), used if no other is known."""

_ENDPOINT = "us-east-1"
"""The Price List has endpoints in a few Regions only, with the prices of all Regions
(https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-price-list-query-api.html)."""

# Usage types carry a prefix for the Region, except some of us-east-1; NatGateway-Prvd-Bytes is another product.
_USAGE_TYPE = re.compile(r"(?:[A-Z0-9]+-)?(?P<kind>NatGateway|RegionalNatGateway)-Bytes")


def listed_prices(aws: Aws, region: str) -> dict[str, Price]:
    """Read the prices of a Region: NatGateway (zonal and private NAT gateways) and RegionalNatGateway.

    A price that AWS does not list in US dollars is absent. Raise ApiError.
    """
    wanted = {"productFamily": "NAT Gateway", "regionCode": region}
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in wanted.items()]
    pricing = replace(aws, region=_ENDPOINT).client("pricing")
    rows = pages(pricing, "pricing", "get_products", "PriceList", ServiceCode="AmazonEC2", Filters=filters)
    prices: dict[str, Price] = {}
    for kind, price in _prices(json.loads(str(row)) for row in rows):
        # If a kind has several prices, the highest one keeps the cost an upper bound.
        prices[kind] = max(price, prices.get(kind, price), key=lambda price: price.usd_per_gb)
    return prices


def _prices(products: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, Price]]:
    for product in products:
        usage = _USAGE_TYPE.fullmatch(product["product"]["attributes"].get("usagetype", ""))
        terms = product.get("terms", {}).get("OnDemand", {}).values()
        dollars = [
            float(dimension["pricePerUnit"]["USD"])
            for term in terms
            for dimension in term["priceDimensions"].values()
            if dimension["unit"] == "GB" and "USD" in dimension["pricePerUnit"]
        ]
        if usage and dollars:
            yield usage["kind"], Price(max(dollars), Basis.LISTED)


class Prices:
    """The price in each Region: given, else from the Price List, else assumed. notes name the assumed prices."""

    def __init__(self, given: float | None) -> None:
        """Use the given price everywhere, if there is one."""
        self.notes: list[str] = []
        self._given = None if given is None else Price(given, Basis.GIVEN)
        self._listed: dict[str, Mapping[str, Price]] = {}

    def of(self, nat: CrossedNat, aws: Aws) -> Price:
        """Return the price at one NAT gateway; the Price List is read once for each Region."""
        if self._given:
            return self._given
        if nat.region not in self._listed:
            self._listed[nat.region] = self._read(nat.region, aws)
        listed = self._listed[nat.region]
        regional = listed.get("RegionalNatGateway") if nat.kind is NatKind.REGIONAL else None
        return regional or listed.get("NatGateway", ASSUMED_PRICE)

    def _read(self, region: str, aws: Aws) -> Mapping[str, Price]:
        try:
            listed = listed_prices(aws, region)
            why = "the Price List has no price in US dollars"
        except ApiError as error:
            listed, why = {}, one_line(error)
        if "NatGateway" not in listed:
            self.notes.append(
                f"{region}: the price of {ASSUMED_PRICE.usd_per_gb} USD per GB is assumed, because {why}; "
                "set yours with --price-per-gb"
            )
        return listed


TRAFFIC = {
    "BytesInFromSource": "Sum",
    "BytesOutToDestination": "Sum",
    "BytesInFromDestination": "Sum",
    "BytesOutToSource": "Sum",
}
"""The metrics of a NAT gateway's traffic, each with the statistic that AWS recommends
(https://docs.aws.amazon.com/vpc/latest/userguide/metrics-dimensions-nat-gateway.html)."""

_CHARGED = frozenset({"BytesInFromSource", "BytesInFromDestination"})
"""AWS charges each processed GB once, in either direction: all bytes that came in from either side
(https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-pricing.html)."""

BYTES_PER_GB = 10**9
"""AWS does not say which GB it means. With 2^30 bytes, amounts would be 7 % lower, so 10^9 keeps them upper bounds."""

DAYS_PER_MONTH = 730 / 24
"""A month of 730 hours, as in AWS's price examples."""

DELIVERY_DELAY = timedelta(minutes=15)
"""After this time all datapoints and flow log records have arrived; flow logs usually take about five minutes
(https://docs.aws.amazon.com/vpc/latest/userguide/flow-log-records.html)."""


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The time from start to before end: aware datetimes on whole hours."""

    start: datetime
    end: datetime

    @property
    def days(self) -> float:
        """The length in days."""
        return (self.end - self.start) / timedelta(days=1)

    def since(self, earliest: datetime) -> "TimeWindow":
        """Return the part that begins with the first whole hour from earliest on; it may be empty."""
        first_hour = _whole_hour(earliest + timedelta(hours=1, microseconds=-1))
        return TimeWindow(min(max(self.start, first_hour), self.end), self.end)


def window(now: datetime, days: int) -> TimeWindow:
    """Return the last days, up to the latest whole hour of which everything has arrived."""
    end = _whole_hour(now - DELIVERY_DELAY)
    return TimeWindow(end - timedelta(days=days), end)


def _whole_hour(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of bytes, their price in US dollars, and the price per month at the same rate."""

    bytes: float
    usd: float
    usd_per_month: float


def amount(number_of_bytes: float, price: Price, during: TimeWindow) -> Amount:
    """Return the cost of bytes that were processed during a window, which must not be empty."""
    usd = number_of_bytes / BYTES_PER_GB * price.usd_per_gb
    return Amount(number_of_bytes, usd, usd / during.days * DAYS_PER_MONTH)


def total_of(amounts: Iterable[Amount]) -> Amount:
    """Return the sum of amounts."""
    amounts = list(amounts)
    return Amount(
        bytes=sum(amount.bytes for amount in amounts),
        usd=sum(amount.usd for amount in amounts),
        usd_per_month=sum(amount.usd_per_month for amount in amounts),
    )


def charged_bytes(all_series: Iterable[Series], during: TimeWindow | None = None) -> float:
    """Return the bytes that AWS charges for, of all periods or of those that begin during a window."""
    return sum(
        value
        for series in all_series
        if series.metric in _CHARGED
        for time, value in series.points
        if during is None or during.start <= time < during.end
    )


def bytes_by_metric(all_series: Iterable[Series]) -> dict[str, float]:
    """Return the bytes of each metric, all zones together."""
    totals = dict.fromkeys(TRAFFIC, 0.0)
    for series in all_series:
        totals[series.metric] += series.total
    return totals


def charged_bytes_by_zone(all_series: Iterable[Series]) -> dict[str, float]:
    """Return the bytes charged for in each zone of a regional NAT gateway; empty for other gateways."""
    totals: dict[str, float] = defaultdict(float)
    for series in all_series:
        if series.meter.availability_zone:
            totals[series.meter.availability_zone] += charged_bytes([series])
    return dict(totals)


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """The S3 Express traffic of a NAT gateway during a window, measured from flow logs.

    share: its part of all bytes that were charged in the window, None if there were none. complete: the flow logs
    have every record; otherwise the amount is a lower bound.
    """

    amount: Amount
    window: TimeWindow
    share: float | None
    complete: bool


def measured_cost(
    express_bytes: float, charged: float, price: Price, during: TimeWindow, *, complete: bool
) -> MeasuredCost:
    """Return the cost of S3 Express bytes and their share of all bytes charged in the same window."""
    share = express_bytes / charged if charged else None
    return MeasuredCost(amount(express_bytes, price, during), during, share, complete)

"""How costs are calculated: which bytes are charged, over which hours, and at which price."""

from datetime import UTC, datetime, timedelta

import pytest

from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws
from express_path_cli.aws.sessions import connect
from express_path_cli.nat.metrics import Meter, Series
from express_path_cli.nat.prices import (
    TRAFFIC,
    Basis,
    Price,
    TimeWindow,
    amount,
    bytes_by_metric,
    charged_bytes,
    charged_bytes_by_zone,
    listed_prices,
    measured_cost,
    window,
)


@pytest.fixture
def aws(sandbox: Sandbox) -> Aws:
    """Clients of the sandbox, in a Region where the Price List has no endpoint."""
    assert sandbox.endpoint_url
    return connect("eu-west-2")


def test_only_prices_per_gb_count(aws: Aws, sandbox: Sandbox) -> None:
    """Prices per hour, of other Regions, of provisioned bandwidth, or in other currencies are ignored."""
    prices = sandbox.prices
    prices.list_nat_gateway("eu-west-2", "EUW2-NatGateway-Hours", "0.05", unit="Hrs")
    prices.list_nat_gateway("eu-west-2", "EUW2-NatGateway-Prvd-Bytes", "0.01")
    prices.list_nat_gateway("eu-west-2", "EUW2-NatGateway-Bytes", "0.0520000000")
    prices.list_nat_gateway("eu-west-2", "EUW2-RegionalNatGateway-Bytes", "0.07")
    prices.list_nat_gateway("us-east-1", "NatGateway-Bytes", "0.045")
    prices.list_nat_gateway("cn-north-1", "CNN1-NatGateway-Bytes", "0.42", currency="CNY")
    assert listed_prices(aws, "eu-west-2") == {
        "NatGateway": Price(0.052, Basis.LISTED),
        "RegionalNatGateway": Price(0.07, Basis.LISTED),
    }
    assert listed_prices(aws, "us-east-1") == {"NatGateway": Price(0.045, Basis.LISTED)}
    assert listed_prices(aws, "cn-north-1") == {}
    assert {call.region for call in sandbox.calls.of("pricing")} == {"us-east-1"}


def test_the_highest_of_several_prices_counts(aws: Aws, sandbox: Sandbox) -> None:
    """The highest price counts, in any order, so the cost remains an upper bound."""
    for price in ("0.045", "0.052", "0.048"):
        sandbox.prices.list_nat_gateway("eu-west-2", "EUW2-NatGateway-Bytes", price)
    assert listed_prices(aws, "eu-west-2") == {"NatGateway": Price(0.052, Basis.LISTED)}


NOW = datetime(2026, 3, 31, 12, 20, tzinfo=UTC)
NOON = NOW.replace(minute=0)
HOUR = timedelta(hours=1)
PRICE = Price(0.05, Basis.GIVEN)


def series(metric: str, *values: float, zone: str | None = None) -> Series:
    """Return hourly points that end at noon; the last value is the latest."""
    points = tuple((NOON - HOUR * (len(values) - place), value) for place, value in enumerate(values))
    return Series(Meter("nat-1", zone), metric, 3600, points)


def every_metric(value: float, zone: str | None = None) -> list[Series]:
    """Return one point for each metric."""
    return [series(metric, value, zone=zone) for metric in TRAFFIC]


def test_a_window_ends_with_the_last_hour_that_is_complete() -> None:
    """A window ends before the last quarter of an hour, whose datapoints may not have arrived."""
    assert window(NOW, 30) == TimeWindow(NOON - timedelta(days=30), NOON)
    assert window(NOW - timedelta(minutes=6), 1) == TimeWindow(NOON - HOUR - timedelta(days=1), NOON - HOUR)
    assert window(NOW, 30).days == 30


@pytest.mark.parametrize(
    ("earliest", "start"),
    [
        (NOON - timedelta(days=60), NOON - timedelta(days=30)),
        (NOON - 5 * HOUR, NOON - 5 * HOUR),
        (NOON - 5 * HOUR + timedelta(seconds=1), NOON - 4 * HOUR),
        (NOW, NOON),
    ],
)
def test_the_recorded_part_of_a_window_begins_on_a_whole_hour(earliest: datetime, start: datetime) -> None:
    """An hour that is recorded only in part is left out, so the window can be empty."""
    assert window(NOW, 30).since(earliest) == TimeWindow(start, NOON)


def test_bytes_that_came_in_from_either_side_are_charged_once() -> None:
    """Incoming bytes of both sides are charged, and outgoing bytes are the same bytes again."""
    found = [series("BytesInFromSource", 1, 2), series("BytesInFromDestination", 10)]
    found += [series("BytesOutToSource", 100), series("BytesOutToDestination", 1000)]
    assert charged_bytes(found) == 13
    assert charged_bytes(found, TimeWindow(NOON - HOUR, NOON)) == 12
    assert charged_bytes(found, TimeWindow(NOON - 2 * HOUR, NOON - HOUR)) == 1


def test_bytes_add_up_by_metric_and_by_zone() -> None:
    """The bytes of all zones are added up, for each metric and for the charged metrics."""
    found = [*every_metric(3, "a"), *every_metric(4, "b")]
    assert bytes_by_metric(found) == dict.fromkeys(TRAFFIC, 7)
    assert charged_bytes_by_zone(found) == {"a": 6, "b": 8}
    assert charged_bytes_by_zone(every_metric(3)) == {}
    assert bytes_by_metric([]) == dict.fromkeys(TRAFFIC, 0)


def test_an_amount_is_projected_on_a_month_of_730_hours() -> None:
    """10 GB in 73 hours are 100 GB in a month of 730 hours."""
    projected = amount(10e9, PRICE, TimeWindow(NOON - 73 * HOUR, NOON))
    assert projected.bytes == 10e9
    assert projected.usd == pytest.approx(0.5)
    assert projected.usd_per_month == pytest.approx(5)


def test_a_share_is_of_the_bytes_of_the_same_window() -> None:
    """If no bytes were charged, there is no share."""
    day = window(NOW, 1)
    found = measured_cost(25e9, 100e9, PRICE, day, complete=False)
    assert (found.share, found.amount.usd, found.window, found.complete) == (0.25, 1.25, day, False)
    assert measured_cost(0, 0, PRICE, day, complete=True).share is None

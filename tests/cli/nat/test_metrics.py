"""Reading NAT metrics from CloudWatch: periods, pages, incomplete series, and zones."""

from datetime import UTC, datetime, timedelta

import pytest

from config_rule_sandbox.cloudwatch.metric_data import Trouble
from config_rule_sandbox.server import Sandbox
from express_path.adapters.aws import Aws
from express_path.domain.network.resources import NatGateway
from express_path.errors import ApiError
from express_path_cli.aws.sessions import connect
from express_path_cli.nat import metrics
from express_path_cli.nat.metrics import Meter, Series, finest_period, meters_of, read_metrics
from express_path_cli.traffic.flow_logs import read_nat_placements
from tests.support.network import Builder

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "period"), [(0, 60), (15, 60), (15.01, 300), (63, 300), (63.01, 3600), (455, 3600), (455.01, None)]
)
def test_datapoints_are_kept_coarser_with_age(days: float, period: int | None) -> None:
    """One-minute datapoints are kept for 15 days, five-minute ones for 63, and hourly ones for 455."""
    assert finest_period(NOW - timedelta(days=days), NOW) == period


def test_a_series_adds_up() -> None:
    """Periods without a datapoint do not affect the sum."""
    assert Series(Meter("nat-1"), "BytesInFromSource", 60, ((NOW, 1.5), (NOW + timedelta(hours=1), 2.0))).total == 3.5
    assert Series(Meter("nat-1"), "BytesInFromSource", 60).total == 0


HOUR = timedelta(hours=1)
END = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
START = END - 24 * HOUR
SUM = {"BytesInFromSource": "Sum"}
ONE = Meter("nat-1")


@pytest.fixture
def aws(sandbox: Sandbox) -> Aws:
    """Clients of the sandbox, configured by the environment."""
    assert sandbox.endpoint_url
    return connect()


def read(aws: Aws, *meters: Meter) -> list[Series]:
    """Return the hourly bytes of these meters for the last day."""
    return read_metrics(aws, meters, SUM, START, END, 3600)


def test_a_series_holds_the_datapoints_in_order_and_no_others(aws: Aws, sandbox: Sandbox) -> None:
    """Datapoints of a period are added up. Hours without datapoints and the end of the window are left out."""
    minutes = [(START + timedelta(minutes=minute), 10.0) for minute in (130, 125, 0, 59)]
    outside = [(START - HOUR, 1.0), (END, 1.0)]
    sandbox.metrics.record("nat-1", "BytesInFromSource", [*minutes, *outside])
    sandbox.metrics.record("nat-2", "BytesInFromSource", [(START, 7.0)])
    sandbox.metrics.record("nat-1", "BytesOutToSource", [(START, 7.0)])
    (series,) = read(aws, ONE)
    assert series == Series(ONE, "BytesInFromSource", 3600, ((START, 20.0), (START + 2 * HOUR, 20.0)))
    assert series.points[0][0].tzinfo is UTC
    assert series.total == 40


def test_each_statistic_is_that_of_its_metric(aws: Aws, sandbox: Sandbox) -> None:
    """Series are in the order of their meters, then of their metrics."""
    for metric in ("BytesInFromSource", "ActiveConnectionCount"):
        sandbox.metrics.record("nat-1", metric, [(START, 1.0), (START + HOUR / 2, 3.0)])
    asked = {"BytesInFromSource": "Sum", "ActiveConnectionCount": "Maximum"}
    found = read_metrics(aws, [Meter("nat-0"), ONE], asked, START, END, 3600)
    assert [(series.meter.nat_gateway_id, series.metric, series.total) for series in found] == [
        ("nat-0", "BytesInFromSource", 0),
        ("nat-0", "ActiveConnectionCount", 0),
        ("nat-1", "BytesInFromSource", 4),
        ("nat-1", "ActiveConnectionCount", 3),
    ]


def test_more_than_500_metrics_take_several_calls(aws: Aws, sandbox: Sandbox) -> None:
    """Metrics beyond the first 500 are read with a second call."""
    sandbox.metrics.record("nat-600", "BytesInFromSource", [(START, 5.0)])
    found = read(aws, *(Meter(f"nat-{number}") for number in range(601)))
    assert len(found) == 601
    assert found[600].total == 5
    assert len(sandbox.calls.of("cloudwatch", "GetMetricData")) == 2


def test_all_pages_are_read(aws: Aws, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A series that is PartialData continues on the next page."""
    monkeypatch.setattr(metrics, "_DATAPOINTS", 5)
    for name in ("nat-1", "nat-2"):
        sandbox.metrics.record(name, "BytesInFromSource", [(START + hour * HOUR, hour) for hour in range(8)])
    found = read(aws, ONE, Meter("nat-2"))
    assert [[value for _, value in series.points] for series in found] == [[*range(8)], [*range(8)]]
    assert len(sandbox.calls.of("cloudwatch", "GetMetricData")) == 4


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (Trouble("PartialData"), "PartialData"),
        (Trouble("InternalError"), "InternalError"),
        (Trouble(message="Maximum number of allowed metrics exceeded"), "Maximum number of allowed metrics exceeded"),
    ],
)
def test_incomplete_results_are_an_error(aws: Aws, sandbox: Sandbox, trouble: Trouble, code: str) -> None:
    """A series that does not end, or a message on the whole answer, raises, because its sum would be too low."""
    sandbox.metrics.record("nat-1", "BytesInFromSource", [(START, 5.0)])
    sandbox.metrics.trouble = trouble
    with pytest.raises(ApiError, match=code) as raised:
        read(aws, ONE)
    assert raised.value.operation == "cloudwatch:GetMetricData"


def test_a_period_that_is_no_longer_kept_is_refused(aws: Aws, sandbox: Sandbox) -> None:
    """CloudWatch would return nothing for such a period, which looks like no traffic."""
    before = datetime.now(UTC)
    with pytest.raises(ValueError, match="a multiple of 300 s"):
        read_metrics(aws, [ONE], SUM, before - timedelta(days=16), END, 60)
    with pytest.raises(ValueError, match="at most 455 days ago"):
        read_metrics(aws, [ONE], SUM, before - timedelta(days=456), END, 3600)
    assert not sandbox.calls.of("cloudwatch")


def regional(builder: Builder) -> tuple[NatGateway, list[tuple[str, str]]]:
    """Create a regional NAT gateway and return it with the (name, id) of the zones in which it has addresses."""
    vpc_id = builder.vpc()
    builder.subnet(vpc_id, zone="a")
    builder.subnet(vpc_id, zone="b")
    builder.internet_gateway(vpc_id)
    gateway_id = builder.ec2.create_nat_gateway(AvailabilityMode="regional", VpcId=vpc_id)["NatGateway"]["NatGatewayId"]
    (row,) = builder.ec2.describe_nat_gateways(NatGatewayIds=[gateway_id])["NatGateways"]
    zones = sorted(
        (address["AvailabilityZone"], address["AvailabilityZoneId"]) for address in row["NatGatewayAddresses"]
    )
    return NatGateway(gateway_id, vpc_id, availability_mode="regional"), zones


def test_meters_are_the_gateway_or_its_zones(aws: Aws, sandbox: Sandbox, builder: Builder) -> None:
    """A zone counts if CloudWatch has recent metrics for it, or if the gateway has an address there."""
    gateway, ((first, _), (second, _)) = regional(builder)
    sandbox.metrics.record(gateway.id, "BytesInFromSource", [(START, 1.0)], zone=first)
    sandbox.metrics.record(gateway.id, "BytesInFromSource", [(START, 1.0)], zone="us-east-1f")
    assert meters_of(aws, [NatGateway("nat-1", "vpc-1"), gateway]) == [
        Meter("nat-1"),
        Meter(gateway.id, first),
        Meter(gateway.id, second),
        Meter(gateway.id, "us-east-1f"),
    ]


def test_zones_are_spelled_as_cloudwatch_spells_them(aws: Aws, sandbox: Sandbox, builder: Builder) -> None:
    """If CloudWatch identifies one zone by its id, ids are used for all zones."""
    gateway, ((_, first), (_, second)) = regional(builder)
    sandbox.metrics.record(gateway.id, "BytesInFromSource", [(START, 1.0)], zone=first)
    assert meters_of(aws, [gateway]) == [Meter(gateway.id, zone) for zone in sorted([first, second])]


def test_gateways_beyond_one_filter_are_found(aws: Aws, builder: Builder) -> None:
    """EC2 takes 200 values a filter (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html)."""
    gateway, zones = regional(builder)
    others = [f"nat-{number}" for number in range(200)]
    meters = meters_of(aws, [*(NatGateway(other, "vpc-1", availability_mode="regional") for other in others), gateway])
    assert [meter for meter in meters if meter.nat_gateway_id not in others] == [
        Meter(gateway.id, zone) for zone, _ in zones
    ]
    placements = read_nat_placements(aws, [*others, gateway.id])
    assert {placement.vpc_id for placement in placements.values()} == {gateway.vpc_id}


def test_zonal_gateways_need_no_look_at_zones(aws: Aws, sandbox: Sandbox) -> None:
    """For zonal gateways, neither EC2 nor CloudWatch is called."""
    assert meters_of(aws, [NatGateway("nat-1", "vpc-1")]) == [ONE]
    assert len(sandbox.calls) == 0

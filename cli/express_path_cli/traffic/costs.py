"""What S3 Express traffic costs at the NAT gateways on flagged paths: the upper bound, and what flow logs show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.nat.crossed_nats import CrossedNat, NatKind, OwnedNats, nats_by_owner
from express_path_cli.nat.metrics import Series, meters_of, read_metrics
from express_path_cli.nat.prices import (
    TRAFFIC,
    Amount,
    MeasuredCost,
    Price,
    Prices,
    TimeWindow,
    amount,
    charged_bytes,
    measured_cost,
)
from express_path_cli.sources.network import NetworkViews
from express_path_cli.terminal.errors import Failure, OptionError
from express_path_cli.traffic.flow_logs import ExpressBytes, measure

_NO_ZONES = OptionError(
    "CloudWatch has no metrics for any of its zones", "it has no address and carried no traffic in the last two weeks"
)
"""A regional NAT gateway without meters: its traffic is unknown, not 0."""
_PERIOD = 3600
"""One hour: CloudWatch keeps hourly datapoints for 455 days, which covers every window."""


@dataclass(frozen=True, slots=True)
class NatCost:
    """One NAT: its traffic, its price, the upper bound of S3 Express's cost there, and its measured cost.

    A field is None if it could not be read, or if a NAT instance does not have it.
    """

    nat: CrossedNat
    series: tuple[Series, ...] | None = None
    price: Price | None = None
    bound: Amount | None = None
    measured: MeasuredCost | None = None


def read_traffic(
    owned_nats: Sequence[OwnedNats], during: TimeWindow, task_pool: TaskPool
) -> dict[str, tuple[Series, ...]]:
    """Return the traffic of every NAT gateway that could be read, by its id."""
    done = task_pool.run(owned_nats, partial(_read_traffic, during=during))
    traffic = {nat_id: series for _, by_nat in done for nat_id, series in by_nat.items()}
    unmetered = [nat for owned in owned_nats for nat in owned.nats if traffic.get(nat.id) == ()]
    task_pool.failures += [Failure(nat.where, _NO_ZONES) for nat in unmetered]
    return {nat_id: series for nat_id, series in traffic.items() if series}


def _read_traffic(owned: OwnedNats, during: TimeWindow) -> dict[str, tuple[Series, ...]]:
    aws = owned.owner.aws
    meters = meters_of(aws, [nat.gateway for nat in owned.nats if nat.gateway])
    read = read_metrics(aws, meters, TRAFFIC, during.start, during.end, _PERIOD)
    return {nat.id: tuple(series for series in read if series.meter.nat_gateway_id == nat.id) for nat in owned.nats}


def costs_of(
    nats: Sequence[CrossedNat],
    owned_nats: Sequence[OwnedNats],
    traffic: Mapping[str, tuple[Series, ...]],
    prices: Prices,
    during: TimeWindow,
) -> list[NatCost]:
    """Return the cost of each NAT without measurements, in the order of the NATs."""
    clients = {nat.id: owned.owner.aws for owned in owned_nats for nat in owned.nats}
    return [
        _cost(nat, prices.of(nat, clients[nat.id]), traffic, during) if nat.id in clients else NatCost(nat)
        for nat in nats
    ]


def _cost(nat: CrossedNat, price: Price, traffic: Mapping[str, tuple[Series, ...]], during: TimeWindow) -> NatCost:
    series = traffic.get(nat.id)
    bound = None if series is None else amount(charged_bytes(series), price, during)
    return NatCost(nat, series, price, bound)


def with_measurement(costs: Sequence[NatCost], by_gateway: Mapping[str, ExpressBytes]) -> list[NatCost]:
    """Return the costs with the measured S3 Express part of those NAT gateways that have one."""
    return [
        replace(cost, measured=_measured(by_gateway[cost.nat.id], cost.price, cost.series or ()))
        if cost.price and cost.nat.id in by_gateway
        else cost
        for cost in costs
    ]


def _measured(express: ExpressBytes, price: Price, series: Sequence[Series]) -> MeasuredCost:
    """Return the cost of S3 Express bytes; the share is of the bytes charged in the same hours."""
    charged = charged_bytes(series, express.window)
    return measured_cost(express.bytes, charged, price, express.window, complete=express.complete)


@dataclass(frozen=True, slots=True)
class CostOptions:
    """The time window to report, the price in US dollars per GB if given, and the log group of flow logs if given."""

    window: TimeWindow
    usd_per_gb: float | None = None
    log_group: str | None = None


@dataclass(frozen=True, slots=True)
class CostReport:
    """The cost of each NAT; failures name what could not be read, notes the assumed prices.

    all_read: no account, Region or NAT gateway is missing. bytes_scanned: what CloudWatch Logs Insights scanned and
    charges for.
    """

    window: TimeWindow
    costs: Sequence[NatCost] = ()
    all_read: bool = True
    log_group: str | None = None
    bytes_scanned: float = 0.0
    failures: Sequence[Failure] = ()
    notes: Sequence[str] = ()

    @property
    def gateways(self) -> list[NatCost]:
        """The costs of NAT gateways; AWS charges per GB for no other NATs."""
        return [cost for cost in self.costs if cost.nat.kind is not NatKind.INSTANCE]

    @property
    def instances(self) -> list[NatCost]:
        """The costs of NAT instances."""
        return [cost for cost in self.costs if cost.nat.kind is NatKind.INSTANCE]


def report_on(
    nats: Sequence[CrossedNat], network: NetworkViews, options: CostOptions, task_pool: TaskPool
) -> CostReport:
    """Read traffic and prices, and flow logs if a log group is given; failures are kept and the rest is reported."""
    owned_nats = nats_by_owner(nats, network.account_access, task_pool)
    prices = Prices(options.usd_per_gb)
    costs = costs_of(nats, owned_nats, read_traffic(owned_nats, options.window, task_pool), prices, options.window)
    report = CostReport(options.window, costs, not (network.failures or task_pool.failures), options.log_group)
    if options.log_group:
        report = _with_measurement(report, options.log_group, owned_nats, network, task_pool)
    failures = (*network.failures, *sorted(task_pool.failures, key=lambda failure: failure.where))
    return replace(report, failures=failures, notes=(*network.notes, *prices.notes))


def _with_measurement(
    report: CostReport, log_group: str, owned_nats: Sequence[OwnedNats], network: NetworkViews, task_pool: TaskPool
) -> CostReport:
    measurement = measure(log_group, owned_nats, network.views, report.window, task_pool)
    costs = with_measurement(report.costs, measurement.by_gateway)
    return replace(report, costs=costs, bytes_scanned=measurement.bytes_scanned)

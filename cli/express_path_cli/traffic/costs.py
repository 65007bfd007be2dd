"""What S3 Express traffic costs at the NAT gateways on flagged paths: the upper bound, and what flow logs show."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from express_path.adapters.aws import Aws
from express_path.domain.network.addresses import Cidr, Family
from express_path.errors import ApiError
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.nat.crossed_nats import CrossedNat, NatKind, OwnedNats, nats_by_owner
from express_path_cli.nat.metrics import Series, meters_of, read_metrics
from express_path_cli.nat.prices import (
    ASSUMED_PRICE,
    TRAFFIC,
    Amount,
    Basis,
    Measured,
    Price,
    TimeWindow,
    amount,
    charged_bytes,
    listed_prices,
    measured,
)
from express_path_cli.sources.network import NetworkViews, View
from express_path_cli.terminal.errors import Failure, OptionError, one_line
from express_path_cli.traffic.flow_logs import (
    FlowLog,
    LogGroup,
    NatPlacement,
    NotRecordedError,
    Reading,
    read_express_bytes,
    read_log_group,
    read_nat_placements,
    recording,
)

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
    measured: Measured | None = None


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


@dataclass(frozen=True, slots=True)
class ExpressBytes:
    """The S3 Express bytes of one NAT gateway during a window; complete: no record is known to be missing."""

    bytes: float
    window: TimeWindow
    complete: bool


@dataclass(frozen=True, slots=True)
class Measurement:
    """The S3 Express bytes by NAT gateway, the bytes scanned, and the gateways that flow logs do not record."""

    by_gateway: Mapping[str, ExpressBytes]
    bytes_scanned: float
    not_recorded: Sequence[NotRecordedError] = ()


class _RecordedPart(NamedTuple):
    """What the records of some NAT gateways contain, and when; one query reads all gateways with the same part."""

    fields: tuple[str, ...]
    window: TimeWindow


def express_blocks(views: Sequence[View], region: str) -> tuple[Cidr, ...]:
    """Return the IPv4 blocks of S3 Express in a Region; NAT gateways translate to no others. Raise OptionError."""
    snapshot = next(view.tracer.snapshot for view in views if view.region == region)
    lists = [prefix_list for prefix_list in snapshot.express_prefix_lists if prefix_list.family is Family.IPV4]
    blocks = tuple(block for prefix_list in lists for block in prefix_list.cidrs or ())
    if not blocks:
        raise OptionError(
            f"the S3 Express prefix list of {region} could not be read",
            f"allow ec2:DescribePrefixLists in account {snapshot.account_id}",
        )
    return blocks


def measure(
    log_group: str, owned_nats: Sequence[OwnedNats], views: Sequence[View], during: TimeWindow, task_pool: TaskPool
) -> Measurement:
    """Measure the NAT gateways of each account and Region; failures are added to the task pool's."""
    by_gateway: dict[str, ExpressBytes] = {}
    bytes_scanned = 0.0
    task = partial(_measure_owned, log_group, views, during)
    for owned, measurement in task_pool.run(owned_nats, task, lambda owned: f"{owned}: flow logs"):
        by_gateway |= measurement.by_gateway
        bytes_scanned += measurement.bytes_scanned
        task_pool.failures += [
            Failure(f"{error.nat_gateway_id} {owned.owner.aws.region}", error) for error in measurement.not_recorded
        ]
    return Measurement(by_gateway, bytes_scanned)


def _measure_owned(log_group: str, views: Sequence[View], during: TimeWindow, owned: OwnedNats) -> Measurement:
    aws = owned.owner.aws
    blocks = express_blocks(views, aws.region)
    group = read_log_group(aws, log_group)
    placements = read_nat_placements(aws, [nat.id for nat in owned.nats])
    recorded: dict[_RecordedPart, list[NatPlacement]] = defaultdict(list)
    not_recorded = []
    for nat in owned.nats:
        try:
            placement = placements.get(nat.id, NatPlacement(nat.id, (), "", ""))
            flow_log = recording(placement, log_group, group.flow_logs)
            window = _recorded_window(placement, group, flow_log, during)
            recorded[_RecordedPart(flow_log.fields, window)].append(placement)
        except NotRecordedError as error:
            not_recorded.append(error)
    by_gateway: dict[str, ExpressBytes] = {}
    bytes_scanned = 0.0
    for (fields, window), batch in recorded.items():
        interfaces = [interface_id for placement in batch for interface_id in placement.interface_ids]
        reading = read_express_bytes(aws, log_group, fields, interfaces, blocks, window)
        bytes_scanned += reading.bytes_scanned
        by_gateway |= {
            placement.nat_gateway_id: _express_bytes(placement, fields, reading, window) for placement in batch
        }
    return Measurement(by_gateway, bytes_scanned, not_recorded)


def _recorded_window(placement: NatPlacement, group: LogGroup, flow_log: FlowLog, during: TimeWindow) -> TimeWindow:
    """Return the part of a window that has records. Raise NotRecordedError if there is none."""
    since = max(flow_log.created, group.kept_since)
    window = during.since(since)
    if not window.days:
        why = f"its records do not start until {since:%Y-%m-%d %H:%M} UTC"
        raise NotRecordedError(placement.nat_gateway_id, group.name, why)
    return window


def _express_bytes(
    placement: NatPlacement, fields: Sequence[str], reading: Reading, window: TimeWindow
) -> ExpressBytes:
    complete = "log-status" in fields and not reading.skipped_interfaces & {*placement.interface_ids}
    total = sum(reading.bytes_by_interface.get(interface_id, 0) for interface_id in placement.interface_ids)
    return ExpressBytes(total, window, complete)


def with_measurement(costs: Sequence[NatCost], by_gateway: Mapping[str, ExpressBytes]) -> list[NatCost]:
    """Return the costs with the measured S3 Express part of those NAT gateways that have one."""
    return [
        replace(cost, measured=_measured(by_gateway[cost.nat.id], cost.price, cost.series or ()))
        if cost.price and cost.nat.id in by_gateway
        else cost
        for cost in costs
    ]


def _measured(express: ExpressBytes, price: Price, series: Sequence[Series]) -> Measured:
    """Return the cost of S3 Express bytes; the share is of the bytes charged in the same hours."""
    charged = charged_bytes(series, express.window)
    return measured(express.bytes, charged, price, express.window, complete=express.complete)


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

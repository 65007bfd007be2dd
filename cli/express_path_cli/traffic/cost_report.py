"""The report of what S3 Express costs at the NATs on flagged paths."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.nat.crossed_nats import CrossedNat, NatKind, OwnedNats, nats_by_owner
from express_path_cli.sources.network import NetworkViews
from express_path_cli.terminal.errors import Failure
from express_path_cli.traffic.charges import TimeWindow
from express_path_cli.traffic.costing import NatCost, Prices, costs_of, read_traffic
from express_path_cli.traffic.measuring import measure, with_measurement


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

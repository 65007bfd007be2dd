"""What S3 Express costs at the NATs on flagged paths, put together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from express_path_cli.cost.charges import Window
from express_path_cli.cost.costing import NatCost, Prices, costs_of, read_traffic
from express_path_cli.cost.measuring import measure, with_shares
from express_path_cli.flagged_nats import FlaggedNat, NatKind
from express_path_cli.nats_by_owner import OwnedNats, nats_by_owner
from express_path_cli.result import Failure, Seen
from express_path_cli.task_pool import TaskPool


@dataclass(frozen=True)
class CostOptions:
    """What is counted: a window, a price in US dollars a GB if one is given, a log group of flow logs if one is."""

    window: Window
    usd_per_gb: float | None = None
    log_group: str | None = None


@dataclass(frozen=True)
class CostReport:
    """What each NAT costs; failures name what is missing, notes tell of guesses.

    all_read tells that no account, Region or NAT gateway is missing. bytes_scanned is what CloudWatch Logs Insights
    scanned, and charges for.
    """

    window: Window
    costs: Sequence[NatCost] = ()
    all_read: bool = True
    log_group: str | None = None
    bytes_scanned: float = 0.0
    failures: Sequence[Failure] = ()
    notes: Sequence[str] = ()

    @property
    def gateways(self) -> list[NatCost]:
        """The NAT gateways, which alone are charged for by the GB."""
        return [each for each in self.costs if each.nat.kind is not NatKind.INSTANCE]

    @property
    def instances(self) -> list[NatCost]:
        """The NAT instances."""
        return [each for each in self.costs if each.nat.kind is NatKind.INSTANCE]


def report_on(nats: Sequence[FlaggedNat], seen: Seen, asked: CostOptions, task_pool: TaskPool) -> CostReport:
    """Read traffic and prices, and flow logs where a log group is named; what fails is kept beside the rest."""
    places = nats_by_owner(nats, seen.account_access, task_pool)
    prices = Prices(asked.usd_per_gb)
    costs = costs_of(nats, places, read_traffic(places, asked.window, task_pool), prices, asked.window)
    report = CostReport(asked.window, costs, not (seen.failures or task_pool.failures), asked.log_group)
    if asked.log_group:
        report = _measured(report, asked.log_group, places, seen, task_pool)
    failures = (*seen.failures, *sorted(task_pool.failures, key=lambda each: each.where))
    return replace(report, failures=failures, notes=(*seen.notes, *prices.notes))


def _measured(
    report: CostReport, log_group: str, places: Sequence[OwnedNats], seen: Seen, task_pool: TaskPool
) -> CostReport:
    shares = measure(log_group, places, seen.views, report.window, task_pool)
    costs = with_shares(report.costs, shares.by_gateway)
    return replace(report, costs=costs, bytes_scanned=shares.bytes_scanned)

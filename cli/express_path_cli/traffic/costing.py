"""The cost per GB of the NAT gateways on flagged paths: traffic and prices, account by account."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from express_path.adapters.aws import Aws
from express_path.errors import ApiError
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.nat.crossed_nats import CrossedNat, NatKind, OwnedNats
from express_path_cli.nat.metrics import Series, meters_of, read_metrics
from express_path_cli.nat.prices import ASSUMED_PRICE, Basis, Price, listed_prices
from express_path_cli.terminal.errors import Failure, OptionError, one_line
from express_path_cli.traffic.charges import TRAFFIC, Amount, Measured, TimeWindow, amount, charged_bytes

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

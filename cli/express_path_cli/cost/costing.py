"""What the NAT gateways on flagged paths cost by the GB: traffic and prices, account by account."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from express_path.adapters.aws import Aws
from express_path.errors import ApiError
from express_path_cli.cost.charges import (
    ASSUMED_PRICE,
    TRAFFIC,
    Amount,
    Basis,
    Measured,
    Price,
    Window,
    amount,
    charged_bytes,
)
from express_path_cli.cost.nat_prices import listed_prices
from express_path_cli.flagged_nats import FlaggedNat, NatKind
from express_path_cli.metrics.nat_metrics import meters_of, read_metrics
from express_path_cli.metrics.series import Series
from express_path_cli.nats_by_owner import OwnedNats
from express_path_cli.problems import OptionError, one_line
from express_path_cli.result import Failure
from express_path_cli.task_pool import TaskPool

_NO_ZONES = OptionError(
    "CloudWatch has metrics of none of its zones", "it has no address now and carried nothing in the last two weeks"
)
"""What is known of a regional NAT gateway without meters, of whose traffic there is no sum: not even 0."""
_PERIOD = 3600
"""Hours: CloudWatch keeps them for 455 days, so one period serves every window."""


@dataclass(frozen=True)
class NatCost:
    """One NAT: its traffic, price, what S3 Express costs there at most, and as flow logs measure it.

    None stands for what could not be read, and for what a NAT instance does not have.
    """

    nat: FlaggedNat
    series: tuple[Series, ...] | None = None
    price: Price | None = None
    bound: Amount | None = None
    measured: Measured | None = None


def read_traffic(places: Sequence[OwnedNats], during: Window, task_pool: TaskPool) -> dict[str, tuple[Series, ...]]:
    """The traffic of every NAT gateway that can be read, by its id."""

    def read(at: OwnedNats) -> dict[str, tuple[Series, ...]]:
        aws = at.owner.aws
        meters = meters_of(aws, [nat.gateway for nat in at.nats if nat.gateway])
        series = read_metrics(aws, meters, TRAFFIC, during.start, during.end, _PERIOD)
        return {nat.id: tuple(one for one in series if one.meter.nat_gateway_id == nat.id) for nat in at.nats}

    traffic = {key: series for _, found in task_pool.run(places, read) for key, series in found.items()}
    unmetered = [nat for at in places for nat in at.nats if traffic.get(nat.id) == ()]
    task_pool.failures += [Failure(nat.where, _NO_ZONES) for nat in unmetered]
    return {key: series for key, series in traffic.items() if series}


class Prices:
    """The price in each Region: the given one, else the listed one, else one that is assumed; notes tell of guesses."""

    def __init__(self, given: float | None) -> None:
        """Ask nobody where a price is given."""
        self.notes: list[str] = []
        self._given = None if given is None else Price(given, Basis.GIVEN)
        self._listed: dict[str, Mapping[str, Price]] = {}

    def of(self, nat: FlaggedNat, aws: Aws) -> Price:
        """The price at one NAT gateway; AWS is asked once for each Region."""
        if self._given:
            return self._given
        if nat.region not in self._listed:
            self._listed[nat.region] = self._ask(nat.region, aws)
        listed = self._listed[nat.region]
        own = listed.get("RegionalNatGateway") if nat.kind is NatKind.REGIONAL else None
        return own or listed.get("NatGateway", ASSUMED_PRICE)

    def _ask(self, region: str, aws: Aws) -> Mapping[str, Price]:
        try:
            found = listed_prices(aws, region)
            why = "the Price List has none in US dollars"
        except ApiError as error:
            found, why = {}, one_line(error)
        if "NatGateway" not in found:
            self.notes.append(
                f"{region}: the price of {ASSUMED_PRICE.usd_per_gb} USD a GB is a guess, that of us-east-1; "
                f"--price-per-gb sets yours ({why})"
            )
        return found


def costs_of(
    nats: Sequence[FlaggedNat],
    places: Sequence[OwnedNats],
    traffic: Mapping[str, tuple[Series, ...]],
    prices: Prices,
    during: Window,
) -> list[NatCost]:
    """What each NAT costs at most, in the order of the NATs."""
    clients = {nat.id: at.owner.aws for at in places for nat in at.nats}
    return [
        _cost(nat, prices.of(nat, clients[nat.id]), traffic, during) if nat.id in clients else NatCost(nat)
        for nat in nats
    ]


def _cost(nat: FlaggedNat, price: Price, traffic: Mapping[str, tuple[Series, ...]], during: Window) -> NatCost:
    series = traffic.get(nat.id)
    bound = None if series is None else amount(charged_bytes(series), price, during)
    return NatCost(nat, series, price, bound)

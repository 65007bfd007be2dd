"""Diagnose every NAT gateway on a flagged path."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.nat.crossed_nats import CrossedNat, OwnedNats, crossed_nats, nats_by_owner
from express_path_cli.nat.metrics import LONGEST_RETENTION, finest_period, meters_of, read_metrics
from express_path_cli.sources.network import NetworkViews
from express_path_cli.terminal.errors import OptionError
from express_path_cli.traffic.symptoms import METRICS, MIN_DURATION, MIN_PERIODS, Diagnosis, MeterState, diagnose

HOURS = 24
_PERIODS = (60, 300, 900, 3600, 6 * 3600, 24 * 3600)
_MAXIMUM = 1440
"""The most periods of a window, such as a day in minutes; more take too long to read and to draw."""


@dataclass(frozen=True, slots=True)
class Timing:
    """A time window from start to before end, divided into whole periods; period is in seconds."""

    start: datetime
    end: datetime
    period: int


def timing(now: datetime, hours: int | None, since: str | None, until: str | None, period: int | None) -> Timing:
    """Return the window that the options select, without the current period, which is incomplete.

    Raise OptionError for a window that is too short to show a plateau, too long, or too old for CloudWatch.
    """
    if since and hours is not None:
        raise OptionError("--from and --hours cannot be used together", "leave out one of them")
    end = min(_time("--to", until, now), now) if until else now
    start = _time("--from", since, now) if since else end - timedelta(hours=hours or HOURS)
    finest = finest_period(start, now)
    if finest is None:
        raise _too_old(now)
    chosen = period or _chosen(end - start, finest)
    if chosen % finest:
        raise OptionError(
            f"--period {chosen}: CloudWatch has only periods of {finest} s since {start:%Y-%m-%d %H:%M} UTC",
            f"use a multiple of {finest}, or a later window",
        )
    during = Timing(_floor(start, chosen), _floor(end, chosen), chosen)
    _check(during)
    return during


def _check(during: Timing) -> None:
    periods = (during.end - during.start) // timedelta(seconds=during.period)
    if periods < MIN_PERIODS or during.end - during.start < MIN_DURATION:
        raise OptionError(
            f"{max(0, periods)} periods of {during.period} s are too few to detect a plateau",
            f"use at least {MIN_PERIODS} periods and {MIN_DURATION // timedelta(minutes=1)} minutes, and --to later "
            "than --from",
        )
    if periods > _MAXIMUM:
        raise OptionError(
            f"{periods} periods of {during.period} s are too many",
            f"use at most {_MAXIMUM}: a shorter window or a longer --period",
        )


def _chosen(window: timedelta, finest: int) -> int:
    """Return the shortest period that CloudWatch has and that does not make too many of them."""
    allowed = [period for period in _PERIODS if period % finest == 0]
    return next((period for period in allowed if window <= _MAXIMUM * timedelta(seconds=period)), allowed[-1])


def _floor(time: datetime, period: int) -> datetime:
    return datetime.fromtimestamp(time.timestamp() // period * period, UTC)


def _time(option: str, text: str, now: datetime) -> datetime:
    """Parse a time in ISO 8601; without a time zone it is UTC."""
    try:
        time = datetime.fromisoformat(text)
        time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise OptionError(
            f"{option} {text}: not a valid time", "use a time such as 2026-03-01T09:00 (UTC) or 2026-03-01T09:00+01:00"
        ) from error
    if now - time > LONGEST_RETENTION:
        raise _too_old(now)
    return time


def _too_old(now: datetime) -> OptionError:
    return OptionError(
        f"CloudWatch has no datapoints before {now - LONGEST_RETENTION:%Y-%m-%d}", "choose a later window"
    )


@dataclass(frozen=True, slots=True)
class NatDiagnosis:
    """One NAT and its diagnoses: one, or one for each zone of a regional NAT gateway.

    diagnoses is None if the metrics could not be read, and for a NAT instance, which has none. subnets_to_heal has one
    subnet of each route table: its heal also heals the table's other subnets.
    """

    nat: CrossedNat
    subnets_to_heal: tuple[str, ...]
    diagnoses: tuple[Diagnosis, ...] | None = None

    @property
    def has_symptoms(self) -> bool:
        """Return whether any of its meters has symptoms."""
        return any(diagnosis.state is MeterState.SYMPTOMS for diagnosis in self.diagnoses or ())


def nats_to_diagnose(
    network: NetworkViews, verdicts: Sequence[Verdict], subnet_id: str | None, elsewhere: str
) -> list[CrossedNat]:
    """Return the NATs on flagged paths, or on the path of one subnet.

    Raise OptionError if there is no such subnet; elsewhere is the hint where else to look for it.
    """
    nats = crossed_nats(network.views, verdicts)
    if subnet_id is None:
        return nats
    if all(verdict.subnet_id != subnet_id for verdict in verdicts):
        hint = "it may be in an account or Region that could not be read" if network.failures else elsewhere
        raise OptionError(f"no subnet {subnet_id} was found", hint)
    return [nat for nat in nats if subnet_id in nat.subnet_ids]


def diagnose_all(
    nats: Sequence[CrossedNat], verdicts: Iterable[Verdict], network: NetworkViews, during: Timing, task_pool: TaskPool
) -> list[NatDiagnosis]:
    """Diagnose each NAT and return those with symptoms first; failures are added to the task pool's."""
    owned_nats = nats_by_owner(nats, network.account_access, task_pool)
    done = task_pool.run(owned_nats, partial(_diagnose_owned, during=during), lambda owned: f"{owned}: metrics")
    by_nat = {nat_id: diagnoses for _, of_place in done for nat_id, diagnoses in of_place.items()}
    tables = {verdict.subnet_id: verdict.route_table_id for verdict in verdicts if verdict.is_flagged}
    diagnosed = [NatDiagnosis(nat, _one_subnet_per_table(nat, tables), by_nat.get(nat.id)) for nat in nats]
    return sorted(diagnosed, key=lambda nat: not nat.has_symptoms)


def _diagnose_owned(owned: OwnedNats, during: Timing) -> dict[str, tuple[Diagnosis, ...]]:
    aws = owned.owner.aws
    meters = meters_of(aws, [nat.gateway for nat in owned.nats if nat.gateway])
    series = read_metrics(aws, meters, METRICS, during.start, during.end, during.period)
    diagnoses = [diagnose(meter, series, during.start, during.end, during.period) for meter in meters]
    return {
        nat.id: tuple(diagnosis for diagnosis in diagnoses if diagnosis.meter.nat_gateway_id == nat.id)
        for nat in owned.nats
    }


def _one_subnet_per_table(nat: CrossedNat, tables: Mapping[str, str | None]) -> tuple[str, ...]:
    first: dict[str | None, str] = {}
    for subnet_id in nat.subnet_ids:
        first.setdefault(tables[subnet_id], subnet_id)
    return tuple(first.values())

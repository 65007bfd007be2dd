"""Diagnose every NAT gateway on a flagged path."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from express_path.adapters.aws import unless_denied
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.automation.deployments import installed_stacks
from express_path_cli.aws.sessions import AccountRegion
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.findings.row import Row
from express_path_cli.nat.crossed_nats import CrossedNat, OwnedNats, crossed_nats, nats_by_owner
from express_path_cli.nat.metrics import LONGEST_RETENTION, finest_period, meters_of, read_metrics
from express_path_cli.sources.named import named_subnets
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


def timing(now: datetime, hours: int | None, since: str | None, until: str | None) -> Timing:
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
    chosen = _chosen(end - start, finest)
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
    subnet of each route table where a runbook can heal it: its heal also heals the table's other subnets. changes: what to
    do about the other route tables.
    """

    nat: CrossedNat
    subnets_to_heal: tuple[str, ...]
    diagnoses: tuple[Diagnosis, ...] | None = None
    changes: tuple[Remedy, ...] = ()

    @property
    def has_symptoms(self) -> bool:
        """Return whether any of its meters has symptoms."""
        return any(diagnosis.state is MeterState.SYMPTOMS for diagnosis in self.diagnoses or ())


def nats_to_diagnose(
    network: NetworkViews, verdicts: Sequence[Verdict], named: str | None, elsewhere: str
) -> list[CrossedNat]:
    """Return the NATs on flagged paths, or on the paths of what is named: a subnet, a route table, or a VPC.

    Raise OptionError if nothing or several things have the name; elsewhere is the hint where else to look for it.
    """
    nats = crossed_nats(network.views, verdicts)
    if named is None:
        return nats
    hint = "it may be in an account or Region that could not be read" if network.failures else elsewhere
    subnet_ids = {subnet.subnet_id for subnet in named_subnets(network.views, named, hint)}
    return [nat for nat in nats if not subnet_ids.isdisjoint(nat.subnet_ids)]


def diagnose_all(
    nats: Sequence[CrossedNat], rows: Mapping[str, Row], network: NetworkViews, during: Timing, task_pool: TaskPool
) -> list[NatDiagnosis]:
    """Diagnose each NAT and return those with symptoms first; failures are added to the task pool's.

    rows: the NON_COMPLIANT subnets, by id.
    """
    owned_nats = nats_by_owner(nats, network.account_access, task_pool)
    done = task_pool.run(owned_nats, partial(_diagnose_owned, during=during), lambda owned: f"{owned}: metrics")
    by_nat = {nat_id: diagnoses for _, of_place in done for nat_id, diagnoses in of_place.items()}
    used = {subnet_id for nat in nats for subnet_id in nat.subnet_ids}
    named = sorted({(row.account_id, row.region) for row in rows.values() if row.subnet_id in used})
    clients = ((account_id, network.account_access.clients(account_id, region)) for account_id, region in named)
    places = [AccountRegion(account_id, aws) for account_id, aws in clients if aws]
    answers = task_pool.run(places, _has_runbooks, lambda place: f"{place}: runbooks")
    with_runbooks = {(place.account_id, place.region) for place, has_runbooks in answers if has_runbooks}
    diagnosed = [_nat_diagnosis(nat, rows, with_runbooks, by_nat.get(nat.id)) for nat in nats]
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


def _has_runbooks(place: AccountRegion) -> bool:
    """Return whether a stack has runbooks there. Whoever may not read that, gets no runbook."""
    return bool(unless_denied(lambda: installed_stacks(place)))


def _nat_diagnosis(
    nat: CrossedNat,
    rows: Mapping[str, Row],
    with_runbooks: Collection[tuple[str, str]],
    diagnoses: tuple[Diagnosis, ...] | None,
) -> NatDiagnosis:
    first: dict[str | None, Row] = {}
    for row in (rows[subnet_id] for subnet_id in nat.subnet_ids):
        first.setdefault(row.route_table_id, row)
    healable = [row for row in first.values() if (row.account_id, row.region) in with_runbooks]
    changes = dict.fromkeys(row.remedy for row in first.values() if row not in healable and row.remedy)
    return NatDiagnosis(nat, tuple(row.subnet_id for row in healable), diagnoses, tuple(changes))

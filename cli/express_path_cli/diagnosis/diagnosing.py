"""Diagnosing the NAT gateways on flagged paths, account by account."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.diagnosis.symptoms import Diagnosis, State, diagnose
from express_path_cli.diagnosis.symptoms_load import METRICS
from express_path_cli.diagnosis.timing import Timing
from express_path_cli.flagged_nats import FlaggedNat, flagged_nats
from express_path_cli.metrics.nat_metrics import meters_of, read_metrics
from express_path_cli.nats_by_owner import OwnedNats, nats_by_owner
from express_path_cli.problems import OptionError
from express_path_cli.result import Seen, is_flagged
from express_path_cli.task_pool import TaskPool


@dataclass(frozen=True)
class NatDiagnosis:
    """One NAT, and what its metrics tell: one diagnosis, or one for each zone of a regional NAT gateway.

    None stands for metrics that could not be read, and for a NAT instance's: CloudWatch has none of those. heals are
    the subnets to heal, one of each route table, which heals that table's other subnets, too.
    """

    nat: FlaggedNat
    heals: tuple[str, ...]
    diagnoses: tuple[Diagnosis, ...] | None = None

    @property
    def has_symptoms(self) -> bool:
        """Whether any of its meters shows one."""
        return any(each.state is State.SYMPTOMS for each in self.diagnoses or ())


def nats_to_diagnose(
    seen: Seen, verdicts: Sequence[Verdict], subnet_id: str | None, elsewhere: str
) -> list[FlaggedNat]:
    """The NATs on flagged paths, or on that of one subnet.

    Raises OptionError where there is no such subnet; elsewhere is the hint where else it may be.
    """
    nats = flagged_nats(seen.views, verdicts)
    if subnet_id is None:
        return nats
    if all(each.subnet_id != subnet_id for each in verdicts):
        hint = "it may be in what could not be read" if seen.failures else elsewhere
        raise OptionError(f"no subnet {subnet_id} was found", hint)
    return [each for each in nats if subnet_id in each.subnet_ids]


def diagnose_all(
    nats: Sequence[FlaggedNat], verdicts: Iterable[Verdict], seen: Seen, during: Timing, task_pool: TaskPool
) -> list[NatDiagnosis]:
    """What the metrics of each NAT tell, those with symptoms first; what fails is kept as the crew's failures."""
    places = nats_by_owner(nats, seen.account_access, task_pool)

    def read(metered: OwnedNats) -> dict[str, tuple[Diagnosis, ...]]:
        return _diagnose_place(metered, during)

    found = {
        key: told
        for _, here in task_pool.run(places, read, lambda metered: f"{metered}: metrics")
        for key, told in here.items()
    }
    tables = {each.subnet_id: each.route_table_id for each in verdicts if is_flagged(each)}
    told = [NatDiagnosis(nat, _one_of_each_table(nat, tables), found.get(nat.id)) for nat in nats]
    return sorted(told, key=lambda each: not each.has_symptoms)


def _diagnose_place(metered: OwnedNats, during: Timing) -> dict[str, tuple[Diagnosis, ...]]:
    start, end, period = during
    aws = metered.owner.aws
    meters = meters_of(aws, [nat.gateway for nat in metered.nats if nat.gateway])
    series = read_metrics(aws, meters, METRICS, start, end, period)
    told = [diagnose(meter, series, start, end, period) for meter in meters]
    return {nat.id: tuple(each for each in told if each.meter.nat_gateway_id == nat.id) for nat in metered.nats}


def _one_of_each_table(nat: FlaggedNat, tables: dict[str, str | None]) -> tuple[str, ...]:
    first: dict[str | None, str] = {}
    for subnet_id in nat.subnet_ids:
        first.setdefault(tables[subnet_id], subnet_id)
    return tuple(first.values())

"""Diagnose the NAT gateways on flagged paths, account by account."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.aws.task_pool import TaskPool
from express_path_cli.findings.result import is_flagged
from express_path_cli.nat.crossed_nats import CrossedNat, OwnedNats, crossed_nats, nats_by_owner
from express_path_cli.nat.metrics import meters_of, read_metrics
from express_path_cli.sources.network import NetworkViews
from express_path_cli.terminal.errors import OptionError
from express_path_cli.traffic.symptoms import Diagnosis, State, diagnose
from express_path_cli.traffic.symptoms_load import METRICS
from express_path_cli.traffic.timing import Timing


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
        return any(diagnosis.state is State.SYMPTOMS for diagnosis in self.diagnoses or ())


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
    tables = {verdict.subnet_id: verdict.route_table_id for verdict in verdicts if is_flagged(verdict)}
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

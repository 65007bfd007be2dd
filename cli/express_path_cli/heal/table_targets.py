"""Find the route tables to heal: a heal changes a whole route table, and one run for each table is enough."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from express_path.adapters.ec2_snapshot import SnapshotReader
from express_path.domain.heal.plan import is_healable
from express_path.domain.path.families import families_of
from express_path.domain.path.reasons import SEVERITY_ORDER
from express_path.domain.path.tracing import Tracer
from express_path.domain.verdict.evaluator import Evaluator, Verdict
from express_path.domain.verdict.parameters import RuleParameters
from express_path_cli.aws.sessions import AccountRegion
from express_path_cli.terminal.errors import OptionError, locating_errors


@dataclass(frozen=True, slots=True)
class TableTarget:
    """A route table to heal.

    id: the route table, or the subnet if another account owns its route table.
    planned_subnet_ids: the subnets to plan the heal with, which may have different plans; empty if the table governs no
    subnet.
    moved_subnet_ids: every subnet whose traffic moves with the route table.
    """

    id: str
    vpc_id: str
    planned_subnet_ids: tuple[str, ...]
    moved_subnet_ids: tuple[str, ...]


class Network:
    """The subnets and route tables of one account and Region, as they are now."""

    def __init__(self, account_region: AccountRegion) -> None:
        """Read the network. Raise LocatedError."""
        self._where = str(account_region)
        with locating_errors(account_region):
            snapshot = SnapshotReader(account_region.aws).read(account_region.account_id, None, RuleParameters())
        self._snapshot = snapshot
        evaluator = Evaluator(Tracer(snapshot), RuleParameters())
        self._verdicts = {subnet.id: evaluator.verdict(subnet.id) for subnet in snapshot.own_subnets}
        self._by_table: defaultdict[str, list[Verdict]] = defaultdict(list)
        for verdict in self._verdicts.values():
            self._by_table[_target_id(verdict)].append(verdict)

    def has_subnet(self, subnet_id: str) -> bool:
        """Return whether the subnet exists."""
        return subnet_id in self._verdicts

    def targets(self, ids: Iterable[str]) -> list[TableTarget]:
        """Return the route tables that subnets and route tables name, sorted by VPC. Raise OptionError."""
        named: defaultdict[str, list[Verdict]] = defaultdict(list)
        for target in dict.fromkeys(ids):
            if target in self._snapshot.route_tables:
                named[target] += self._by_table[target]
            elif verdict := self._verdicts.get(target):
                named[_target_id(verdict)].append(verdict)
            else:
                raise OptionError(f"{self._where}: {target} does not exist", "name its --region and --profile")
        found = [self._target(target_id, verdicts) for target_id, verdicts in named.items()]
        return sorted(found, key=lambda target: (target.vpc_id, target.id))

    def _target(self, target_id: str, verdicts: Sequence[Verdict]) -> TableTarget:
        table = self._snapshot.route_tables.get(target_id)
        vpc_id = table.vpc_id if table else verdicts[0].vpc_id
        moved = tuple(verdict.subnet_id for verdict in self._by_table[target_id])
        return TableTarget(target_id, vpc_id, self._planned(verdicts), moved)

    def _planned(self, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
        """Return one subnet for each reason and set of address families, because an endpoint may not cure them all.

        If no path crosses a NAT, return only the subnet with the worst reason: its plan says why nothing is healed.
        """
        healable = [verdict for verdict in verdicts if is_healable(verdict)]
        if not healable:
            worst = sorted(verdicts, key=lambda verdict: (SEVERITY_ORDER[verdict.reason], verdict.subnet_id))
            return tuple(verdict.subnet_id for verdict in worst[:1])
        kinds: dict[object, str] = {}
        for verdict in healable:
            subnet = self._snapshot.subnets[verdict.subnet_id]
            kinds.setdefault((verdict.reason, families_of(subnet)), verdict.subnet_id)
        return tuple(kinds.values())


def _target_id(verdict: Verdict) -> str:
    return verdict.route_table_id or verdict.subnet_id

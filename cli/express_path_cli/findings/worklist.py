"""The worklist: what to fix. One row per route table and reason, because people fix route tables, not subnets.

One task is for all route tables of a VPC that need the same endpoint.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from express_path.domain.network.resources import VpcEndpoint
from express_path.domain.path.outcomes import nat_on
from express_path.domain.path.reasons import NAT_REASONS, SEVERITY_ORDER, Reason
from express_path.domain.remedy.remedies import Remedies, association
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.result import is_flagged

CROSSES_NAT = NAT_REASONS | {Reason.PARTLY_NAT}
"""The reasons of subnets with S3 Express traffic that crosses a NAT, all of it or a part."""


@dataclass(frozen=True, slots=True)
class WorklistRow:
    """Subnets of one account and Region that have the same route table and the same reason.

    route_table_id: None if the route table could not be read; such subnets are grouped by VPC.
    nat_ids: the NATs that these subnets' deciding paths cross, sorted; empty if there are none.
    verdicts: one or more, in the order in which they were given.
    """

    account_id: str
    region: str
    vpc_id: str
    route_table_id: str | None
    reason: Reason
    nat_ids: tuple[str, ...]
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Worklist:
    """The rows to fix, and the rows to look into. Each list has the worst reason first, then the most subnets.

    flagged: NON_COMPLIANT subnets.
    dropped: subnets whose traffic AWS drops.
    unresolved: subnets with a hop that could not be read or followed, unless they are NON_COMPLIANT.
    """

    flagged: Sequence[WorklistRow]
    dropped: Sequence[WorklistRow]
    unresolved: Sequence[WorklistRow]


def worklist(verdicts: Iterable[Verdict]) -> Worklist:
    """Return the worklist of verdicts."""
    flagged, dropped, unresolved = [], [], []
    for verdict in verdicts:
        if is_flagged(verdict):
            flagged.append(verdict)
        elif verdict.reason is Reason.DROPPED:
            dropped.append(verdict)
        elif verdict.reason is Reason.UNRESOLVED_EGRESS:
            unresolved.append(verdict)
    return Worklist(worklist_rows(flagged), worklist_rows(dropped), worklist_rows(unresolved))


def other_rows(verdicts: Iterable[Verdict]) -> Sequence[WorklistRow]:
    """Return rows of the subnets that no worklist contains."""
    todo = (Reason.DROPPED, Reason.UNRESOLVED_EGRESS)
    return worklist_rows(verdict for verdict in verdicts if not is_flagged(verdict) and verdict.reason not in todo)


def worklist_rows(verdicts: Iterable[Verdict]) -> Sequence[WorklistRow]:
    """Return a row for each route table and reason: the worst reason first, then the most subnets."""
    groups: defaultdict[tuple[str, str, str, str | None, Reason], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        place = (verdict.account_id, verdict.region, verdict.vpc_id)
        groups[*place, verdict.route_table_id, verdict.reason].append(verdict)
    rows = [WorklistRow(*key, _nat_ids(grouped), tuple(grouped)) for key, grouped in groups.items()]
    return sorted(rows, key=_worst_first)


def _nat_ids(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    paths = dict.fromkeys(verdict.path for verdict in verdicts if verdict.reason in CROSSES_NAT)
    return tuple(sorted({nat.id for nat in map(nat_on, paths) if nat}))


def _worst_first(row: WorklistRow) -> tuple[int, int, str, str, str, str]:
    place = (row.account_id, row.region, row.vpc_id, row.route_table_id or "")
    return (SEVERITY_ORDER[row.reason], -len(row.verdicts), *place)


@dataclass(frozen=True, slots=True)
class Task:
    """One change, and what it fixes.

    subnets: how many subnets have each reason, the worst first. route_table_ids: one or more; empty if not known.
    """

    remedy: Remedy
    subnets: tuple[tuple[Reason, int], ...]
    route_table_ids: tuple[str, ...]

    @property
    def number(self) -> int:
        """How many subnets the change fixes."""
        return sum(number for _, number in self.subnets)


class _TaskInVpc(NamedTuple):
    region: str
    vpc_id: str
    task: Task


class Tasks:
    """The tasks of the flagged rows of a worklist. A task is worked out when it is needed."""

    def __init__(self, rows: Iterable[WorklistRow], remedies: Remedies) -> None:
        """Group the rows by VPC."""
        self._remedies = remedies
        self._by_vpc: defaultdict[tuple[str, str], list[WorklistRow]] = defaultdict(list)
        for row in rows:
            self._by_vpc[row.region, row.vpc_id].append(row)
        self._shared: dict[Hashable, Task] = {}
        self._yielded: set[_TaskInVpc] = set()

    def of(self, row: WorklistRow) -> Sequence[Task]:
        """Return the tasks of a row. Several rows may have the same one."""
        endpoint = self._remedies.endpoint(row.verdicts[0])
        if endpoint is None:
            found = Counter(map(self._remedies.of, row.verdicts))
            tables = tuple(filter(None, [row.route_table_id]))
            return [Task(remedy, ((row.reason, number),), tables) for remedy, number in found.items() if remedy]
        key = _key(endpoint)
        if key not in self._shared:
            self._shared[key] = self._association(row, endpoint)
        return [self._shared[key]]

    def remaining(self, rows: Iterable[WorklistRow]) -> Iterator[Task]:
        """Yield the tasks of rows that were not yielded before."""
        for row in rows:
            for task in self.of(row):
                in_vpc = _TaskInVpc(row.region, row.vpc_id, task)
                if in_vpc not in self._yielded:
                    self._yielded.add(in_vpc)
                    yield task

    def _association(self, first: WorklistRow, endpoint: VpcEndpoint) -> Task:
        """Return the task for all rows of the VPC with route tables that need this endpoint."""
        rows = [row for row in self._by_vpc[first.region, first.vpc_id] if self._needs(row, endpoint)]
        subnets: Counter[Reason] = Counter()
        for row in rows:
            subnets[row.reason] += len(row.verdicts)
        return Task(
            association([verdict for row in rows for verdict in row.verdicts], endpoint),
            tuple(sorted(subnets.items(), key=lambda item: SEVERITY_ORDER[item[0]])),
            tuple(dict.fromkeys(str(row.route_table_id) for row in rows)),
        )

    def _needs(self, row: WorklistRow, endpoint: VpcEndpoint) -> bool:
        needed = self._remedies.endpoint(row.verdicts[0])
        return needed is not None and _key(needed) == _key(endpoint)


def _key(endpoint: VpcEndpoint) -> tuple[str, str, str, str]:
    """Return what distinguishes endpoints to associate: new ones have no ID yet, but a type."""
    return endpoint.service_name, endpoint.vpc_id, endpoint.id, endpoint.ip_address_type

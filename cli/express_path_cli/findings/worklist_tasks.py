"""What to do about the rows of a worklist: one task for all route tables of a VPC that need the same endpoint."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from express_path.domain.network.resources import VpcEndpoint
from express_path.domain.path.reasons import SEVERITY_ORDER, Reason
from express_path.domain.remedy.associations import association
from express_path.domain.remedy.remedies import Remedies
from express_path.domain.remedy.texts import Remedy
from express_path_cli.findings.worklist import WorklistRow


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

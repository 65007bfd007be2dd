"""The worklist: what to fix. One row per route table and reason, because people fix route tables, not subnets."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from express_path.domain.path.outcomes import nat_on
from express_path.domain.path.reasons import NAT_REASONS, SEVERITY_ORDER, Reason
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

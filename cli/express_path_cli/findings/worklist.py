"""The worklist: what to fix. One item per route table and reason, because people fix route tables, not subnets.

One fix is for all route tables of a VPC that need the same endpoint.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from express_path.domain.findings.texts import path_text
from express_path.domain.path.outcomes import nat_on
from express_path.domain.path.reasons import NAT_REASONS, SEVERITY_ORDER, Reason
from express_path.domain.remedy.texts import Remedy, how_to_find_out
from express_path_cli.findings.row import Mark, Row, combined, fix_key
from express_path_cli.terminal.tables import Layout, Record
from express_path_cli.terminal.texts import count_text

CROSSES_NAT = NAT_REASONS | {Reason.PARTLY_NAT}
"""The reasons of subnets with S3 Express traffic that crosses a NAT, all of it or a part."""


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One or more rows, in the order in which they were given, with the same account, Region, VPC, table, and reason.

    Subnets whose route table could not be read are grouped by VPC.
    """

    rows: tuple[Row, ...]

    @property
    def first(self) -> Row:
        """The first row, for what the rows have in common."""
        return self.rows[0]

    @property
    def mark(self) -> Mark | None:
        """What a comparison says about the item: it is new if one of its findings is."""
        marks = {row.baseline for row in self.rows}
        return next((mark for mark in Mark if mark in marks), None)

    @property
    def nat_ids(self) -> tuple[str, ...]:
        """The NATs that the deciding paths cross, sorted; empty if there are none."""
        if self.first.reason not in CROSSES_NAT:
            return ()
        return tuple(sorted({nat.id for nat in map(nat_on, {row.path for row in self.rows}) if nat}))


@dataclass(frozen=True, slots=True)
class Worklist:
    """What to fix, and what to look into. Each list has the worst reason first, then the most subnets.

    flagged: NON_COMPLIANT subnets.
    dropped: subnets whose traffic AWS drops.
    unresolved: subnets with a hop that could not be read or followed, unless they are NON_COMPLIANT.
    others: subnets that need no work.
    """

    flagged: Sequence[WorkItem]
    dropped: Sequence[WorkItem]
    unresolved: Sequence[WorkItem]
    others: Sequence[WorkItem]

    def items(self) -> list[WorkItem]:
        """Return all items."""
        return [*self.flagged, *self.dropped, *self.unresolved, *self.others]


def worklist(rows: Iterable[Row]) -> Worklist:
    """Return the worklist of rows."""
    flagged, dropped, unresolved, others = [], [], [], []
    for row in rows:
        if row.is_flagged:
            flagged.append(row)
        elif row.reason is Reason.DROPPED:
            dropped.append(row)
        elif row.reason is Reason.UNRESOLVED_EGRESS:
            unresolved.append(row)
        else:
            others.append(row)
    return Worklist(_items(flagged), _items(dropped), _items(unresolved), _items(others))


def _items(rows: Iterable[Row]) -> Sequence[WorkItem]:
    groups: defaultdict[tuple[str, str, str, str | None, Reason], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.account_id, row.region, row.vpc_id, row.route_table_id, row.reason].append(row)
    return sorted((WorkItem(tuple(grouped)) for grouped in groups.values()), key=_worst_first)


def _worst_first(item: WorkItem) -> tuple[bool, int, int, str, str, str, str]:
    """Return the key that sorts items: those that are new since the baseline, then the worst reason, then by size."""
    row = item.first
    place = (row.account_id, row.region, row.vpc_id, row.route_table_id or "")
    return (item.mark is not Mark.NEW, SEVERITY_ORDER[row.reason], -len(item.rows), *place)


def news(rows: Iterable[Row]) -> Worklist:
    """Return the worklist of rows of which a comparison says something: findings that are new, or gone and not fixed."""
    return worklist(combined([row for row in rows if row.baseline in (Mark.NEW, Mark.UNKNOWN)]))


@dataclass(frozen=True, slots=True)
class Fix:
    """What to do about rows, and the rows that it fixes: one or more, the worst reason first."""

    rows: tuple[Row, ...]
    remedy: Remedy

    @property
    def route_table_ids(self) -> list[str]:
        """The route tables to change; empty if they are not known."""
        return list(dict.fromkeys(row.route_table_id for row in self.rows if row.route_table_id))

    @property
    def place(self) -> str:
        """Where the configuration of a plan causes it, as file:line; empty if that is not known."""
        return next((f"{row.file}:{row.line}" for row in self.rows if row.file), "")

    @property
    def code(self) -> str:
        """The command, or without one the code for the tools that can make it; empty if there is none."""
        return self.remedy.command or "\n".join(patch.rstrip("\n") for patch in self.remedy.patches.values())

    @property
    def subnets(self) -> Counter[Reason]:
        """How many subnets have each reason, the worst first."""
        return Counter(row.reason for row in sorted(self.rows, key=lambda row: SEVERITY_ORDER[row.reason]))

    def counted(self, reason: Reason) -> str:
        """Return how many subnets it fixes, and how many of them have another reason than this one."""
        others = [f"{number} of them {other}" for other, number in self.subnets.items() if other is not reason]
        return ", ".join([count_text(len(self.rows), "subnet"), *others])


def fixes_of(items: Iterable[WorkItem]) -> list[Fix]:
    """Return the fixes of these items, in the order of the first item that each of them fixes."""
    fixes: defaultdict[Hashable, list[Row]] = defaultdict(list)
    for row in (row for item in items for row in item.rows):
        if row.remedy:
            fixes[fix_key(row)].append(row)
    return [Fix(tuple(rows), rows[0].remedy) for rows in fixes.values() if rows[0].remedy]


PLACE = ("Account", "Region")
"""The titles of the columns that are not shown if all items have the same values."""
LAYOUTS: Sequence[Layout] = (
    [("Subnets",), ("New",), ("Route table",), ("Table name",), ("VPC",), ("VPC name",), ("Account",), ("Region",)],
    [("Subnets",), ("New",), ("Route table",), ("VPC",), ("Account",), ("Region",)],
    [("Subnets",), ("New",), ("Route table",), ("VPC",), ("Account",)],
)
"""The items in two lines each, if they do not fit in one. The last layout is for 80 columns and long names of Regions."""


def item_record(item: WorkItem, *, is_compared: bool) -> Record:
    """Return the cells of an item, and what to do if no remedy is shown for it."""
    first = item.first
    cells: dict[str, Sequence[str]] = {"Subnets": [str(len(item.rows))]}
    if is_compared:
        cells["New"] = [str(sum(row.baseline is Mark.NEW for row in item.rows))]
    cells |= {
        "Reason": [first.reason],
        "Route table": [first.route_table_id or "unknown"],
        "Table name": [first.route_table_name],
        "VPC": [first.vpc_id],
        "VPC name": [first.vpc_name],
        "Account": [first.account_id],
        "Region": [first.region],
    }
    if first.is_flagged:
        cells["NAT"] = item.nat_ids
    notes: dict[str, Sequence[str]] = {}
    if first.reason in (Reason.DROPPED, Reason.UNRESOLVED_EGRESS):
        notes["Path"] = _distinct(map(path_text, item.rows))
        notes["To fix" if first.reason is Reason.DROPPED else "Unknown"] = _distinct(row.note for row in item.rows)
    if first.reason is Reason.UNRESOLVED_EGRESS:
        notes["To find out"] = _distinct(map(how_to_find_out, item.rows))
    return Record(cells, notes)


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))

"""Group rows by VPC, account, Region, reason, or the value of a tag."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from express_path.domain.path.reasons import SEVERITY_ORDER, Reason
from express_path_cli.findings.row import Row
from express_path_cli.terminal.errors import OptionError, did_you_mean
from express_path_cli.terminal.tables import Layout, Record

TAG = "tag:"
"""What is before the key of a tag to group by."""
GROUPINGS = {
    "vpc": ("VPC", "VPC name", "Account", "Region"),
    "account": ("Account",),
    "region": ("Region",),
    "reason": ("Reason",),
}
"""The groupings other than by table or tag, with the titles of a group's values."""
BY_TABLE = "table"
"""The grouping of the worklist: one row for each route table and reason."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """What rows are grouped by: a word of GROUPINGS, or tag:KEY,... for the values of these tags together."""

    by: str

    @property
    def tag_keys(self) -> tuple[str, ...]:
        """The keys of the tags; empty if the rows are not grouped by tags."""
        return tuple(self.by.removeprefix(TAG).split(",")) if self.by.startswith(TAG) else ()

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of a group's values."""
        return GROUPINGS.get(self.by) or tuple(f"{TAG}{key}" for key in self.tag_keys)

    def values(self, row: Row) -> tuple[str, ...]:
        """Return the values that the rows of a group share, in the order of the titles."""
        if self.by == "vpc":
            return row.vpc_id, row.vpc_name, row.account_id, row.region
        if self.by == "account":
            return (row.account_id,)
        if self.by == "region":
            return (row.region,)
        if self.by == "reason":
            return (row.reason,)
        return tuple(row.tags.get(key, f"(no tag {key})") for key in self.tag_keys)


@dataclass(frozen=True, slots=True)
class Group:
    """The rows that share these values, and how many of them need work. route_tables: those of flagged subnets."""

    values: tuple[str, ...]
    rows: Sequence[Row]
    flagged: int
    dropped: int
    unresolved: int
    route_tables: int

    @property
    def needs_work(self) -> bool:
        """Whether a worklist has at least one of the subnets."""
        return bool(self.flagged or self.dropped or self.unresolved)


def parse_split(given: str) -> Grouping:
    """Return what to split by. Raise OptionError for an unknown word, and for route tables, which are never split."""
    grouping = None if given == BY_TABLE else parse_grouping(given, "--split-by")
    if grouping is None:
        raise OptionError(f"--split-by {given}: a folder for each table would be too many", "use tag:KEY or account")
    return grouping


def parse_grouping(given: str, option: str = "--group-by") -> Grouping | None:
    """Return a grouping; None for the one of the worklist. Raise OptionError, which names the option, for an unknown one."""
    keys = given.removeprefix(TAG).split(",") if given.startswith(TAG) else [""]
    if given == BY_TABLE:
        return None
    if given not in GROUPINGS and not all(key.strip() for key in keys):
        raise OptionError(
            f"{option} {given}: subnets cannot be grouped by this",
            did_you_mean(given, (BY_TABLE, *GROUPINGS))
            or f"must be one of {BY_TABLE}, {', '.join(GROUPINGS)}, or {TAG}KEY,..., such as {TAG}owner or {TAG}owner,stage",
        )
    return Grouping(given)


def groups(rows: Iterable[Row], grouping: Grouping) -> list[Group]:
    """Return the groups of rows: those with the most flagged subnets first, then dropped, then unresolved."""
    members: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        members.setdefault(grouping.values(row), []).append(row)
    found = [_group(values, grouped) for values, grouped in members.items()]
    if grouping.by == "reason":
        return sorted(found, key=lambda group: (-bool(group.flagged), SEVERITY_ORDER[group.rows[0].reason]))
    return sorted(found, key=lambda group: (-group.flagged, -group.dropped, -group.unresolved, group.values))


def _group(values: tuple[str, ...], rows: Sequence[Row]) -> Group:
    flagged = [row for row in rows if row.is_flagged]
    others = Counter(row.reason for row in rows if not row.is_flagged)
    tables = {(row.region, row.vpc_id, row.route_table_id) for row in flagged}
    return Group(values, rows, len(flagged), others[Reason.DROPPED], others[Reason.UNRESOLVED_EGRESS], len(tables))


def group_layouts(grouping: Grouping) -> Sequence[Layout]:
    """Return how the groups are shown in 80 columns."""
    what, where = grouping.titles[:2], grouping.titles[2:]
    return ([what, where, ("Subnets", "Route tables"), ("NON_COMPLIANT",), ("DROPPED", "Unresolved")],)


def group_record(group: Group, grouping: Grouping) -> Record:
    """Return how many subnets of a group need work, and how many route tables the NON_COMPLIANT ones have."""
    numbers = {
        "Subnets": len(group.rows),
        "NON_COMPLIANT": group.flagged,
        "Route tables": group.route_tables,
        "DROPPED": group.dropped,
        "Unresolved": group.unresolved,
    }
    values = dict(zip(grouping.titles, group.values, strict=True))
    return Record({title: [str(value)] for title, value in (values | numbers).items()})

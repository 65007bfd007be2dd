"""Group rows by account, or by the values of tags."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from express_path.domain.path.reasons import Reason
from express_path_cli.findings.row import Row
from express_path_cli.terminal.errors import OptionError
from express_path_cli.terminal.tables import Record

TAG = "tag:"
"""What is before the key of a tag to group by."""
ACCOUNT = "account"


@dataclass(frozen=True, slots=True)
class Grouping:
    """What rows are grouped by: account, or tag:KEY,... for the values of these tags together."""

    by: str

    @property
    def tag_keys(self) -> tuple[str, ...]:
        """The keys of the tags; empty if the rows are grouped by account."""
        return tuple(self.by.removeprefix(TAG).split(",")) if self.by.startswith(TAG) else ()

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of a group's values."""
        return tuple(f"{TAG}{key}" for key in self.tag_keys) or ("Account",)

    def values(self, row: Row) -> tuple[str, ...]:
        """Return the values that the rows of a group share, in the order of the titles."""
        return tuple(row.tags.get(key, f"(no tag {key})") for key in self.tag_keys) or (row.account_id,)


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


def parse_grouping(given: str) -> Grouping:
    """Return what to split by. Raise OptionError for anything but account or tag:KEY,..."""
    keys = given.removeprefix(TAG).split(",") if given.startswith(TAG) else [""]
    if given != ACCOUNT and not all(key.strip() for key in keys):
        raise OptionError(
            f"--split-by {given}: subnets cannot be split by this",
            f"must be {ACCOUNT} or {TAG}KEY,..., such as {TAG}owner or {TAG}owner,stage",
        )
    return Grouping(given)


def groups(rows: Iterable[Row], grouping: Grouping) -> list[Group]:
    """Return the groups of rows: those with the most flagged subnets first, then dropped, then unresolved."""
    members: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        members.setdefault(grouping.values(row), []).append(row)
    found = [_group(values, here) for values, here in members.items()]
    return sorted(found, key=lambda group: (-group.flagged, -group.dropped, -group.unresolved, group.values))


def _group(values: tuple[str, ...], rows: Sequence[Row]) -> Group:
    flagged = [row for row in rows if row.is_flagged]
    others = Counter(row.reason for row in rows if not row.is_flagged)
    tables = {(row.region, row.vpc_id, row.route_table_id) for row in flagged}
    return Group(values, rows, len(flagged), others[Reason.DROPPED], others[Reason.UNRESOLVED_EGRESS], len(tables))


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

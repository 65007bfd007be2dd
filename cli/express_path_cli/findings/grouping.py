"""Group rows by account, or by the values of tags."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
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


Values = tuple[str | None, ...]
"""What the subnets of an owner have in common, in the order of the titles: an account, or values of tags; None for nobody."""
UNOWNED = "unowned"


def owner_text(values: Values) -> str:
    """Return an owner in words."""
    return " / ".join(UNOWNED if value is None else value or "(empty)" for value in values)


def owners_of(rows: Iterable[Row], grouping: Grouping) -> Mapping[tuple[str, str, str], Values]:
    """Return the owner of each row, by its key: that of its route table, because people change route tables.

    An owner is whoever the tag of the route table names, else that of the VPC, else that of all subnets if they agree.
    """
    tables: defaultdict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        tables[row.account_id, row.region, row.vpc_id, row.route_table_id or row.subnet_id].append(row)
    owners = {}
    for table in tables.values():
        values = tuple(_value(table, key) for key in grouping.tag_keys) or (table[0].account_id,)
        owners.update({row.key: values for row in table})
    return owners


def _value(rows: Sequence[Row], key: str) -> str | None:
    """Return the value of a tag for the rows of one route table, None if nothing says it for all of them."""
    if key in rows[0].table_tags:
        return rows[0].table_tags[key]
    values = {row.tags.get(key) for row in rows}
    return values.pop() if len(values) == 1 else None


_OWNER_KEYS = ("owner", "Owner", "team", "Team")


def owner_grouping(rows: Iterable[Row]) -> Grouping | None:
    """Return the grouping by the tag that most likely names owners, None if no row has one."""
    keys = {key for row in rows for key in row.tags}
    return next((Grouping(f"{TAG}{key}") for key in _OWNER_KEYS if key in keys), None)


@dataclass(frozen=True, slots=True)
class Group:
    """The rows that share these values, and how many of them need work. route_tables: those of flagged subnets."""

    values: Values
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


def groups(rows: Sequence[Row], grouping: Grouping) -> list[Group]:
    """Return the groups of rows: those with the most flagged subnets first, then dropped, then unresolved."""
    owners, members = owners_of(rows, grouping), dict[Values, list[Row]]()
    for row in rows:
        members.setdefault(owners[row.key], []).append(row)
    unsorted = [_group(values, here) for values, here in members.items()]
    return sorted(
        unsorted, key=lambda group: (-group.flagged, -group.dropped, -group.unresolved, owner_text(group.values))
    )


def _group(values: Values, rows: Sequence[Row]) -> Group:
    flagged = [row for row in rows if row.is_flagged]
    reasons = Counter(row.reason for row in rows if not row.is_flagged)
    tables = {(row.region, row.vpc_id, row.route_table_id) for row in flagged}
    return Group(values, rows, len(flagged), reasons[Reason.DROPPED], reasons[Reason.UNRESOLVED_EGRESS], len(tables))


def group_record(group: Group, grouping: Grouping) -> Record:
    """Return how many subnets of a group need work, and how many route tables the NON_COMPLIANT ones have."""
    numbers = {
        "Subnets": len(group.rows),
        "NON_COMPLIANT": group.flagged,
        "Route tables": group.route_tables,
        "DROPPED": group.dropped,
        "Unresolved": group.unresolved,
    }
    texts = (owner_text((value,)) for value in group.values)
    values: dict[str, object] = dict(zip(grouping.titles, texts, strict=True))
    return Record({title: [str(value)] for title, value in (values | numbers).items()})

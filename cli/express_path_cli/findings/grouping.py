"""Group verdicts by VPC, account, Region, reason, or the value of a tag."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from express_path.domain.path.reasons import SEVERITY_ORDER, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.result import is_flagged
from express_path_cli.findings.row import ResourceLabels
from express_path_cli.terminal.errors import OptionError

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
    """What verdicts are grouped by: a word of GROUPINGS, or tag:KEY."""

    by: str

    @property
    def tag_key(self) -> str:
        """The key of the tag; empty if the verdicts are not grouped by a tag."""
        return self.by.removeprefix(TAG) if self.by.startswith(TAG) else ""

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of a group's values."""
        return GROUPINGS.get(self.by) or (self.by,)

    def values(self, verdict: Verdict, labels: ResourceLabels) -> tuple[str, ...]:
        """Return the values that the verdicts of a group share, in the order of the titles."""
        if self.by == "vpc":
            return verdict.vpc_id, labels.names(verdict).vpc, verdict.account_id, verdict.region
        if self.by == "account":
            return (verdict.account_id,)
        if self.by == "region":
            return (verdict.region,)
        if self.by == "reason":
            return (verdict.reason,)
        return (labels.tags(verdict).get(self.tag_key, f"(no tag {self.tag_key})"),)


@dataclass(frozen=True, slots=True)
class Group:
    """The verdicts that share these values, and how many of them need work. route_tables: those of flagged subnets."""

    values: tuple[str, ...]
    verdicts: Sequence[Verdict]
    flagged: int
    dropped: int
    unresolved: int
    route_tables: int

    @property
    def needs_work(self) -> bool:
        """Whether a worklist has at least one of the subnets."""
        return bool(self.flagged or self.dropped or self.unresolved)


def parse_grouping(given: str) -> Grouping | None:
    """Return a grouping; None for the one of the worklist. Raise OptionError for an unknown one."""
    key = given.removeprefix(TAG) if given.startswith(TAG) else ""
    if given == BY_TABLE:
        return None
    if given not in GROUPINGS and not key.strip():
        raise OptionError(
            f"--group-by {given}: subnets cannot be grouped by this",
            f"must be one of {BY_TABLE}, {', '.join(GROUPINGS)}, or {TAG}KEY, such as {TAG}owner",
        )
    return Grouping(given)


def groups(verdicts: Iterable[Verdict], grouping: Grouping, labels: ResourceLabels) -> list[Group]:
    """Return the groups of verdicts: those with the most flagged subnets first, then dropped, then unresolved."""
    members: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in verdicts:
        members.setdefault(grouping.values(verdict, labels), []).append(verdict)
    found = [_group(values, grouped) for values, grouped in members.items()]
    if grouping.by == "reason":
        return sorted(found, key=lambda group: (-bool(group.flagged), SEVERITY_ORDER[group.verdicts[0].reason]))
    return sorted(found, key=lambda group: (-group.flagged, -group.dropped, -group.unresolved, group.values))


def _group(values: tuple[str, ...], verdicts: Sequence[Verdict]) -> Group:
    flagged = [verdict for verdict in verdicts if is_flagged(verdict)]
    others = Counter(verdict.reason for verdict in verdicts if not is_flagged(verdict))
    tables = {(verdict.region, verdict.vpc_id, verdict.route_table_id) for verdict in flagged}
    return Group(values, verdicts, len(flagged), others[Reason.DROPPED], others[Reason.UNRESOLVED_EGRESS], len(tables))

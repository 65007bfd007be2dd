"""The row: everything that people and files see of a subnet. Formats, worklist, report, and baseline are made from rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from express_path.domain.network.resources import Tags
from express_path.domain.network.snapshot import SubnetTags
from express_path.domain.remedy.remedies import AccountView, Remedies
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.sources.network import View

AFTER_APPLY = "the plan does not say what this value is"
"""The note of a row whose path ends at a value that is known only after the apply of a plan."""
_WITHOUT_TAGS = SubnetTags({}, {}, {})


class Mark(StrEnum):
    """What a comparison with a baseline says about a finding."""

    NEW = "new"
    UNCHANGED = "unchanged"
    FIXED = "fixed"
    UNKNOWN = "unknown"
    REPLACED = "replaced"
    """The subnet is still NON_COMPLIANT, for another reason."""


@dataclass(frozen=True, slots=True)
class Row(Verdict):
    """A verdict with what else is shown of its subnet. `schema/scan.schema.json` describes what JSON has of it.

    The names are Name tags, empty without one. tags: the selected tags that the subnet has, or else its route table, or
    else its VPC. remedy: None if nothing has to change. baseline: None without a baseline, and without a finding.
    address: in a plan, the address in the configuration; until AWS gives the subnet an id, subnet_id is the address too.
    changed_by: the addresses of the resources in a plan that change the subnet's route table, or its routes. file and
    line: where the first of them is, if the configuration was read.
    """

    subnet_name: str = ""
    route_table_name: str = ""
    vpc_name: str = ""
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    remedy: Remedy | None = None
    baseline: Mark | None = None
    address: str = ""
    changed_by: tuple[str, ...] = ()
    file: str = ""
    line: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """The account, the Region, and the ID of the subnet."""
        return self.account_id, self.region, self.subnet_id

    def names(self) -> dict[str, str]:
        """Return the names as documents have them, without those that are empty."""
        named = {"subnet": self.subnet_name, "routeTable": self.route_table_name, "vpc": self.vpc_name}
        return {resource: name for resource, name in named.items() if name}


def rows_of(verdicts: Iterable[Verdict], views: Sequence[AccountView] = (), tag_keys: Sequence[str] = ()) -> list[Row]:
    """Return the rows of verdicts, in their order. Names, tags, and the commands of remedies come from the views."""
    remedies = Remedies(views)
    snapshots = {(view.account.id, view.tracer.snapshot.region): view.tracer.snapshot for view in views}
    rows = []
    for verdict in verdicts:
        snapshot = snapshots.get((verdict.account_id, verdict.region))
        found = (
            snapshot.tags_of(verdict.subnet_id, verdict.route_table_id, verdict.vpc_id) if snapshot else _WITHOUT_TAGS
        )
        rows.append(
            Row(
                verdict.account_id,
                verdict.region,
                verdict.vpc_id,
                verdict.subnet_id,
                verdict.availability_zone_id,
                verdict.route_table_id,
                verdict.compliance,
                verdict.reason,
                verdict.annotation,
                verdict.path,
                verdict.note,
                verdict.lacks,
                found.subnet.get("Name", ""),
                found.route_table.get("Name", ""),
                found.vpc.get("Name", ""),
                _selected(found, tag_keys) if tag_keys else {},
                remedies.of(verdict),
            )
        )
    return rows


def _selected(found: SubnetTags, keys: Sequence[str]) -> dict[str, str]:
    merged = found.merged()
    return {key: merged[key] for key in keys if key in merged}


def notes_on_tags(views: Sequence[View], tag_keys: Iterable[str]) -> list[str]:
    """Return a note for each selected key that no resource has: it is misspelled, or nobody has set the tag yet."""
    missing = (key for key in tag_keys if not any(key in tags for tags in _all_tags(views)))
    return [
        f"no subnet, route table or VPC that was read has the tag {key} (keys are case-sensitive)"
        for key in missing
        if views
    ]


def _all_tags(views: Iterable[View]) -> Iterator[Tags]:
    """Yield the tags of every resource once; the accounts of one Region share a snapshot."""
    for tracer in dict.fromkeys(view.tracer for view in views):
        snapshot = tracer.snapshot
        for resources in (snapshot.subnets, snapshot.route_tables, snapshot.vpcs):
            for resource in resources.values():
                yield resource.tags

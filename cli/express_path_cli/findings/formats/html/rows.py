"""The rows of the page's data, and the lists of repeated values that they refer to by index."""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from express_path.domain.network.resources import Tags
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Reason
from express_path.domain.remedy.remedies import Remedies
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict
from express_path_cli.findings.formats.html.paths import TrafficPath, deciding_path, hop_labels, other_paths
from express_path_cli.findings.result import Result, is_flagged
from express_path_cli.findings.row import ResourceLabels
from express_path_cli.findings.summary import COMPLIANCES
from express_path_cli.findings.worklist import Tasks, Worklist, WorklistRow, worklist

TABLE_ID, TABLE_NAME = "\ue000", "\ue001"
"""What stands for the id of a subnet's route table in patches: characters that no text contains."""
_REASON_INDEXES = {reason: index for index, reason in enumerate(Reason)}


class DistinctValues:
    """A list of values, each of them once, in the order in which they were added."""

    def __init__(self) -> None:
        """Start without values."""
        self._indexes: dict[Hashable, int] = {}

    def index(self, value: Hashable) -> int:
        """Return the index of a value; a new one is added."""
        return self._indexes.setdefault(value, len(self._indexes))

    def values(self) -> list[Hashable]:
        """Return all values by index."""
        return list(self._indexes)


class _Shared(NamedTuple):
    """What subnets share that have the same route table, reason and path: indexes, in the order of a row."""

    vpc: int
    table: int
    compliance: int
    reason: int
    annotation: int
    path: int
    remedy: int


class Rows:
    """The rows of a result, and the lists that they refer to."""

    def __init__(self, result: Result) -> None:
        """Collect the rows and lists of a result."""
        self._views = {(view.account.id, view.region): view for view in result.views}
        self._remedies = Remedies(result.views)
        self._tag_keys, self._labels = result.tag_keys, ResourceLabels(result.views, result.tag_keys)
        names = ("vpcs", "zones", "tables", "annotations", "paths", "otherPaths", "remedies", "patches", "tags")
        self._lists = {name: DistinctValues() for name in names}
        self._shared: dict[Hashable, _Shared] = {}
        self._rows = [self._row(verdict) for verdict in result.verdicts]
        listed = worklist(result.verdicts)
        self._tasks = Tasks(listed.flagged, self._remedies)
        self._worklist = self._worklist_rows(listed)

    def lists(self) -> dict[str, Any]:
        """Return all lists, the rows as subnets, and the worklist.

        A row: subnet, name, vpc, zone, table, compliance, reason, annotation, path, otherPaths, remedy, and tags if
        keys were selected. It is a list, since names in every row would make the page several times as large. A row of
        the worklist: kind, vpc, table, reason, the ids of its NATs, and the remedy that it shares with other tables, or
        -1; its subnets are those that have the same vpc, table and reason.
        """
        lists = {name: values.values() for name, values in self._lists.items()}
        return {**lists, "subnets": self._rows, "worklist": self._worklist, "tagKeys": self._tag_keys}

    def _row(self, verdict: Verdict) -> list[Any]:
        view, snapshot = self._views.get((verdict.account_id, verdict.region)), self._snapshot(verdict)
        shared = self._shared_by(verdict, snapshot)
        others = tuple(self._path(path, snapshot) for path in other_paths(verdict, view))
        return [
            verdict.subnet_id,
            _name(snapshot.subnets, verdict.subnet_id),
            shared.vpc,
            self._lists["zones"].index(verdict.availability_zone_id),
            shared.table,
            shared.compliance,
            shared.reason,
            shared.annotation,
            shared.path,
            self._lists["otherPaths"].index(others),
            shared.remedy,
            *self._tags(verdict),
        ]

    def _shared_by(self, verdict: Verdict, snapshot: Snapshot) -> _Shared:
        """Return what a verdict has in common with others, made once, which takes half of the time."""
        key = self._remedies.key(verdict)
        if key not in self._shared:
            self._shared[key] = _Shared(
                self._vpc(verdict, snapshot),
                self._table(verdict, snapshot),
                COMPLIANCES.index(verdict.compliance),
                _REASON_INDEXES[verdict.reason],
                self._lists["annotations"].index(verdict.annotation),
                self._path(deciding_path(verdict), snapshot),
                self._remedy(verdict),
            )
        return self._shared[key]

    def _vpc(self, verdict: Verdict, snapshot: Snapshot) -> int:
        name = _name(snapshot.vpcs, verdict.vpc_id)
        return self._lists["vpcs"].index((verdict.account_id, verdict.region, verdict.vpc_id, name))

    def _table(self, verdict: Verdict, snapshot: Snapshot) -> int:
        name = _name(snapshot.route_tables, verdict.route_table_id)
        return self._lists["tables"].index((verdict.route_table_id or "", name))

    def _tags(self, verdict: Verdict) -> tuple[int, ...]:
        """Return the index of a row's values of the selected keys, empty where there is none; nothing without keys."""
        if not self._tag_keys:
            return ()
        tags = self._labels.tags(verdict)
        return (self._lists["tags"].index(tuple(tags.get(key, "") for key in self._tag_keys)),)

    def _remedy(self, verdict: Verdict) -> int:
        return self._remedy_index(self._remedies.of(verdict), verdict.route_table_id)

    def _shared_remedy(self, row: WorklistRow) -> int:
        """Return the index of the remedy of several route tables; -1 if the row shares none."""
        tasks = self._tasks.of(row) if is_flagged(row.verdicts[0]) else ()
        shared = [task for task in tasks if len(task.route_table_ids) > 1]
        return self._remedy_index(shared[0].remedy, None) if shared else -1

    def _remedy_index(self, remedy: Remedy | None, table_id: str | None) -> int:
        """Return the index of a remedy: text, command, and the indexes of its other patches; empty if it has none."""
        patches = remedy.patches if remedy else {}
        indexes = (self._patch(patches.get(tool, ""), table_id) for tool in ("cloudFormation", "terraform"))
        texts = (remedy.advice, remedy.command) if remedy else ("", "")
        return self._lists["remedies"].index((*texts, *indexes))

    def _patch(self, patch: str, table_id: str | None) -> int:
        """Return the index of a patch that tables share: the page puts the id, and its form with underscores, back."""
        if table_id:
            patch = patch.replace(table_id, TABLE_ID).replace(table_id.replace("-", "_"), TABLE_NAME)
        return self._lists["patches"].index(patch)

    def _worklist_rows(self, listed: Worklist) -> list[list[Any]]:
        return [
            [
                kind,
                self._vpc(first, snapshot),
                self._table(first, snapshot),
                _REASON_INDEXES[row.reason],
                row.nat_ids,
                self._shared_remedy(row),
            ]
            for kind, rows in (
                ("flagged", listed.flagged),
                ("dropped", listed.dropped),
                ("unresolved", listed.unresolved),
            )
            for row in rows
            for first in row.verdicts[:1]
            for snapshot in (self._snapshot(first),)
        ]

    def _snapshot(self, verdict: Verdict) -> Snapshot:
        view = self._views.get((verdict.account_id, verdict.region))
        return view.tracer.snapshot if view else Snapshot(verdict.account_id, verdict.region)

    def _path(self, path: TrafficPath, snapshot: Snapshot) -> int:
        hops = tuple(
            (label.text, hop.id, hop.destination, _name(snapshot.vpc_endpoints, hop.id), int(label.is_nat))
            for hop, label in zip(path.hops, hop_labels(path), strict=True)
        )
        return self._lists["paths"].index((_REASON_INDEXES[path.reason], hops))


def _name(resources: Mapping[str, Any], key: str | None) -> str:
    resource = resources.get(key or "")
    tags: Tags = resource.tags if resource else {}
    return tags.get("Name", "")

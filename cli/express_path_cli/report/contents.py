"""The page's data in a compact form: repeated values are in lists once, and rows have their indexes."""

from collections.abc import Hashable, Mapping
from typing import Any

from express_path.domain.network.resources import Tags
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import NAT_REASONS, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import PARAMETERS, RuleParameters
from express_path_cli.remedies import Remedies
from express_path_cli.report.paths import LINE_STYLES, TrafficPath, deciding_path, hop_labels, other_paths
from express_path_cli.result import Result
from express_path_cli.summary import COMPLIANCES
from express_path_cli.wording import reason_text

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


class Contents:
    """The rows of a result, and the lists that they refer to."""

    def __init__(self, result: Result) -> None:
        """Collect the rows and lists of a result."""
        self._views = {(view.account.id, view.region): view for view in result.views}
        self._remedies = Remedies(result.views)
        names = ("vpcs", "zones", "tables", "annotations", "paths", "otherPaths", "remedies")
        self._lists = {name: DistinctValues() for name in names}
        self._rows = [self._row(verdict) for verdict in result.verdicts]

    def lists(self) -> dict[str, Any]:
        """Return all lists, and the rows as subnets.

        A row: subnet, name, vpc, zone, table, compliance, reason, annotation, path, otherPaths, remedy. It is a list,
        since names in every row would make the page several times as large.
        """
        return {**{name: values.values() for name, values in self._lists.items()}, "subnets": self._rows}

    def _row(self, verdict: Verdict) -> list[Any]:
        view = self._views.get((verdict.account_id, verdict.region))
        snapshot = view.tracer.snapshot if view else Snapshot(verdict.account_id, verdict.region)
        vpc = (verdict.account_id, verdict.region, verdict.vpc_id, _name(snapshot.vpcs, verdict.vpc_id))
        table = (verdict.route_table_id or "", _name(snapshot.route_tables, verdict.route_table_id))
        others = tuple(self._path(path, snapshot) for path in other_paths(verdict, view))
        return [
            verdict.subnet_id,
            _name(snapshot.subnets, verdict.subnet_id),
            self._lists["vpcs"].index(vpc),
            self._lists["zones"].index(verdict.availability_zone_id),
            self._lists["tables"].index(table),
            COMPLIANCES.index(verdict.compliance),
            _REASON_INDEXES[verdict.reason],
            self._lists["annotations"].index(verdict.annotation),
            self._path(deciding_path(verdict), snapshot),
            self._lists["otherPaths"].index(others),
            self._remedy(verdict),
        ]

    def _remedy(self, verdict: Verdict) -> int:
        """Return the index of a remedy: text and command, both empty if nothing has to change."""
        remedy = self._remedies.of(verdict)
        return self._lists["remedies"].index((remedy.text, remedy.command) if remedy else ("", ""))

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


def contents(result: Result) -> dict[str, Any]:
    """Return the data block: rows, lists, meanings of reasons, and rule parameters."""
    return {
        "parameters": _parameters(result.parameters),
        "compliances": list(COMPLIANCES),
        "reasons": [
            [reason, reason_text(reason), LINE_STYLES[reason], int(reason in NAT_REASONS)] for reason in Reason
        ],
        **Contents(result).lists(),
    }


def _parameters(parameters: RuleParameters) -> list[tuple[str, str, int]]:
    """Return name and value of each rule parameter, and 1 if it is not the default."""
    default = RuleParameters()
    return [
        (name, _text(getattr(parameters, field)), int(getattr(parameters, field) != getattr(default, field)))
        for name, field in ((name, parameter.field) for name, parameter in PARAMETERS.items())
    ]


def _text(value: object) -> str:
    return ", ".join(sorted(value)) if isinstance(value, frozenset) else str(value or "")

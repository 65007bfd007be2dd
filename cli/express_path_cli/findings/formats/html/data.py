"""The page's data: rows and lists, meanings of reasons, rule parameters, and what the user added."""

import shlex
from collections.abc import Hashable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

from express_path.domain.network.resources import TargetKind
from express_path.domain.path.outcomes import Hop
from express_path.domain.path.reasons import NAT_REASONS, Reason
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.annotations import MEANINGS
from express_path.domain.verdict.parameters import PARAMETERS, RuleParameters
from express_path_cli.findings.baseline import parameter_values
from express_path_cli.findings.grouping import owner_grouping, owner_text, owners_of
from express_path_cli.findings.options import RenderOptions
from express_path_cli.findings.result import Result
from express_path_cli.findings.row import Row, TrafficPath
from express_path_cli.findings.summary import COMPLIANCES
from express_path_cli.findings.worklist import CROSSES_NAT, worklist

LINE_STYLES: Mapping[Reason, str] = {
    **dict.fromkeys(Reason, "none"),
    **dict.fromkeys(CROSSES_NAT, "nat"),
    Reason.ENDPOINT: "endpoint",
    Reason.INTERNET_GATEWAY: "internet",
    Reason.UNRESOLVED_EGRESS: "unresolved",
}
"""How the page draws the paths of each reason; none: no traffic leaves."""
_REASON_INDEXES = {reason: index for index, reason in enumerate(Reason)}


def page_data(result: Result, options: RenderOptions) -> dict[str, Any]:
    """Return the data block: rows, lists, meanings of reasons, rule parameters, and options of the commands to copy."""
    return {
        "parameters": _parameters(result.parameters),
        "accountNames": dict(result.account_names),
        "compliances": list(COMPLIANCES),
        "reasons": [[reason, MEANINGS[reason], LINE_STYLES[reason], int(reason in NAT_REASONS)] for reason in Reason],
        **_Lists(result).all(),
        "explainOptions": shlex.join(options.scan.explain_options()),
        "healOptions": shlex.join(options.scan.heal_options()),
    }


def _parameters(parameters: RuleParameters) -> list[tuple[str, str, int]]:
    """Return name and value of each rule parameter, and 1 if it is not the default."""
    values, default = parameter_values(parameters), parameter_values(RuleParameters())
    return [
        (name, values.get(name, "").replace(",", ", "), int(values.get(name) != default.get(name)))
        for name in PARAMETERS
    ]


class _Distinct:
    """A list of values, each of them once, in the order in which they were added."""

    def __init__(self) -> None:
        self._indexes: dict[Hashable, int] = {}

    def index(self, value: Hashable) -> int:
        """Return the index of a value; a new one is added."""
        return self._indexes.setdefault(value, len(self._indexes))

    def values(self) -> list[Hashable]:
        """Return all values by index."""
        return list(self._indexes)


class _Lists:
    """The rows of a result, and the lists of repeated values that they refer to by index."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._grouping = owner_grouping(result.rows)
        self._owners = owners_of(result.rows, self._grouping) if self._grouping else {}
        names = ("vpcs", "zones", "tables", "annotations", "paths", "otherPaths", "remedies")
        self._lists = {name: _Distinct() for name in names}

    def all(self) -> dict[str, Any]:
        """Return all lists, the rows as subnets, the worklist, and the tag that names owners; empty without one.

        A row: subnet, name, vpc, zone, table, compliance, reason, annotation, path, otherPaths, and remedy. It is a list, since names in every row would make the page several times as large. An item
        of the worklist: kind, vpc, table, reason, and the ids of its NATs; its subnets are those that have the same vpc,
        table and reason.
        """
        subnets, items = list(map(self._row, self._result.rows)), self._worklist()
        lists = {name: values.values() for name, values in self._lists.items()}
        return {**lists, "subnets": subnets, "worklist": items, "ownerTag": self._grouping.by if self._grouping else ""}

    def _row(self, row: Row) -> list[Any]:
        deciding = self._path(TrafficPath(row.reason, row.path))
        other_paths = tuple(map(self._path, row.other_paths))
        return [
            row.subnet_id,
            row.subnet_name,
            self._vpc(row),
            self._lists["zones"].index(row.availability_zone_id),
            self._table(row),
            COMPLIANCES.index(row.compliance),
            _REASON_INDEXES[row.reason],
            self._lists["annotations"].index(row.annotation),
            deciding,
            self._lists["otherPaths"].index(other_paths),
            self._remedy(row.remedy),
        ]

    def _vpc(self, row: Row) -> int:
        return self._lists["vpcs"].index((row.account_id, row.region, row.vpc_id, row.vpc_name))

    def _table(self, row: Row) -> int:
        owner = owner_text(self._owners[row.key]) if self._grouping else ""
        return self._lists["tables"].index((row.route_table_id or "", row.route_table_name, owner))

    def _remedy(self, remedy: Remedy | None) -> int:
        """Return the index of a remedy: text, command, and its other patches; empty if it has none."""
        texts = ("", "", "", "")
        if remedy:
            patches = remedy.patches
            texts = (remedy.advice, remedy.command, patches.get("cloudFormation", ""), patches.get("terraform", ""))
        return self._lists["remedies"].index(texts)

    def _worklist(self) -> list[list[Any]]:
        to_do = worklist(self._result.rows)
        kinds = {"flagged": to_do.flagged, "dropped": to_do.dropped, "unresolved": to_do.unresolved}
        listed = []
        for kind, items in kinds.items():
            for item in items:
                row = item.first
                listed.append([kind, self._vpc(row), self._table(row), _REASON_INDEXES[row.reason], item.nat_ids])
        return listed

    def _path(self, path: TrafficPath) -> int:
        hops = tuple(
            (label, hop.id, hop.destination, int(is_nat))
            for hop, (label, is_nat) in zip(path.hops, _hop_labels(path), strict=True)
        )
        return self._lists["paths"].index((_REASON_INDEXES[path.reason], hops))


def _hop_labels(path: TrafficPath) -> Iterator[tuple[str, bool]]:
    """Yield what each hop is, and whether it is the NAT that the path crosses."""
    crosses_nat = path.reason in CROSSES_NAT
    for hop, next_hop in zip_longest(path.hops, path.hops[1:]):
        if crosses_nat and _is_nat_instance(hop, next_hop):
            yield "NAT instance's interface", True
        else:
            yield hop.kind.label, crosses_nat and hop.kind is TargetKind.NAT_GATEWAY


def _is_nat_instance(hop: Hop, next_hop: Hop | None) -> bool:
    """Return whether a hop is a NAT instance: the engine follows no other interface to an internet gateway."""
    return (
        hop.kind is TargetKind.NETWORK_INTERFACE
        and next_hop is not None
        and next_hop.kind is TargetKind.INTERNET_GATEWAY
    )

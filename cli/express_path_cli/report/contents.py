"""What the page shows, as compact data: whatever repeats stands once in a list, and rows name its place there."""

from collections.abc import Hashable, Mapping
from typing import Any

from express_path.domain.network.resources import Tags
from express_path.domain.network.snapshot import Snapshot
from express_path.domain.path.reasons import Compliance, Reason
from express_path.domain.verdict.evaluator import Verdict
from express_path.domain.verdict.parameters import PARAMETERS, RuleParameters
from express_path_cli.report.fixes import FIXES, HEALS
from express_path_cli.report.ways import LINES, Way, besides, decided, hop_words
from express_path_cli.result import Result
from express_path_cli.wording import reason_text

_COMPLIANCES = (Compliance.NON_COMPLIANT, Compliance.COMPLIANT, Compliance.NOT_APPLICABLE)
_REASONS = {reason: place for place, reason in enumerate(Reason)}


class Pool:
    """Values, each kept once, in the order in which they first came."""

    def __init__(self) -> None:
        """Nothing came yet."""
        self._places: dict[Hashable, int] = {}

    def place(self, value: Hashable) -> int:
        """The place of a value in the list."""
        return self._places.setdefault(value, len(self._places))

    def values(self) -> list[Hashable]:
        """Every value at its place."""
        return list(self._places)


class Contents:
    """Gathers the rows of a result, and what they name."""

    def __init__(self, result: Result) -> None:
        """Gather all of it."""
        self._views = {(view.account.id, view.region): view for view in result.views}
        self._pools = {name: Pool() for name in ("vpcs", "zones", "tables", "annotations", "ways", "besides")}
        self._rows = [self._row(each) for each in result.verdicts]

    def lists(self) -> dict[str, Any]:
        """The rows (subnet, name, vpc, zone, table, compliance, reason, annotation, way, besides) and all lists."""
        return {**{name: pool.values() for name, pool in self._pools.items()}, "subnets": self._rows}

    def _row(self, verdict: Verdict) -> list[Any]:
        view = self._views.get((verdict.account_id, verdict.region))
        snapshot = view.tracer.snapshot if view else Snapshot(verdict.account_id, verdict.region)
        vpc = (verdict.account_id, verdict.region, verdict.vpc_id, _name(snapshot.vpcs, verdict.vpc_id))
        table = (verdict.route_table_id or "", _name(snapshot.route_tables, verdict.route_table_id))
        places = self._pools
        return [
            verdict.subnet_id,
            _name(snapshot.subnets, verdict.subnet_id),
            places["vpcs"].place(vpc),
            places["zones"].place(verdict.availability_zone_id),
            places["tables"].place(table),
            _COMPLIANCES.index(verdict.compliance),
            _REASONS[verdict.reason],
            places["annotations"].place(verdict.annotation),
            self._way(decided(verdict), snapshot),
            places["besides"].place(tuple(self._way(each, snapshot) for each in besides(verdict, view))),
        ]

    def _way(self, way: Way, snapshot: Snapshot) -> int:
        hops = tuple(
            (words, hop.id, hop.destination, _name(snapshot.vpc_endpoints, hop.id), int(is_nat))
            for hop, (words, is_nat) in zip(way.hops, hop_words(way), strict=True)
        )
        return self._pools["ways"].place((_REASONS[way.reason], hops))


def _name(resources: Mapping[str, Any], key: str | None) -> str:
    resource = resources.get(key or "")
    tags: Tags = resource.tags if resource else {}
    return tags.get("Name", "")


def contents(result: Result) -> dict[str, Any]:
    """Everything that the page shows but what stands in its markup: rows, lists, meanings and parameters."""
    return {
        "parameters": _parameters(result.parameters),
        "compliances": list(_COMPLIANCES),
        "reasons": [
            [reason, reason_text(reason), FIXES[reason], LINES[reason], int(reason in HEALS)] for reason in Reason
        ],
        **Contents(result).lists(),
    }


def _parameters(parameters: RuleParameters) -> list[tuple[str, str, int]]:
    """Each rule parameter: its name, its value as text, and 1 where it is not the default."""
    usual = RuleParameters()
    return [
        (name, _text(getattr(parameters, field)), int(getattr(parameters, field) != getattr(usual, field)))
        for name, field in ((name, parameter.field) for name, parameter in PARAMETERS.items())
    ]


def _text(value: object) -> str:
    return ", ".join(sorted(value)) if isinstance(value, frozenset) else str(value or "")

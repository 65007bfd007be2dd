"""The trend: what each scan of a history covered and found, and which scans do not compare with the one before."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from express_path_cli.findings.history import TIME, HistoryPoint, scope_changes


def trend(history: Sequence[HistoryPoint]) -> list[Mapping[str, Any]]:
    """Return a row for each scan: time, numbers of subnets, and what it covered differently from the scan before."""
    changes = ([], *(scope_changes(before, point) for before, point in pairwise(history)))
    return [
        {
            "madeAt": point.made_at.strftime(TIME),
            "evaluated": point.evaluated,
            "crossing": point.crossing_nat,
            "dropped": point.dropped,
            "unresolved": point.unresolved,
            "changes": changed,
        }
        for point, changed in zip(history, changes, strict=False)
    ]

"""A consumer that knows only the events of docs/integrations.md, and follows the rules of that page to keep the state."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Verdict = dict[str, Any]
Place = tuple[str, str]
"""Account and Region."""
ReadStored = Callable[[Place, str], Mapping[str, Any] | None]
"""Reads the result that AWS Config has stored for a subnet: GetComplianceDetailsByResource."""


class Consumer:
    """The verdicts of an organization, as its events say. `fails` lets the next event fail."""

    def __init__(self, read_stored: ReadStored) -> None:
        """Know nothing yet."""
        self._read_stored = read_stored
        self._kept: dict[Place, dict[str, tuple[str, Verdict]]] = {}
        self._swept: dict[Place, str] = {}

    def receive(self, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        detail = event["detail"]
        place, time = (detail["accountId"], detail["region"]), detail["orderingTimestamp"]
        kept = self._kept.setdefault(place, {})
        if event["detail-type"] == "SweepCompleted":
            self._swept[place] = max(time, self._swept.get(place, ""))
            for subnet_id in [subnet_id for subnet_id, (known, _) in kept.items() if known < time]:
                if self._result(place, subnet_id).get("ComplianceType") != "NON_COMPLIANT":
                    del kept[subnet_id]
            return
        for verdict in _verdicts(detail):
            self._take(place, time, verdict)

    def verdicts(self, place: Place) -> dict[str, Verdict]:
        """Return the verdicts that are kept of an account and Region, without those of deleted subnets."""
        kept = self._kept.get(place, {})
        return {subnet_id: verdict for subnet_id, (_, verdict) in kept.items() if verdict["reason"] != "DELETED"}

    def _take(self, place: Place, time: str, verdict: Verdict) -> None:
        """Keep a verdict if it is newer. In doubt, AWS Config's stored result decides."""
        kept, subnet_id = self._kept[place], verdict["subnetId"]
        known_at, known = kept.get(subnet_id, ("", {}))
        if time < known_at:
            return
        is_late = time < self._swept.get(place, "")
        differs = time == known_at and _said(known) != _said(verdict)
        if is_late and self._result(place, subnet_id).get("ComplianceType") != "NON_COMPLIANT":
            return
        if differs and self._result(place, subnet_id).get("Annotation") != verdict["annotation"]:
            return
        kept[subnet_id] = (time, verdict)

    def _result(self, place: Place, subnet_id: str) -> Mapping[str, Any]:
        return self._read_stored(place, subnet_id) or {}


def _verdicts(detail: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the verdicts of a VerdictChanged or a VerdictSnapshot in the form of the latter."""
    if "verdicts" in detail:
        yield from detail["verdicts"]
        return
    names = ("vpcId", "subnetId", "availabilityZoneId", "routeTableId", "annotation", "path", "remedy", "tags")
    yield {**{name: detail[name] for name in names}, **detail["new"]}


def _said(verdict: Verdict) -> tuple[Any, ...]:
    return verdict["compliance"], verdict["reason"], verdict["annotation"]

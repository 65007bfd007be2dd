"""Earlier scans as a history: what each of them covered and found, so that a trend compares like with like."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from express_path.domain.path.reasons import NAT_REASONS, Compliance, Reason
from express_path.domain.verdict.parameters import NO_TAG, PARAMETERS, RuleParameters
from express_path.errors import RecordError
from express_path.fields import Description, identifier, ids, nested, number, rows
from express_path_cli.findings.scan_document import DOCUMENT, faults_in, read_scan
from express_path_cli.terminal.errors import OptionError

TIME = "%Y-%m-%dT%H:%M:%SZ"
"""How a document spells a time, which is in UTC."""


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """What one scan covered and found. All numbers are numbers of subnets.

    made_at: when it was made, in UTC. compliances, reasons: how many subnets have each; those with none may be missing.
    accounts: the accounts and Regions that it read, such as "111122223333 us-east-1". not_read: the places that it
    could not read. filters: its --vpc and --tag options. parameters: its rule parameters by name, those with a value.
    """

    made_at: datetime
    compliances: Mapping[str, int]
    reasons: Mapping[str, int]
    accounts: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def evaluated(self) -> int:
        """How many subnets were evaluated. If this differs between two scans, their other numbers do not compare."""
        return sum(self.compliances.values())

    @property
    def flagged(self) -> int:
        """How many subnets are NON_COMPLIANT."""
        return self.compliances.get(Compliance.NON_COMPLIANT, 0)

    @property
    def crossing_nat(self) -> int:
        """How many subnets reach S3 Express through a NAT, with all of their addresses or with some."""
        return sum(self.reasons.get(reason, 0) for reason in (*NAT_REASONS, Reason.PARTLY_NAT))

    @property
    def dropped(self) -> int:
        """How many subnets are DROPPED."""
        return self.reasons.get(Reason.DROPPED, 0)

    @property
    def unresolved(self) -> int:
        """How many subnets are UNRESOLVED_EGRESS."""
        return self.reasons.get(Reason.UNRESOLVED_EGRESS, 0)

    @property
    def excluded(self) -> int:
        """How many subnets are EXCLUDED."""
        return self.reasons.get(Reason.EXCLUDED, 0)


def read_history(folder: Path) -> Sequence[HistoryPoint]:
    """Return what each scan in a folder covered and found, the oldest first. Copies of a scan count once.

    Raise OptionError if the folder has no JSON file, or one that is not the output of `scan --format json`.
    """
    if not folder.is_dir():
        raise OptionError(f"--history {folder}: this folder does not exist", _hint(folder))
    points: list[HistoryPoint] = []
    for file in sorted(folder.glob("*.json")):
        with faults_in(file):
            point = point_in(read_scan(file))
        if point not in points:
            points.append(point)
    if not points:
        raise OptionError(f"--history {folder}: this folder contains no JSON file", _hint(folder))
    return sorted(points, key=lambda point: point.made_at)


def trend(history: Sequence[HistoryPoint]) -> list[str]:
    """Return how the number of NON_COMPLIANT subnets changed, and where the scans before and after do not compare."""
    first, last = _flagged_of(history[0]), _flagged_of(history[-1])
    lines = [f"trend of {len(history)} scans: NON_COMPLIANT subnets went from {first} to {last}"]
    for before, after in pairwise(history):
        changes = scope_changes(before, after)
        if changes:
            lines.append(f"the scope of the scans changed on {after.made_at:%Y-%m-%d}: {'; '.join(changes)}")
    return lines


def _flagged_of(point: HistoryPoint) -> str:
    return f"{point.flagged} of {point.evaluated} ({point.made_at:%Y-%m-%d})"


def scope_changes(before: HistoryPoint, after: HistoryPoint) -> list[str]:
    """Return how two scans differ in what they covered. If they do, fewer findings are not an improvement."""
    added, lost = _only_in(after.accounts, before.accounts), _only_in(before.accounts, after.accounts)
    failed, recovered = _only_in(after.not_read, before.not_read), _only_in(before.not_read, after.not_read)
    changes = [
        *_named(added, "was added", "were added"),
        *_named(lost, "was not read", "were not read"),
        *_named(_without(failed, lost), "could not be read", "could not be read"),
        *_named(_without(recovered, added), "could be read again", "could be read again"),
    ]
    if before.filters != after.filters:
        changes.append(f"the filters changed from {_listed(before.filters)} to {_listed(after.filters)}")
    for name in sorted({*before.parameters, *after.parameters}):
        old, new = before.parameters.get(name, "none"), after.parameters.get(name, "none")
        if old != new:
            changes.append(f"{name} changed from {old} to {new}")
    return changes


def _only_in(names: Sequence[str], others: Sequence[str]) -> list[str]:
    return sorted(set(names) - set(others))


def _without(places: Sequence[str], accounts: Sequence[str]) -> list[str]:
    """Return the places, such as "account 1 (web) us-east-1", that are not "1 us-east-1" or another of the accounts."""
    words = [set(account.split()) for account in accounts]
    return [place for place in places if not any(found <= set(place.split()) for found in words)]


def _named(names: Sequence[str], one: str, several: str) -> list[str]:
    """Return what happened to the first of these names and to how many more; empty if there are none."""
    more = len(names) - 1
    return [f"{names[0]} and {more} more {several}" if more else f"{names[0]} {one}"] if names else []


def _listed(filters: Sequence[str]) -> str:
    return " ".join(filters) or "none"


def _hint(folder: Path) -> str:
    return f"add a scan to it with: express-path scan --output {shlex.quote(str(folder / 'scan.json'))}"


def point_in(document: Description) -> HistoryPoint:
    """Return what the scan in a document covered and found. Raise RecordError if a field is missing or not valid."""
    totals, parameters = nested(document, "totals", DOCUMENT), nested(document, "parameters", DOCUMENT)
    return HistoryPoint(
        _made_at(document),
        _numbers(nested(totals, "compliances", "totals"), tuple(Compliance)),
        _numbers(nested(totals, "reasons", "totals")),
        ids(document, "accounts", DOCUMENT),
        tuple(identifier(place, "where", "notRead") for place in rows(document, "notRead", DOCUMENT)),
        ids(document, "filters", DOCUMENT),
        {name: identifier(parameters, name, "parameters") for name in parameters},
    )


def _made_at(document: Description) -> datetime:
    found = identifier(document, "madeAt", DOCUMENT)
    try:
        made_at = datetime.fromisoformat(found)
        return made_at.astimezone(UTC) if made_at.tzinfo else made_at.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise RecordError(DOCUMENT, "madeAt", found, "a time such as 2026-02-13T05:48:51Z") from error


def _numbers(counts: Description, required: Sequence[str] = ()) -> dict[str, int]:
    found = {name: number(counts, name, "totals") for name in (*required, *counts)}
    for name, value in found.items():
        if value is None or value < 0:
            raise RecordError("totals", name, value, "a number of subnets")
    return {name: value for name, value in found.items() if value}


def parameter_values(parameters: RuleParameters) -> dict[str, str]:
    """Return the rule parameters that have a value, by name, spelled as --parameter accepts them."""
    fields = {name: getattr(parameters, parameter.field) for name, parameter in PARAMETERS.items()}
    texts = {name: ",".join(sorted(value)) if isinstance(value, frozenset) else value for name, value in fields.items()}
    texts["excludeTag"] = parameters.exclude_tag or NO_TAG
    return {name: str(text) for name, text in texts.items() if text}

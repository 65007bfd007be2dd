"""The findings that an integration keeps up to date, wherever they are: in Security Hub, or published as OCSF."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from express_path.domain.path.reasons import Compliance
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict


@dataclass(frozen=True, slots=True)
class RuleScope:
    """The rule whose findings an integration keeps up to date."""

    account_id: str
    region: str
    rule_name: str


@dataclass(frozen=True, slots=True)
class StoredVerdict:
    """The verdict on a subnet that AWS Config has stored, read at a time of the function's own clock.

    verdict is None if AWS Config has no result for the subnet: it was deleted, or the rule does not apply to it.
    tags describe the subnet, and name its owner.
    """

    subnet_id: str
    at: datetime
    verdict: Verdict | None
    remedy: Remedy | None = None
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def fails(self) -> bool:
        """Whether the subnet is NON_COMPLIANT."""
        return self.verdict is not None and self.verdict.compliance is Compliance.NON_COMPLIANT


@dataclass(frozen=True, slots=True)
class Rejected:
    """A finding that was not accepted, with its error code and message."""

    subnet_id: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Written:
    """How many findings were written, and which ones were rejected; note is for the log."""

    count: int = 0
    rejected: tuple[Rejected, ...] = ()
    note: str = ""


class Findings(Protocol):
    """The findings of one rule. A change is what `write` takes; its form is up to each kind."""

    @property
    def covers_passing(self) -> bool:
        """Whether subnets that do not fail have findings too."""

    def of_subnets(self, subnet_ids: Sequence[str]) -> dict[str, list[Any]]:
        """Return the findings of these subnets, by subnet."""

    def active(self) -> dict[str, list[Any]]:
        """Return all findings that are not closed, by subnet."""

    def concern(self, findings: Sequence[Any], stored: StoredVerdict) -> bool:
        """Return whether the findings of a subnet may have to change, so that its tags must be read."""

    def changes(self, findings: Sequence[Any], stored: StoredVerdict) -> list[Any]:
        """Return how to change the findings of a subnet."""

    def write(self, changes: Sequence[Any]) -> Written:
        """Make the changes."""


def by_subnet(findings: Iterable[Any]) -> dict[str, list[Any]]:
    """Return findings by the ID of their subnet."""
    found: dict[str, list[Any]] = {}
    for finding in findings:
        found.setdefault(finding.subnet_id, []).append(finding)
    return found


def chunks(rows: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Yield the rows in parts of at most this size."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]

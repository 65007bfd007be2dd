"""The findings that an integration keeps up to date, wherever they are: in Security Hub, or published as OCSF."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from express_path_integrations.dated_verdicts import DatedVerdict


@dataclass(frozen=True, slots=True)
class RuleScope:
    """The rule whose findings an integration keeps up to date."""

    account_id: str
    region: str
    rule_name: str


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

    def changes(self, findings: Sequence[Any], seen: DatedVerdict) -> list[Any]:
        """Return how to change the findings of a subnet after a dated verdict."""

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

"""What the findings in Security Hub are made of, and what became of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from express_path.domain.path.reasons import Compliance
from express_path.domain.remedy.texts import Remedy
from express_path.domain.verdict.evaluator import Verdict


@dataclass(frozen=True, slots=True)
class RuleScope:
    """The rule whose findings the function keeps up to date."""

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


def chunks(rows: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Yield the rows in parts of at most this size."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]

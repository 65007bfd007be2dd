"""What a check of an organization found."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from express_path_cli.aws.organization import Member
from express_path_cli.org.reasons import CheckReason, Problem
from express_path_cli.terminal.errors import UNDETERMINED, Failure


class PlaceState(StrEnum):
    """Whether a stack instance can be deployed to an account and Region, worst first."""

    BLOCKED = "BLOCKED"
    UNKNOWN = "UNKNOWN"
    LIMITED = "LIMITED"
    READY = "READY"


@dataclass(frozen=True, slots=True)
class PlaceCheck:
    """What was found in one account and Region, and what could not be read there."""

    member: Member
    region: str
    problems: Sequence[Problem] = ()
    failures: Sequence[Failure] = ()

    @property
    def state(self) -> PlaceState:
        """Whether a stack instance can be deployed."""
        if any(problem.effect.is_blocking for problem in self.problems):
            return PlaceState.BLOCKED
        if self.failures:
            return PlaceState.UNKNOWN
        return PlaceState.LIMITED if self.problems else PlaceState.READY


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, and the account and Region that have it."""

    member: Member
    region: str
    problem: Problem


@dataclass(frozen=True, slots=True)
class OrgCheck:
    """All checked accounts and Regions, sorted; what could not be read; and what was not checked, as notes.

    management_account: the management account if it was selected, because StackSets do not deploy to it; else None.
    """

    checks: Sequence[PlaceCheck]
    failures: Sequence[Failure]
    notes: Sequence[str]
    management_account: Member | None

    @property
    def exit_status(self) -> int:
        """Return 2 if something could not be read, 1 if a problem blocks the roll-out, else 0."""
        if self.failures:
            return UNDETERMINED
        return int(any(check.state is PlaceState.BLOCKED for check in self.checks))

    @property
    def by_reason(self) -> Mapping[CheckReason, list[Finding]]:
        """The problems by their reason, the worst reason first."""
        found: dict[CheckReason, list[Finding]] = {reason: [] for reason in CheckReason}
        for finding in self._findings():
            found[finding.problem.reason].append(finding)
        return {reason: findings for reason, findings in found.items() if findings}

    def _findings(self) -> Iterator[Finding]:
        for check in self.checks:
            for problem in check.problems:
                yield Finding(check.member, check.region, problem)

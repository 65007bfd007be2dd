"""What `org check` found: the codes of the problems, and the accounts and Regions that have them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from express_path_cli.aws.organization import Member
from express_path_cli.terminal.errors import UNDETERMINED, Failure


class CheckReason(StrEnum):
    """The reasons that `org check` reports, in the order in which they are shown."""

    REGION_DISABLED = "REGION_DISABLED"
    RECORDER_MISSING = "RECORDER_MISSING"
    RECORDER_INTERNAL = "RECORDER_INTERNAL"
    BUCKET_MISSING = "BUCKET_MISSING"
    BUCKET_UNREADABLE = "BUCKET_UNREADABLE"
    NAME_TAKEN = "NAME_TAKEN"
    RULE_QUOTA = "RULE_QUOTA"
    RECORDER_STOPPED = "RECORDER_STOPPED"
    RECORDER_FAILING = "RECORDER_FAILING"
    RECORDER_TYPES = "RECORDER_TYPES"
    NETWORK_ROLE_UNTRUSTED = "NETWORK_ROLE_UNTRUSTED"
    RECORDER_DAILY = "RECORDER_DAILY"
    SERVICE_NOT_OFFERED = "SERVICE_NOT_OFFERED"


class Effect(StrEnum):
    """What a problem does to the stack instance of an account and Region, worst first."""

    FAILS = "FAILS"
    BREAKS = "BREAKS"
    LIMITS = "LIMITS"

    @property
    def meaning(self) -> str:
        """The effect in a sentence."""
        return _MEANINGS[self]

    @property
    def is_blocking(self) -> bool:
        """Whether to fix the problem before the roll-out."""
        return self is not Effect.LIMITS


_MEANINGS = {
    Effect.FAILS: "the deployment fails",
    Effect.BREAKS: "the deployment succeeds, but the rule does not work",
    Effect.LIMITS: "the rule works with limits",
}
EFFECTS: Mapping[CheckReason, Effect] = {
    CheckReason.REGION_DISABLED: Effect.FAILS,
    CheckReason.RECORDER_MISSING: Effect.FAILS,
    CheckReason.RECORDER_INTERNAL: Effect.FAILS,
    CheckReason.BUCKET_MISSING: Effect.FAILS,
    CheckReason.BUCKET_UNREADABLE: Effect.FAILS,
    CheckReason.NAME_TAKEN: Effect.FAILS,
    CheckReason.RULE_QUOTA: Effect.FAILS,
    CheckReason.RECORDER_STOPPED: Effect.BREAKS,
    CheckReason.RECORDER_FAILING: Effect.BREAKS,
    CheckReason.RECORDER_TYPES: Effect.BREAKS,
    CheckReason.NETWORK_ROLE_UNTRUSTED: Effect.BREAKS,
    CheckReason.RECORDER_DAILY: Effect.LIMITS,
    CheckReason.SERVICE_NOT_OFFERED: Effect.LIMITS,
}
FIXES: Mapping[CheckReason, str] = {
    CheckReason.REGION_DISABLED: "enable the Region in the account, or leave it out of the StackSet",
    CheckReason.RECORDER_MISSING: "set up AWS Config in this account and Region, or leave them out of the StackSet",
    CheckReason.RECORDER_INTERNAL: (
        "set up a customer managed recorder: rules get nothing from the recorder of another AWS service"
    ),
    CheckReason.BUCKET_MISSING: "deploy the template of the artifact buckets to this Region, and upload the function",
    CheckReason.BUCKET_UNREADABLE: (
        "upload the function's code, and allow the organization (aws:PrincipalOrgID) to read it in the bucket's policy"
    ),
    CheckReason.NAME_TAKEN: "delete the stack that uses the name, or import it into the StackSet",
    CheckReason.RULE_QUOTA: "delete rules that are no longer used",
    CheckReason.RECORDER_STOPPED: "start the recorder",
    CheckReason.RECORDER_FAILING: "allow the recorder's role what was denied",
    CheckReason.RECORDER_TYPES: "record these types: AWS Config, Settings",
    CheckReason.NETWORK_ROLE_UNTRUSTED: (
        "deploy the template of the network account's role again: it trusts the organization's roles with the path "
        "/express-path/"
    ),
    CheckReason.RECORDER_DAILY: "AWS Config, Settings: override the frequency of these types with continuous recording",
    CheckReason.SERVICE_NOT_OFFERED: "leave the Region out of the StackSet: every subnet is NOT_APPLICABLE there",
}
"""What to do about each reason."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong in one account and Region: the reason, and a finding that names the resource."""

    reason: CheckReason
    finding: str

    @property
    def effect(self) -> Effect:
        """What it does to the stack instance."""
        return EFFECTS[self.reason]

    @property
    def fix(self) -> str:
        """What to do about it."""
        return FIXES[self.reason]

    @property
    def rank(self) -> int:
        """Where it is shown: problems with a lower rank first."""
        return list(CheckReason).index(self.reason)


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

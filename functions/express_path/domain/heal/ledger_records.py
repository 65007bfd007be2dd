"""The records of the ledger: what runs claimed, changed, undid, and saw."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

TABLE_PREFIX, VPC_PREFIX, RUN_PREFIX = "TABLE#", "VPC#", "RUN#"
"""The prefixes of the ids of the three kinds of items; the id of the route table, VPC, or run follows."""


class TableState(StrEnum):
    """The result of the last heal or undo of a route table."""

    CLAIMED = "CLAIMED"
    HEALED = "HEALED"
    UNDONE = "UNDONE"
    FAILED = "FAILED"


STOP_ID = "STOP"
"""The item that stops all heals of the account and Region while it exists."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Somebody stopped all heals: when (ISO 8601), who (an ARN), and why; each is empty if it is not known."""

    stopped_at: str
    by: str
    reason: str

    def __str__(self) -> str:
        """Return it in a sentence."""
        why = f": {self.reason}" if self.reason else ""
        who, when = self.by or "somebody", self.stopped_at or "an unknown time"
        return f"STOPPED: {who} stopped all heals at {when}{why}; express-path start allows them again"


class RunKind(StrEnum):
    """The purpose of a run."""

    HEAL = "HEAL"
    UNDO = "UNDO"


class StartedBy(StrEnum):
    """Who started a run: a person, or AWS Config, which passes CONFIG as a static parameter."""

    PERSON = "PERSON"
    CONFIG = "CONFIG"


class ApprovalState(StrEnum):
    """The state of the last request to approve the heal of a route table."""

    REQUESTED = "REQUESTED"
    APPROVED = "APPROVED"
    DENIED = "DENIED"
    RELEASED = "RELEASED"
    """The request could not be sent, or nobody answered it."""
    USED = "USED"


@dataclass(frozen=True, slots=True)
class Approval:
    """The last approval request for a route table; it is valid until expires_at (seconds since 1970), for one heal.

    run_id is the run of the approval runbook that requested it, and fingerprint identifies the plan that the approvers
    saw.
    """

    state: ApprovalState
    run_id: str
    expires_at: int
    fingerprint: str = ""

    def is_current(self, now: datetime) -> bool:
        """Return whether the request or the approval is still valid at a time."""
        return now.timestamp() < self.expires_at


@dataclass(frozen=True, slots=True)
class TableRecord:
    """The claim on a route table, and its result.

    run_id is the run that claimed the table last; expires_at, in seconds since 1970, is the end of its claim.
    changed_at is the time when a heal or an undo last wrote the item, in ISO 8601. heal_run_id is the last run that
    started to associate the table, whether or not it succeeded, and undo_run_id the last undo that claimed it; each is
    empty before the first one. state_before is UNDONE if the last heal claimed the table after an undo, so that the
    undo is remembered if that heal fails.
    """

    route_table_id: str
    state: TableState | None = None
    run_id: str = ""
    subnet_id: str = ""
    vpc_id: str = ""
    endpoint_id: str = ""
    expires_at: int = 0
    changed_at: str = ""
    approval: Approval | None = None
    heal_run_id: str = ""
    undo_run_id: str = ""
    state_before: TableState | None = None

    @property
    def is_undone(self) -> bool:
        """Return whether the last heal was undone, or its undo did not finish, and no heal has succeeded since."""
        is_claimed = self.state in (TableState.CLAIMED, TableState.FAILED)
        return (
            self.state is TableState.UNDONE
            or ("" != self.undo_run_id == self.run_id)
            or (is_claimed and self.state_before is TableState.UNDONE)
        )

    def is_claimed(self, now: datetime) -> bool:
        """Return whether a run's claim lasts at a time."""
        return self.state is TableState.CLAIMED and now.timestamp() < self.expires_at

    def is_claimed_by(self, run_id: str, now: datetime) -> bool:
        """Return whether this run may change the route table at a time."""
        return self.is_claimed(now) and self.run_id == run_id

    def is_claimed_by_other(self, run_id: str, now: datetime) -> bool:
        """Return whether another run's claim lasts at a time, whether or not that run has ended."""
        return self.is_claimed(now) and self.run_id != run_id


@dataclass(frozen=True, slots=True)
class VpcRecord:
    """The endpoints that heals created in a VPC, and the run whose client token the next creation uses.

    token_run is the elected creator, empty before the first one. generation counts the tokens of the VPC, because a
    token must never be used again after its endpoint is deleted
    (https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html). token_ids are the endpoints that the
    tokens of this generation created, and token_runs the runs that created them. created_ids and deleted_ids are all
    endpoints that heals created and undos deleted in the VPC, and creator_runs the runs that created them.
    """

    vpc_id: str
    generation: int = 0
    token_run: str = ""
    token_ids: frozenset[str] = frozenset()
    token_runs: frozenset[str] = frozenset()
    created_ids: frozenset[str] = frozenset()
    creator_runs: frozenset[str] = frozenset()
    deleted_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Marks:
    """What a heal saw when it associated a route table, so that an undo finds what changed since.

    Right before: both owners as key=value, empty if no tool owned the resource, and the hash of the endpoint's policy.
    When it read the association back: the keys of the endpoint's tags.
    """

    endpoint_owner: str = ""
    table_owner: str = ""
    policy: str = ""
    tag_keys: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What one run intended to change and what it changed: history, written once and never overwritten.

    The times *_intended_at and intended_at are written right before a call that creates the endpoint, changes the
    association, or deletes the endpoint: an intention. associated_at and deleted_at are written only after the call
    succeeded and the run read the change back. created_endpoint is true if the run's call created endpoint_id. All
    times are in ISO 8601, and empty if there was no such write. heal_run_id is the run that an undo undid, and
    undo_run_id the undo that finished undoing a heal. marks is None unless a heal started to associate its table.
    """

    run_id: str
    kind: RunKind
    started_by: StartedBy
    account_id: str
    subnet_id: str
    vpc_id: str
    route_table_id: str
    endpoint_id: str
    created_endpoint: bool = False
    started_at: str = ""
    creation_intended_at: str = ""
    intended_at: str = ""
    associated_at: str = ""
    deleted_at: str = ""
    finished_at: str = ""
    heal_run_id: str = ""
    undo_run_id: str = ""
    marks: Marks | None = None

    @property
    def is_associated(self) -> bool:
        """Return whether this heal associated the table: its call succeeded, and it read the change back."""
        return bool(self.associated_at)

    @property
    def unconfirmed_since(self) -> str:
        """Return when the heal started to associate the table, if it did not confirm that; otherwise empty."""
        return "" if self.is_associated else self.intended_at


@dataclass(frozen=True, slots=True)
class LedgerView:
    """The ledger's records of one route table and its VPC; an item that does not exist has its defaults."""

    table: TableRecord
    vpc: VpcRecord


NO_RECORDS = LedgerView(TableRecord(""), VpcRecord(""))
"""What the ledger has of a subnet without a route table: nothing."""

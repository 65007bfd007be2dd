"""The records of the ledger, and what they say about owners: what runs claimed, changed, undid, and saw."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from express_path.domain.heal.records import MANAGED_TAG, HealSettings
from express_path.domain.network.resources import RouteTable, VpcEndpoint, has_tag
from express_path.domain.policies.documents import listed

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


MAX_NAMED_KEYS = 10
"""How many keys of tags are named: a resource may have 50, of 128 characters each."""


def owner_tag(resource: VpcEndpoint | RouteTable, settings: HealSettings) -> str:
    """Return the tag that shows which tool owns a resource, as key=value; empty if no tool does."""
    keys = sorted(key for key in resource.tags if key.startswith("aws:cloudformation:"))
    for key, value in resource.tags.items():
        keys += [key for owner_tag in settings.owner_tags if has_tag({key: value}, owner_tag)]
    return f"{keys[0]}={resource.tags[keys[0]]}" if keys else ""


def marks_of(endpoint: VpcEndpoint, policy: str, table: RouteTable, settings: HealSettings) -> Marks:
    """Return the owners of an endpoint and a route table, and the hash of the endpoint's policy, as they are now."""
    return Marks(owner_tag(endpoint, settings), owner_tag(table, settings), policy_hash(policy))


def policy_hash(policy: str) -> str:
    """Return a hash of what a policy means, which is the same however it is written; empty without a policy."""
    try:
        document = json.loads(policy)
    except ValueError:
        canonical = policy
    else:
        canonical = json.dumps(_meaning(document), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest() if policy else ""


def _meaning(found: Any) -> Any:  # noqa: ANN401  # any JSON
    """Return JSON of a policy without names. The order of values, and a list of one value, mean nothing."""
    if isinstance(found, list):
        by_text = {json.dumps(value, sort_keys=True): value for value in map(_meaning, found)}
        values = [by_text[text] for text in sorted(by_text)]
        return values[0] if len(values) == 1 and isinstance(values[0], str) else values
    if isinstance(found, dict):
        named = {name: listed(value) if name == "Statement" else value for name, value in found.items()}
        return {name: _meaning(value) for name, value in named.items() if name not in ("Sid", "Id")}
    return found


def taken_over(heal: RunRecord, endpoint: VpcEndpoint, table: RouteTable | None, settings: HealSettings) -> str:
    """Return what shows that a tool owns the endpoint or the route table and did not when the heal ran; else empty."""
    if settings.adopt_iac_owned:
        return ""
    seen = heal.marks or Marks()
    for resource, before in ((endpoint, seen.endpoint_owner), (table, seen.table_owner)):
        owner = owner_tag(resource, settings) if resource else ""
        if resource and owner and owner != before:
            return f"{resource.id} has the tag {owner}, which it did not have when the heal ran, so a tool owns it now"
    return ""


def has_other_policy(heal: RunRecord, policy: str) -> bool:
    """Return whether the endpoint's policy is not the one that the heal saw when it started to associate its table."""
    return heal.marks is not None and heal.marks.policy != policy_hash(policy)


def adopted(heal: RunRecord, endpoint: VpcEndpoint, settings: HealSettings) -> str:
    """Return what shows that somebody adopted an endpoint of heals since a heal read it back; empty if nothing does.

    Heals create endpoints with MANAGED_TAG only. A tool that adopts one adds its own tags, and Terraform removes others.
    """
    known = {MANAGED_TAG, *settings.automatic_tag_keys, *(heal.marks or Marks()).tag_keys}
    if added := sorted(endpoint.tags.keys() - known):
        keys = ", ".join(json.dumps(key) for key in added[:MAX_NAMED_KEYS])
        return f"{endpoint.id} has tags that it did not have when the heal read it back, with the keys {keys}"
    return "" if endpoint.tags.get(MANAGED_TAG) == "true" else f"{endpoint.id} no longer has the tag {MANAGED_TAG}=true"


def changed_since(heals: Iterable[RunRecord], endpoint: VpcEndpoint, policy: str, settings: HealSettings) -> str:
    """Return what somebody changed on an endpoint of heals since one of these heals read it back; empty if nothing.

    policy is the endpoint's policy now, empty if it was not read.
    """
    for heal in heals:
        if policy and has_other_policy(heal, policy):
            return f"somebody replaced the policy of {endpoint.id} since a heal created it"
        if adoption := adopted(heal, endpoint, settings):
            return adoption
    return ""


def changed_since_creation(
    creators: Iterable[RunRecord], endpoint: VpcEndpoint, policy: str, settings: HealSettings
) -> str:
    """Return what somebody changed on an endpoint of heals since they created it; empty if nothing.

    creators are the heals that created endpoints of the VPC and are over. What they read back is how they left the
    endpoint. If all of its creators ended before that, it is as they left it only if MANAGED_TAG is its only tag. The
    record of a heal that ended right after the creation does not name the endpoint.
    """
    of_endpoint = [heal for heal in creators if heal.endpoint_id in ("", endpoint.id)]
    read_back = [heal for heal in of_endpoint if heal.is_associated]
    return changed_since(read_back or of_endpoint, endpoint, policy, settings)

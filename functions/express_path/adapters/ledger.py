"""The ledger's DynamoDB table: its reads, and the writes that runbooks make.

Reads are consistent, because a claim must be visible immediately. The plan function makes no write: it answers with
writes, and the runbook's own role makes them, in their order.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from express_path.adapters.aws import attributes, calling
from express_path.domain.heal.approvals import APPROVED_SECONDS, REQUEST_SECONDS
from express_path.domain.heal.claims import CLAIM_SECONDS, Election
from express_path.domain.heal.ledger_records import (
    RUN_PREFIX,
    STOP_ID,
    TABLE_PREFIX,
    VPC_PREFIX,
    Approval,
    ApprovalState,
    LedgerView,
    Marks,
    RunKind,
    RunRecord,
    StartedBy,
    Stop,
    TableRecord,
    TableState,
    VpcRecord,
)
from express_path.domain.heal.records import NONE
from express_path.fields import Description, flag, free_text, ids, member, number, optional_free_text

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Write = dict[str, Any]
"""One write: the arguments of dynamodb:UpdateItem as `request`.

If another run's write came first, so that the condition does not hold, the step fails, unless the write has `ifLost`: these
values then replace those of the answer.
"""
_Value = str | bool | int | Iterable[str]
_Word = TypeVar("_Word", bound=StrEnum)
LedgerItem = Mapping[str, Mapping[str, Any]]
"""An item as DynamoDB returns it: attribute values by their type."""


class Ledger:
    """The ledger of one account and Region. Every read may raise ApiError, and RecordError for an invalid item."""

    def __init__(self, dynamodb: "DynamoDBClient", table_name: str) -> None:
        """Read nothing yet."""
        self._dynamodb = dynamodb
        self.table_name = table_name

    def view(self, route_table_id: str, vpc_id: str) -> LedgerView:
        """Return the current records of a route table and its VPC."""
        return LedgerView(self.table(route_table_id), self.vpc(vpc_id))

    def table(self, route_table_id: str) -> TableRecord:
        """Return the record of a route table; if the ledger has none, one without a state."""
        item = self._item(TABLE_PREFIX + route_table_id)
        return table_record(route_table_id, item) if item else TableRecord(route_table_id)

    def vpc(self, vpc_id: str) -> VpcRecord:
        """Return the record of a VPC; if the ledger has none, one in which no heal created an endpoint."""
        item = self._item(VPC_PREFIX + vpc_id)
        return vpc_record(vpc_id, item) if item else VpcRecord(vpc_id)

    def run(self, run_id: str) -> RunRecord | None:
        """Return the record of a run, None if the ledger has none, or if the id is empty."""
        item = self._item(RUN_PREFIX + run_id) if run_id else None
        return run_record(item) if item else None

    def current_stop(self) -> Stop | None:
        """Return who stopped all heals, None if nobody did."""
        item = self._item(STOP_ID)
        return stop_record(item) if item else None

    def created_at(self) -> datetime:
        """Return when DynamoDB created the table."""
        with calling("dynamodb:DescribeTable"):
            return self._dynamodb.describe_table(TableName=self.table_name)["Table"]["CreationDateTime"]

    def _item(self, item_id: str) -> LedgerItem | None:
        with calling("dynamodb:GetItem"):
            answer: Mapping[str, Any] = self._dynamodb.get_item(
                TableName=self.table_name, Key={"id": {"S": item_id}}, ConsistentRead=True
            )
        return answer.get("Item")


def table_record(route_table_id: str, item: LedgerItem) -> TableRecord:
    """Read the item of a route table. Raise RecordError."""
    values = attributes(item)
    return TableRecord(
        route_table_id,
        state=_word(values, "state", TableState) if _text(values, "state") else None,
        run_id=_text(values, "runId"),
        subnet_id=_text(values, "subnetId"),
        vpc_id=_text(values, "vpcId"),
        endpoint_id=_text(values, "endpointId"),
        expires_at=_number(values, "expiresAt"),
        changed_at=_text(values, "changedAt"),
        approval=_approval(values),
        state_before=TableState.UNDONE if _text(values, "stateBefore") == TableState.UNDONE else None,
        heal_run_id=_text(values, "healRunId"),
        undo_run_id=_text(values, "undoRunId"),
    )


def _approval(item: Description) -> Approval | None:
    if not _text(item, "approvalState"):
        return None
    state = _word(item, "approvalState", ApprovalState)
    return Approval(
        state, _text(item, "approvalRunId"), _number(item, "approvalExpiresAt"), _text(item, "approvalPlan")
    )


def vpc_record(vpc_id: str, item: LedgerItem) -> VpcRecord:
    """Read the item of a VPC. Raise RecordError."""
    values = attributes(item)
    return VpcRecord(
        vpc_id,
        generation=_number(values, "generation"),
        token_run=_text(values, "tokenRun"),
        token_ids=_texts(values, "tokenIds"),
        token_runs=_texts(values, "tokenRuns"),
        created_ids=_texts(values, "createdIds"),
        creator_runs=_texts(values, "creatorRuns"),
        deleted_ids=_texts(values, "deletedIds"),
    )


def run_record(item: LedgerItem) -> RunRecord:
    """Read the item of a run. Raise RecordError."""
    values = attributes(item)
    return RunRecord(
        run_id=_text(values, "id").removeprefix(RUN_PREFIX),
        kind=_word(values, "kind", RunKind),
        started_by=_word(values, "startedBy", StartedBy),
        account_id=_text(values, "accountId"),
        subnet_id=_text(values, "subnetId"),
        vpc_id=_text(values, "vpcId"),
        route_table_id=_text(values, "routeTableId"),
        endpoint_id=_text(values, "endpointId"),
        created_endpoint=flag(values, "createdEndpoint", _place(values)),
        started_at=_text(values, "startedAt"),
        creation_intended_at=_text(values, "creationIntendedAt"),
        intended_at=_text(values, "intendedAt"),
        associated_at=_text(values, "associatedAt"),
        deleted_at=_text(values, "deletedAt"),
        finished_at=_text(values, "finishedAt"),
        heal_run_id=_text(values, "healRunId"),
        undo_run_id=_text(values, "undoRunId"),
        marks=_marks(values),
    )


def stop_record(item: LedgerItem) -> Stop:
    """Read the item that stops all heals. It stops them however malformed it is, so what is not text is left out."""
    return Stop(*(str(item.get(name, {}).get("S", "")) for name in ("stoppedAt", "by", "reason")))


_INTENTION = ("endpointId", "intendedAt", "seenEndpointOwner", "seenTableOwner", "seenPolicy")
"""What a heal writes together right before it associates its table (`Writer.intend_association`)."""


def _marks(item: Description) -> Marks | None:
    """Return what a heal saw before it associated its table; None if it did not start to. Raise RecordError."""
    is_heal = _word(item, "kind", RunKind) is RunKind.HEAL
    if not is_heal or not any(item.get(name) for name in ("intendedAt", "associatedAt", "createdEndpoint")):
        return None
    _, _, *seen = (free_text(item, name, _place(item)) for name in _INTENTION)
    endpoint_owner, table_owner, policy = ("" if value == NONE else value for value in seen)
    return Marks(endpoint_owner, table_owner, policy, frozenset(map(str, item.get("seenTagKeys") or ())))


def _text(item: Description, name: str) -> str:
    return optional_free_text(item, name, _place(item))


def _number(item: Description, name: str) -> int:
    return number(item, name, _place(item)) or 0


def _texts(item: Description, name: str) -> frozenset[str]:
    return frozenset(ids(item, name, _place(item)))


def _word(item: Description, name: str, words: type[_Word]) -> _Word:
    return member(item, name, _place(item), words)


def _place(item: Description) -> str:
    return f"ledger item {item.get('id', '')}"


_STATES = {f":{state.lower()}": state for state in (*TableState, *ApprovalState)}
"""The states as expressions name them."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Makes the writes of one run of a runbook, at one time."""

    table_name: str
    run_id: str
    now: datetime

    def claim(
        self, heal: TableRecord, *, void_run_id: str, subnet_id: str, vpc_id: str, if_lost: Mapping[str, str]
    ) -> Write:
        """Claim a table for a heal, unless somebody claimed it since its record was read.

        void_run_id is the run whose claim no longer counts, because it has ended; empty if there is none.
        """
        return self._write(
            TABLE_PREFIX + heal.route_table_id,
            "SET #state = :claimed, stateBefore = :before, runId = :run, subnetId = :subnet, vpcId = :vpc, "
            "expiresAt = :expires, changedAt = :time",
            "attribute_not_exists(runId) OR runId = :run OR (runId = :seenRun AND #state = :seenState AND "
            "(#state <> :claimed OR expiresAt < :now OR runId = :void))",
            {
                ":before": TableState.UNDONE if heal.is_undone else NONE,
                ":subnet": subnet_id,
                ":vpc": vpc_id,
                ":expires": self._seconds + CLAIM_SECONDS,
                ":seenRun": heal.run_id or NONE,
                ":seenState": heal.state or NONE,
                ":void": void_run_id or NONE,
            },
            if_lost,
        )

    def claim_for_undo(self, heal: RunRecord, *, void_run_id: str, if_lost: Mapping[str, str]) -> Write:
        """Claim the table of a heal for its undo, unless another run has a claim."""
        return self._write(
            TABLE_PREFIX + heal.route_table_id,
            "SET #state = :claimed, runId = :run, undoRunId = :run, subnetId = :subnet, vpcId = :vpc, "
            "endpointId = :endpoint, expiresAt = :expires, changedAt = :time",
            "attribute_not_exists(runId) OR #state <> :claimed OR runId = :run OR runId = :void OR expiresAt < :now",
            {
                ":subnet": heal.subnet_id,
                ":vpc": heal.vpc_id,
                ":endpoint": heal.endpoint_id,
                ":expires": self._seconds + CLAIM_SECONDS,
                ":void": void_run_id or NONE,
            },
            if_lost,
        )

    def request_approval(
        self, table_id: str, fingerprint: str, *, void_run_id: str, if_lost: Mapping[str, str]
    ) -> Write:
        """Record the request to approve a plan, unless the request or the approval of another run is open."""
        return self._write(
            TABLE_PREFIX + table_id,
            "SET approvalState = :requested, approvalRunId = :run, approvalExpiresAt = :expires, approvalPlan = :plan",
            "attribute_not_exists(approvalState) OR NOT approvalState IN (:requested, :approved) OR "
            "approvalRunId = :run OR approvalRunId = :void OR approvalExpiresAt <= :now",
            {
                ":plan": fingerprint or NONE,
                ":expires": self._seconds + REQUEST_SECONDS,
                ":void": void_run_id or NONE,
            },
            if_lost,
        )

    def approve(self, table_id: str) -> Write:
        """Record that an approver approved this run's request: from now on, for one heal."""
        return self._write(
            TABLE_PREFIX + table_id,
            "SET approvalState = :approved, approvalExpiresAt = :expires",
            "approvalRunId = :run AND approvalState IN (:requested, :approved)",
            {":expires": self._seconds + APPROVED_SECONDS},
        )

    def deny(self, table_id: str, asking_run_id: str, if_lost: Mapping[str, str] | None = None) -> Write:
        """Record that an approver rejected a run's request."""
        return self._write(
            TABLE_PREFIX + table_id,
            "SET approvalState = :denied",
            "approvalRunId = :asking AND approvalState IN (:requested, :denied)",
            {":asking": asking_run_id},
            if_lost,
        )

    def use_approval(self, table_id: str, fingerprint: str) -> Write:
        """Use the approval of a plan; lost if it expired, another heal used it, or it was for another plan."""
        return self._write(
            TABLE_PREFIX + table_id,
            "SET approvalState = :used",
            "runId = :run AND #state = :claimed AND approvalState = :approved AND approvalExpiresAt > :now AND "
            "approvalPlan = :plan",
            {":plan": fingerprint or NONE},
        )

    def elect(self, vpc_id: str, election: Election) -> Write:
        """Become the run whose client token creates the endpoint. If another run was elected first, its token does."""
        return self._write(
            VPC_PREFIX + vpc_id,
            "SET tokenRun = :run, generation = :next REMOVE tokenIds, tokenRuns",
            "attribute_not_exists(generation) OR generation = :seen",
            {":next": election.generation, ":seen": election.ledger_generation},
            {},
        )

    def intend_creation(self, run: RunRecord) -> Write:
        """Record that this run is about to create an endpoint."""
        return self._intention(run, {"creationIntendedAt": ledger_time(self.now)})

    def intend_association(self, run: RunRecord, marks: Marks) -> list[Write]:
        """Record that this run is about to associate its table, and what it saw before. Its claim must be current."""
        seen = {
            "endpointId": run.endpoint_id,
            "createdEndpoint": run.created_endpoint,
            "seenEndpointOwner": marks.endpoint_owner or NONE,
            "seenTableOwner": marks.table_owner or NONE,
            "seenPolicy": marks.policy or NONE,
            "intendedAt": ledger_time(self.now),
        }
        table = self._write(
            TABLE_PREFIX + run.route_table_id,
            "SET healRunId = :run, endpointId = :endpoint",
            "runId = :run AND #state = :claimed",
            {":endpoint": run.endpoint_id},
        )
        return [self._intention(run, seen), table]

    def associated(self, tag_keys: Iterable[str]) -> Write:
        """Record that this run associated the table, and that EC2 shows it and these keys of the endpoint's tags."""
        seen = {"associatedAt": ledger_time(self.now), "seenTagKeys": tuple(tag_keys) or (NONE,)}  # no set is empty
        return self._once_each(self.run_id, seen, "attribute_exists(intendedAt)")

    def healed(self, table_id: str, endpoint_id: str, *, finishes_run: bool) -> list[Write]:
        """Record that a table that this run claimed is healed; finishes_run: and that the run's changes are complete."""
        table = self._write(
            TABLE_PREFIX + table_id,
            "SET #state = :healed, endpointId = :endpoint, changedAt = :time",
            "runId = :run",
            {":endpoint": endpoint_id},
        )
        return [self._once("finishedAt", "attribute_exists(id)"), table] if finishes_run else [table]

    def healed_earlier(self, record: TableRecord, endpoint_id: str) -> Write:
        """Record that a table is healed whose last heal was interrupted after its change, unless the record changed."""
        return self._write(
            TABLE_PREFIX + record.route_table_id,
            "SET #state = :healed, endpointId = :endpoint, changedAt = :time",
            "runId = :seenRun AND #state = :seenState",
            {
                ":endpoint": endpoint_id,
                ":seenRun": record.run_id,
                ":seenState": record.state or NONE,
            },
            {},
        )

    def start_undo(self, heal: RunRecord) -> Write:
        """Record that this run undoes a heal."""
        values = _start_of(replace(heal, kind=RunKind.UNDO, started_by=StartedBy.PERSON))
        values |= {"endpointId": heal.endpoint_id, "healRunId": heal.run_id, "startedAt": ledger_time(self.now)}
        return self._once_each(self.run_id, values, "attribute_not_exists(id) OR healRunId = :healRunId")

    def intend_disassociation(self) -> Write:
        """Record that this run is about to remove the association."""
        return self._once("intendedAt")

    def mark_for_deletion(self, heal: RunRecord) -> Write:
        """Mark the endpoint, so that no heal uses it or its client token again."""
        return self._write(
            VPC_PREFIX + heal.vpc_id,
            "ADD deletedIds :endpoints",
            "contains(createdIds, :endpoint)",
            {":endpoints": [heal.endpoint_id], ":endpoint": heal.endpoint_id},
        )

    def unmark_for_deletion(self, heal: RunRecord) -> Write:
        """Remove the mark of an endpoint that stays."""
        return self._write(
            VPC_PREFIX + heal.vpc_id, "DELETE deletedIds :endpoints", "", {":endpoints": [heal.endpoint_id]}
        )

    def intend_deletion(self) -> Write:
        """Record that this run is about to delete the endpoint."""
        return self._once("deletionIntendedAt")

    def deleted(self) -> Write:
        """Record that this run deleted the endpoint."""
        return self._once("deletedAt")

    def undone(self, heal: RunRecord) -> list[Write]:
        """Release the table, and record that this run has ended and that it undid the heal."""
        table = self._write(
            TABLE_PREFIX + heal.route_table_id,
            "SET #state = :undone, changedAt = :time",
            "runId = :run",
            {},
        )
        undo = {"undoRunId": self.run_id}
        return [
            table,
            self._once("finishedAt"),
            self._once_each(heal.run_id, undo, "attribute_exists(id)"),
        ]

    @property
    def _seconds(self) -> int:
        return int(self.now.timestamp())

    def _intention(self, run: RunRecord, values: Mapping[str, Any]) -> Write:
        return self._once_each(self.run_id, {**_start_of(run), "startedAt": run.started_at, **values})

    def _once(self, name: str, condition: str = "") -> Write:
        """Set a time of this run."""
        return self._once_each(self.run_id, {name: ledger_time(self.now)}, condition)

    def _once_each(self, run_id: str, values: Mapping[str, Any], condition: str = "") -> Write:
        """Set attributes of a run that it does not have yet: history is never overwritten."""
        sets = ", ".join(f"{name} = if_not_exists({name}, :{name})" for name in values)
        return self._write(
            RUN_PREFIX + run_id, f"SET {sets}", condition, {f":{name}": value for name, value in values.items()}
        )

    def _write(
        self,
        item_id: str,
        update: str,
        condition: str,
        values: Mapping[str, Any],
        if_lost: Mapping[str, str] | None = None,
    ) -> Write:
        """Return a write. values are those of the expressions' names, besides the ones that every write may use.

        These are :run, :time, :now, and the states in lower case, such as :claimed. `state` is a reserved word, so
        expressions name it #state (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ReservedWords.html).
        """
        known = {":run": self.run_id, ":time": ledger_time(self.now), ":now": self._seconds, **_STATES, **values}
        named = re.findall(r":\w+", f"{update} {condition}")
        request: dict[str, Any] = {
            "TableName": self.table_name,
            "Key": {"id": {"S": item_id}},
            "UpdateExpression": update,
            "ExpressionAttributeValues": {name: _value(known[name]) for name in named},
        }
        if condition:
            request["ConditionExpression"] = condition
        if "#state" in update + condition:
            request["ExpressionAttributeNames"] = {"#state": "state"}
        return {"request": request} if if_lost is None else {"request": request, "ifLost": dict(if_lost)}


def _start_of(run: RunRecord) -> dict[str, str]:
    """Return what the item of a run has from its first write on, except for its time."""
    return {
        "kind": run.kind,
        "startedBy": run.started_by,
        "accountId": run.account_id,
        "subnetId": run.subnet_id,
        "vpcId": run.vpc_id,
        "routeTableId": run.route_table_id,
    }


def _value(value: _Value) -> dict[str, Any]:
    """Return a value with its DynamoDB type.

    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeValue.html
    """
    if isinstance(value, str):
        return {"S": str(value)}
    if isinstance(value, bool):
        return {"BOOL": value}
    return {"N": str(value)} if isinstance(value, int) else {"SS": sorted(value)}


def ledger_time(now: datetime) -> str:
    """Return a time in ISO 8601, as the ledger stores it."""
    return now.isoformat(timespec="milliseconds")

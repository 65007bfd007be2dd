"""Read the ledger from its DynamoDB table, with consistent reads, because a claim must be visible immediately."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from express_path.adapters.aws import calling
from express_path.domain.heal.ledger import (
    RUN_PREFIX,
    TABLE_PREFIX,
    VPC_PREFIX,
    Approval,
    ApprovalState,
    LedgerView,
    Marks,
    RunKind,
    RunRecord,
    StartedBy,
    TableRecord,
    TableState,
    VpcRecord,
)
from express_path.domain.heal.records import NONE
from express_path.errors import RecordError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_Word = TypeVar("_Word", bound=StrEnum)
Item = Mapping[str, Mapping[str, Any]]
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
        """Return the record of a run, None if the ledger has none."""
        item = self._item(RUN_PREFIX + run_id)
        return run_record(item) if item else None

    def _item(self, item_id: str) -> Item | None:
        with calling("dynamodb:GetItem"):
            answer: Mapping[str, Any] = self._dynamodb.get_item(
                TableName=self.table_name, Key={"id": {"S": item_id}}, ConsistentRead=True
            )
        return answer.get("Item")


def table_record(route_table_id: str, item: Item) -> TableRecord:
    """Read the item of a route table. Raise RecordError."""
    return TableRecord(
        route_table_id,
        state=_one_of(item, "state", TableState) if _text(item, "state") else None,
        run_id=_text(item, "runId"),
        subnet_id=_text(item, "subnetId"),
        vpc_id=_text(item, "vpcId"),
        endpoint_id=_text(item, "endpointId"),
        expires_at=_number(item, "expiresAt"),
        changed_at=_text(item, "changedAt"),
        approval=_approval(item),
        state_before=TableState.UNDONE if _text(item, "stateBefore") == TableState.UNDONE else None,
        heal_run_id=_text(item, "healRunId"),
        undo_run_id=_text(item, "undoRunId"),
    )


def _approval(item: Item) -> Approval | None:
    if not _text(item, "approvalState"):
        return None
    state = _one_of(item, "approvalState", ApprovalState)
    return Approval(
        state, _text(item, "approvalRunId"), _number(item, "approvalExpiresAt"), _text(item, "approvalPlan")
    )


def vpc_record(vpc_id: str, item: Item) -> VpcRecord:
    """Read the item of a VPC. Raise RecordError."""
    return VpcRecord(
        vpc_id,
        generation=_number(item, "generation"),
        token_run=_text(item, "tokenRun"),
        token_ids=_texts(item, "tokenIds"),
        token_runs=_texts(item, "tokenRuns"),
        created_ids=_texts(item, "createdIds"),
        deleted_ids=_texts(item, "deletedIds"),
    )


def run_record(item: Item) -> RunRecord:
    """Read the item of a run. Raise RecordError."""
    return RunRecord(
        run_id=_text(item, "id").removeprefix(RUN_PREFIX),
        kind=_one_of(item, "kind", RunKind),
        started_by=_one_of(item, "startedBy", StartedBy),
        account_id=_text(item, "accountId"),
        subnet_id=_text(item, "subnetId"),
        vpc_id=_text(item, "vpcId"),
        route_table_id=_text(item, "routeTableId"),
        endpoint_id=_text(item, "endpointId"),
        created_endpoint=item.get("createdEndpoint", {}).get("BOOL") is True,
        started_at=_text(item, "startedAt"),
        creation_intended_at=_text(item, "creationIntendedAt"),
        intended_at=_text(item, "intendedAt"),
        associated_at=_text(item, "associatedAt"),
        deletion_intended_at=_text(item, "deletionIntendedAt"),
        deleted_at=_text(item, "deletedAt"),
        finished_at=_text(item, "finishedAt"),
        heal_run_id=_text(item, "healRunId"),
        undo_run_id=_text(item, "undoRunId"),
        marks=_marks(item),
    )


def _marks(item: Item) -> Marks | None:
    """Return what the heal saw; None if an earlier version wrote the item."""
    if not _text(item, "seenPolicy"):
        return None
    seen = [_text(item, name) for name in ("seenEndpointOwner", "seenTableOwner", "seenPolicy")]
    return Marks(*("" if value == NONE else value for value in seen))


def _text(item: Item, name: str) -> str:
    found = item.get(name, {"S": ""}).get("S")
    if not isinstance(found, str):
        raise _unreadable(item, name, "a string (S)")
    return found


def _number(item: Item, name: str) -> int:
    found = item.get(name, {"N": "0"}).get("N")
    if not isinstance(found, str) or not found.isdecimal():
        raise _unreadable(item, name, "a whole number (N)")
    return int(found)


def _texts(item: Item, name: str) -> frozenset[str]:
    found = item.get(name, {"SS": []}).get("SS")
    if not isinstance(found, list):
        raise _unreadable(item, name, "a set of strings (SS)")
    return frozenset(found)


def _one_of(item: Item, name: str, words: type[_Word]) -> _Word:
    try:
        return words(_text(item, name))
    except ValueError:
        raise _unreadable(item, name, "one of " + ", ".join(word.value for word in words)) from None


def _unreadable(item: Item, name: str, allowed: str) -> RecordError:
    resource = f"ledger item {item.get('id', {}).get('S', '')}"
    return RecordError(resource, name, item.get(name), allowed)

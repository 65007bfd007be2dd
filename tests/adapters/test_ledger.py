"""Reading items of the ledger: every attribute, defaults for what is absent, and errors for what cannot be read."""

from datetime import UTC, datetime
from typing import Any

import pytest

from express_path.adapters.ledger import Writer, run_record, table_record, vpc_record
from express_path.domain.heal.claims import CLAIM_SECONDS, Election
from express_path.domain.heal.ledger_records import (
    Approval,
    ApprovalState,
    Marks,
    RunKind,
    RunRecord,
    StartedBy,
    TableRecord,
    TableState,
    VpcRecord,
)
from express_path.errors import RecordError

RUN = "11111111-2222-3333-4444-555555555555"
TABLE_ITEM: dict[str, dict[str, Any]] = {
    "id": {"S": "TABLE#rtb-1"},
    "state": {"S": "CLAIMED"},
    "runId": {"S": RUN},
    "subnetId": {"S": "subnet-1"},
    "vpcId": {"S": "vpc-1"},
    "endpointId": {"S": "vpce-1"},
    "expiresAt": {"N": "1000"},
    "changedAt": {"S": "2026-11-22T12:00:00+00:00"},
    "approvalState": {"S": "APPROVED"},
    "approvalRunId": {"S": "run-2"},
    "approvalExpiresAt": {"N": "2000"},
}
RUN_ITEM: dict[str, dict[str, Any]] = {
    "id": {"S": f"RUN#{RUN}"},
    "kind": {"S": "HEAL"},
    "startedBy": {"S": "CONFIG"},
    "accountId": {"S": "123456789012"},
    "subnetId": {"S": "subnet-1"},
    "vpcId": {"S": "vpc-1"},
    "routeTableId": {"S": "rtb-1"},
    "endpointId": {"S": "vpce-1"},
    "startedAt": {"S": "2026-11-22T12:00:00+00:00"},
}


def test_item_of_a_route_table() -> None:
    """All of it is read, and the claim counts until it expires, for its own run only."""
    record = table_record("rtb-1", TABLE_ITEM)
    assert record == TableRecord(
        "rtb-1",
        TableState.CLAIMED,
        RUN,
        "subnet-1",
        "vpc-1",
        "vpce-1",
        1000,
        "2026-11-22T12:00:00+00:00",
        Approval(ApprovalState.APPROVED, "run-2", 2000),
    )
    in_time, too_late = (datetime.fromtimestamp(seconds, UTC) for seconds in (999, 1000))
    assert (record.is_claimed_by(RUN, in_time), record.is_claimed_by_other(RUN, in_time)) == (True, False)
    assert (record.is_claimed_by("another", in_time), record.is_claimed_by_other("another", in_time)) == (False, True)
    assert (record.is_claimed_by(RUN, too_late), record.is_claimed_by_other("another", too_late)) == (False, False)
    assert record.approval is not None
    assert record.approval.is_current(datetime.fromtimestamp(1999.9, UTC))
    assert not record.approval.is_current(datetime.fromtimestamp(2000, UTC))


def test_item_of_a_route_table_that_was_only_asked_about() -> None:
    """An approval request comes before any claim."""
    item = {key: TABLE_ITEM[key] for key in ("id", "approvalState", "approvalRunId", "approvalExpiresAt")}
    record = table_record("rtb-1", item)
    assert record.state is None
    assert not record.is_claimed(datetime.fromtimestamp(0, UTC))
    assert record.approval is not None


def test_item_of_a_vpc() -> None:
    """Sets of endpoints, the elected run and the generation of its token."""
    item = {
        "id": {"S": "VPC#vpc-1"},
        "generation": {"N": "2"},
        "tokenRun": {"S": RUN},
        "tokenIds": {"SS": ["vpce-2"]},
        "tokenRuns": {"SS": [RUN]},
        "createdIds": {"SS": ["vpce-1", "vpce-2"]},
        "creatorRuns": {"SS": [RUN, "run-0"]},
        "deletedIds": {"SS": ["vpce-1"]},
    }
    assert vpc_record("vpc-1", item) == VpcRecord(
        "vpc-1",
        generation=2,
        token_run=RUN,
        token_ids=frozenset({"vpce-2"}),
        token_runs=frozenset({RUN}),
        created_ids=frozenset({"vpce-1", "vpce-2"}),
        creator_runs=frozenset({RUN, "run-0"}),
        deleted_ids=frozenset({"vpce-1"}),
    )


def test_item_of_a_run() -> None:
    """What did not happen is empty."""
    assert run_record(RUN_ITEM) == RunRecord(
        RUN,
        RunKind.HEAL,
        StartedBy.CONFIG,
        "123456789012",
        "subnet-1",
        "vpc-1",
        "rtb-1",
        "vpce-1",
        started_at="2026-11-22T12:00:00+00:00",
    )


def test_confirmed_changes_and_intentions_of_a_run() -> None:
    """A heal is done only if it confirmed its change, whether or not the run ended."""
    noon, later = {"S": "2026-11-22T12:00:00+00:00"}, {"S": "2026-11-22T12:00:05+00:00"}
    seen = {"seenEndpointOwner": {"S": "NONE"}, "seenTableOwner": {"S": "by=tool"}, "seenPolicy": {"S": "hash"}}
    intended = run_record(
        {**RUN_ITEM, **seen, "intendedAt": noon, "createdEndpoint": {"BOOL": True}, "finishedAt": later}
    )
    assert (intended.is_associated, intended.unconfirmed_since, intended.created_endpoint) == (False, noon["S"], True)
    assert intended.marks == Marks("", "by=tool", "hash")
    confirmed = {"associatedAt": later, "seenTagKeys": {"SS": ["a key", "managed"]}}
    done = run_record({**RUN_ITEM, **seen, "intendedAt": noon, **confirmed})
    assert (done.is_associated, done.unconfirmed_since) == (True, "")
    assert done.marks == Marks("", "by=tool", "hash", frozenset({"a key", "managed"}))
    assert run_record({**RUN_ITEM, "createdEndpoint": {"BOOL": False}}).marks is None
    undo = run_record({**RUN_ITEM, "kind": {"S": "UNDO"}, "intendedAt": noon})
    assert (undo.intended_at, undo.marks) == (noon["S"], None)


@pytest.mark.parametrize("missing", ["endpointId", "intendedAt", "seenEndpointOwner", "seenTableOwner", "seenPolicy"])
def test_heal_that_lacks_a_part_of_its_intention_is_malformed(missing: str) -> None:
    """What a heal saw is written with its intention, so an item without a part of it proves nothing."""
    noon = {"S": "2026-11-22T12:00:00+00:00"}
    seen = {"seenEndpointOwner": {"S": "NONE"}, "seenTableOwner": {"S": "NONE"}, "seenPolicy": {"S": "hash"}}
    item = {**RUN_ITEM, **seen, "intendedAt": noon, "associatedAt": noon}
    del item[missing]
    with pytest.raises(RecordError, match=missing):
        run_record(item)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("state", {"S": "BROKEN"}),
        ("runId", {"N": "1"}),
        ("expiresAt", {"N": "soon"}),
        ("approvalExpiresAt", {"S": "1"}),
    ],
)
def test_attribute_that_cannot_be_read(attribute: str, value: dict[str, Any]) -> None:
    """The error names the item and the attribute."""
    with pytest.raises(RecordError, match=rf"ledger item TABLE#rtb-1: field {attribute} ") as caught:
        table_record("rtb-1", {**TABLE_ITEM, attribute: value})
    assert caught.value.field == attribute


def test_set_that_cannot_be_read() -> None:
    """A set of endpoints must be one."""
    with pytest.raises(RecordError, match="createdIds"):
        vpc_record("vpc-1", {"id": {"S": "VPC#vpc-1"}, "createdIds": {"S": "vpce-1"}})


NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECONDS = int(NOW.timestamp())
WRITER = Writer("ledger", "run-9", NOW)
HEAL = RunRecord("run-1", RunKind.HEAL, StartedBy.PERSON, "111122223333", "subnet-1", "vpc-1", "rtb-1", "vpce-1")
LOST = {"next": "WAIT"}


def values(write: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a write without their types."""
    given = write["request"]["ExpressionAttributeValues"]
    return {name.removeprefix(":"): next(iter(value.values())) for name, value in given.items()}


def test_claim_of_a_new_table() -> None:
    """No value that the claim compares is empty."""
    write = WRITER.claim(TableRecord("rtb-1"), void_run_id="", subnet_id="subnet-1", vpc_id="vpc-1", if_lost=LOST)
    assert (write["request"]["Key"], write["ifLost"]) == ({"id": {"S": "TABLE#rtb-1"}}, LOST)
    found = values(write)
    assert {found[name] for name in ("seenRun", "seenState", "before", "void")} == {"NONE"}
    assert (found["now"], found["expires"]) == (str(SECONDS), str(SECONDS + CLAIM_SECONDS))
    assert found["time"] == "2026-11-21T12:00:00.000+00:00"


def test_claim_of_a_table_as_it_was_seen() -> None:
    """A claim on a record that changed since then is lost, and the undo before it is not forgotten."""
    record = TableRecord("rtb-1", TableState.UNDONE, "undo-1", heal_run_id="run-1", undo_run_id="undo-1")
    found = values(WRITER.claim(record, void_run_id="dead", subnet_id="subnet-1", vpc_id="vpc-1", if_lost=LOST))
    assert (found["seenRun"], found["seenState"], found["before"]) == ("undo-1", "UNDONE", "UNDONE")
    assert found["void"] == "dead"


ELECT = WRITER.elect("vpc-1", Election(must_elect=True, token_run="run-9", ledger_generation=0, generation=1))


def test_an_election_ends_the_earlier_token() -> None:
    """The endpoints that the earlier token created, and the runs that used it, are not those of the new one."""
    assert ELECT["request"]["UpdateExpression"].endswith(" REMOVE tokenIds, tokenRuns")


WRITES = [
    WRITER.claim(TableRecord("rtb-1"), void_run_id="", subnet_id="subnet-1", vpc_id="vpc-1", if_lost=LOST),
    WRITER.claim_for_undo(HEAL, void_run_id="", if_lost=LOST),
    WRITER.request_approval("rtb-1", "hash", void_run_id="", if_lost=LOST),
    WRITER.approve("rtb-1"),
    WRITER.deny("rtb-1", "run-9"),
    WRITER.use_approval("rtb-1", "hash"),
    ELECT,
    WRITER.intend_creation(HEAL),
    *WRITER.intend_association(HEAL, Marks()),
    WRITER.associated([]),
    *WRITER.healed("rtb-1", "vpce-1", finishes_run=True),
    WRITER.healed_earlier(TableRecord("rtb-1", run_id="run-1"), "vpce-1"),
    WRITER.start_undo(HEAL),
    WRITER.intend_disassociation(),
    WRITER.mark_for_deletion(HEAL),
    WRITER.unmark_for_deletion(HEAL),
    WRITER.intend_deletion(),
    WRITER.deleted(),
    *WRITER.undone(HEAL),
]


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write["request"]["UpdateExpression"])
def test_history_is_never_overwritten(write: dict[str, Any]) -> None:
    """Attributes of a run's item are written only if they do not exist, and every other write has a condition."""
    request = write["request"]
    assert request["TableName"] == "ledger"
    if request["Key"]["id"]["S"].startswith("RUN#"):
        assignments = request["UpdateExpression"].removeprefix("SET ").split("), ")
        assert all("if_not_exists(" in assignment for assignment in assignments)
    elif "DELETE deletedIds" not in request["UpdateExpression"]:
        assert request["ConditionExpression"]

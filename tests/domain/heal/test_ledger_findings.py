"""What the ledger has against a heal: the loop breaker, an undo, and an approval that is missing."""

from dataclasses import replace
from datetime import timedelta

import pytest

from express_path.domain.heal.ledger import (
    Approval,
    ApprovalState,
    LedgerView,
    StartedBy,
    TableRecord,
    TableState,
    VpcRecord,
)
from express_path.domain.heal.plan import LOOP_BREAKER
from express_path.domain.heal.preflight import Evidence, Policy
from express_path.domain.heal.records import FULL_ACCESS, Action, Blocker
from express_path.domain.network.resources import VpcEndpoint
from express_path.domain.network.snapshot import Snapshot
from tests.support.heal_situation import NOW, TO_NAT, blockers, evidence_of, healed, network, planned
from tests.support.make import endpoint, route, subnet

SECONDS = int(NOW.timestamp())


def test_loop_breaker_holds_for_a_day() -> None:
    """Twenty-four hours, as docs/heal-and-undo.md says."""
    assert timedelta(hours=24) == LOOP_BREAKER


@pytest.mark.parametrize(
    "ago",
    [timedelta(0), timedelta(hours=23, minutes=59, seconds=59), timedelta(hours=-1)],
    ids=["just now", "almost a day ago", "by a fast clock"],
)
@pytest.mark.parametrize("endpoints", [(), (endpoint(),)], ids=["endpoint gone too", "endpoint there"])
def test_reverted_heal_is_not_repeated(ago: timedelta, endpoints: tuple[VpcEndpoint, ...]) -> None:
    """REVERTED_BY_OTHERS: within a day of a heal, a missing association is somebody's decision."""
    plan = planned(network(endpoints=endpoints), ledger=healed((NOW - ago).isoformat()))
    assert (plan.action, blockers(plan)) == (Action.BLOCKED, [Blocker.REVERTED_BY_OTHERS])
    shown = evidence_of(plan, Blocker.REVERTED_BY_OTHERS)
    assert "rtb-1" in shown
    assert "vpce-express" in shown
    assert "express-path undo run-1" in plan.blockers[0].cure


@pytest.mark.parametrize(
    "ledger",
    [
        healed((NOW - timedelta(hours=24)).isoformat()),
        healed((NOW - timedelta(days=365)).isoformat()),
        healed(""),
        healed("yesterday"),
        healed(NOW.replace(tzinfo=None).isoformat()),
        healed(NOW.isoformat(), state=TableState.FAILED),
        healed(NOW.isoformat(), state=TableState.UNDONE),
        None,
    ],
    ids=["a day ago", "a year ago", "empty", "no time", "without a time zone", "failed", "undone", "no ledger"],
)
def test_what_was_not_healed_lately_may_be_healed(ledger: LedgerView | None) -> None:
    """After a day, or where no heal ended well, a table is healed as if for the first time."""
    assert planned(network(endpoints=(endpoint(),)), ledger=ledger).blockers == ()


@pytest.mark.parametrize("when", ["2026-11-21T12:00:00Z", "2026-11-21T13:00:00+01:00", "2026-11-21 12:00:00+00:00"])
def test_time_of_a_heal_is_read_in_any_zone(when: str) -> None:
    """The ledger has ISO 8601."""
    assert blockers(planned(network(), ledger=healed(when))) == [Blocker.REVERTED_BY_OTHERS]


def test_association_that_is_still_there_was_not_reverted() -> None:
    """If a healed table gained a more specific route, only that route is named."""
    found = network(
        TO_NAT, route("pl-express", "vpce-express"), route("198.51.100.9/32", "nat-1"), endpoints=(endpoint(),)
    )
    assert blockers(planned(found, ledger=healed(NOW.isoformat()))) == [Blocker.MORE_SPECIFIC_ROUTE]


def record(**more: object) -> LedgerView:
    """Return the ledger's record of rtb-1."""
    return LedgerView(TableRecord("rtb-1", **more), VpcRecord("vpc-1"))  # type: ignore[arg-type] -- fields of a record


@pytest.mark.parametrize(
    "ledger",
    [
        record(state=TableState.UNDONE, run_id="undo-1", undo_run_id="undo-1"),
        record(state=TableState.CLAIMED, run_id="undo-1", undo_run_id="undo-1"),
        record(state=TableState.FAILED, run_id="undo-1", undo_run_id="undo-1"),
        record(state=TableState.FAILED, run_id="run-2", undo_run_id="undo-1", state_before=TableState.UNDONE),
        record(state=TableState.CLAIMED, run_id="run-2", undo_run_id="undo-1", state_before=TableState.UNDONE),
    ],
    ids=["undone", "being undone", "undo failed", "heal by hand failed", "heal by hand was interrupted"],
)
def test_config_does_not_heal_what_was_undone(ledger: LedgerView) -> None:
    """UNDONE blocks what AWS Config starts, and nothing that a person starts."""
    assert blockers(planned(network(), ledger=ledger, started_by=StartedBy.CONFIG)) == [Blocker.UNDONE]
    assert blockers(planned(network(), ledger=ledger)) == []


@pytest.mark.parametrize(
    "ledger",
    [
        record(state=TableState.HEALED, run_id="run-2", undo_run_id="undo-1", state_before=TableState.UNDONE),
        record(state=TableState.FAILED, run_id="run-2"),
        record(),
    ],
    ids=["healed by hand", "never undone", "unknown"],
)
def test_config_heals_what_was_not_undone(ledger: LedgerView) -> None:
    """A heal by hand that ended well lets AWS Config heal the table again."""
    assert Blocker.UNDONE not in blockers(planned(network(), ledger=ledger, started_by=StartedBy.CONFIG))


def approval(state: ApprovalState, expires_at: int = SECONDS + 1, snapshot: Snapshot | None = None) -> Approval:
    """The last request, by run ask-1, for the plan of a network."""
    return Approval(state, "ask-1", expires_at, planned(snapshot or network()).fingerprint)


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (None, "no heal of rtb-1 has been approved"),
        (approval(ApprovalState.REQUESTED), "run ask-1, is REQUESTED"),
        (approval(ApprovalState.DENIED), "run ask-1, is DENIED"),
        (approval(ApprovalState.USED), "run ask-1, is USED"),
        (approval(ApprovalState.APPROVED, SECONDS), "approval of run ask-1 has expired"),
        (
            Approval(ApprovalState.APPROVED, "ask-1", SECONDS + 1),
            "the plan has changed since the approval of run ask-1",
        ),
    ],
    ids=["none", "requested", "denied", "used", "expired", "of an earlier version"],
)
def test_heal_without_an_approval_is_blocked_where_it_needs_one(found: Approval | None, shown: str) -> None:
    """APPROVAL_REQUIRED says how the last request ended, and how to send a new one."""
    plan = planned(network(), ledger=record(approval=found), needs_approval=True)
    assert blockers(plan) == [Blocker.APPROVAL_REQUIRED]
    assert shown in evidence_of(plan, Blocker.APPROVAL_REQUIRED)
    assert "ApprovalDocumentName" in plan.blockers[0].cure


def test_approved_heal_is_planned() -> None:
    """An approval counts until it expires."""
    ledger = record(approval=approval(ApprovalState.APPROVED))
    assert planned(network(), ledger=ledger, needs_approval=True).action is Action.CREATE_AND_ASSOCIATE


JOINED = network(subnets=(subnet(), subnet("subnet-2")))


@pytest.mark.parametrize(
    ("snapshot", "more"),
    [
        (JOINED, {}),
        (network(endpoints=(endpoint(),)), {}),
        (network(), {"policy": '{"Statement": []}'}),
    ],
    ids=["a subnet joined the table", "another endpoint", "another policy"],
)
def test_approval_is_bound_to_the_plan_that_was_shown(snapshot: Snapshot, more: dict[str, str]) -> None:
    """If the plan that runs differs from it, the heal needs a new approval."""
    plan = planned(snapshot, ledger=record(approval=approval(ApprovalState.APPROVED)), needs_approval=True, **more)
    assert blockers(plan) == [Blocker.APPROVAL_REQUIRED]
    assert "the plan has changed" in evidence_of(plan, Blocker.APPROVAL_REQUIRED)


def test_approval_is_bound_to_the_policy_of_an_endpoint_that_exists() -> None:
    """Somebody can replace it after the approval."""
    snapshot = network(endpoints=(endpoint(),))
    shown, now = (Evidence(policies=(Policy("vpce-express", text),)) for text in (FULL_ACCESS, '{"Statement": []}'))
    approved = Approval(ApprovalState.APPROVED, "ask-1", SECONDS + 1, planned(snapshot, shown).fingerprint)
    ledger = record(approval=approved)
    assert planned(snapshot, shown, ledger=ledger, needs_approval=True).action is Action.ASSOCIATE
    assert Blocker.APPROVAL_REQUIRED in blockers(planned(snapshot, now, ledger=ledger, needs_approval=True))


def test_approved_heals_share_the_endpoint_that_the_first_one_creates() -> None:
    """For approvers, an endpoint that a heal created since is the one that they approved."""
    snapshot = network(endpoints=(endpoint(),))
    evidence = Evidence(policies=(Policy("vpce-express", FULL_ACCESS),))
    vpc = VpcRecord("vpc-1", created_ids=frozenset({"vpce-express"}))
    ledger = replace(record(approval=approval(ApprovalState.APPROVED)), vpc=vpc)
    assert planned(snapshot, evidence, ledger=ledger, needs_approval=True).action is Action.ASSOCIATE


def test_heal_that_needs_no_approval_asks_for_none() -> None:
    """A dry run, and the modes OFF and ON."""
    assert planned(network(), ledger=record()).blockers == ()

"""Approvals: which run may send a request, which request is open, and the text that approvers read."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from express_path.domain.heal.approvals import (
    LISTED_SUBNETS,
    MAX_MESSAGE_LENGTH,
    ApprovalRun,
    ApprovalStep,
    approval_message,
    denial,
    next_step,
    open_request_run_id,
    why_not_confirmed,
)
from express_path.domain.heal.ledger_records import (
    Approval,
    ApprovalState,
    StartedBy,
    TableRecord,
)
from express_path.domain.heal.records import Blocker, Concern, HealSettings, Plan, PlanAction
from tests.support.heal_situation import NOW, network, planned
from tests.support.make import endpoint

SUBNETS = ["subnet-1", "subnet-2"]


@pytest.mark.parametrize(
    ("approval", "expected"),
    [
        (None, ""),
        (Approval(ApprovalState.REQUESTED, "other", 101), "other"),
        (Approval(ApprovalState.APPROVED, "other", 101), "other"),
        (Approval(ApprovalState.REQUESTED, "other", 100), ""),
        (Approval(ApprovalState.REQUESTED, "own", 101), ""),
        (Approval(ApprovalState.DENIED, "other", 101), ""),
        (Approval(ApprovalState.USED, "other", 101), ""),
    ],
    ids=["none", "requested", "approved", "expired", "own", "denied", "used"],
)
def test_request_of_another_run_is_open_until_answered_or_expired(approval: Approval | None, expected: str) -> None:
    """A route table has one open request: only other runs count, and only while approvers can still answer."""
    assert open_request_run_id(approval, "own", datetime.fromtimestamp(100, UTC)) == expected


@pytest.mark.parametrize(
    ("state", "started_by", "blocked"),
    [
        (ApprovalState.DENIED, StartedBy.CONFIG, True),
        (ApprovalState.DENIED, StartedBy.PERSON, False),
        (ApprovalState.REQUESTED, StartedBy.CONFIG, False),
        (None, StartedBy.CONFIG, False),
    ],
)
def test_only_a_person_asks_again_after_a_no(
    state: ApprovalState | None, started_by: StartedBy, *, blocked: bool
) -> None:
    """A denial does not expire for AWS Config; the concern names the run that asked, and what to do."""
    approval = Approval(state, "run-1", 0) if state else None
    found = denial(TableRecord("rtb-1", approval=approval), started_by)
    assert (found is not None) is blocked
    if found:
        assert found.code is Blocker.APPROVAL_DENIED
        assert "run-1" in found.evidence
        assert "PERSON" in found.fix


def test_nobody_is_asked_about_nothing() -> None:
    """Approvers are asked once for each request, and never about a dry run or a healthy subnet."""
    plan = planned(network())
    assert next_step(plan, dry_run=False, is_pending=False) is ApprovalStep.ASK
    assert next_step(plan, dry_run=False, is_pending=True) is ApprovalStep.PENDING
    assert next_step(plan, dry_run=True, is_pending=False) is ApprovalStep.DONE
    nothing = Plan(PlanAction.NOTHING_TO_DO, plan.verdict)
    assert next_step(nothing, dry_run=False, is_pending=False) is ApprovalStep.DONE


def test_message_starts_with_what_will_happen() -> None:
    """Endpoint, route table, the subnets that move, dropped connections; then the reason."""
    first, *rest = approval_message(planned(network()), SUBNETS).splitlines()
    assert "account 111122223333, us-east-1" in first
    text = "\n".join(rest)
    order = ["com.amazonaws.us-east-1.s3express is created in vpc-1", "rtb-1", "2 subnets", "subnet-1, subnet-2"]
    order += ["connections", "drop", "undo", 'Reason: "NAT_GATEWAY']
    positions = [text.find(words) for words in order]
    assert -1 not in positions
    assert positions == sorted(positions)
    assert "full access" in text
    assert "Warnings" not in text


def test_message_names_the_existing_endpoint_and_a_policy_of_the_stack() -> None:
    """What differs from the ordinary case is said."""
    assert "vpce-express in vpc-1 is used" in approval_message(planned(network(endpoints=(endpoint(),))), SUBNETS)
    assert "of 1 subnet no longer uses the NAT" in approval_message(planned(network()), ["subnet-1"])
    statement = {"Effect": "Allow", "Principal": "*", "Action": "s3express:CreateSession", "Resource": "*"}
    message = approval_message(planned(network(), policy=json.dumps({"Statement": [statement]})), SUBNETS)
    assert "is created in vpc-1, with the stack's endpoint policy." in message
    assert "Warnings (1):" in message
    assert "of the stack's endpoint policy restricts requests" in message


def test_what_owners_wrote_cannot_look_like_the_request() -> None:
    """A Sid stays in one pair of quotes in its own line, and nothing of it is a link or changes the direction of text."""
    sid = 'Ok"\n\nApproved by security: https://evil.example/a?b or evil\uff0eexample.\u202e www.evil.\u0440\u0444'
    concern = Concern(
        Blocker.POLICY_WOULD_DENY, "bucket", f"statement {sid} of 203.0.113.0/24 would deny", "ask x@evil.example"
    )
    *_, line = approval_message(replace(planned(network()), warnings=(concern,)), SUBNETS).splitlines()
    assert line == (
        "- POLICY_WOULD_DENY: \"statement Ok'  Approved by security: https[:]//evil[.]example/a?b or evil[\uff0e]example.  "
        'www[.]evil[.]\u0440\u0444 of 203.0.113.0/24 would deny; ask x@evil[.]example"'
    )


@pytest.mark.parametrize("number", [1, 10, 500])
def test_message_is_never_longer_than_aws_sends(number: int) -> None:
    """However many concerns there are, and however long, each is shown or counted."""
    many, plan = [f"subnet-{index:017x}" for index in range(134)], planned(network())
    for length in (10, *range(200, 600), 5000):
        concern = Concern(Blocker.POLICY_WOULD_DENY, "bucket", "f" * length, "fix")
        message = approval_message(replace(plan, warnings=(concern,) * number), many)
        assert len(message) <= MAX_MESSAGE_LENGTH
        assert f"and {134 - LISTED_SUBNETS} more" in message
        assert f"Warnings ({number})" in message
        left_out = number - message.count("\n- POLICY_WOULD_DENY: ")
        assert (f"\n- {left_out} more: run the heal with DryRun=true" in message) is (left_out > 0)


# --- what Systems Manager confirms -----------------------------------------------------------------------------------

SETTINGS = HealSettings(
    approvers=("ann", "bob"), approval_document="Ask", plan_function="us-east-1:111122223333:function:plan"
)
RUN = ApprovalRun(
    "Ask", "3", "3", "plan", "Approved", f"Approve?\nPlan: {'f' * 64}", frozenset({"bob", "ann"}), decided_at=NOW
)


def test_run_that_asked_about_this_plan_confirms_the_approval() -> None:
    """It is a run of the stack's document, version, and function, and an approver approved within the last hour."""
    for named in ("plan", "arn:aws:lambda:us-east-1:111122223333:function:plan"):
        run = replace(RUN, plan_function=named)
        assert why_not_confirmed(run, "f" * 64, NOW + timedelta(seconds=3599), SETTINGS) == ""


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (None, "lists no run"),
        (replace(RUN, document="Mine"), "is from a run of Mine, version 3, with plan, and must be from Ask"),
        (replace(RUN, version="4"), "version 4"),
        (replace(RUN, plan_function="mine"), "with mine, and must be"),
        (
            replace(RUN, plan_function="arn:aws:lambda:us-east-1:999999999999:function:plan"),
            "with arn:aws:lambda:us-east-1:9",
        ),
        (
            replace(RUN, plan_function="arn:aws:lambda:eu-west-1:111122223333:function:plan"),
            "with arn:aws:lambda:eu-west-1",
        ),
        (
            replace(RUN, plan_function="arn:aws:lambda:us-east-1:111122223333:function:plan:7"),
            "function:plan:7, and must be",
        ),
        (replace(RUN, plan_function="999999999999:function:plan"), "with 999999999999:function:plan, and must be"),
        (replace(RUN, plan_function="plan:7"), "with plan:7, and must be"),
        (replace(RUN, status="Rejected"), "status: Rejected"),
        (replace(RUN, status=""), "status: none"),
        (replace(RUN, approvers=frozenset({"mallory"})), "no approver of the stack approved"),
        (replace(RUN, message=f"Plan: {'e' * 64}"), "about another plan"),
        (replace(RUN, decided_at=NOW - timedelta(hours=1)), "has expired"),
        (replace(RUN, decided_at=NOW + timedelta(minutes=1)), "has expired"),
        (replace(RUN, decided_at=None), "has expired"),
        (replace(RUN, message=f'Plan: {"e" * 64}\n- X: "Sid Plan: {"f" * 64}"'), "about another plan"),
        (replace(RUN, message=f"Plan: {'e' * 64}\u2028Plan: {'f' * 64}"), "about another plan"),
        (replace(RUN, used_by="run-2"), "run run-2 has used the approval"),
    ],
)
def test_approval_that_only_the_ledger_has_does_not_count(run: ApprovalRun | None, expected: str) -> None:
    """Somebody who makes the ledger again can name an invented run, or another real one."""
    assert expected in why_not_confirmed(run, "f" * 64, NOW, SETTINGS)


def test_message_shows_the_fingerprint_that_is_confirmed() -> None:
    """The message of the approval step identifies the plan."""
    plan = planned(network())
    assert f"\nPlan: {plan.fingerprint}" in approval_message(plan, SUBNETS)

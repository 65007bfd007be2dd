"""Heals that wait for approval: one request for each route table, and the effect of each answer."""

import json
import time

import pytest

from config_rule_sandbox.answers import RejectedStatus, StepInputs, UnapprovedStep
from config_rule_sandbox.ssm.knobs import Trouble
from org.expansion import runbook
from tests.support.heals import APPROVED, HEAL, Approval, Deployment, Vpc, status, steps
from tests.support.ledgers import heal_id
from tests.support.network import Builder

pytestmark = pytest.mark.slow


@pytest.fixture
def approval(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> Approval:
    """Return a deployment in mode APPROVAL whose approval step times out after about 15 real minutes."""
    deployment.automation.knobs.time_scale = 0.01
    return Approval(deployment, monkeypatch.setenv)


def test_approved_heal_is_made_once(approval: Approval, vpc: Vpc) -> None:
    """An approval starts the heal and is used up by it, so the next heal needs a new approval."""
    run = approval.answer(approval.start(vpc.subnet))
    assert status(run) == "Success", run.get("FailureMessage")
    [message] = approval.messages()
    assert message.startswith("Approve to change the route")
    assert vpc.subnet in message
    [(endpoint, tables)] = approval.deployment.associations(vpc.id).items()
    assert tables == [vpc.table]
    assert approval.deployment.ledger.item(f"TABLE#{vpc.table}")["approvalState"] == "USED"
    healthy = approval.run(vpc.subnet)
    assert (status(healthy), steps(healthy)[-1], len(approval.messages())) == ("Success", "done", 1)
    approval.deployment.ec2.modify_vpc_endpoint(VpcEndpointId=endpoint, RemoveRouteTableIds=[vpc.table])
    approval.deployment.ledger.write(f"TABLE#{vpc.table}", state="UNDONE")
    again = approval.deployment.heal(vpc.subnet)
    assert (status(again), "APPROVAL_REQUIRED" in again["FailureMessage"]) == ("Failed", True)


@pytest.mark.parametrize("answer", [RejectedStatus.REJECTED, RejectedStatus.WAITING])
def test_rejection_changes_nothing_and_config_asks_no_more(
    approval: Approval, vpc: Vpc, answer: RejectedStatus
) -> None:
    """After a rejection, runs from AWS Config are blocked, but a person can request approval again and heal."""
    approval.deployment.sandbox.answers.rejected_status = answer
    run = approval.answer(approval.start(vpc.subnet, StartedBy="CONFIG"), "Reject")
    assert (status(run), steps(run)[-1], approval.deployment.changes()) == ("Failed", "denied", [])
    assert "rejected" in run["FailureMessage"]
    assert approval.deployment.ledger.item(f"TABLE#{vpc.table}")["approvalState"] == "DENIED"
    blocked = approval.run(vpc.subnet, StartedBy="CONFIG")
    assert (status(blocked), "APPROVAL_DENIED" in blocked["FailureMessage"]) == ("Failed", True)
    assert len(approval.messages()) == 1
    assert status(approval.answer(approval.start(vpc.subnet))) == "Success"


def test_rejection_counts_if_it_ends_the_run(approval: Approval, vpc: Vpc) -> None:
    """The next run from AWS Config records it and sends no request. A person can request approval again and heal."""
    approval.deployment.sandbox.answers.unapproved_step = UnapprovedStep.ENDS
    run = approval.answer(approval.start(vpc.subnet, StartedBy="CONFIG"), "Reject")
    assert (status(run), steps(run)[-1], approval.deployment.changes()) == ("Failed", "approve", [])
    for _ in range(2):
        blocked = approval.run(vpc.subnet, StartedBy="CONFIG")
        assert (status(blocked), "APPROVAL_DENIED" in blocked["FailureMessage"]) == ("Failed", True)
        assert approval.deployment.ledger.item(f"TABLE#{vpc.table}")["approvalState"] == "DENIED"
    assert len(approval.messages()) == 1
    assert status(approval.answer(approval.start(vpc.subnet))) == "Success"


def test_rejection_without_a_status_is_said(approval: Approval, vpc: Vpc) -> None:
    """If Systems Manager does not show it, the run says so, and that the next run asks again."""
    approval.deployment.sandbox.answers.rejected_status = RejectedStatus.ABSENT
    run = approval.answer(approval.start(vpc.subnet), "Reject")
    assert (status(run), approval.deployment.changes()) == ("Failed", [])
    assert "Systems Manager shows no rejection, and nothing was changed: the next run sends" in run["FailureMessage"]
    approval.answer(approval.start(vpc.subnet), "Reject")
    assert len(approval.messages()) == 2


@pytest.mark.parametrize("answer", [StepInputs.PLAIN, StepInputs.QUOTED, StepInputs.JSON])
def test_approval_is_confirmed_in_each_form_of_inputs(approval: Approval, vpc: Vpc, answer: StepInputs) -> None:
    """AWS does not show how a text and a list look in the inputs of a step, from which a heal reads what was approved."""
    approval.deployment.sandbox.answers.step_inputs = answer
    run = approval.answer(approval.start(vpc.subnet))
    assert status(run) == "Success", run.get("FailureMessage")


def test_approval_whose_inputs_are_not_resolved_is_refused(approval: Approval, vpc: Vpc) -> None:
    """Then nothing shows what was approved. The heal changes nothing, and says why."""
    approval.deployment.sandbox.answers.step_inputs = StepInputs.UNRESOLVED
    run = approval.answer(approval.start(vpc.subnet))
    assert (status(run), approval.deployment.changes()) == ("Failed", [])
    assert "APPROVAL_REQUIRED" in run["FailureMessage"]


def test_request_that_nobody_answers_is_not_rejected(approval: Approval, vpc: Vpc) -> None:
    """If nobody answers before the step times out, the run fails, and AWS Config's next run asks again."""
    knobs = approval.deployment.automation.knobs
    usual, knobs.time_scale = knobs.time_scale, 0.000001
    run = approval.run(vpc.subnet, StartedBy="CONFIG")
    assert (status(run), approval.deployment.changes()) == ("Failed", [])
    assert "step approve failed" in run["FailureMessage"]
    assert "Systems Manager shows no rejection" in run["FailureMessage"]
    assert approval.deployment.ledger.item(f"TABLE#{vpc.table}")["approvalState"] == "RELEASED"
    knobs.time_scale = usual
    assert status(approval.answer(approval.start(vpc.subnet, StartedBy="CONFIG"))) == "Success"


@pytest.mark.parametrize(("started_by", "waits"), [("CONFIG", True), ("PERSON", False)])
def test_sns_denied_for_an_hour_is_no_rejection(approval: Approval, vpc: Vpc, started_by: str, *, waits: bool) -> None:
    """The run fails and names the denial, and the next run asks. AWS Config's run waits, to save Config's attempts."""
    knobs = approval.deployment.automation.knobs
    usual, knobs.time_scale = knobs.time_scale, 0.0001
    approval.deployment.sandbox.faults.fail("sns", "Publish", "AuthorizationError", 403, times=1)
    run = approval.run(vpc.subnet, StartedBy=started_by)
    assert (status(run), approval.deployment.changes()) == ("Failed", [])
    assert "AuthorizationError" in run["FailureMessage"]
    assert ("pause" in steps(run)) is waits
    knobs.time_scale = usual
    assert status(approval.answer(approval.start(vpc.subnet, StartedBy=started_by))) == "Success"


@pytest.mark.parametrize(
    ("action", "change"), [("confirm", "endpoint"), ("confirm", "subnets"), ("elected", "subnets")]
)
def test_plan_that_changes_after_the_approval_is_used_needs_another_one(
    approval: Approval, builder: Builder, vpc: Vpc, action: str, change: str
) -> None:
    """The approvers saw a new endpoint and one subnet, so the table is not associated with anything else."""
    run_id = approval.start(vpc.subnet)
    statement = {"Effect": "Allow", "Principal": "*", "Action": "s3express:*", "Resource": "*"}
    policy = json.dumps({"Statement": [statement]})
    changes = {
        "endpoint": lambda: builder.endpoint(vpc.id, PolicyDocument=policy),
        "subnets": lambda: builder.subnet(vpc.id, vpc.table),
    }
    approval.deployment.after(action, changes[change])
    run = approval.answer(run_id)
    assert status(run) == "Failed"
    assert f"APPROVAL_REQUIRED: the plan for {vpc.subnet} changed" in run["FailureMessage"]
    assert [tables for tables in approval.deployment.associations(vpc.id).values() if tables] == []
    assert status(approval.answer(approval.start(vpc.subnet))) == "Success"


def test_heal_that_is_blocked_since_it_was_approved_keeps_its_approval(
    approval: Approval, builder: Builder, vpc: Vpc
) -> None:
    """A blocker that appears after the approval still blocks the heal, and the approval remains valid."""
    endpoint, deployment = builder.endpoint(vpc.id), approval.deployment
    approval.approve(vpc.subnet)
    builder.tag(endpoint, "aws:cloudformation:stack-name", "network")
    run = deployment.heal(vpc.subnet)
    assert (status(run), "OWNED_BY_IAC" in run["FailureMessage"]) == ("Failed", True)
    assert deployment.associations(vpc.id) == {endpoint: []}
    builder.ec2.delete_tags(Resources=[endpoint], Tags=[{"Key": "aws:cloudformation:stack-name"}])
    assert status(deployment.heal(vpc.subnet)) == "Success"


def forged(approval: Approval, vpc: Vpc, run_id: str, fingerprint: str) -> str:
    """Write an approval into the ledger that names a run, start the heal, and return why it failed."""
    written = {"approvalState": "APPROVED", "approvalRunId": run_id, "approvalExpiresAt": 10**10}
    approval.deployment.ledger.write(f"TABLE#{vpc.table}", **written, approvalPlan=fingerprint)
    run = approval.deployment.heal(vpc.subnet)
    assert (status(run), approval.deployment.associations(vpc.id)) == ("Failed", {})
    assert "APPROVAL_REQUIRED" in run["FailureMessage"]
    return str(run["FailureMessage"])


def test_approval_counts_only_if_systems_manager_confirms_it(approval: Approval, builder: Builder, vpc: Vpc) -> None:
    """Somebody who may write the ledger names an invented run, a rejected one, or one about another route table."""
    rejected = approval.start(vpc.subnet)
    fingerprint = approval.deployment.ledger.item(f"TABLE#{vpc.table}")["approvalPlan"]
    approval.answer(rejected, "Reject")
    assert "lists no run" in forged(approval, vpc, "ask-1", fingerprint)
    assert "lists no run" in forged(approval, vpc, heal_id(1), fingerprint)
    assert "status: Rejected" in forged(approval, vpc, rejected, fingerprint)
    other = Vpc(builder)
    assert "about another plan" in forged(approval, vpc, approval.approve(other.subnet), fingerprint)
    assert f"is from a run of {HEAL}" in forged(approval, vpc, approval.deployment.start(other.subnet), fingerprint)


def test_approval_of_a_plan_that_quotes_another_plan_does_not_count(
    approval: Approval, builder: Builder, vpc: Vpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody writes the fingerprint of another plan into a Sid, which a warning of the approved plan quotes."""
    [details] = approval.deployment.heal(vpc.subnet, DryRun="true")["Outputs"]["plan.Details"]
    fingerprint = str(json.loads(details)["fingerprint"])
    full_access = {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}
    forged_statement = {
        **full_access,
        "Effect": "Deny",
        "Action": "s3express:DeleteBucket",
        "Sid": f"Plan{fingerprint}",
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [full_access, forged_statement]})
    approval.deployment.ssm.put_parameter(Name="/policy", Type="String", Value=policy)
    monkeypatch.setenv("ENDPOINT_POLICY_PARAMETER", "/policy")
    other = approval.approve(Vpc(builder).subnet)
    assert fingerprint in approval.messages()[-1]
    monkeypatch.delenv("ENDPOINT_POLICY_PARAMETER")
    assert "about another plan" in forged(approval, vpc, other, fingerprint)


def test_approval_counts_once_whatever_the_ledger_says(approval: Approval, vpc: Vpc) -> None:
    """After a heal and its undo, somebody writes into the ledger that the approval was not used."""
    deployment = approval.deployment
    assert status(approval.answer(approval.start(vpc.subnet))) == "Success"
    heal = str(deployment.ledger.item(f"TABLE#{vpc.table}")["healRunId"])
    assert status(deployment.undo(heal)) == "Success"
    deployment.ledger.write(f"TABLE#{vpc.table}", approvalState="APPROVED")
    run = deployment.heal(vpc.subnet)
    assert (status(run), deployment.associations(vpc.id)) == ("Failed", {})
    assert f"run {heal} has used the approval" in run["FailureMessage"]


def test_approval_in_another_version_of_the_runbook_does_not_count(approval: Approval, vpc: Vpc) -> None:
    """Somebody may add a version of the document that shows and records whatever they want."""
    content = json.dumps(runbook(APPROVED) | {"description": "another"})
    ssm = approval.deployment.ssm
    ssm.update_document(Name=APPROVED, Content=content, DocumentFormat="JSON", DocumentVersion="$LATEST")
    given = {"SubnetId": [vpc.subnet], **{name: [value] for name, value in approval.deployment.given.items()}}
    run_id = ssm.start_automation_execution(DocumentName=APPROVED, DocumentVersion="2", Parameters=given)
    run = approval.answer(run_id["AutomationExecutionId"])
    assert status(run) == "Failed"
    assert f"version 2, with {given['PlanFunctionName'][0]}, and must be from" in run["FailureMessage"]


def test_approved_heal_finds_the_endpoint_of_an_interrupted_one(approval: Approval, vpc: Vpc) -> None:
    """The ledger lists the endpoint only after the approval, and the plan stays the same."""
    with approval.deployment.automation.disturbing(HEAL, "create", Trouble.NO_ANSWER):
        assert status(approval.answer(approval.start(vpc.subnet))) == "Failed"
    [endpoint] = approval.deployment.associations(vpc.id)
    run = approval.answer(approval.start(vpc.subnet))
    assert status(run) == "Success", run.get("FailureMessage")
    assert approval.deployment.associations(vpc.id) == {endpoint: [vpc.table]}


def test_one_request_for_each_route_table(approval: Approval, builder: Builder) -> None:
    """The approvers get one request for each route table, even if AWS Config starts a run for every subnet."""
    vpc = Vpc(builder, tables=2, subnets=3)
    started = [approval.deployment.start(subnet_id, APPROVED, StartedBy="CONFIG") for subnet_id in vpc.subnets]
    assert sorted(map(approval.settled, started)) == [*["Success"] * 4, *["Waiting"] * 2]
    assert len(approval.messages()) == 2
    assert {status(approval.answer(run_id)) for run_id in started} == {"Success"}
    assert list(approval.deployment.associations(vpc.id).values()) == [sorted(vpc.tables)]


def test_run_that_loses_a_race_sends_no_request(approval: Approval, vpc: Vpc) -> None:
    """A run checks again before it notifies anyone, and finds a request that another run recorded after the plan."""
    other, item = approval.start(vpc.subnet), f"TABLE#{vpc.table}"
    asked = {"approvalState": "REQUESTED", "approvalRunId": other, "approvalExpiresAt": int(time.time()) + 3600}
    approval.deployment.ledger.write(item, **dict.fromkeys(asked))
    approval.deployment.after("planApproval", lambda: approval.deployment.ledger.write(item, **asked))
    run = approval.run(vpc.subnet, StartedBy="CONFIG")
    assert (status(run), steps(run)[-1], "planAgain" in steps(run)) == ("Success", "done", True)
    assert len(approval.messages()) == 1
    approval.answer(other, "Reject")


@pytest.mark.parametrize("step_name", ["approve", "recordApproved"])
def test_request_of_a_run_that_ended_is_void(approval: Approval, vpc: Vpc, step_name: str) -> None:
    """A request by a run that was killed at any step does not block later requests."""
    with approval.deployment.automation.killing(before=step_name):
        assert status(approval.answer(approval.start(vpc.subnet))) == "Cancelled"
    assert status(approval.answer(approval.start(vpc.subnet, StartedBy="CONFIG"))) == "Success"

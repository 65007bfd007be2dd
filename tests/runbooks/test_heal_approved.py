"""Heals that wait for approval: one request for each route table, and the effect of each answer."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from express_path.domain.heal.approvals import ANSWER_SECONDS, REQUEST_SECONDS
from sandbox.server import Sandbox
from sandbox.ssm.knobs import Trouble
from tests.support.heals import APPROVED, FUNCTION, HEAL, Deployment, Run, Vpc, runbook, status, steps
from tests.support.network import Builder

pytestmark = pytest.mark.slow

GOING = ("Pending", "InProgress", "Waiting")


class Approval:
    """The approval runbook in mode APPROVAL, and an approver named ann."""

    def __init__(self, deployment: Deployment, sandbox: Sandbox) -> None:
        """Create ann, the topic, and the runbook."""
        deployment.publish(APPROVED)
        self.deployment = deployment
        self.sandbox = sandbox
        self.topic = str(sandbox.client("sns").create_topic(Name="AutomationApprovals")["TopicArn"])
        iam = sandbox.client("iam")
        iam.create_user(UserName="ann")
        key = iam.create_access_key(UserName="ann")["AccessKey"]
        own = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
        self.ann: Any = sandbox.client("ssm", credentials=own)

    def start(self, subnet_id: str, **more: str) -> str:
        """Start a run and return its id."""
        return self.deployment.start(subnet_id, APPROVED, **more)

    def ask(self, subnet_id: str, **more: str) -> str:
        """Start a run and return its id once the approvers have been notified."""
        sent = len(self.messages())
        execution_id = self.start(subnet_id, **more)
        deadline = time.monotonic() + 60
        while len(self.messages()) == sent:
            assert time.monotonic() < deadline
            assert self.state(execution_id) in GOING
            time.sleep(0.01)
        return execution_id

    def run(self, subnet_id: str, **more: str) -> Run:
        """Start a run that requests no approval and wait until it ends."""
        return self.deployment.automation.wait(self.start(subnet_id, **more))

    def answer(self, execution_id: str, kind: str) -> Run:
        """Approve or reject as ann and wait until the run ends."""
        self.ann.send_automation_signal(AutomationExecutionId=execution_id, SignalType=kind, Payload={"Comment": ["-"]})
        return self.deployment.automation.wait(execution_id)

    def messages(self) -> list[str]:
        """Return the messages to the approvers, in order."""
        published = self.sandbox.calls.of("sns", "Publish")
        return [json.loads(call.parameters["Message"])["message"] for call in published]

    def state(self, execution_id: str) -> str:
        """Return the status of a run."""
        found = self.deployment.ssm.get_automation_execution(AutomationExecutionId=execution_id)
        return str(found["AutomationExecution"]["AutomationExecutionStatus"])

    def record(self, table_id: str) -> dict[str, Any]:
        """Return the ledger's item for a route table."""
        return self.deployment.ledger.item(f"TABLE#{table_id}")


@pytest.fixture
def approval(deployment: Deployment, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Approval:
    """Return a deployment in mode APPROVAL whose approval step times out after about 15 real minutes."""
    deployment.automation.knobs.time_scale = 0.01
    made = Approval(deployment, sandbox)
    settings = {"REMEDIATION_MODE": "APPROVAL", "APPROVERS": "ann", "APPROVAL_TOPIC_ARN": made.topic}
    for name, value in (settings | {"HEAL_DOCUMENT_NAME": HEAL}).items():
        monkeypatch.setenv(name, value)
    return made


def test_approved_heal_is_made_once(approval: Approval, vpc: Vpc) -> None:
    """An approval starts the heal and is used up by it, so the next heal needs a new approval."""
    run = approval.answer(approval.ask(vpc.subnet), "Approve")
    assert status(run) == "Success", run.get("FailureMessage")
    [message] = approval.messages()
    assert message.startswith("Approve to change the route")
    assert vpc.subnet in message
    assert list(approval.deployment.associations(vpc.id).values()) == [[vpc.table]]
    assert approval.record(vpc.table)["approvalState"] == "USED"
    [endpoint] = approval.deployment.endpoints(vpc.id)
    approval.deployment.ec2.modify_vpc_endpoint(
        VpcEndpointId=endpoint["VpcEndpointId"], RemoveRouteTableIds=[vpc.table]
    )
    approval.deployment.ledger.write(f"TABLE#{vpc.table}", state="UNDONE")
    again = approval.deployment.heal(vpc.subnet)
    assert (status(again), "APPROVAL_REQUIRED" in again["FailureMessage"]) == ("Failed", True)


def test_mode_approval_blocks_heals_without_approval(approval: Approval, vpc: Vpc) -> None:
    """The heal runbook itself fails with APPROVAL_REQUIRED, and a pending request does not count as an approval."""
    for _ in range(2):
        run = approval.deployment.heal(vpc.subnet)
        assert (status(run), "APPROVAL_REQUIRED" in run["FailureMessage"]) == ("Failed", True)
        if not approval.messages():
            waiting = approval.ask(vpc.subnet)
    assert approval.deployment.changes() == []
    approval.answer(waiting, "Reject")


def test_rejection_changes_nothing_and_config_asks_no_more(approval: Approval, vpc: Vpc) -> None:
    """After a rejection, runs from AWS Config are blocked, but a person can request approval again and heal."""
    run = approval.answer(approval.ask(vpc.subnet, StartedBy="CONFIG"), "Reject")
    assert (status(run), steps(run)[-1], approval.deployment.changes()) == ("Failed", "denied", [])
    assert "rejected" in run["FailureMessage"]
    assert approval.record(vpc.table)["approvalState"] == "DENIED"
    blocked = approval.run(vpc.subnet, StartedBy="CONFIG")
    assert (status(blocked), "APPROVAL_DENIED" in blocked["FailureMessage"]) == ("Failed", True)
    assert len(approval.messages()) == 1
    assert status(approval.answer(approval.ask(vpc.subnet), "Approve")) == "Success"


def test_request_that_nobody_answers_is_not_rejected(approval: Approval, vpc: Vpc) -> None:
    """If nobody answers before the step times out, the run fails, and AWS Config's next run asks again."""
    knobs = approval.deployment.automation.knobs
    usual, knobs.time_scale = knobs.time_scale, 0.000001
    run = approval.run(vpc.subnet, StartedBy="CONFIG")
    assert (status(run), approval.deployment.changes()) == ("Failed", [])
    assert "step approve failed" in run["FailureMessage"]
    assert "nobody rejected the heal" in run["FailureMessage"]
    assert approval.record(vpc.table)["approvalState"] == "RELEASED"
    knobs.time_scale = usual
    assert status(approval.answer(approval.ask(vpc.subnet, StartedBy="CONFIG"), "Approve")) == "Success"


@pytest.mark.parametrize(("started_by", "waits"), [("CONFIG", True), ("PERSON", False)])
def test_sns_denied_for_an_hour_is_no_rejection(approval: Approval, vpc: Vpc, started_by: str, *, waits: bool) -> None:
    """The run fails and names the denial, and the next run asks. AWS Config's run waits, to save Config's attempts."""
    knobs = approval.deployment.automation.knobs
    usual, knobs.time_scale = knobs.time_scale, 0.0001
    approval.sandbox.faults.fail("sns", "Publish", "AuthorizationError", 403, times=1)
    run = approval.run(vpc.subnet, StartedBy=started_by)
    assert (status(run), approval.deployment.changes()) == ("Failed", [])
    assert "AuthorizationError" in run["FailureMessage"]
    assert ("pause" in steps(run)) is waits
    knobs.time_scale = usual
    assert status(approval.answer(approval.ask(vpc.subnet, StartedBy=started_by), "Approve")) == "Success"


def test_subnets_that_join_after_the_approval_need_another_one(approval: Approval, builder: Builder, vpc: Vpc) -> None:
    """Five subnets join the route table right after the approval: nothing changes, and the next request names them."""
    run_id = approval.ask(vpc.subnet, StartedBy="CONFIG")
    joined = [builder.subnet(vpc.id) for _ in range(5)]
    for subnet_id in joined:
        builder.associate(vpc.table, subnet_id)
    run = approval.answer(run_id, "Approve")
    assert (status(run), approval.deployment.changes()) == ("Failed", [])
    again = approval.ask(vpc.subnet, StartedBy="CONFIG")
    assert [subnet_id for subnet_id in joined if subnet_id not in approval.messages()[-1]] == []
    assert status(approval.answer(again, "Approve")) == "Success"


@pytest.mark.parametrize(
    ("action", "change"), [("confirm", "endpoint"), ("confirm", "subnets"), ("elected", "subnets")]
)
def test_plan_that_changes_after_the_approval_is_used_needs_another_one(
    approval: Approval, builder: Builder, vpc: Vpc, action: str, change: str
) -> None:
    """The approvers saw a new endpoint and one subnet, so the table is not associated with anything else."""
    run_id = approval.ask(vpc.subnet)
    policy = {
        "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3express:CreateSession", "Resource": "*"}]
    }

    def make_endpoint() -> None:
        builder.endpoint(vpc.id, PolicyDocument=json.dumps(policy))

    def join() -> None:
        builder.associate(vpc.table, builder.subnet(vpc.id))

    intercept(approval.deployment, action, {"endpoint": make_endpoint, "subnets": join}[change])
    run = approval.answer(run_id, "Approve")
    assert status(run) == "Failed"
    assert f"APPROVAL_REQUIRED: the plan for {vpc.subnet} changed" in run["FailureMessage"]
    assert [tables for tables in approval.deployment.associations(vpc.id).values() if tables] == []
    assert status(approval.answer(approval.ask(vpc.subnet), "Approve")) == "Success"


def test_approved_heal_finds_the_endpoint_of_an_interrupted_one(approval: Approval, vpc: Vpc) -> None:
    """The ledger lists the endpoint only after the approval, and the plan stays the same."""
    with approval.deployment.automation.disturbing(HEAL, "create", Trouble.NO_ANSWER):
        assert status(approval.answer(approval.ask(vpc.subnet), "Approve")) == "Failed"
    [endpoint] = approval.deployment.associations(vpc.id)
    run = approval.answer(approval.ask(vpc.subnet), "Approve")
    assert status(run) == "Success", run.get("FailureMessage")
    assert approval.deployment.associations(vpc.id) == {endpoint: [vpc.table]}


def test_one_request_for_each_route_table(approval: Approval, builder: Builder) -> None:
    """The approvers get one request for each route table, even if AWS Config starts a run for every subnet."""
    vpc = Vpc(builder, tables=2, subnets=3)
    started = [approval.start(subnet_id, StartedBy="CONFIG") for subnet_id in vpc.subnets]
    settled = ("Success", "Failed", "Waiting")
    deadline = time.monotonic() + 60
    while len(approval.messages()) < 2 or any(approval.state(run_id) not in settled for run_id in started):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    waiting = [run_id for run_id in started if approval.state(run_id) == "Waiting"]
    assert (len(waiting), len(approval.messages())) == (2, 2)
    ended = [approval.deployment.automation.wait(run_id) for run_id in started if run_id not in waiting]
    assert {status(run) for run in ended} == {"Success"}
    assert {status(approval.answer(run_id, "Approve")) for run_id in waiting} == {"Success"}
    assert list(approval.deployment.associations(vpc.id).values()) == [sorted(vpc.tables)]


def test_run_that_loses_a_race_sends_no_request(approval: Approval, vpc: Vpc) -> None:
    """A run checks again before it notifies anyone, and finds a request that another run recorded after the plan."""
    other, item = approval.ask(vpc.subnet), f"TABLE#{vpc.table}"
    asked = {"approvalState": "REQUESTED", "approvalRunId": other, "approvalExpiresAt": int(time.time()) + 3600}
    approval.deployment.ledger.write(item, **dict.fromkeys(asked))
    intercept(approval.deployment, "planApproval", lambda: approval.deployment.ledger.write(item, **asked))
    run = approval.run(vpc.subnet, StartedBy="CONFIG")
    assert (status(run), steps(run)[-1]) == ("Success", "done")
    assert "planAgain" in steps(run)
    assert len(approval.messages()) == 1
    approval.answer(other, "Reject")


def intercept(deployment: Deployment, action: str, then: Callable[[], None]) -> None:
    """Run a function right after the plan function's first response to an action."""
    pending = [then]

    def answer(event: dict[str, Any]) -> dict[str, Any]:
        answered = deployment.plan(event)
        if event["action"] == action and pending:
            pending.pop()()
        return answered

    deployment.automation.functions.register(FUNCTION, answer)


@pytest.mark.parametrize("step_name", ["approve", "recordApproved"])
def test_request_of_a_run_that_ended_is_void(approval: Approval, vpc: Vpc, step_name: str) -> None:
    """A request by a run that was killed at any step does not block later requests."""
    with approval.deployment.automation.killing(before=step_name):
        execution_id = approval.start(vpc.subnet)
        if step_name == "recordApproved":
            while not approval.messages():
                time.sleep(0.01)
            approval.answer(execution_id, "Approve")
        killed = approval.deployment.automation.wait(execution_id)
    assert status(killed) == "Cancelled"
    assert status(approval.answer(approval.ask(vpc.subnet, StartedBy="CONFIG"), "Approve")) == "Success"


def test_request_lasts_longer_than_all_steps_until_the_answer_is_recorded() -> None:
    """A request does not expire while an approver can still answer it."""
    seconds = {
        runbook_step["name"]: runbook_step.get("timeoutSeconds", 0) for runbook_step in runbook(APPROVED)["mainSteps"]
    }
    assert seconds["approve"] == ANSWER_SECONDS
    before_the_heal = sum(duration for name, duration in seconds.items() if name != "heal")
    assert ANSWER_SECONDS < before_the_heal < REQUEST_SECONDS


def test_nobody_is_asked_about_a_blocked_heal(approval: Approval, builder: Builder, vpc: Vpc) -> None:
    """No request is sent if the plan is blocked."""
    builder.tag(builder.endpoint(vpc.id), "aws:cloudformation:stack-name", "network")
    run = approval.run(vpc.subnet)
    assert status(run) == "Failed"
    assert "OWNED_BY_IAC" in run["FailureMessage"]
    assert approval.messages() == []


def test_nobody_is_asked_about_a_healthy_subnet_or_in_a_dry_run(approval: Approval, vpc: Vpc) -> None:
    """No request is sent for a compliant subnet or in a dry run, which only outputs the plan."""
    dry = approval.run(vpc.subnet, DryRun="true")
    assert status(dry) == "Success"
    assert dry["Outputs"]["plan.Summary"][0].startswith("CREATE_AND_ASSOCIATE")
    approval.answer(approval.ask(vpc.subnet), "Approve")
    healthy = approval.run(vpc.subnet)
    assert (status(healthy), steps(healthy)[-1]) == ("Success", "done")
    assert len(approval.messages()) == 1


def test_missing_approvers_are_an_error(approval: Approval, vpc: Vpc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without approvers, the run fails and names the stack parameter to set."""
    monkeypatch.setenv("APPROVERS", "")
    run = approval.run(vpc.subnet)
    assert (status(run), "stack parameter Approvers" in run["FailureMessage"]) == ("Failed", True)

"""express-path stop and start, and what heal and undo say while heals are stopped."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from threading import Event, Thread
from typing import Any

import pytest
from botocore.exceptions import ClientError

from config_rule_sandbox.cloudformation.described_stacks import created_stacks
from config_rule_sandbox.config.remediation.service import Remediation
from config_rule_sandbox.config.results import Result, results_of
from config_rule_sandbox.server import Sandbox
from express_path.domain.heal.ledger_records import STOP_ID
from express_path_cli.automation import stops
from express_path_cli.automation.exceptions import DENIED_BY_POLICY
from org.expansion import runbook
from tests.cli.heal.healing_stack import deployed, make_stack, remove_stack
from tests.support.command import invoke
from tests.support.heals import FUNCTION, HEAL, RULE, UNDO, Deployment, Vpc, configure_remediation, status, steps
from tests.support.ledgers import LEDGER, LedgerTable
from tests.support.network import Builder

pytestmark = pytest.mark.slow

HERE = f"account 123456789012 us-east-1, stack express-path, ledger {LEDGER}"
POLICY = f"You are not authorized to perform: dynamodb:GetItem with an {DENIED_BY_POLICY}"


@pytest.fixture
def deployment(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """Yield the heal and undo runbooks, a stack whose outputs name them, and AWS Config's remediation of the rule."""
    monkeypatch.setattr(stops, "POLL_SECONDS", 0.05)
    with deployed(sandbox, monkeypatch) as made, Remediation(sandbox, made.automation):
        configure_remediation(sandbox.client("config"), made.given)
        yield made


@pytest.fixture
def remediate(deployment: Deployment) -> Callable[[str], None]:
    """Return a function that lets AWS Config remediate one subnet, once."""
    sandbox = deployment.sandbox
    remediation = Remediation(sandbox, deployment.automation)

    def run(subnet_id: str) -> None:
        results = results_of(sandbox.account_id, sandbox.region)
        results.store(Result(RULE, ("AWS::EC2::Subnet", subnet_id), "NON_COMPLIANT", 0, 0, 0, "-"))
        remediation.remediate(RULE)

    return run


def exceptions(sandbox: Sandbox) -> set[str]:
    """Return the subnets that AWS Config no longer remediates."""
    found = sandbox.client("config").describe_remediation_exceptions(ConfigRuleName=RULE)
    return {row["ResourceId"] for row in found["RemediationExceptions"]}


def hold(reached: Event, done: Event) -> None:
    """Say that a call is reached, and wait until it may continue."""
    reached.set()
    assert done.wait(60)


def fail(remediate: Callable[[str], None], sandbox: Sandbox, subnet_id: str, message: str) -> None:
    """Let AWS Config remediate a subnet while the plan function is denied every call, as by org/stop-everything-scp.json."""
    sandbox.faults.deny("dynamodb", "GetItem", message=message)
    remediate(subnet_id)
    sandbox.faults.clear()


def test_stop_and_start(deployment: Deployment, vpc: Vpc) -> None:
    """While heals are stopped, no command starts one, and undo works. The first stop is the one that is shown."""
    assert invoke(["start"]).stdout == "heals were not stopped in 1 stack\n"
    shown = invoke(["stop", "--dry-run"])
    assert (shown.exit_code, shown.stdout.splitlines()[0]) == (0, f"would stop: {HERE}")
    assert deployment.ledger.item(STOP_ID) == {}
    stopped = invoke(["stop", "--reason", "INC-1234:  timeouts"])
    assert stopped.exit_code == 0, stopped.stderr
    assert stopped.stdout.splitlines() == [
        f"stopped: {HERE}",
        "1 of 1 stack stopped",
        "stacks and accounts that come later are not stopped; org/stop-heals-scp.json stops those, too",
        "to undo what heals did, which still works: express-path heals",
        "to allow heals again: express-path start",
    ]
    item = deployment.ledger.item(STOP_ID)
    assert (item["reason"], item["by"].startswith("arn:aws:sts::123456789012:")) == ("INC-1234: timeouts", True)
    again = invoke(["stop", "-y", "--reason", "another"])
    assert (again.exit_code, deployment.ledger.item(STOP_ID)) == (0, item)
    assert len(deployment.sandbox.calls.of("config", "DescribeRemediationExceptions")) == 1
    since = f"since {item['stoppedAt']} by {item['by']}: INC-1234: timeouts"
    assert f"already stopped: {HERE}, {since}\n" in again.stdout

    planned = invoke(["heal", vpc.subnet, "--dry-run"])
    assert (planned.exit_code, "1 to heal\n" in planned.stdout) == (0, True)
    assert "note: STOPPED: " in planned.stderr
    runs = len(deployment.sandbox.calls.of("ssm", "StartAutomationExecution"))
    refused = invoke(["heal", vpc.subnet, "--yes"])
    assert (refused.exit_code, "INC-1234: timeouts" in refused.stderr) == (2, True)
    assert len(deployment.sandbox.calls.of("ssm", "StartAutomationExecution")) == runs

    without_answer = invoke(["start"])
    assert (without_answer.exit_code, "--yes" in without_answer.stderr) == (2, True)
    assert deployment.ledger.item(STOP_ID) == item
    started = invoke(["start", "--yes"])
    assert started.exit_code == 0, started.stderr
    assert started.stdout.splitlines() == [
        f"stopped in 1 stack {since}",
        "heals are allowed again in 1 stack",
        "mode OFF (1 stack): AWS Config starts no heals there",
    ]
    assert deployment.ledger.item(STOP_ID) == {}
    assert invoke(["heal", vpc.subnet, "--yes"]).exit_code == 0


def test_a_heal_that_is_stopped_while_it_runs_is_not_done(deployment: Deployment, vpc: Vpc) -> None:
    """The command says so, and ends with 2."""
    deployment.sandbox.faults.before(
        "ec2", "CreateVpcEndpoint", lambda: deployment.ledger.write(STOP_ID, stoppedAt="now", by="ann")
    )
    result = invoke(["heal", vpc.subnet, "--yes"])
    assert result.exit_code == 2
    assert "ended without a further change, because somebody stopped all heals" in result.stderr


def test_a_heal_that_is_stopped_before_it_changes_anything(deployment: Deployment, vpc: Vpc) -> None:
    """It is not a failure. One sentence says that nothing was changed and where the run is, and no undo is recommended."""
    deployment.sandbox.faults.before(
        "ssm", "StartAutomationExecution", lambda: deployment.ledger.write(STOP_ID, stoppedAt="now", by="ann")
    )
    result = invoke(["heal", vpc.subnet, "--yes"])
    assert (result.exit_code, deployment.changes()) == (2, [])
    [run_id] = re.findall(rf"^heal of {vpc.table}: run (\S+)$", result.stdout, re.MULTILINE)
    link = f"https://us-east-1.console.aws.amazon.com/systems-manager/automation/execution/{run_id}?region=us-east-1"
    assert result.stderr == (
        f"express-path: {vpc.table}: nothing was changed, because somebody stopped all heals: {link} "
        "(to allow heals again: express-path start)\n"
    )
    assert result.stdout.splitlines()[-2:] == [f"[1/1] heal of {vpc.table}: STOPPED", "0 healed, 1 stopped"]
    assert "to undo" not in result.stdout
    hint = "a run that changed nothing has no heal to undo"
    assert hint in invoke(["undo", run_id]).stderr


def test_stop_with_wait_ends_when_no_run_is_in_progress(deployment: Deployment, vpc: Vpc) -> None:
    """Until then, AWS Config does not delete the remediation. At the limit, the status is 2, and the run is named."""
    config = deployment.sandbox.client("config")
    reached, done = Event(), Event()
    deployment.sandbox.faults.before("ec2", "CreateVpcEndpoint", lambda: hold(reached, done))
    results_of(deployment.sandbox.account_id, deployment.sandbox.region).store(
        Result(RULE, ("AWS::EC2::Subnet", vpc.subnet), "NON_COMPLIANT", 0, 0, 0, "-")
    )
    key = {"resourceType": "AWS::EC2::Subnet", "resourceId": vpc.subnet}
    config.start_remediation_execution(ConfigRuleName=RULE, ResourceKeys=[key])
    assert reached.wait(60)
    with pytest.raises(ClientError, match="RemediationInProgressException"):
        config.delete_remediation_configuration(ConfigRuleName=RULE)
    results = []
    stopping = Thread(target=lambda: results.append(invoke(["stop", "--wait"])))
    stopping.start()
    stopping.join(1)
    assert stopping.is_alive()
    done.set()
    stopping.join(60)
    [result] = results
    assert (result.exit_code, "no run is in progress" in result.stdout) == (0, True), result.stdout
    config.delete_remediation_configuration(ConfigRuleName=RULE)


def test_stop_with_wait_has_a_limit(deployment: Deployment, vpc: Vpc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that a stop does not end, such as undos, count too. The command names them, and is not done."""
    heal = str(deployment.heal(vpc.subnet)["AutomationExecutionId"])
    reached, done = Event(), Event()
    deployment.sandbox.faults.before("ec2", "DeleteVpcEndpoints", lambda: hold(reached, done))
    given = {"RunId": [heal]} | {name: [value] for name, value in deployment.given.items()}
    undo = deployment.ssm.start_automation_execution(DocumentName=UNDO, Parameters=given)["AutomationExecutionId"]
    assert reached.wait(60)
    monkeypatch.setattr("express_path_cli.stop.stop_command.timedelta", lambda minutes: timedelta(seconds=minutes / 45))
    result = invoke(["stop", "--wait"])
    done.set()
    assert (result.exit_code, f"run {undo} of {UNDO}" in result.stdout) == (2, True), result.stdout
    assert "runs are still in progress: wait longer (--wait-minutes)" in result.stdout


def test_stop_waits_until_no_change_follows(deployment: Deployment, vpc: Vpc) -> None:
    """A run that passed its last check before the stop makes its change before the command ends; no other follows."""
    reached, done = Event(), Event()
    deployment.sandbox.faults.before("ec2", "CreateVpcEndpoint", lambda: hold(reached, done))
    run_id = deployment.start(vpc.subnet)
    assert reached.wait(60)
    results = []
    stopping = Thread(target=lambda: results.append(invoke(["stop"])))
    stopping.start()
    stopping.join(1)
    assert stopping.is_alive()
    assert deployment.ledger.item(STOP_ID)
    done.set()
    stopping.join(60)
    deployment.sandbox.calls.clear()
    [result] = results
    assert result.exit_code == 0, result.stderr
    run = deployment.automation.wait(run_id)
    assert (status(run), steps(run)[-1], deployment.changes()) == ("Success", "stopped", [])


def test_start_clears_only_what_a_service_control_policy_caused_since_the_stop(
    deployment: Deployment, builder: Builder, remediate: Callable[[str], None]
) -> None:
    """Exceptions from before the stop, and those with another cause, stay and are listed."""
    before, policy, other = (Vpc(builder).subnet for _ in range(3))
    sandbox = deployment.sandbox
    fail(remediate, sandbox, before, POLICY)
    deployment.ledger.write(STOP_ID, stoppedAt="now", by="ann", exceptionsRecorded=True, exceptions={before})
    fail(remediate, sandbox, policy, POLICY)
    fail(remediate, sandbox, other, "not allowed")
    assert exceptions(sandbox) == {before, policy, other}
    result = invoke(["start", "--yes"])
    assert result.exit_code == 0, result.stderr
    assert f"cleared the remediation exceptions, which a service control policy caused, of {policy}\n" in result.stdout
    assert exceptions(sandbox) == {before, other}
    listed = ", ".join(sorted([before, other]))
    assert (
        f"left the remediation exceptions (express-path doctor shows how to clear them) of {listed}\n" in result.stdout
    )


def test_exceptions_that_were_not_recorded_are_not_cleared(
    deployment: Deployment, vpc: Vpc, remediate: Callable[[str], None]
) -> None:
    """If the exceptions cannot be read, heals are stopped all the same, and start cannot know which are new."""
    deployment.sandbox.faults.deny("config", "DescribeRemediationExceptions", times=1)
    result = invoke(["stop"])
    assert (result.exit_code, "so start clears none" in result.stderr) == (0, True)
    fail(remediate, deployment.sandbox, vpc.subnet, POLICY)
    assert invoke(["start", "--yes"]).exit_code == 0
    assert exceptions(deployment.sandbox) == {vpc.subnet}


def test_start_without_a_remediation_clears_nothing(
    deployment: Deployment, vpc: Vpc, remediate: Callable[[str], None]
) -> None:
    """Nothing shows why heals failed, so exceptions stay. Heals are allowed again."""
    invoke(["stop"])
    fail(remediate, deployment.sandbox, vpc.subnet, POLICY)
    deployment.sandbox.client("config").delete_remediation_configuration(ConfigRuleName=RULE)
    result = invoke(["start", "--yes"])
    assert (result.exit_code, deployment.ledger.item(STOP_ID)) == (0, {}), result.stderr
    assert exceptions(deployment.sandbox) == {vpc.subnet}


def test_start_is_repeated_if_exceptions_cannot_be_cleared(
    deployment: Deployment, vpc: Vpc, remediate: Callable[[str], None]
) -> None:
    """Heals stay stopped, so that the record of earlier exceptions is still there."""
    invoke(["stop"])
    fail(remediate, deployment.sandbox, vpc.subnet, POLICY)
    deployment.sandbox.faults.deny("config", "DeleteRemediationExceptions", times=1)
    failed = invoke(["start", "--yes"])
    assert (failed.exit_code, "DeleteRemediationExceptions" in failed.stderr) == (2, True)
    assert deployment.ledger.item(STOP_ID)
    assert invoke(["start", "--yes"]).exit_code == 0
    assert exceptions(deployment.sandbox) == set()


def test_every_stack_of_the_account_is_stopped(deployment: Deployment, sandbox: Sandbox) -> None:
    """Whatever its rule is called. One that cannot be stopped is named, the others are stopped, and the status is 2."""
    dynamodb = deployment.ledger.dynamodb
    key: dict[str, Any] = {"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}
    named = [{"AttributeName": "id", "AttributeType": "S"}]
    dynamodb.create_table(TableName="other-ledger", AttributeDefinitions=named, **key)
    make_stack(sandbox, deployment, "other", "ON", "other-ledger", ConfigRule="other-rule")
    make_stack(sandbox, deployment, "stranger", ledger="stranger", StopRole="")
    result = invoke(["stop", "--format", "json"])
    rows = json.loads(result.stdout)["places"]
    assert [(row["stackName"], row["ledger"], row["state"]) for row in rows] == [
        ("express-path", LEDGER, "STOPPED"),
        ("other", "other-ledger", "STOPPED"),
    ]
    assert (
        result.exit_code,
        "stack stranger is not a stack of express-path: it has no resource StopRole" in result.stderr,
    ) == (2, True)
    assert len(sandbox.calls.of("sts", "AssumeRole")) == len(rows)
    remove_stack(sandbox, "stranger")
    started = invoke(["start", "--yes"])
    assert started.exit_code == 0, started.stderr
    assert "mode ON (1 stack): started heals of 0 subnets still NON_COMPLIANT\n" in started.stdout
    assert deployment.ledger.item(STOP_ID) == {}
    assert dynamodb.scan(TableName="other-ledger")["Items"] == []


@pytest.mark.parametrize("status", ["DELETE_COMPLETE", "DELETE_FAILED", "CREATE_FAILED"])
@pytest.mark.parametrize(
    "lost", ["ConfigRule", "EvaluateFunction", "PlanFunction", "AutomationRole", "ApprovalDocument"]
)
def test_a_stack_that_lacks_parts_is_stopped(deployment: Deployment, lost: str, status: str) -> None:
    """Its role and its ledger are enough. The status is 2, because another stack may be the one that heals."""
    [stack] = created_stacks(deployment.sandbox.account_id, deployment.sandbox.region)
    stack.statuses[lost] = status
    result = invoke(["stop"])
    assert (result.exit_code, result.stdout.splitlines()[0]) == (2, f"stopped: {HERE}")
    assert (
        f"stack express-path is not a stack of express-path: it{'s' if status == 'DELETE_FAILED' else ''} "
        in result.stderr
    )
    assert deployment.ledger.item(STOP_ID)
    assert invoke(["start", "--yes"]).exit_code == 2
    assert deployment.ledger.item(STOP_ID)


def test_a_ledger_that_a_deletion_left_behind_is_stopped(deployment: Deployment) -> None:
    """CloudFormation skips it, and has deleted the function that would name it. A heal that runs still writes to it."""
    [stack] = created_stacks(deployment.sandbox.account_id, deployment.sandbox.region)
    stack.status = "DELETE_FAILED"
    stack.statuses |= {"LedgerTable": "DELETE_SKIPPED", "PlanFunction": "DELETE_COMPLETE", "StopRole": "DELETE_FAILED"}
    result = invoke(["stop"])
    assert (result.exit_code, result.stdout.splitlines()[0]) == (2, f"stopped: {HERE}")
    assert deployment.ledger.item(STOP_ID)
    assert invoke(["start", "--yes"]).exit_code == 2
    assert deployment.ledger.item(STOP_ID)


def test_an_earlier_ledger_of_a_stack_is_not_its_ledger(deployment: Deployment, sandbox: Sandbox) -> None:
    """An update with LedgerTableName leaves the own table behind. It is not stopped, and keeps nobody from healing."""
    remove_stack(sandbox, "express-path")
    make_stack(sandbox, deployment, "express-path", ledger="earlier-ledger", LedgerTableName=LEDGER)
    [stack] = created_stacks(sandbox.account_id, sandbox.region)
    stack.statuses["LedgerTable"] = "DELETE_SKIPPED"
    result = invoke(["stop"])
    assert [line for line in result.stdout.splitlines() if line.startswith("stopped")] == [f"stopped: {HERE}"]
    assert "earlier-ledger" not in result.stdout + result.stderr


@pytest.mark.parametrize("state", ["none", "denied", "other"])
def test_a_stack_whose_function_does_not_name_its_ledger_is_stopped(
    deployment: Deployment, sandbox: Sandbox, state: str
) -> None:
    """Heals are stopped in the ledger of its parameter, and in the one that its function names. The output names both."""
    remove_stack(sandbox, "express-path")
    make_stack(sandbox, deployment, "express-path", ledger="", LedgerTableName=LEDGER)
    other = LedgerTable(sandbox, "other-ledger")
    if state != "none":
        sandbox.client("lambda").create_function(
            FunctionName=FUNCTION,
            Code={"ZipFile": b"PK\x05\x06" + bytes(18)},
            Environment={"Variables": {"LEDGER_TABLE_NAME": "other-ledger"}},
            Role=deployment.given["AutomationAssumeRole"],
            Handler="handler",
            Runtime="python3.13",
        )
    if state == "denied":
        sandbox.faults.deny("lambda", "GetFunctionConfiguration")
    sandbox.calls.clear()
    result = invoke(["stop"])
    assert (result.exit_code, f"stopped: {HERE}\n" in result.stdout) == (2, True)
    assert deployment.ledger.item(STOP_ID)
    made = [call.operation for call in sandbox.calls]
    assert made.index("PutItem") < made.index("GetFunctionConfiguration")
    is_other = state == "other"
    assert (HERE.replace(LEDGER, "other-ledger") in result.stdout, bool(other.item(STOP_ID))) == (is_other, is_other)


def test_nothing_to_stop_is_not_success(sandbox: Sandbox) -> None:
    """Without a stack, nothing was stopped or undone, which fails; there is nothing to list or to start, which does not."""
    for command, expected in (
        ("stop", 2),
        ("stop --dry-run", 2),
        ("undo --since 2026-11-22", 2),
        ("start", 0),
        ("heals", 0),
    ):
        result = invoke([*command.split(), "--region", "eu-north-1"])
        [line] = result.stdout.splitlines()
        assert (result.exit_code, "no stack of express-path is deployed" in line, result.stderr) == (expected, True, "")
    too_long = invoke(["stop", "--reason", "x" * 501])
    assert (too_long.exit_code, "at most 500" in too_long.stderr) == (2, True)
    del sandbox


@pytest.mark.parametrize("item", [{}, {"stoppedAt": {"N": "5"}, "exceptions": {"S": "-"}}, {"by": {"BOOL": True}}])
def test_a_malformed_stop_stops(deployment: Deployment, vpc: Vpc, item: dict[str, Any]) -> None:
    """No heal changes anything, whatever the item says, and start removes it."""
    deployment.ledger.dynamodb.put_item(TableName=LEDGER, Item={"id": {"S": STOP_ID}} | item)
    run = deployment.heal(vpc.subnet)
    assert (status(run), steps(run)[-1], deployment.changes()) == ("Success", "stopped", [])
    assert "already stopped" in invoke(["stop"]).stdout
    started = invoke(["start", "--yes"])
    assert (started.exit_code, deployment.ledger.item(STOP_ID)) == (0, {}), started.stderr


def test_start_deletes_only_the_stop_that_it_showed(deployment: Deployment) -> None:
    """If somebody else starts and stops again in the meantime, that stop stays."""
    invoke(["stop"])
    deployment.sandbox.faults.before(
        "dynamodb", "DeleteItem", lambda: deployment.ledger.write(STOP_ID, stoppedAt="later", by="bob")
    )
    result = invoke(["start", "--yes"])
    assert (result.exit_code, "ConditionalCheckFailed" in result.stderr) == (2, True)
    assert deployment.ledger.item(STOP_ID)["by"] == "bob"


def test_an_exception_that_somebody_else_clears_is_no_failure(
    deployment: Deployment, builder: Builder, remediate: Callable[[str], None]
) -> None:
    """AWS Config deletes none of several exceptions if one of them is gone, so the others are deleted again."""
    first, second = (Vpc(builder).subnet for _ in range(2))
    invoke(["stop"])
    for subnet_id in (first, second):
        fail(remediate, deployment.sandbox, subnet_id, POLICY)
    keys = [{"ResourceType": "AWS::EC2::Subnet", "ResourceId": first}]
    config: Any = deployment.sandbox.client("config")
    deployment.sandbox.faults.before(
        "config",
        "DeleteRemediationExceptions",
        lambda: config.delete_remediation_exceptions(ConfigRuleName=RULE, ResourceKeys=keys),
    )
    result = invoke(["start", "--yes"])
    assert (result.exit_code, exceptions(deployment.sandbox)) == (0, set()), result.stderr


def test_stop_waits_for_the_steps_from_each_check_to_its_change() -> None:
    """A step that is added between a check and a change must be waited for, too."""
    found: set[str] = set()
    since_check: list[str] = []
    for step in runbook(HEAL)["mainSteps"]:
        if step["action"] == "aws:invokeLambdaFunction":
            since_check = []
        since_check.append(step["name"])
        if step["action"] == "aws:executeAwsApi" and step["inputs"]["Service"] == "ec2":
            found |= set(since_check)
    assert found == stops.BETWEEN
